"""Whole files: byte for byte, streamed, all or nothing."""

import io
import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark

from corpora import LOGS
from tracescript import (
    Record,
    Summary,
    Trace,
    TraceFileError,
    TraceScriptError,
    TraceVersionError,
    decode_file,
    encode_file,
    from_json,
    grammar_text,
    iter_records,
    testing,
)
from tracescript.files import entries
from tracescript.files.json_writers import WRITERS

SPLIT = [[["Split", ["l0", "None"], [1, 0.2], ["l0"]]], [[0, 0.1]]]
RECORD = [3, [SPLIT, [1e-05, 0.5], {"kind": "cuda", "keys": ["gpu"]}, [["TENSOR", "f", [1]]]]]


def encode(data, **options):
    out = io.BytesIO()
    summary = encode_file(io.BytesIO(data), out, **options)
    return out.getvalue(), summary


def decode(data, **options):
    out = io.BytesIO()
    decode_file(io.BytesIO(data), out, **options)
    return out.getvalue()


def round_trip(data):
    """The summary of an encoding that decodes to the same bytes and that the grammar accepts."""
    encoded, summary = encode(data)
    assert decode(encoded) == data
    assert encoded.endswith(b"\n")
    _grammar.parse(encoded.decode("utf-8"))
    return summary


_grammar = Lark(grammar_text(), parser="lalr", start="log")


@pytest.mark.parametrize("path", LOGS)
def test_real_logs(path):
    data = path.read_bytes()
    summary = round_trip(data)
    assert summary.verbatim == {
        # An integer -0, as TVM writes -0.0.
        "primitives.tuning_record.json": 1,
        # What TVM writes and cannot read.
        "unloadable.tuning_record.json": 5,
    }.get(path.name, 0)
    assert summary.lines == data.count(b"\n")


@pytest.mark.parametrize("path", LOGS)
def test_records_of_real_logs(path, tmp_path):
    """Both forms of a file have the same records, and the records are those of the JSON."""
    encode_file(path, tmp_path / "log.trace")
    records = list(iter_records(path, strict=False))
    assert list(iter_records(tmp_path / "log.trace", strict=False)) == records
    lines = [line for line in path.read_text().splitlines() if _is_json(line)]
    for line, record in zip(lines, records, strict=True):
        value = json.loads(line)
        trace = value[1][0] if ".traces." not in path.name else value
        assert record.trace == from_json(trace)
        testing.check_trace_laws(trace)


def _is_json(line):
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("ends", ["\n", "\r\n", ""])
@pytest.mark.parametrize("value", [SPLIT, RECORD, [[], []], [0, [SPLIT, None, None, None]]])
def test_writers_and_line_ends(name, ends, value):
    line = (WRITERS[name](value) + ends).encode()
    summary = round_trip(line)
    assert summary.records + summary.traces == 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", Summary()),
        (b"\n", Summary(blank=1)),
        (b"\n\r\n\n", Summary(blank=3)),
        (b"[[],[]]\n\n[[],[]]\n", Summary(traces=2, blank=1)),
        (b"[[],[]]\n{bad\n[[],[]]\n", Summary(traces=2, verbatim=1, verbatim_lines=[2])),
        (b'[[],[]]\n[0,[[[["Spl', Summary(traces=1, verbatim=1, verbatim_lines=[2])),
        (b"inf\n", Summary(verbatim=1, verbatim_lines=[1])),
        (b'[[["K",[],["\\xC3"],[]]],[]]\n', Summary(verbatim=1, verbatim_lines=[1])),
        (b'[[["K",[],[inf],[]]],[]]\n', Summary(verbatim=1, verbatim_lines=[1])),
        (b'[[["K",[],[-0],[]]],[]]\n', Summary(verbatim=1, verbatim_lines=[1])),
        (b'[[["K",[],[1e400],[]]],[]]\n', Summary(verbatim=1, verbatim_lines=[1])),
        (b'[[["K",[],[{"a":1,"a":2}],[]]],[]]\n', Summary(verbatim=1, verbatim_lines=[1])),
        (b'[[["K",[],["\xc3"],[]]],[]]\n', Summary(verbatim=1, verbatim_lines=[1])),
        (b"[[] ,[]]\n", Summary(verbatim=1, verbatim_lines=[1])),
        (b"\xef\xbb\xbf[[],[]]\n", Summary(verbatim=1, verbatim_lines=[1])),
        (b"[[],[]]\r", Summary(verbatim=1, verbatim_lines=[1])),
        (b"\x00\xff\n\xed\xa0\x80\n", Summary(verbatim=2, verbatim_lines=[1, 2])),
        (b"null\n7\n[7]\n", Summary(verbatim=3, verbatim_lines=[1, 2, 3])),
        (b"[" * 100_000 + b"\n", Summary(verbatim=1, verbatim_lines=[1])),
        (b"[[[" + b"[" * 200 + b"]" * 202 + b",[]]\n", Summary(verbatim=1, verbatim_lines=[1])),
        (b"9" * 5000 + b"\n", Summary(verbatim=1, verbatim_lines=[1])),
        (b"x\n" * 12, Summary(verbatim=12, verbatim_lines=list(range(1, 11)))),
        (
            b"[0,[[[],[]],[]," + b"[" * 101 + b"]" * 101 + b",[]]]\n",
            Summary(verbatim=1, verbatim_lines=[1]),
        ),
        (b'[[["K",[],["\\ud800"],[]]],[]]\n', Summary(traces=1)),
        ('[[["K",[],["é\\u0000"],[]]],[]]\n'.encode(), Summary(traces=1)),
        (b'[[["K",[],[NaN,Infinity],[]]],[]]\n', Summary(traces=1)),
        (b"[1,[[[],[]],null,null,null]]\n[0,[[[],[]],[],{},[]]]\n", Summary(records=2)),
    ],
)
def test_whatever_the_file_is(data, expected):
    summary = round_trip(data)
    expected.bytes_in, expected.bytes_out = len(data), summary.bytes_out
    assert summary == expected


