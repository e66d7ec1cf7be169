"""Differences for people: the text, and the command `tracescript diff`."""

import io
import json
import sys

import pytest
from hypothesis import given

from corpora import ROOT
from tracescript import Trace, loads, testing
from tracescript.cli import main
from tracescript.cli.titles import run_time, title
from tracescript.difference import Difference, diff
from tracescript.difference.text import show_difference
from tracescript.files import Record
from tracescript.listing import show_instruction
from tracescript.model import Instruction

LOG = ROOT / "tests" / "corpus" / "llvm.tuning_record.json"


def shown(old, new, **options):
    a, b = (loads("tracescript 1\n" + text) for text in (old, new))
    return list(show_difference(diff(a, b), a, **options))


# The text.


@given(testing.traces(), testing.traces())
def test_each_difference_is_shown_once(a, b):
    found = diff(a, b)
    lines = list(show_difference(found, a))
    marks = [line[0] for line in lines]
    changed = len(found.changed)
    of_none = {mark: sum(line.startswith(f"{mark} # ") for line in lines) for mark in "-+"}
    assert marks.count("-") == len(found.removed) + changed + of_none["-"]
    assert marks.count("+") == len(found.added) + changed + of_none["+"]
    assert marks.count("<") == marks.count(">") == len(found.moved)
    assert all(line.splitlines() == [line] for line in lines)


@given(testing.traces())
def test_without_a_difference_there_is_no_mark(a):
    lines = [f"# {len(a.insts)} alike"] if a.insts else []
    assert list(show_difference(diff(a, a), a)) == lines


def test_every_mark():
    old = (
        'GetSBlock | "C" "main" -> b\n'
        "GetLoops b-1 -> l3\n"
        "Gone l-1 -> l\n"
        "Uses l-1 l-2\n"
        "SamplePerfectTile l-4 | 2 64 -> v2 = [8 16]\n"
        "Bind l-4\n"
        "Unroll l-3\n"
    )
    new = (
        'GetSBlock | "C" "main" -> b\n'
        "New -> b\n"
        "GetLoops b-2 -> l3\n"
        "Uses l-3 l-1\n"
        "Unroll l-2\n"
        "SamplePerfectTile l-3 | 2 64 -> v2 = [16 8]\n"
        "Bind l-3\n"
    )
    assert shown(old, new) == [
        '  GetSBlock | "C" "main" -> b0',
        "+ New -> b1",
        "  GetLoops b0 -> l2 l3 l4",
        "- Gone l4 -> old_l4",
        "- Uses old_l4 l4",
        "+ Uses l2 l4",
        "> Unroll l3",
        "~ SamplePerfectTile l2 | 2 64 -> v5 v6 = [8 16] -> [16 8]",
        "  Bind l2",
        "< Unroll l3",
    ]


def test_long_runs_that_are_alike_are_cut():
    lines = [f"K{n}\n" for n in range(20)]
    old, new = "".join(lines), "".join([*lines[:8], "New\n", *lines[8:]])
    assert shown(old, new) == [
        "# 5 alike",
        *("  K5", "  K6", "  K7", "+ New", "  K8", "  K9", "  K10"),
        "# 9 alike",
    ]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("K = 1", "K = 2", "~ K = 1 -> 2"),
        ("K = null", "K", "~ K = null -> none"),
        ("K", "K = [1 2]", "~ K = none -> [1 2]"),
        ("K = 1", "K = 1", None),
        ("K\n@0 = 1\n@0 = 2", "K\n@0 = 1\n@0 = 3", "~ K = 1 = 2 -> 1 = 3"),
        ("K | 1 = 5", "K | 2 = 5", "- K | 1 = 5"),
    ],
)
def test_decisions(old, new, line):
    assert shown(old + "\n", new + "\n")[0] == (line or "# 1 alike")


def test_decisions_of_no_instruction_and_their_order():
    assert shown("K\n@7 = 1\n@9 = 2\n", "K\n@9 = 2\n@7 = 3\n@-1 = 4\n") == [
        "  K",
        "- # decision 7, of no instruction: 1",
        "+ # decision 7, of no instruction: 3",
        "+ # decision -1, of no instruction: 4",
        "# the decisions stand in another order",
    ]


