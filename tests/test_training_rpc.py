"""A device behind TVM's RPC: judged like one at hand, and a server that is gone is said to be."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytest.importorskip("tvm", reason="the extra `tvm` is not installed")
pytest.importorskip("torch", reason="the group `interop` is not installed")
pytest.importorskip("cloudpickle", reason="what TVM's RPC server needs is not installed")

import torch
import tvm
from training.evaluate import __main__ as command
from training.evaluate import rpc
from training.evaluate.bench import Bench
from training.evaluate.build import BuildJob, build, plain_library, target_of
from training.evaluate.evaluator import SECONDS_PER_RUN
from training.evaluate.results import Result, Run, Task, read
from training.evaluate.rpc import NO_SERVER, NoServerError, RemoteEnd, Server

import cheats
from tracescript.tvm import workload_of
from tracescript.workloads import dumps as dumps_workload
from tracescript.workloads import loads as loads_workload

ROOT = Path(__file__).parents[1]
CPU = command.CPU
HEADER = "tracescript 1\n"
PARALLEL = HEADER + 'GetSBlock | "y" "main" -> b\nGetLoops b-1 -> l2\nParallel l-2\n'
PLAIN = HEADER + 'GetSBlock | "y" "main" -> b\n'

TASK = Task("relu", dumps_workload(workload_of(cheats.relu(), json.loads(CPU))))


@contextmanager
def served(*arguments, module="tvm.exec.rpc_server"):
    """A server in a process group of its own, on a free port; yields process and port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = ["--host", "127.0.0.1", "--port", str(port), "--port-end", str(port + 1)]
    process = subprocess.Popen(
        [sys.executable, "-m", module, *place, "--silent", *arguments],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port)
        yield process, port
    finally:
        end(process)


def _wait_for(port):
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server does not start")


def end(process):
    """Kill a server with the processes of its sessions."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def port():
    with served() as (_, port):
        yield port


def library(folder, module, name):
    path = folder / f"{name}.so"
    tvm.compile(module, target=target_of(CPU)).export_library(str(path))
    return path


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The libraries that the task is judged by."""
    path = tmp_path_factory.mktemp("reference") / "exact.so"
    assert build(BuildJob(TASK.key, TASK.prompt, CPU, str(path))).stage == "compiles"
    return path


def prepared(end, reference):
    bench = Bench(end)
    workload = loads_workload(TASK.prompt)
    assert bench.prepare(TASK.key, workload, reference, plain_library(reference)) == ""
    return bench


# The end.


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.uint32])
def test_an_array_holds_what_was_put_there(port, dtype):
    end = RemoteEnd(Server("127.0.0.1", port), "cpu", CPU)
    first = (torch.rand(3, 5) * 3).to(dtype)
    array = end.upload(first)
    assert torch.equal(end.download(array), first)
    second = torch.ones(3, 5).to(dtype)
    end.overwrite(array, second)
    assert torch.equal(end.download(array), second)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """The libraries of wrong kernels. Made here: TVMScript keeps its caller's variables alive."""
    folder = tmp_path_factory.mktemp("wrong")
    bodies = {**cheats.BODIES, "never ends": cheats.FAULTS["never ends"]}
    return {
        name: library(folder, cheats.kernel(body), name.replace(" ", "-"))
        for name, body in bodies.items()
    }


def test_right_kernels_are_measured_and_wrong_ones_caught(port, reference, wrong, tmp_path):
    bench = prepared(RemoteEnd(Server("127.0.0.1", port), "cpu", CPU), reference)
    right = bench.measure(TASK.key, library(tmp_path, cheats.relu(), "right"))
    assert (right.stage, right.reason) == ("measured", "")
    assert 0 < right.latency.low <= right.latency.median <= right.latency.high < 1
    for name in cheats.BODIES:
        verdict = bench.measure(TASK.key, wrong[name])
        assert verdict.stage == "runs", name
        assert "is wrong" in verdict.reason or "was overwritten" in verdict.reason, name


def test_each_set_is_timed_in_its_turn(port, reference):
    end = RemoteEnd(Server("127.0.0.1", port), "cpu", CPU)
    kernel = end.load(plain_library(reference))
    shape = (cheats.ROWS, cheats.COLUMNS)
    sets = [[end.upload(torch.ones(shape)), end.upload(torch.zeros(shape))] for _ in range(3)]
    for runs in (1, 2, 7):
        seconds = end.time(kernel, sets, runs)
        assert len(seconds) == runs
        assert all(0 < each < 1 for each in seconds)
        written = [float(end.download(out).max()) for _, out in sets]
        assert written == [float(place < runs) for place in range(3)]


def test_what_a_fresh_session_lacks_is_sent_again(port, reference, tmp_path):
    """A session that has not long left is renewed by `load`, and the workload is taken along."""
    end = RemoteEnd(Server("127.0.0.1", port), "cpu", CPU)
    bench = prepared(end, reference)
    kernel = library(tmp_path, cheats.relu(), "kernel")
    for _ in range(2):
        end._session._begun -= SECONDS_PER_RUN + 1
        begun = end._session._begun
        assert bench.measure(TASK.key, kernel).stage == "measured"
        assert end._session._begun > begun + SECONDS_PER_RUN


def test_the_server_ends_what_hangs(port, reference, wrong):
    bench = prepared(RemoteEnd(Server("127.0.0.1", port), "cpu", CPU, 2.0), reference)
    with pytest.raises(RuntimeError, match=r"^took longer than 4 s$"):
        bench.measure(TASK.key, wrong["never ends"])
    assert rpc.card(Server("127.0.0.1", port), "cpu") == f"cpu behind RPC at 127.0.0.1:{port}"