def test_a_line_longer_than_the_limit_is_carried_in_pieces():
    data = b"[[],[]]\n" + b"x" * (10 << 20) + b"\n[[],[]]"
    encoded, summary = encode(data)
    assert decode(encoded) == data
    assert summary.traces == 2


@given(st.binary(max_size=200))
def test_any_bytes(data):
    round_trip(data)


@given(st.lists(st.sampled_from([b"\n", b"\r", b"[[],[]]", b"\xff", b" ", b"inf", b'"\\u0000"'])))
def test_any_mixture_of_lines(pieces):
    round_trip(b"".join(pieces))


@given(st.lists(testing.json_traces(3), max_size=3), st.sampled_from(sorted(WRITERS)))
def test_any_traces(values, name):
    try:
        lines = [WRITERS[name]([7, [value, [0.1], {"k": 1}, []]]).encode() for value in values]
    except (ValueError, UnicodeEncodeError):
        return  # Python's json writes neither huge integers nor, without escapes, surrogates.
    summary = round_trip(b"".join(line + b"\n" for line in lines))
    if name not in ("tvm", "python_utf8", "compact_utf8"):
        assert summary.verbatim == 0


def test_the_form_of_a_log():
    data = b"".join(WRITERS["tvm"](value).encode() + b"\n" for value in (RECORD, RECORD, SPLIT))
    encoded, _ = encode(data + b"oops \xff\n\n" + WRITERS["python"](RECORD).encode())
    assert encoded.decode() == (
        "tracescript 1\n"
        "# writer tvm\n"
        '# target {"kind": "cuda" "keys": ["gpu"]}\n'
        "# record 3\n"
        "# run_secs [1e-05 0.5]\n"
        '# args_info [["TENSOR" "f" [1]]]\n'
        'Split @"l0" null | 1 0.2 -> l = 0.1\n'
        "\n"
        "# record 3\n"
        "# run_secs [1e-05 0.5]\n"
        '# args_info [["TENSOR" "f" [1]]]\n'
        'Split @"l0" null | 1 0.2 -> l = 0.1\n'
        "\n"
        "# trace\n"
        'Split @"l0" null | 1 0.2 -> l = 0.1\n'
        "\n"
        '# text "oops \\u{dcff}"\n'
        '# text ""\n'
        "# writer python\n"
        '# ends ""\n'
        "# record 3\n"
        "# run_secs [1e-05 0.5]\n"
        '# args_info [["TENSOR" "f" [1]]]\n'
        'Split @"l0" null | 1 0.2 -> l = 0.1\n'
        "\n"
    )


