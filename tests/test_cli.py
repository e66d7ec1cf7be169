"""The command, as a person would use it: files, pipes, mistakes."""

import io
import json
import subprocess
import sys

import pytest

from corpora import ROOT
from tracescript.cli import main

LOG = ROOT / "tests" / "corpus" / "llvm.tuning_record.json"
GOOD = b'[[["GetSBlock",[],["C","main"],["b0"]],["GetLoops",["b0"],[],["l1"]]],[]]\n'
BAD = b'[[["GetLoops",["b0"],[],["l0"]]],[]]\n'


@pytest.fixture
def stdin(monkeypatch):
    def feed(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return feed


def test_encode_and_decode_give_the_same_bytes(tmp_path, capfd):
    script, back = tmp_path / "log.trace", tmp_path / "back.json"
    assert main(["encode", str(LOG), "-o", str(script)]) == 0
    assert main(["decode", str(script), "-o", str(back)]) == 0
    assert back.read_bytes() == LOG.read_bytes()
    sizes = f"{LOG.stat().st_size:,} bytes -> {script.stat().st_size:,}"
    assert f"{LOG}: 40 records; {sizes}\n" in capfd.readouterr().err


def test_standard_input_and_output(stdin, capfdbinary):
    stdin(GOOD)
    assert main(["encode", "-q", "-"]) == 0
    script, error = capfdbinary.readouterr()
    assert error == b""
    stdin(script)
    assert main(["decode", "-"]) == 0
    back, error = capfdbinary.readouterr()
    assert back == GOOD
    assert error.startswith(b"<stdin>: 1 bare traces; ")


def test_several_files_into_a_folder(tmp_path, capfd):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(GOOD + b"\noops\n")
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    out = tmp_path / "out"
    out.mkdir()
    assert main(["encode", *files, "-o", str(out), "-j", "2"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["a.trace", "b.trace"]
    assert (
        "1 bare traces, 1 blank lines, 1 lines carried verbatim (line 3)" in capfd.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["encode"], "the following arguments are required: FILE"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["encode", "a", "b"], "several files need -o FOLDER, a folder that exists"),
        (["encode", "x/a", "y/a", "-o", "."], "two files would be written to a.trace"),
        (["encode", "a", "-j", "0"], "argument -j/--jobs: invalid positive value: '0'"),
        (["show", "a", "--color", "blue"], "invalid choice: 'blue'"),
        (["check", "a", "--tvm", "1.0"], "argument --tvm: invalid choice: '1.0' (choose from "),
    ],
)
def test_a_wrong_command_line(arguments, message, capfd):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capfd.readouterr().err


def test_more_than_ten_lines_carried_verbatim(stdin, capfd):
    stdin(b"x\n" * 12)
    assert main(["encode", "-"]) == 0
    assert "(line 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["encode", "decode", "show", "check", "stats"])
def test_a_file_that_is_not_there(command, capfd):
    assert main([command, "nowhere.json"]) == 1
    assert capfd.readouterr().err == "tracescript: nowhere.json: No such file or directory\n"


@pytest.mark.parametrize(
    "command",
    [
        *("encode", "decode", "show", "check", "stats", "tokens", "grammar"),
        *("diff", "graph", "migrate", "replay"),
    ],
)
def test_every_command_has_help(command, capfd):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert "usage: tracescript" in capfd.readouterr().out


def test_a_folder_that_is_not_there(tmp_path, capfd):
    target = tmp_path / "nowhere" / "log.trace"
    assert main(["encode", str(LOG), "-o", str(target)]) == 1
    assert capfd.readouterr().err == f"tracescript: {target}: No such file or directory\n"


def test_strict_refuses(stdin, capfd):
    stdin(GOOD + b"oops\n")
    assert main(["encode", "--strict", "-"]) == 1
    assert "<stdin>:2: this line is no record and no trace" in capfd.readouterr().err


def test_decode_of_a_json_log_says_what_to_do(stdin, capfd):
    stdin(GOOD)
    assert main(["decode", "-"]) == 1
    assert "if it is a JSON log, encode it" in capfd.readouterr().err


def test_show_writes_names_out(tmp_path, capfd):
    path = tmp_path / "log.json"
    trace = [
        [
            ["odd kind", ["b0", ["l9", "None"], None, "{}"], ["x", 1.5], ["b0", "odd name"]],
            ["SamplePerfectTile", ["b0"], [2, 64], ["v2", "v3"]],
        ],
        [[1, [4, 8]], [7, 1]],
    ]
    record = [3, [trace, [2e-05, 4e-05], {"kind": "cuda"}, []]]
    path.write_text(
        json.dumps(record)
        + "\n\n"
        + json.dumps([0, [[[], []], None, None, None]])
        + "\n"
        + "[[],[]]"
    )
    assert main(["show", str(path)]) == 0
    assert capfd.readouterr().out == (
        f"# {path}:1  workload 3  30.0 us\n"
        '"odd kind" b0 [l9 null] @null @"{}" | "x" 1.5 -> b0 @"odd name"\n'
        "SamplePerfectTile b0 | 2 64 -> v2 v3 = [4 8]\n"
        "# decision 7, of no instruction: 1\n"
        "\n"
        f"# {path}:3  workload 0  not measured\n"
        "\n"
        f"# {path}:4\n"
        "\n"
    )
    assert main(["show", str(path), "-n", "1", "--color", "always"]) == 0
    assert capfd.readouterr().out == f"\x1b[2m# {path}:3  workload 0  not measured\x1b[0m\n\n"


def test_show_of_what_is_not_there(stdin, capfd):
    stdin(GOOD + b"oops\n")
    assert main(["show", "-", "-n", "1"]) == 1
    out, error = capfd.readouterr()
    assert out == ""
    assert error == (
        "tracescript: <stdin>:2: this line is no record: it is not JSON\n"
        "tracescript: <stdin> has 1 records\n"
    )


def test_show_is_not_fooled_by_run_times_that_are_none(stdin, capfd):
    stdin(b'[0,[[[],[]],["x"],{},[]]]\n')
    assert main(["show", "-"]) == 0
    assert capfd.readouterr().out == "# <stdin>:1  workload 0\n\n"


def test_check_names_every_problem(tmp_path, capfd):
    path = tmp_path / "log.json"
    path.write_bytes(GOOD + BAD + b"oops\n[7]\n" + BAD)
    assert main(["check", str(path)]) == 1
    out, error = capfd.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith(f"{path}:2: error: $[0][0][1][0]: ")
    assert lines[1] == f"{path}:3: this line is no record: it is not JSON"
    assert lines[2].startswith(f"{path}:4: $: expected [instructions, decisions]")
    assert lines[3].startswith(f"{path}:5: error: $[0][0][1][0]: ")
    assert error == f"{path}: 3 traces, 4 with errors\n"


def test_check_names_the_line_of_the_instruction_in_a_trace_file(tmp_path, capfd):
    path = tmp_path / "log.trace"
    path.write_text("tracescript 1\n# trace\nEnterPostproc\nGetLoops 7 -> l2\n\n")
    assert main(["check", "-q", str(path)]) == 1
    assert capfd.readouterr().out.startswith(f"{path}:4: error: $[0][1][1][0]: expected a block")


@pytest.mark.parametrize(
    ("release", "expected"),
    [([], 0), (["--tvm", "0.23"], 1), (["--tvm", "0.24"], 0), (["--tvm", "0.27"], 0)],
)
def test_check_against_a_release(release, expected, stdin, capfd):
    stdin(GOOD)
    assert main(["check", *release, "-"]) == expected
    out, error = capfd.readouterr()
    message = "expected a kind of TVM 0.23, found GetSBlock, which it has had since 0.24"
    assert out == (f"<stdin>:1: error: $[0][0][0]: {message}\n" if expected else "")
    assert error == f"<stdin>: 1 traces, {expected} with errors\n"


def test_standard_input_into_a_folder(stdin, tmp_path):
    stdin(GOOD)
    assert main(["encode", "-q", "-", "-o", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["stdin.trace"]


def test_check_goes_on_after_a_file_that_cannot_be_read_on(tmp_path, capfd):
    cut, good = tmp_path / "cut.trace", tmp_path / "good.json"
    cut.write_text("tracescript 1\n# trace\nEnterPostproc\n")
    good.write_bytes(GOOD)
    assert main(["check", "-q", str(cut), str(good)]) == 1
    out, error = capfd.readouterr()
    assert out == f"{cut}:3: the file ends inside an entry: it was cut off\n"
    assert error == ""


def test_check_of_good_traces(stdin, capfd):
    stdin(GOOD + b"\n")
    assert main(["check", "-"]) == 0
    assert capfd.readouterr() == ("", "<stdin>: 1 traces, 0 with errors\n")


def test_notes_are_no_errors(stdin, capfd):
    stdin(b'[[["MyKind",[],[],[]]],[]]\n')
    assert main(["check", "-"]) == 0
    assert "note: $[0][0][0]: " in capfd.readouterr().out
    stdin(b'[[["MyKind",[],[],[]]],[]]\n')
    assert main(["check", "-q", "-"]) == 0
    assert capfd.readouterr() == ("", "")


def test_stats(tmp_path, capfd):
    path = tmp_path / "log.json"
    path.write_bytes(GOOD + b"\noops\n" + LOG.read_bytes().split(b"\n")[0] + b"\n")
    assert main(["stats", "--json", str(path)]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["file"] == str(path)
    assert (report["records"], report["bare_traces"], report["other_lines"]) == (1, 1, 1)
    assert report["kinds"]["GetSBlock"] >= 2
    assert sum(report["kinds"].values()) == report["instructions"]
    assert list(report["eras"].values()) in ([2], [1, 1])
    assert main(["stats", str(path)]) == 0
    assert f"{report['instructions']}; a trace has 2 to " in capfd.readouterr().out


def test_stats_of_nothing(stdin, capfd):
    stdin(b"")
    assert main(["stats", "-"]) == 0
    assert "0 of 0 workloads, 0 bare traces, 0 other lines" in capfd.readouterr().out


def test_a_closed_pipe_is_no_crash():
    command = f"{sys.executable} -m tracescript show {LOG} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == f"# {LOG}:1  " + done.stdout.split("  ", 1)[1]
    assert done.stderr == ""


def test_an_interrupt(monkeypatch, capfd):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tracescript.cli.convert.encode_file", interrupted)
    assert main(["encode", str(LOG)]) == 130
    assert capfd.readouterr().err == "tracescript: interrupted\n"


def test_the_progress_bar_is_for_terminals(monkeypatch, tmp_path, capfd):
    path = tmp_path / "log.json"
    path.write_bytes((b"x" * 999 + b"\n") * 5000)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["encode", "-q", str(path), "-o", str(tmp_path / "out")]) == 0
    assert "log.json: " in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert main(["encode", "-q", str(path), "-o", str(tmp_path / "out")]) == 0
    assert capfd.readouterr().err == ""


def test_version(capfd):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capfd.readouterr().out.startswith("tracescript 0.")
