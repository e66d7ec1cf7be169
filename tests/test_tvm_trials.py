"""Scripts tried on a kernel in a process of its own: each verdict, for real, on this CPU."""

import json
import os
import signal

import pytest

import toy_model
from tracescript import TraceFileError, loads, workloads
from tracescript.proposals import Trials, trials
from tracescript.proposals.trial import Ended, Kernel, NoKernel, Passed, Read, Try
from tracescript.workloads import WorkloadError

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

import tvm_ffi  # noqa: E402

import tvm_cases  # noqa: E402
from tracescript.tvm import (  # noqa: E402
    ReplayError,
    import_intrinsics,
    module_of,
    replay,
    trial_server,
)
from tracescript.tvm.measure import Bench, Broken  # noqa: E402

# In seconds, what TVM does by itself in minutes under pytest, of whose frames it asks.
import_intrinsics()

MODULE = module_of(workloads.loads(toy_model.PROMPT))
BEGIN = 'tracescript 1\nGetSBlock | "C" "main" -> b\nGetLoops b-1 -> l3\n'


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernel") / "kernel.txt"
    path.write_text(toy_model.PROMPT)
    return str(path)


@pytest.fixture(scope="module")
def tried(kernel):
    with Trials(kernel) as made:
        yield made


def scheduled(python):
    names = {}
    exec(python, names)  # noqa: S102 - that is what it is for
    return names["schedule"](MODULE).mod


def test_a_right_script_is_timed(tried):
    trial = tried.run(loads(toy_model.FAST))
    assert (trial.verdict, trial.reason) == ("right", "")
    assert 1e-7 < trial.seconds < 1
    slower = tried.run(loads(toy_model.SLOW))
    assert slower.seconds > trial.seconds


def test_what_is_written_is_what_was_built(tried):
    """The script, replayed, and the Python, run, make the same module."""
    for script in (toy_model.FAST, toy_model.SLOW):
        trial = tried.run(loads(script))
        whole = replay(loads(trial.script), MODULE).mod
        assert "EnterPostproc" in trial.script
        assert trial.script.startswith(script)
        tvm.ir.assert_structural_equal(scheduled(trial.python), whole)
        assert not tvm_ffi.structural_equal(whole, MODULE)


@pytest.mark.parametrize(
    ("script", "verdict", "reason"),
    [
        (toy_model.WRONG, "wrong", "output 0: relative error 0.001"),
        (toy_model.UNBUILDABLE, "does not build", ""),
        (toy_model.REFUSED, "refused", "instruction 2, `Vectorize l-1`: The"),
        (BEGIN.replace('"C"', '"D"'), "refused", "instruction 0, `GetSBlock"),
        (BEGIN + "SamplePerfectTile l-3 | 2 64 -> v2 = [8 4]\n", "refused", "TVM takes another"),
        (BEGIN + "SamplePerfectTile l-3 | 2 64 -> v2\n", "refused", "TVM takes another decision"),
        (
            BEGIN + 'Annotate b-1 "int f;" | "pragma_import_c"\n',
            "refused",
            'instruction 2, `Annotate b-1 "int f;" | "pragma_import_c"`: the annotation',
        ),
        ('tracescript 1\nAnnotate "x"\n', "refused", "instruction 0, `Annotate"),
    ],
)
def test_other_scripts(tried, script, verdict, reason):
    trial = tried.run(loads(script))
    assert trial.verdict == verdict
    assert trial.reason.startswith(reason)
    assert trial.reason
    assert trial.seconds is None
    assert bool(trial.script) == (verdict != "refused")


def test_an_annotation_that_metaschedule_makes_is_let_through(tried):
    annotated = BEGIN + 'Annotate b-1 16 | "meta_schedule.unroll_explicit"\n'
    assert tried.run(loads(annotated)).verdict == "right"


def test_what_has_no_python(tried):
    script = toy_model.FAST + 'Annotate b-1 [] | "software_pipeline_stage"\n'
    trial = tried.run(loads(script))
    assert trial.script.startswith(script)
    assert trial.python == ""


def test_without_a_device(kernel):
    with Trials(kernel, target="nvidia/nvidia-h100") as made:
        assert made.workload.target == "nvidia/nvidia-h100"
        for script in (BEGIN, BEGIN):
            trial = made.run(loads(script))
            assert (trial.verdict, trial.reason) == ("not measured", "no device")
            assert 'Bind l-1 | "threadIdx.x"' in trial.script
        assert made.run(loads(toy_model.UNBUILDABLE)).verdict == "refused"


def test_what_is_not_to_be_measured(kernel):
    with Trials(kernel, measure=False) as made:
        trial = made.run(loads(toy_model.WRONG))
        assert (trial.verdict, trial.reason) == ("not measured", "")
        assert trial.script.startswith(toy_model.WRONG)