def test_names():
    assert shown("D -> b\nUse b-1\n", 'D -> @"x y"\nUse @"x y"\n') == [
        "# 2 alike",
        "# some names differ",
    ]
    # A name that TVM takes for something else cannot be that of a reference.
    assert shown("D -> b\nUse b-1\n", 'D -> @"None"\n') == ["  D -> None", "- Use old_b0"]
    # The old instruction lost an output.
    assert shown("D -> b2\nUse b-1\n", "D -> b\n") == [
        "- D -> b0 old_b1",
        "+ D -> b0",
        "- Use old_b1",
    ]


def test_colours():
    assert shown("Old\nK b-1 = 1\n".replace(" b-1", ""), "K = 2\nNew\n", colour=True) == [
        "\x1b[31m- Old\x1b[0m",
        "~ \x1b[1mK\x1b[0m = \x1b[1;33m1\x1b[0m -> \x1b[1;33m2\x1b[0m",
        "\x1b[32m+ New\x1b[0m",
    ]
    assert shown("K\n", "K\n", colour=True) == ["\x1b[2m# 1 alike\x1b[0m"]
    moved = shown("A\nB\nC\n", "C\nA\nB\n", colour=True)
    assert (moved[0], moved[-1]) == ("\x1b[35m> C\x1b[0m", "\x1b[35m< C\x1b[0m")


# The command.


