"""`tracescript construct` and `tracescript refine`, as a person would use them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import toy_model
from tracescript import loads, workloads
from tracescript.cli import main
from tracescript.cli.attempts import listed, summary
from tracescript.cli.progress import counted
from tracescript.proposals import Attempt, Trial, best, trials

pytest.importorskip("transformers", reason="the extra `model` is not installed")
pytest.importorskip("torch", reason="the extra `model` is not installed")
tvm = pytest.importorskip("tvm", reason="the extra `model` is not installed")

from tracescript.tvm import module_of, replay  # noqa: E402

MODULE = module_of(workloads.loads(toy_model.PROMPT))


@pytest.fixture(scope="module", autouse=True)
def model():
    """It is made before a test looks at what is printed."""
    return str(toy_model.folder())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a kernel, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.txt").write_text(toy_model.PROMPT)
    return tmp_path


def run(*arguments):
    return main([*arguments, "--model", str(toy_model.folder())])


def refine(folder, script, *options):
    (folder / "given.trace").write_text(script)
    return run("refine", "kernel.txt", "given.trace", "--temperature", "0.1", *options)


# Construct.


def test_the_fastest_script_is_written(folder, capfd):
    options = ("-k", "24", "--all", "-o", "best.trace", "--python", "best.py")
    assert run("construct", "kernel.txt", *options) == 0
    out, err = capfd.readouterr()
    assert out == ""
    first, *rows, last = err.splitlines()
    assert first.startswith("main: 24 drawn in ")
    assert first.endswith(f" s, {len(rows)} different")
    assert sum(int(row.split()[1].rstrip("x")) for row in rows) == 24
    for verdict in ("right", "wrong", "does not build", "refused"):
        assert any(f"x  {verdict} " in row for row in rows), verdict
    assert last.startswith("the fastest script, ")
    script = (folder / "best.trace").read_text()
    assert script.startswith(toy_model.FAST + "EnterPostproc\n")
    names = {}
    exec((folder / "best.py").read_text(), names)  # noqa: S102 - that is what it is for
    made = names["schedule"](MODULE).mod
    tvm.ir.assert_structural_equal(made, replay(loads(script), MODULE).mod)


def test_the_likeliest_script_is_written_if_none_is_measured(folder, capfd):
    (folder / "kernel.py").write_text(MODULE.script())
    options = ("--target", toy_model.TARGET, "--no-measure", "-k", "4", "--seed", "3")
    assert run("construct", "kernel.py", *options) == 0
    out, err = capfd.readouterr()
    assert loads(out).insts
    assert err.splitlines()[-1].startswith("the likeliest script; not measured: ")


@pytest.mark.usefixtures("folder")
def test_without_a_device_it_says_so(capfd):
    options = ("--target", "nvidia/nvidia-h100", "-k", "2", "--temperature", "0.1")
    assert run("construct", "kernel.txt", *options) == 0
    out, err = capfd.readouterr()
    assert 'Bind l-1 | "threadIdx.x"' in out
    assert "the likeliest script; not measured (no device): " in err


# Refine.


def test_what_is_faster_than_the_given_script(folder, capfd):
    assert refine(folder, toy_model.SLOW, "-k", "2", "--all") == 0
    out, err = capfd.readouterr()
    assert out.startswith(toy_model.FAST)
    *_, first, second, last = err.splitlines()
    assert first.split()[:2] == ["given", "right"]
    assert second.split()[1:3] == ["2x", "right"]
    ratio, _, after = last.partition(" ")
    assert float(ratio) > 1
    assert after.startswith("times as fast as the given script, ")


def test_if_nothing_is_faster_the_given_script_is_written(folder, capfd):
    assert refine(folder, toy_model.FAST, "-k", "2") == 0
    out, err = capfd.readouterr()
    assert out.startswith(toy_model.FAST)
    assert "no script is faster than the given one, " in err


def test_if_nothing_is_right_nothing_is_written(folder, capfd):
    options = ("-k", "2", "-o", "best.trace", "--python", "best.py")
    assert refine(folder, toy_model.WRONG, *options) == 1
    assert capfd.readouterr().err.endswith("no script is right: 1 refused; --all says why\n")
    assert sorted(os.listdir(folder)) == ["given.trace", "kernel.txt"]


def test_a_schedule_that_has_no_python(folder, monkeypatch, capfd):
    code = (
        "import sys\nfrom tracescript.tvm import trial_server\n"
        "def none(trace): raise ValueError\n"
        "trial_server.python_source = none\ntrial_server.serve(int(sys.argv[1]))\n"
    )
    monkeypatch.setattr(trials, "_CODE", code)
    arguments = ("construct", "kernel.txt", "--no-measure", "--python", "best.py")
    assert run(*arguments, "-o", "best.trace") == 1
    assert capfd.readouterr().err.endswith("what the script says, so there is no Python of it\n")
    assert (folder / "best.trace").exists()
    assert not (folder / "best.py").exists()


# What is said.


def attempt(verdict, seconds=None, logprob=-1.0, reason=""):
    return Attempt(Trial(verdict=verdict, seconds=seconds, reason=reason), logprob)


def test_the_sentence_at_the_end():
    slow = attempt("right", 3e-3)
    fast = attempt("right", 1.5e-3)
    given = attempt("right", 3e-3, None)
    bad = attempt("wrong", None, None, "output 0: 8 of 8 integers differ")
    unknown = attempt("not measured", reason="no device")
    alone = attempt("not measured", None, None)
    for tried, said in {
        (slow, fast): "the fastest script, 1500.0 us: 2 right",
        (given, fast): "2.00 times as fast as the given script, 1500.0 us: 1 right",
        (given, slow): "no script is faster than the given one, 3000.0 us: 1 right",
        (bad, slow): "the fastest script, 3000.0 us: 1 right; the given one is not right: "
        "wrong, output 0: 8 of 8 integers differ",
        (unknown,): "the likeliest script; not measured (no device): 1 not measured",
        (alone, attempt("refused")): "the given script, as no other passes; not measured: "
        "1 refused",
        (bad, attempt("refused")): "no script is right: 1 refused; --all says why",
    }.items():
        assert summary(tried, best(tried)) == said


def test_the_list():
    rows = listed([attempt("right", 3e-3, None), attempt("refused", reason="no"), attempt("right")])
    assert list(rows) == [
        "          given  right    3000.0 us",
        "    -1.00    1x  refused  no",
        "    -1.00    1x  right",
    ]
    assert list(listed([])) == []


def test_progress_is_for_terminals(monkeypatch, capfd):
    assert list(counted([1, 2], "scripts")) == [1, 2]
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(counted([1, 2], "scripts")) == [1, 2]
    assert " scripts/s]" in capfd.readouterr().err


# What is wrong.


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["construct", "nowhere.py"], "nowhere.py: No such file or directory"),
        (["construct", "odd.txt"], "odd.txt:1: "),
        (["construct", "odd.py"], "odd.py: expected TVMScript, which is Python, found "),
        (["construct", "odd.json"], "odd.json: expected JSON of TVM's, found "),
        (["construct", "kernel.txt", "--function", "f"], 'expected a function "f", found main'),
        (["construct", "kernel.txt", "--target", "nope"], "the target: expected a tag of TVM's, "),
        (["refine", "kernel.txt", "odd.txt"], "odd.txt:1: "),
        (["refine", "kernel.txt", "two.json"], "two.json:1: expected one script, found 2 rec"),
        (["refine", "kernel.txt", "none.json"], "none.json:1: expected one script, found 0 rec"),
    ],
)
def test_wrong_files(folder, capfd, arguments, said):
    for suffix in ("txt", "py", "json"):
        (folder / f"odd.{suffix}").write_text("oops (\n")
    (folder / "two.json").write_text("[[], []]\n[[], []]\n")
    (folder / "none.json").write_text("")
    assert run(*arguments) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("tracescript: ")
    assert said in err.split("\n")[0]
    assert "Traceback" not in err


@pytest.mark.usefixtures("folder")
def test_a_wrong_model(capfd):
    assert main(["construct", "kernel.txt", "--model", "nowhere"]) == 1
    assert capfd.readouterr().err == (
        "tracescript: nowhere: expected a folder of a model, found none\n"
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "option",
    [
        ["--temperature", "0"],
        ["--temperature", "nan"],
        ["-k", "0"],
        ["--seed", "-1"],
        ["--seed", str(1 << 64)],
    ],
)
def test_wrong_numbers(capfd, option):
    with pytest.raises(SystemExit) as caught:
        run("construct", "kernel.txt", *option)
    assert caught.value.code == 2
    assert f"argument {option[0]}: invalid " in capfd.readouterr().err


@pytest.mark.usefixtures("folder")
def test_without_what_it_needs_it_says_so(monkeypatch, capfd):
    monkeypatch.setattr("tracescript.cli.propose.find_spec", {"tvm": 1}.get)
    assert run("construct", "kernel.txt") == 1
    assert capfd.readouterr().err == (
        "tracescript: this needs TVM, torch and transformers: pip install 'tracescript[model]'\n"
    )


def test_the_help_needs_neither_torch_nor_tvm():
    code = (
        "import sys\nfrom tracescript.cli import main\n"
        "try: main(['construct', '--help'])\n"
        "finally: print(sorted({'torch', 'tvm', 'transformers', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "A TVMScript file is run, as any program is" in " ".join(done.stdout.split())
    assert done.stdout.endswith("\n[]\n")


@pytest.mark.skipif(sys.platform != "linux", reason="finds the other process in /proc")
def test_an_interrupt_leaves_nothing_behind(folder):
    model = str(toy_model.folder())
    command = [sys.executable, "-m", "tracescript", "construct", "kernel.txt", "-k", "999"]
    process = subprocess.Popen(
        [*command, "--model", model, "-o", "best.trace"],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (child := children.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert stderr == b"tracescript: interrupted\n"
    # Python dies of the signal if it came in an `exec`, of which imports make use. A shell calls
    # both 130.
    assert process.returncode in (130, -signal.SIGINT)
    assert not os.path.exists(f"/proc/{child.strip()}")
    assert os.listdir(folder) == ["kernel.txt"]