# Servers that are gone.


def test_a_server_that_dies_is_said_to_be_gone(reference, tmp_path):
    with served() as (process, port):
        bench = prepared(RemoteEnd(Server("127.0.0.1", port), "cpu", CPU), reference)
        kernel = library(tmp_path, cheats.relu(), "kernel")
        assert bench.measure(TASK.key, kernel).stage == "measured"
        end(process)
        with pytest.raises(RuntimeError, match=f"^the session at 127.0.0.1:{port} broke off: "):
            bench.measure(TASK.key, kernel)
        with pytest.raises(NoServerError, match=f"^{NO_SERVER} serves at 127.0.0.1:{port}: "):
            RemoteEnd(Server("127.0.0.1", port), "cpu", CPU)


@contextmanager
def listening(answer):
    """Something that takes connections, and says only this."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            pipe, _ = listener.accept()
            with pipe, suppress(ConnectionResetError):
                pipe.recv(1 << 10)
                pipe.sendall(answer)
                pipe.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(b"", "timed out"), (b"HTTP/1.1", "what answers there is something else")],
)
def test_what_takes_connections_need_not_be_a_server(answer, reason):
    """TVM's server still takes connections after a kernel has ended the process of its session."""
    with listening(answer) as port, pytest.raises(NoServerError, match=f"{reason}$"):
        RemoteEnd(Server("127.0.0.1", port), "cpu", CPU, 0.25)


def test_a_device_that_the_server_lacks(port):
    with pytest.raises(NoServerError, match=f"^{NO_SERVER} at 127.0.0.1:{port} has a vulkan dev"):
        RemoteEnd(Server("127.0.0.1", port), "vulkan", CPU)


def test_results_end_with_the_server():
    wrong = Result("relu", PLAIN, "runs", f"{NO_SERVER} is what it says")
    named = Result("relu", NO_SERVER, "given", f"{NO_SERVER} is no script")
    lost = Result("relu", PLAIN, "compiles", f"{NO_SERVER} serves at board:9090: refused")
    yielded = rpc.until_lost([wrong, named, lost, wrong])
    assert [next(yielded), next(yielded)] == [wrong, named]
    with pytest.raises(NoServerError, match=r"^no RPC server serves at board:9090: refused$"):
        next(yielded)


@pytest.mark.parametrize("address", ["board", "board:", ":9090", "board:http", ""])
def test_an_address_is_a_host_and_a_port(address):
    with pytest.raises(ValueError, match="HOST:PORT"):
        Server.parse(address)


# Trackers.


def test_a_server_from_a_tracker(reference, tmp_path):
    pytest.importorskip("tornado", reason="what TVM's RPC tracker needs is not installed")
    with served(module="tvm.exec.rpc_tracker") as (_, tracker):
        absent = Server("127.0.0.1", tracker, "rock5")
        with pytest.raises(NoServerError, match=r"no free server of the key 'rock5'$"):
            RemoteEnd(absent, "cpu", CPU, 0.25)
        with served("--tracker", f"127.0.0.1:{tracker}", "--key", "board"):
            bench = prepared(RemoteEnd(absent._replace(key="board"), "cpu", CPU), reference)
            kernel = library(tmp_path, cheats.relu(), "kernel")
            assert bench.measure(TASK.key, kernel).stage == "measured"


# The command.


def run(tmp_path, *arguments):
    scripts = [{"workload": "relu", "script": each} for each in (PARALLEL, PLAIN, "junk")]
    lines = "".join(json.dumps(each) + "\n" for each in scripts)
    (tmp_path / "candidates.jsonl").write_text(lines)
    (tmp_path / "tasks.jsonl").write_text(json.dumps({"key": "relu", "prompt": TASK.prompt}))
    place = [str(tmp_path / "candidates.jsonl"), "--tasks", str(tmp_path / "tasks.jsonl")]
    out = tmp_path / "results.jsonl"
    command.main([*place, "--out", str(out), "--builders", "1", *arguments])
    return out


def test_the_command_measures_behind_rpc(port, tmp_path, capsys):
    out = run(tmp_path, "--rpc", f"127.0.0.1:{port}")
    assert {each.script: each.stage for each in read(out, Result)} == {
        PARALLEL: "measured",
        PLAIN: "measured",
        "junk": "given",
    }
    (told,) = read(out, Run)
    assert told.card == f"cpu behind RPC at 127.0.0.1:{port}"
    assert {each.run for each in read(out, Result)} == {told.run}
    assert "| candidates | 3 |" in capsys.readouterr().out


def test_the_command_records_nothing_without_a_server(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(SystemExit, match=f"^evaluate: {NO_SERVER} serves at 127.0.0.1:{port}: "):
        run(tmp_path, "--rpc", f"127.0.0.1:{port}")
    assert (tmp_path / "results.jsonl").read_text() == ""


def test_the_command_refuses_what_is_no_address(tmp_path):
    with pytest.raises(SystemExit, match=r"^evaluate: an address is HOST:PORT, not 'board'"):
        run(tmp_path, "--rpc", "board")


def test_the_command_stops_when_the_server_dies(tmp_path, monkeypatch):
    """What was being run is blamed, perhaps wrongly; what comes after it is left for the next."""
    with served() as (process, port):
        real = rpc.until_lost

        def dying(results):
            end(process)
            return real(results)

        monkeypatch.setattr(rpc, "until_lost", dying)
        with pytest.raises(SystemExit, match=f"^evaluate: {NO_SERVER} serves at 127.0.0.1:{port}"):
            run(tmp_path, "--rpc", f"127.0.0.1:{port}")
    assert {each.script for each in read(tmp_path / "results.jsonl", Result)} <= {"junk"}
