"""Candidates on a local Ray cluster: judged as by one evaluator, also when stations are lost."""

import json
import os
import signal
from contextlib import nullcontext
from types import SimpleNamespace

import msgspec
import pytest

pytest.importorskip("tvm", reason="the extra `tvm` is not installed")
pytest.importorskip("torch", reason="the group `interop` is not installed")
pytest.importorskip("ray", reason="the group `training` is not installed")

from ray.exceptions import GetTimeoutError, RayError
from training.evaluate import __main__ as command
from training.evaluate import cluster
from training.evaluate.evaluator import Evaluator
from training.evaluate.results import Candidate, Result, Run, Task, read
from training.evaluate.station import Report

import cheats
from tracescript.tvm import workload_of
from tracescript.workloads import dumps as dumps_workload

CPU = command.CPU
HEAD = 'tracescript 1\nGetSBlock | "y" "main" -> b\nGetLoops b-1 -> l2\n'
SCRIPTS = (
    HEAD + "Parallel l-2\n",
    HEAD + "Vectorize l-1\n",
    HEAD + "Fuse l-2 l-1 | true -> l\nParallel l-1\n",
    HEAD + "Reorder l-1 l-2\n",
    HEAD + "UnsafeSetDType b-1 | 0 0\n",
    HEAD + "Bind l-3\n",
    "junk",
)

TASKS = [
    Task("relu", dumps_workload(workload_of(cheats.relu(), json.loads(CPU)))),
    Task("clip", dumps_workload(workload_of(cheats.large_clip(), json.loads(CPU)))),
]
CANDIDATES = [
    Candidate(key, script.replace('"y"', name), source=str(number))
    for key, name in (("relu", '"y"'), ("clip", '"compute"'))
    for number, script in enumerate(SCRIPTS)
]


def verdict(result):
    """What does not depend on the clock."""
    return (result.workload, result.script, result.source, result.stage, result.reason)


@pytest.fixture(scope="module")
def local():
    """What the evaluator says without a cluster."""
    with Evaluator(CPU, "cpu", builders=1) as evaluator:
        return sorted(map(verdict, evaluator.evaluate(TASKS, CANDIDATES)))


@pytest.fixture(scope="module")
def two_places():
    """A cluster of this machine with room for two stations of one builder."""
    before = dict(os.environ)
    os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_OVERRIDE_RESOURCES": '{"CPU": 2}'})
    with cluster.connected("local"):
        yield
    os.environ.clear()
    os.environ.update(before)


# A real cluster.