@pytest.fixture
def stdin(monkeypatch):
    def feed(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return feed


def line(insts, decisions=(), workload=None, run_secs=None):
    """A line of a log: a bare trace, or a record if there is a workload."""
    trace = [insts, list(decisions)]
    return json.dumps(trace if workload is None else [workload, [trace, run_secs, {}, []]]) + "\n"


TILE = [["SamplePerfectTile", ["l0"], [2, 64], ["v0", "v1"]]]
SLOW = line(TILE, [[0, [8, 16]]], 3, [2e-05, 4e-05])
FAST = line(TILE, [[0, [16, 8]]], 3, [1e-05])
CHANGE = "~ SamplePerfectTile l0 | 2 64 -> v0 v1 = [8 16] -> [16 8]\n"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(SLOW + "\noops\n" + FAST + line(TILE))
    return str(path)


def test_two_records_of_a_log(log, capfd):
    assert main(["diff", log, "-n", "0", "-n", "1"]) == 0
    out, error = capfd.readouterr()
    assert out == (
        f"--- {log}:1  workload 3  30.0 us\n"
        f"+++ {log}:4  workload 3  10.0 us, 3.00 times as fast\n" + CHANGE
    )
    assert error == ""


def test_the_other_way_around(log, capfd):
    assert main(["diff", "-n", "1", "-n", "0", log]) == 0
    assert f"+++ {log}:1  workload 3  30.0 us, 0.33 times as fast\n" in capfd.readouterr().out
    assert main(["diff", "-n", "2", "-n", "2", log]) == 0
    assert capfd.readouterr().out == f"--- {log}:5\n+++ {log}:5\n# 1 alike\n"


def test_two_files_of_either_form(log, tmp_path, stdin, capfd):
    script = tmp_path / "one.trace"
    script.write_text('tracescript 1\nSamplePerfectTile @"l0" | 2 64 -> v2 = [16 8]\n')
    assert main(["diff", log, str(script)]) == 0
    assert capfd.readouterr().out == (
        f"--- {log}:1  workload 3  30.0 us\n+++ {script}:1\n" + CHANGE
    )
    other = tmp_path / "other.json"
    other.write_text(FAST)
    stdin(SLOW.encode())
    assert main(["diff", "-", str(other)]) == 0
    assert capfd.readouterr().out.startswith("--- <stdin>:1  workload 3  30.0 us\n")
    assert main(["diff", log, log, "-n", "1"]) == 0
    assert capfd.readouterr().out.count(f"{log}:4  workload 3  10.0 us") == 2


def test_json(log, capfd):
    assert main(["diff", log, "-n", "0", "-n", "1", "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report == {
        "a": {"file": log, "line": 1, "record": 0, "workload": 3, "run_time": pytest.approx(3e-05)},
        "b": {"file": log, "line": 4, "record": 1, "workload": 3, "run_time": 1e-05},
        "speedup": pytest.approx(3),
        "difference": report["difference"],
    }
    a = loads('tracescript 1\nSamplePerfectTile @"l0" | 2 64 -> v2 = [8 16]\n')
    assert Difference.from_json(report["difference"]).apply(a) == loads(
        'tracescript 1\nSamplePerfectTile @"l0" | 2 64 -> v2 = [16 8]\n'
    )


def test_json_of_what_has_no_run_time(log, capfd):
    assert main(["diff", log, "-n", "0", "-n", "2", "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["speedup"] is None
    assert report["b"] == {"file": log, "line": 5, "record": 2, "workload": None, "run_time": None}


def test_json_of_an_integer_that_python_does_not_write(tmp_path, capfd):
    path = tmp_path / "long.trace"
    path.write_text(f"tracescript 1\nK | 1{'0' * 5000}\n")
    assert main(["diff", str(path), "-", "--json"]) == 1
    assert main(["diff", str(path), str(LOG), "--json"]) == 1
    assert "expected what Python can write as JSON" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "two records are compared: give two files, or -n twice"),
        (["-n", "1"], "two records are compared: give two files, or -n twice"),
        (["-n", "1", "-n", "2", "-n", "3"], "two records are compared"),
        (["-n", "-1", "-n", "1"], "argument -n/--record: "),
        (["-n", "x"], "argument -n/--record: invalid position value: 'x'"),
        (["x", "--color", "blue"], "invalid choice: 'blue'"),
    ],
)
def test_a_wrong_command_line(arguments, message, log, capfd):
    with pytest.raises(SystemExit) as caught:
        main(["diff", log, *arguments])
    assert caught.value.code == 2
    assert message in capfd.readouterr().err


@pytest.mark.parametrize("numbers", [("0", "3"), ("7", "0"), ("8", "9")])
def test_records_that_are_not_there(numbers, log, capfd):
    assert main(["diff", log, "-n", numbers[0], "-n", numbers[1]]) == 1
    assert capfd.readouterr() == ("", f"tracescript: {log} has 3 records\n")


def test_a_file_that_is_not_there(log, capfd):
    assert main(["diff", log, "nowhere.json"]) == 1
    assert capfd.readouterr().err == "tracescript: nowhere.json: No such file or directory\n"


def test_colours_of_the_command(log, monkeypatch, capfd):
    arguments = ["diff", log, "-n", "0", "-n", "1"]
    assert main([*arguments, "--color", "always"]) == 0
    out = capfd.readouterr().out
    assert out.startswith(f"\x1b[31m--- {log}:1  workload 3  30.0 us\x1b[0m\n\x1b[32m+++ ")
    assert main([*arguments, "--color", "never"]) == 0
    assert "\x1b" not in capfd.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for no_color, is_coloured in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", no_color)
        assert main(arguments) == 0
        assert ("\x1b" in capfd.readouterr().out) == is_coloured


# What a command says about a record.


@pytest.mark.parametrize(
    ("run_secs", "seconds", "text"),
    [
        (None, None, "not measured"),
        ((), None, "not measured"),
        ((3e-06, 1e-06, 2e-06), 2e-06, "2.0 us"),
        (("x",), None, ""),
        ((1e-06, None), None, ""),
        ((10**400,), None, ""),
        ((float("nan"),), pytest.approx(float("nan"), nan_ok=True), "nan us"),
    ],
)
def test_titles(run_secs, seconds, text):
    record = Record(Trace(), 10**5000, run_secs)
    assert run_time(record) == seconds
    assert title(record, "log:1") == f"log:1  workload 1{'0' * 5000}  {text}".rstrip()
    assert title(Record(Trace()), "log:1") == "log:1"


@pytest.mark.parametrize(
    ("old", "new"), [(0.0, 1.0), (1.0, 0.0), (float("nan"), 1.0), (float("inf"), 1.0)]
)
def test_no_ratio_of_run_times_that_are_none(old, new, tmp_path, capfd):
    path = tmp_path / "log.json"
    path.write_text(line([], (), 0, [old]) + line([], (), 0, [new]) + line([], (), 1, [1.0]))
    assert main(["diff", str(path), "-n", "0", "-n", "1"]) == 0
    assert "times as fast" not in capfd.readouterr().out
    assert main(["diff", str(path), "-n", "1", "-n", "2"]) == 0
    assert "times as fast" not in capfd.readouterr().out


def test_a_listing_has_no_decisions():
    assert show_instruction(Instruction("odd kind", (None,), (1,), ("b0",))) == (
        '"odd kind" null | 1 -> b0'
    )
