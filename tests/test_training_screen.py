"""Scripts judged without a device."""

import json

import pytest

pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

from training.evaluate.__main__ import CPU, main
from training.evaluate.results import UNCOMPILED, Candidate, Result, Task, read
from training.evaluate.screen import Screen

import cheats
from tracescript.tvm import workload_of
from tracescript.workloads import dumps

FOUND = 'tracescript 1\nGetSBlock | "y" "main" -> b\nGetLoops b-1 -> l2\n'
STAGES = {
    FOUND + "Parallel l-2\n": "passes",
    FOUND + "Parallel l-3\n": "given",
    FOUND.replace('"y"', '"z"'): "checks",
    "no script": "given",
    # Not on the allow-list.
    FOUND + 'Annotate l-1 1 | "no_such_annotation"\n': "parses",
}


@pytest.fixture(scope="module")
def task():
    return Task("relu", dumps(workload_of(cheats.relu(), json.loads(CPU))))


def test_how_far_scripts_come(task):
    candidates = [Candidate("relu", script, "me", trial=3) for script in STAGES]
    with Screen(CPU, 2) as screen:
        found = list(screen.evaluate([task], candidates))
        assert list(screen.evaluate([task], [])) == []
    assert {each.script: each.stage for each in found} == STAGES
    assert {(each.workload, each.source, each.trial) for each in found} == {("relu", "me", 3)}
    assert all(each.reason for each in found)
    assert all((each.reason == UNCOMPILED) == (each.stage == "passes") for each in found)


def test_a_workload_that_is_none():
    with Screen(CPU, 1) as screen:
        (found,) = screen.evaluate([Task("relu", "no workload")], [Candidate("relu", "x")])
    assert found.stage == "given"
    assert found.reason.startswith("the workload: ")


def test_one_that_takes_too_long(task, monkeypatch):
    monkeypatch.setattr("training.evaluate.screen.SECONDS_PER_SCRIPT", 0.0)
    monkeypatch.setattr("training.evaluate.screen.wait", lambda _pools: None)
    with Screen(CPU, 1) as screen:
        (found,) = screen.evaluate([task], [Candidate("relu", FOUND)])
    assert (found.stage, found.reason) == ("given", "took longer than 0 s")


def test_the_command(task, tmp_path, capsys):
    tasks, scripts, out = (tmp_path / f"{name}.jsonl" for name in ("tasks", "scripts", "out"))
    tasks.write_text(json.dumps({"key": task.key, "prompt": task.prompt}) + "\n")
    lines = [{"workload": task.key, "script": script} for script in STAGES]
    scripts.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = [str(scripts), "--tasks", str(tasks), "--out", str(out), "--builders", "2"]
    main([*given, "--device", "none"])
    assert {each.script: each.stage for each in read(out, Result)} == STAGES
    assert "given" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main([*given, "--device", "none", "--ray", "local"])
    assert "expected no --ray and no --rpc" in capsys.readouterr().err
    before = out.read_bytes()
    with pytest.raises(SystemExit, match=r"result \d was made with --device none"):
        main(given)
    assert out.read_bytes() == before