def test_a_plain_script_is_one_bare_trace():
    script = b'tracescript 1\nGetSBlock | "C" "main" -> b\nGetLoops b-1 -> l2\n'
    assert decode(script) == (
        b'[[["GetSBlock",[],["C","main"],["b0"]],["GetLoops",["b0"],[],["l1","l2"]]],[]]\n'
    )
    assert decode(b"tracescript 1\n@7 = 1\n") == b"[[],[[7,1]]]\n"
    assert decode(b"tracescript 1\n") == b""


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", 0, "does not start with 'tracescript 1'"),
        (b"[[],[]]\n", 1, "does not start with 'tracescript 1'"),
        (b"\xff\n", 1, "does not start with 'tracescript 1'"),
        (b"tracescript 1", 1, "cut off: it has no newline"),
        (b"tracescript 1\r\n", 1, "does not start with 'tracescript 1'"),
        (b"tracescript 1\n# trace\n", 2, "the file ends inside an entry"),
        (b"tracescript 1\n# trace\nA\n", 3, "the file ends inside an entry"),
        (b"tracescript 1\n# trace\nA", 3, "cut off: it has no newline"),
        (b"tracescript 1\n# trace\n\n# tra", 4, "cut off: it has no newline"),
        (b"tracescript 1\n# trace\nA\nA  1\n\n", 4, "column 3: a second blank"),
        (b"tracescript 1\n# trace\nA l-1\n\n", 3, "column 3: l-1 refers too far back"),
        (b"tracescript 1\nA\nA  1\n", 3, "column 3: a second blank"),
        (b"tracescript 1\n# trace\nA\n\n\n", 5, "expected '# record', '# trace'"),
        (b"tracescript 1\n# trace\n\nA\n", 4, "expected '# record', '# trace'"),
        (b"tracescript 1\n# trace 5\n\n", 2, "cannot read '# trace 5'"),
        (b"tracescript 1\n# huh 1\n", 2, "cannot read '# huh 1'; expected '# record'"),
        (b"tracescript 1\n# writer me\n", 2, "cannot read '# writer me'"),
        (b'tracescript 1\n# ends "x"\n', 2, "cannot read '# ends \"x\"'"),
        (b"tracescript 1\n# text x\n", 2, "expected a string after '# text'"),
        (b'tracescript 1\n# text "x" \n', 2, "expected a string after '# text'"),
        (b'tracescript 1\n# text "\\u{d800}"\n', 2, "code points that stand for bytes"),
        (b"tracescript 1\n# record 1\n", 2, "the file ends inside an entry"),
        (b"tracescript 1\n# record 1\n# trace\n", 3, "expected '# run_secs' after '# record'"),
        (
            b"tracescript 1\n# record 1\n# run_secs []\n# args_info []\n\n",
            *(4, "expected '# target' before the first record"),
        ),
        (
            b"tracescript 1\n# target 1\n# record 1\n# run_secs [b-1]\n# args_info []\n\n",
            *(3, "column 2: 'b' cannot stand here"),
        ),
        (
            b"tracescript 1\n# target\n# record 1\n# run_secs []\n# args_info []\n\n",
            *(2, "cannot read '# target'"),
        ),
        (
            b"tracescript 1\n# target 1\n# record 1.5\n# run_secs []\n# args_info []\n\n",
            *(3, "$[0]: expected a workload index, an integer, found 1.5"),
        ),
        (
            b"tracescript 1\n# target 1\n# record 1\n# run_secs []\n# args_info []\nA  1\n\n",
            *(6, "column 3: a second blank"),
        ),
        (b"tracescript 1\n# trace\n\xff\n\n", 3, "this is not UTF-8"),
        (
            b"tracescript 1\n# writer python\n# trace\nA " + b"9" * 5000 + b"\n\n",
            *(3, "expected what the writer python can write, found Exceeds the limit"),
        ),
    ],
)
def test_what_a_bad_file_is_told(text, line, message):
    with pytest.raises(TraceFileError) as caught:
        decode(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.file) == (line, "<stream>")


def test_an_unknown_version_is_refused():
    with pytest.raises(TraceVersionError, match="format version 2; this release reads version 1"):
        decode(b"tracescript 2\n")


def test_a_trace_file_is_not_encoded_again():
    with pytest.raises(TraceFileError, match="this is a"):
        encode(b"tracescript 1\n")


def test_a_file_cut_at_any_byte_is_noticed():
    """Decoding what is left gives whole records, or says that the file was cut off."""
    data = WRITERS["tvm"](RECORD).encode() + b"\n"
    encoded, _ = encode(data * 2)
    for length in range(len(encoded)):
        try:
            left = decode(encoded[:length])
        except TraceFileError:
            continue
        assert left in (b"", data)


@given(testing.mutated_scripts(3))
def test_mutated_files_fail_as_they_should(text):
    try:
        decode(
            text.encode("utf-8", "surrogatepass").replace(
                b"tracescript 1\n", b"tracescript 1\n# trace\n"
            )
        )
    except TraceScriptError:
        pass


@pytest.mark.parametrize("jobs", [2, 3])
def test_several_processes_do_the_same(jobs):
    data = (WRITERS["tvm"](RECORD).encode() + b"\n" + b"bad\n") * 3000
    encoded, summary = encode(data)
    assert encode(data, jobs=jobs) == (encoded, summary)
    assert decode(encoded, jobs=jobs) == data
    with pytest.raises(TraceFileError, match="column 3: a second blank") as caught:
        decode(encoded + b"# trace\nA  1\n\n# trace\n", jobs=jobs)
    assert caught.value.line > 6000


def test_strict_names_the_line():
    with pytest.raises(TraceFileError, match=r"^<stream>:3: this line is no record and no trace$"):
        encode(b"[[],[]]\n\noops\n", strict=True)