# The file.


def test_the_three_forms_are_one_workload(tmp_path):
    expected = workloads.loads(toy_model.PROMPT)
    for name, text in {
        "k.py": MODULE.script(),
        "k.json": tvm.ir.save_json(MODULE),
        "k.workload": toy_model.PROMPT.split("\n", 1)[1],
    }.items():
        (tmp_path / name).write_text(text)
        with Trials(str(tmp_path / name), target=toy_model.TARGET) as made:
            assert made.workload == expected
            assert made.workload is made.workload


def read(form, text, function=None, target=None):
    """The answer to the question, in this process."""
    (answer,) = trial_server.answers(Read(form, text, "k", function, target))
    return answer


def test_the_target():
    """What is asked for, else that of the text, else the one that the model was trained for."""
    text = toy_model.PROMPT.split("\n", 1)[1]
    assert read("workload", text) == Kernel("h100\n" + text)
    assert read("workload", toy_model.PROMPT) == Kernel(toy_model.PROMPT)
    assert read("workload", "h100\n" + text) == Kernel("h100\n" + text)
    asked = read("workload", toy_model.PROMPT, target="nvidia/nvidia-a100")
    assert asked == Kernel("a100\n" + text)
    assert read("JSON", tvm.ir.save_json(MODULE), target=toy_model.TARGET) == Kernel(
        toy_model.PROMPT
    )


@pytest.mark.parametrize("target", ["nope", "", "{", '{"kind": "nope"}', '{"kind": 5}', "{}"])
def test_no_target(target):
    answer = read("JSON", tvm.ir.save_json(MODULE), target=target or " ")
    assert isinstance(answer, NoKernel)
    assert answer.place == "the target"


def test_the_function():
    assert read("workload", toy_model.PROMPT, "main") == Kernel(toy_model.PROMPT)
    assert read("workload", toy_model.PROMPT, "f") == NoKernel("k", 'a function "f"', "main")
    assert "tirx.noalias" in read("TVMScript", RENAMED, "matmul").workload


RENAMED = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((64, 128), "float32"), B: T.Buffer((64, 128), "float32")):
    for i, j in T.grid(64, 128):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""


def test_a_function_of_another_name(tmp_path):
    (tmp_path / "k.py").write_text(RENAMED)
    with Trials(str(tmp_path / "k.py"), target=toy_model.TARGET) as made:
        script = 'tracescript 1\nGetSBlock | "C" "matmul" -> b\n'
        assert made.run(loads(script)).verdict == "right"


def test_what_no_workload_can_say(tmp_path):
    (tmp_path / "k.json").write_text(tvm.ir.save_json(tvm_cases.dynamic_module()))
    with (
        Trials(str(tmp_path / "k.json")) as made,
        pytest.raises(WorkloadError, match='parameter "n": expected a buffer'),
    ):
        made.workload  # noqa: B018 - it is read then


def test_files_that_are_no_text(tmp_path):
    with pytest.raises(FileNotFoundError):
        Trials(str(tmp_path / "nowhere.py"))
    (tmp_path / "k.py").write_bytes(b"\xff")
    with pytest.raises(WorkloadError, match=r"k.py: expected a text in UTF-8"):
        Trials(str(tmp_path / "k.py"))
    (tmp_path / "k.txt").write_text('A "A" "float32" 8\nB "B": A+C\n')
    with pytest.raises(TraceFileError, match=r"k.txt:2: no buffer C is defined") as caught:
        Trials(str(tmp_path / "k.txt"))
    assert caught.value.line == 2


# A process that dies.


def test_a_file_that_kills_tvm(tmp_path):
    """TVM's parser evaluates what it reads."""
    (tmp_path / "k.py").write_text(
        RENAMED.replace("float32(2)", 'float32(exec("import os; os._exit(7)"))')
    )
    with (
        Trials(str(tmp_path / "k.py")) as made,
        pytest.raises(
            WorkloadError, match="expected a kernel, found one that TVM ended with status 7"
        ),
    ):
        made.workload  # noqa: B018 - it is read then


DEADLY = """
import os, signal, sys
from tracescript.tvm import measure, trial_server
kill = lambda *_, **__: os.kill(os.getpid(), signal.SIGSEGV)
{}
trial_server.serve(int(sys.argv[1]))
"""
WHEN_PREPARED = """
build = measure.Bench.build
measure.Bench.build = lambda self, module: (
    kill() if hasattr(self, "_expected") else build(self, module)
)
"""