@pytest.mark.usefixtures("two_places")
def test_a_cluster_says_what_one_evaluator_says(local, tmp_path, monkeypatch):
    """Although the first station that has a result is killed, and with it what it was at."""
    out = tmp_path / "results.jsonl"
    evaluate = cluster.evaluate

    def losing(*given, **options):
        judged = evaluate(*given, **options)
        first = next(judged)
        yield first
        os.kill({run.run: run.facts["pid"] for run in read(out, Run)}[first.run], signal.SIGKILL)
        yield from judged

    monkeypatch.setattr(cluster, "evaluate", losing)
    monkeypatch.setattr(cluster, "connected", nullcontext)
    for name, rows in (("tasks", TASKS), ("candidates", CANDIDATES)):
        (tmp_path / f"{name}.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(rows))
    place = [str(tmp_path / "candidates.jsonl"), "--tasks", str(tmp_path / "tasks.jsonl")]
    command.main(
        [*place, "--out", str(out), "--ray", "local", "--stations", "2", "--builders", "1"]
    )
    found = read(out, Result)
    assert sorted(map(verdict, found)) == local
    assert {"given", "parses", "compiles", "measured"} <= {result.stage for result in found}
    runs = {run.run: run.facts["pid"] for run in read(out, Run)}
    assert {result.run for result in found} <= set(runs)
    assert len(set(runs.values())) == len(runs) >= 2


# Stations that are made up.


class Hangs(Exception):
    """What the answer of a call is that never comes."""


class Made:
    """A station of this process: every script is right but those that end or stop it."""

    def __init__(self, seen, room=2):
        self.seen, self.given, self.room = seen, [], room
        seen.append(self.given)
        self.begin = SimpleNamespace(remote=lambda command: Answer(self.begun(command)))
        self.step = SimpleNamespace(remote=lambda given: Answer(self.judged(given)))
        self.close = SimpleNamespace(remote=lambda: Answer(None))

    def begun(self, command):
        return Report([], self.room, Run("now", command, "a card", {}))

    def judged(self, given):
        candidates = [candidate for _, candidate in given]
        self.given += candidates
        scripts = {each.script for each in candidates}
        if "dies" in scripts:
            return RayError("it is dead")
        if "hangs" in scripts:
            return Hangs()
        results = [Result(each.workload, each.script, "measured") for each in candidates]
        return Report(results, self.room)


class Answer:
    """A call of a made up station, that hashes as Ray's do."""

    def __init__(self, value):
        self.value = value

    def get(self, timeout):
        assert timeout == 0
        if isinstance(self.value, Hangs):
            raise GetTimeoutError
        if isinstance(self.value, RayError):
            raise self.value
        return self.value


@pytest.fixture
def made(monkeypatch):
    """Ray without Ray; returns what each station was given, in the order in which they begin."""
    seen = []

    def wait(calls, *, timeout, num_returns=1):
        assert timeout > 0
        assert len(calls) >= num_returns
        return [each for each in calls if not isinstance(each.value, Hangs)], []

    def remote(station):
        return SimpleNamespace(
            options=lambda **_: SimpleNamespace(remote=lambda *_: Made(seen)), station=station
        )

    fake = SimpleNamespace(
        get=lambda call, timeout: call.get(timeout),
        wait=wait,
        remote=remote,
        kill=lambda _: None,
        cluster_resources=lambda: {"CPU": 4.0, "GPU": 2.0},
        nodes=lambda: [{"Alive": True}, {"Alive": False}, {"Alive": True}],
    )
    monkeypatch.setattr(cluster, "ray", fake)
    return seen


def judged(scripts, **options):
    """The results of scripts, each written `WORKLOAD SCRIPT`; trials are numbered from 1."""
    candidates = [Candidate(*each.split(), trial=n) for n, each in enumerate(scripts, 1)]
    tasks = [Task(key, "") for key in {each.workload for each in candidates}]
    return list(cluster.evaluate(tasks, candidates, target=CPU, **options))


@pytest.mark.parametrize("deed", ["dies", "hangs"])
@pytest.mark.parametrize("stations", [1, 2])
def test_what_two_stations_are_lost_with_is_given_up(made, deed, stations):
    """It takes nothing else along."""
    scripts = [f"one {n}" for n in range(5)] + [f"one {deed}"] + [f"two {n}" for n in range(5)]
    results = judged(scripts, stations=stations, seconds_silent=0.05)
    assert sorted(f"{each.workload} {each.script}" for each in results) == sorted(scripts)
    (given_up,) = (each for each in results if each.stage != "measured")
    said = {"dies": "it is dead", "hangs": "it said nothing for 0.05 s"}[deed]
    assert (given_up.script, given_up.stage, given_up.trial) == (deed, "given", 6)
    assert given_up.reason == f"2 stations were lost with it: {said}"
    assert [deed in [each.script for each in given] for given in made].count(True) == 2


def test_a_cluster_without_stations_is_an_error(made, monkeypatch):
    monkeypatch.setattr(Made, "begun", lambda *_: RayError("a long story\nno module named tvm"))
    with pytest.raises(cluster.ClusterError) as caught:
        judged(["one a", "one b"], stations=2)
    assert str(caught.value) == (
        "no station is left for 2 candidates; the last one: no module named tvm"
    )
    assert len(made) == 2 * cluster.MAX_LOSSES


@pytest.mark.usefixtures("made")
def test_a_station_that_does_not_begin_is_not_waited_for(monkeypatch):
    begun = Made.begun
    monkeypatch.setattr(cluster, "SECONDS_TO_BEGIN", 0.0)
    monkeypatch.setattr(
        Made, "begun", lambda made, said: Hangs() if len(made.seen) == 1 else begun(made, said)
    )
    assert len(judged(["one a", "one b", "two c"], stations=2)) == 3


def test_a_workload_stays_where_it_is_as_long_as_there_are_others(made):
    judged([f"{key} {n}" for key in ("one", "two", "three") for n in range(4)], stations=2)
    first, second = ([each.workload for each in given] for given in made)
    assert first[:4] == ["one"] * 4
    assert second[:4] == ["two"] * 4
    assert first[4:] + second[4:] == ["three"] * 4
    assert first[4:]
    assert second[4:]


@pytest.mark.parametrize(("device", "places"), [("cpu", 2), ("cuda", 2)])
def test_there_is_a_station_for_each_machine_or_gpu(made, device, places):
    runs = []
    judged(["one a"], device=device, begin=runs.append, command="the command")
    assert len(made) == places
    assert [(run.run, run.command) for run in runs] == [
        (f"now/{number}", "the command") for number in range(places)
    ]