def test_a_record_that_does_not_come_back_is_carried_verbatim(monkeypatch):
    """The encoder checks itself: even with a broken decoder, no byte is lost."""
    monkeypatch.setattr(entries, "read_record", lambda _: Record(Trace()))
    summary = encode(WRITERS["tvm"](RECORD).encode())[1]
    assert (summary.records, summary.verbatim) == (0, 1)


def test_iter_records(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(RECORD) + "\n\n" + json.dumps(SPLIT) + "\nbad\n[7]\n")
    encode_file(path, tmp_path / "log.trace")
    expected = [
        Record(
            from_json(SPLIT),
            *(3, (1e-05, 0.5), {"kind": "cuda", "keys": ("gpu",)}, (("TENSOR", "f", (1,)),)),
        ),
        Record(from_json(SPLIT)),
    ]
    for source, line in ((path, 4), (tmp_path / "log.trace", 13)):
        assert list(iter_records(source, strict=False)) == expected
        with pytest.raises(TraceFileError) as caught:
            list(iter_records(source))
        assert (caught.value.file, caught.value.line) == (str(source), line)


def test_iter_records_finds_what_is_no_trace(tmp_path):
    path = tmp_path / "log.json"
    path.write_text('[0,[[[["K",[],[]]],[]],[],{},[]]]\n')
    with pytest.raises(TraceFileError, match=r"log.json:1: \$\[1\]\[0\]\[0\]\[0\]: expected"):
        list(iter_records(path))
    path.write_text("tracescript 1\n# trace\nA\nA  1\n\n")
    with pytest.raises(TraceFileError, match=r"log\.json:4: column 3"):
        list(iter_records(path))


def test_progress_counts_the_bytes():
    seen = []
    data = WRITERS["tvm"](RECORD).encode() + b"\n"
    encode(data * 3, progress=seen.append)
    assert sum(seen) == 3 * len(data)


def test_files_are_written_whole_or_not_at_all(tmp_path):
    source, target = tmp_path / "log.json", tmp_path / "out.trace"
    source.write_bytes(b"[[],[]]\nbad\n")
    target.write_text("as it was")
    with pytest.raises(TraceFileError):
        encode_file(source, target, strict=True)
    assert target.read_text() == "as it was"
    assert sorted(os.listdir(tmp_path)) == ["log.json", "out.trace"]
    encode_file(source, target)
    assert target.read_text().startswith("tracescript 1\n")


def test_permissions_and_links_are_kept(tmp_path):
    source, real, link = tmp_path / "a.json", tmp_path / "real.trace", tmp_path / "link.trace"
    source.write_bytes(b"[[],[]]\n")
    real.write_text("")
    real.chmod(0o640)
    link.symlink_to(real)
    encode_file(source, link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_text().startswith("tracescript")
    encode_file(source, tmp_path / "new.trace")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new.trace").stat().st_mode) == 0o666 & ~mask


def test_a_device_is_written_in_place(tmp_path):
    source = tmp_path / "a.json"
    source.write_bytes(b"[[],[]]\n")
    encode_file(source, os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_file_may_be_converted_in_place(tmp_path):
    path = tmp_path / "log"
    data = (WRITERS["tvm"](RECORD).encode() + b"\n") * 100
    path.write_bytes(data)
    encode_file(path, path)
    decode_file(path, path)
    assert path.read_bytes() == data


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_leaves_nothing_behind(tmp_path, jobs):
    source = tmp_path / "log.json"
    source.write_bytes((WRITERS["tvm"](RECORD).encode() + b"\n") * 100_000)
    command = [sys.executable, "-m", "tracescript", "encode", source, "-o", "out.trace", "-j", jobs]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True
    )
    while not list(tmp_path.glob(".out.trace.*")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, b"tracescript: interrupted\n")
    assert os.listdir(tmp_path) == ["log.json"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize("command", ["encode", "decode"])
def test_memory_does_not_grow_with_the_file(tmp_path, command):
    """The peak for 32 MB is that for 8 MB, give or take the allocator."""
    code = (
        "import sys, tracescript; "
        "getattr(tracescript, sys.argv[1] + '_file')(sys.argv[2], '/dev/null'); "
        "print(*[line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line])"
    )
    peaks = []
    for megabytes in (8, 32):
        path = tmp_path / f"{megabytes}.json"
        # Long lines, since it is the volume that counts here and not the work.
        line = WRITERS["tvm"]([0, [SPLIT, [0.5], {"pad": "x" * 100_000}, []]]).encode() + b"\n"
        path.write_bytes(line * (megabytes * 10))
        if command == "decode":
            path.write_bytes(
                b"tracescript 1\n" + (b'# text "' + b"x" * 100_000 + b'"\n') * (megabytes * 10)
            )
        done = subprocess.run(
            [sys.executable, "-c", code, command, path], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 20_000
    assert peaks[1] < 300_000
