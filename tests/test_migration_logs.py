"""Whole logs on their way to a later release, and the command that takes them."""

import io
import json
import subprocess
import sys

import pytest

from corpora import OWN, ROOT, SHARED, needs_shared
from tracescript import encode_file, iter_records
from tracescript.cli import main
from tracescript.migration import STEPS

OLD = b'[[["GetBlock",[],["C","main"],["b0"]],["Split",["l1","None",4],[1],["l2","l3"]]],[]]\n'
NEW = b'[[["GetSBlock",[],["C","main"],["b0"]],["Split",["l1","None",4],[1,0],["l2","l3"]]],[]]\n'
BAD = b'[[["MyKind",[],[],[]],["Other",[],[],[]]],[]]\n'
RECORD = (
    b'[7,[[[["GetBlock",[],["C","main"],["b0"]]],[]],[0.2000000000000000111],{"kind":"llvm"},[]]]\n'
)
RECORD_AFTER = RECORD.replace(b"GetBlock", b"GetSBlock")


@pytest.fixture
def stdin(monkeypatch):
    def feed(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return feed


# A record that needs no step keeps its bytes.


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_a_log_of_the_newest_release_stays_as_it_is(path, tmp_path, capfd):
    out = tmp_path / "out.json"
    # TVM writes some lines that it cannot read; those are no records.
    if path.name == "unloadable.tuning_record.json":
        assert main(["migrate", str(path), "-o", str(out)]) == 1
        assert not out.exists()
        return
    assert main(["migrate", str(path), "-o", str(out)]) == 0
    assert out.read_bytes() == path.read_bytes()
    count = len(list(iter_records(path)))
    assert capfd.readouterr().err == f"{path}: 0 records migrated to 0.27, {count} as they were\n"


def test_lines_keep_their_writer_and_their_ends(stdin, capfdbinary):
    spaced = json.dumps(json.loads(OLD)).encode() + b"\r\n"
    odd = OLD.replace(b",", b" , ")
    stdin(RECORD + b"\n" + spaced + odd + OLD.rstrip())
    assert main(["migrate", "-q", "-"]) == 0
    written, report = capfdbinary.readouterr()
    assert report == b""
    # A layout that no known program has is written as TVM would.
    after = json.dumps(json.loads(NEW)).encode() + b"\r\n"
    assert written == RECORD_AFTER + b"\n" + after + NEW + NEW.rstrip()


def test_an_odd_line_that_needs_no_step_keeps_its_bytes(stdin, capfdbinary):
    odd = NEW.replace(b",", b" , ")
    stdin(odd + b"[[], []]\n")
    assert main(["migrate", "-q", "-"]) == 0
    assert capfdbinary.readouterr()[0] == odd + b"[[], []]\n"


# The forms of a log.


def test_from_trace_to_trace(tmp_path, capfd):
    log, script, out = (tmp_path / name for name in ("log.json", "log.trace", "out.trace"))
    log.write_bytes(RECORD + b"\n" + OLD)
    encode_file(log, script)
    assert main(["migrate", str(script), "-o", str(out)]) == 0
    text = out.read_text()
    assert text.startswith("tracescript 1\n# writer tvm\n# target ")
    assert 'GetSBlock | "C" "main" -> b\nSplit @"l1" null 4 | 1 0 -> ' in text
    # Back in JSON, it is the log that comes of the JSON.
    assert main(["migrate", "-q", str(out), "--format", "json"]) == 0
    assert capfd.readouterr().out.encode() == RECORD_AFTER + b"\n" + NEW
    both = tmp_path / "both.trace"
    assert main(["migrate", "-q", str(log), "-o", str(both)]) == 0
    assert both.read_text() == text


def test_a_plain_script(stdin, capfdbinary):
    stdin(b'tracescript 1\nGetBlock | "C" "main" -> b\n')
    assert main(["migrate", "-q", "-", "--format", "trace"]) == 0
    script = b'GetSBlock | "C" "main" -> b\n'
    assert capfdbinary.readouterr()[0].endswith(b"# trace\n" + script + b"\n")


def test_the_name_of_the_output_says_what_is_written(tmp_path):
    log = tmp_path / "log.json"
    log.write_bytes(OLD)
    for name, options, start in (
        ("out.trace", [], b"tracescript 1\n"),
        ("out.json", [], b"[[["),
        ("out", [], b"[[["),
        ("odd.trace", ["--format", "json"], b"[[["),
    ):
        assert main(["migrate", "-q", str(log), "-o", str(tmp_path / name), *options]) == 0
        assert (tmp_path / name).read_bytes().startswith(start)


def test_in_place(tmp_path):
    log = tmp_path / "log.json"
    log.write_bytes(OLD * 3)
    assert main(["migrate", "-q", str(log), "-o", str(log)]) == 0
    assert log.read_bytes() == NEW * 3


# What is refused.


def test_nothing_is_written_if_a_record_is_refused(tmp_path, capfd):
    log, out = tmp_path / "log.json", tmp_path / "out.json"
    log.write_bytes(OLD + BAD + b"oops\n" + b"[1,[[[],7],0,0,0]]\n" + OLD)
    out.write_bytes(b"as it was")
    assert main(["migrate", str(log), "-o", str(out)]) == 1
    assert out.read_bytes() == b"as it was"
    advice = "; mend it, or take it out; tracescript check may help"
    assert capfd.readouterr().err.splitlines() == [
        f"{log}:2: $[0][0][0]: no release of TVM writes the kind 'MyKind'{advice}",
        f"{log}:2: $[0][1][0]: no release of TVM writes the kind 'Other'{advice}",
        f"{log}:3: this line is no record: it is not JSON",
        f"{log}:4: $[1][0][1]: expected a list, found int",
        f"{log}: 3 of 5 records cannot be migrated to 0.27; nothing is written",
    ]


def test_records_are_left_out_on_request(tmp_path, capfd):
    log, out = tmp_path / "log.json", tmp_path / "out.json"
    log.write_bytes(OLD + BAD + NEW)
    assert main(["migrate", str(log), "-o", str(out), "--skip"]) == 0
    assert out.read_bytes() == NEW + NEW
    assert capfd.readouterr().err.splitlines()[2:] == [
        f"{log}: 1 records migrated to 0.27, 1 as they were, 1 left out",
        "  split-predication  0.17  #16862  1 instructions of 1 records",
        "  get-sblock         0.24  #18689  1 instructions of 1 records",
    ]


def test_faults_of_a_trace_file(tmp_path, capfd):
    script = tmp_path / "log.trace"
    script.write_text('tracescript 1\n# trace\nGetBlock | "C" -> \n\n# trace\nGetLoops  b-1\n\n')
    assert main(["migrate", str(script)]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith(f"{script}:3: column 19: ")
    assert lines[-1] == f"{script}: 2 of 2 records cannot be migrated to 0.27; nothing is written"
    script.write_text("tracescript 1\n# trace\nGetLoops\n")
    assert main(["migrate", str(script)]) == 1
    assert capfd.readouterr().err.startswith(f"tracescript: {script}:3: the file ends inside")


def test_the_release_that_recorded_a_log(stdin, capfd):
    padded = b'[[["GetBlock",[],["C","main"],["b0"]],["PadEinsum",["b0"],[[1,64]],[]]],[]]\n'
    stdin(padded)
    assert main(["migrate", "-"]) == 1
    assert "say which release recorded it" in capfd.readouterr().err
    stdin(padded)
    assert main(["migrate", "-q", "-", "--recorded-by", "0.14"]) == 0
    assert capfd.readouterr().out.encode() == padded.replace(b"GetBlock", b"GetSBlock")


def test_another_release(stdin, capfd):
    stdin(OLD)
    assert main(["migrate", "-q", "-", "--to", "0.17"]) == 0
    assert capfd.readouterr().out.encode() == NEW.replace(b"GetSBlock", b"GetBlock")
    with pytest.raises(SystemExit, match="2"):
        main(["migrate", "-", "--to", "0.28"])


def test_files_that_are_not_there(capfd):
    assert main(["migrate", "nowhere.json"]) == 1
    assert capfd.readouterr().err == "tracescript: nowhere.json: No such file or directory\n"


def test_the_releases_of_a_log(stdin, capfd):
    """`stats` says in words what `infer_release` says."""
    split = b'["Split",["l1","None",4],[1],["l2","l3"]]'
    new = b'["GetSBlock",[],["C","main"],["b0"]]'
    old = new.replace(b"GetSBlock", b"GetBlock")
    lines = [b"", new, old, split, new + b"," + split]
    stdin(b"".join(b"[[" + insts + b"],[]]\n" for insts in lines))
    assert main(["stats", "--json", "-"]) == 0
    assert json.loads(capfd.readouterr().out)["eras"] == {
        "any": 1,
        "from 0.24": 1,
        "to 0.23": 1,
        "0.9 to 0.16": 1,
        "of no one release": 1,
    }


# What the documentation shows.


@needs_shared
def test_a_public_log_passes_the_check():
    (path,) = [path for path in SHARED if path.name.startswith("web-stable-diffusion")]
    command = f"{sys.executable} -m tracescript"
    done = subprocess.run(
        f"{command} migrate {path} --to 0.27 | {command} check --tvm 0.27 -",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    assert "292 records migrated to 0.27, 0 as they were" in done.stderr
    assert "<stdin>: 292 traces, 0 with errors" in done.stderr


def test_the_page_has_every_step():
    page = (ROOT / "docs" / "migration.md").read_text()
    link = "https://github.com/apache/tvm/pull/"
    for step in sorted(STEPS, key=lambda step: (len(step.since), step.since)):
        numbers = [number.removeprefix("#") for number in step.reference.split(", ")]
        references = ", ".join(f"[#{number}]({link}{number})" for number in numbers)
        assert f"| `{step.name}` | {step.since} | {step.effect} | {references} |\n" in page
    assert page.count(f"]({link}") == sum(step.reference.count("#") for step in STEPS)