@pytest.mark.parametrize(
    ("where", "verdict", "reason"),
    [
        ("trial_server.replay = kill", "refused", "TVM died of SIGSEGV"),
        ("measure.draw = kill", "not measured", "the plain kernel died of SIGSEGV"),
        ("measure.Bench.seconds = kill", "does not run", "the kernel died of SIGSEGV"),
        (WHEN_PREPARED, "does not build", "TVM died of SIGSEGV"),
    ],
)
def test_a_death_is_that_of_its_stage(kernel, monkeypatch, where, verdict, reason):
    monkeypatch.setattr(trials, "_CODE", DEADLY.format(where))
    with Trials(kernel) as made:
        trial = made.run(loads(toy_model.FAST))
        assert (trial.verdict, trial.reason) == (verdict, reason)
        assert bool(trial.script) == (verdict != "refused")


def test_a_plain_kernel_that_dies_is_not_run_again(kernel, monkeypatch):
    monkeypatch.setattr(trials, "_CODE", DEADLY.format("measure.draw = kill"))
    with Trials(kernel) as made:
        first = made.run(loads(toy_model.FAST))
        child = made._child._child.pid
        assert made.run(loads(toy_model.FAST)) == first
        assert made._child._child.pid != child
        third = made._child._child.pid
        assert made.run(loads(toy_model.SLOW)).reason == first.reason
        assert made._child._child.pid == third


def test_a_script_that_takes_too_long(kernel):
    with Trials(kernel, timeout=0) as made:
        with pytest.raises(WorkloadError, match="TVM was not done after 0 seconds of"):
            made.workload  # noqa: B018 - it is read then
        made._timeout = 60
        assert made.run(loads(toy_model.FAST)).verdict == "right"


def test_a_process_that_does_not_start(kernel, monkeypatch):
    monkeypatch.setattr(trials, "_CODE", "raise SystemExit(3)")
    with Trials(kernel) as made, pytest.raises(ReplayError, match="it ended with status 3"):
        made.workload  # noqa: B018 - it is read then


def test_no_process_is_left(kernel):
    """However the block ends: the process ends with it, by itself or at once."""
    with Trials(kernel) as made:
        assert made.workload
    assert made._child._child.returncode == 0
    with pytest.raises(KeyError), Trials(kernel) as made:
        raise KeyError
    assert made._child._child.returncode == -signal.SIGKILL
    with Trials(kernel) as made:
        os.kill(made._child._child.pid, signal.SIGKILL)
        made._child._child.wait()


def test_an_interrupt_is_for_the_caller(kernel):
    with Trials(kernel) as made:
        assert made.workload
        os.kill(made._child._child.pid, signal.SIGINT)
        assert made.run(loads(toy_model.FAST)).verdict == "right"


# What it answers, in this process.


def answers(script, measure=True, workload=toy_model.PROMPT):
    return list(trial_server.answers(Try(workload, script, measure)))


def test_a_kernel_that_cannot_be_run(monkeypatch):
    def fault(*_):
        raise Broken("out of memory")

    monkeypatch.setattr(Bench, "fault", fault)
    assert answers(toy_model.FAST)[-1] == Ended("does not run", "out of memory")


def test_the_stages_are_said_before_they_begin():
    said = [json.loads(trial_server.msgspec.json.encode(each)) for each in answers(toy_model.FAST)]
    stages = [each.get("stage", each["type"]) for each in said]
    assert stages == ["applying", "Passed", "preparing", "building", "running", "Ended"]
    *_, passed, ended = answers(toy_model.WRONG, measure=False)
    assert isinstance(passed, Passed)
    assert ended == Ended("not measured")
    assert answers(toy_model.REFUSED)[-1].verdict == "refused"
    assert answers(toy_model.UNBUILDABLE)[-1].verdict == "does not build"
    assert answers(toy_model.WRONG)[-1].verdict == "wrong"


def test_what_a_post_processor_refuses():
    """A block of a GPU has at most 1024 threads."""
    text = 'h100\nA "A" "float32" 4096\nB "B": A*2\n'
    script = (
        'tracescript 1\nGetSBlock | "B" "main" -> b\nGetLoops b-1 -> l\n'
        'Split l-1 null {} | true false -> l2\nBind l-2 | "blockIdx.x"\nBind l-1 | "threadIdx.x"\n'
    )
    *_, ended = answers(script.format(2048), False, text)
    assert ended == Ended("refused", "refused by VerifyGPUCode")
    *_, ended = answers(script.format(1024), False, text)
    assert ended.verdict == "not measured"


def test_a_target_without_post_processors():
    """MetaSchedule wants to know the number of cores."""
    text = toy_model.PROMPT.replace(' "num-cores": 2', "")
    *_, ended = answers(toy_model.FAST, workload=text)
    assert ended.verdict == "refused"
    assert "num-cores" in ended.reason
