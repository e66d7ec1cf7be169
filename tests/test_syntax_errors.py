"""What a bad script is told: the place, the reason, and what was expected there."""

import pickle
import time

import pytest

from tracescript import (
    MAX_DEPTH,
    MAX_OUTPUTS,
    Decision,
    Instruction,
    MigrationError,
    RefusedToken,
    ReplayError,
    Trace,
    TraceFileError,
    TraceShapeError,
    TraceSyntaxError,
    TraceVersionError,
    dumps,
    loads,
    testing,
    to_json,
)
from tracescript.errors import ModelError, Refusal
from tracescript.reference import TERMINALS, _lark


def error_of(text):
    error = testing.check_script_laws(text)
    assert isinstance(error, TraceSyntaxError)
    return error


_NO_ESCAPE = r"this is no escape; there are \" \\ \n \r \t and \u{...}, a code point in hex"


@pytest.mark.parametrize(
    ("body", "line", "column", "message"),
    [
        ("A b-1\n", 2, 3, "b-1 refers too far back: none of that type is defined before it"),
        (
            "A -> b l\nA l-2\n",
            *(3, 3, "l-2 refers too far back: only 1 of that type are defined before it"),
        ),
        ("A [1 [b-1]]\n", 2, 7, "b-1 refers too far back: none of that type is defined before it"),
        ("A", 2, 2, "the script ends in the middle of a line"),
        ("A b-1", 2, 6, "the script ends in the middle of a line"),
        ("A  1\n", 2, 3, "a second blank; items are one blank apart"),
        ("A 1 \n", 2, 5, "the line ends too early"),
        ("A | \n", 2, 5, "the line ends too early"),
        ("A\r\n", 2, 2, "a carriage return; lines end with a newline alone"),
        ("A\n\nB\n", 3, 1, "the line ends too early"),
        (" A\n", 2, 1, "' ' cannot stand here"),
        ("A 1,2\n", 2, 4, "',' cannot stand here"),
        ("A = 1 2\n", 2, 6, "' ' cannot stand here"),
        ("A -> l1\n", 2, 7, "'1' cannot stand here"),
        ("A -> b0\n", 2, 7, "'0' cannot stand here"),
        ("A l-0\n", 2, 3, "'l' cannot stand here"),
        ("A 01\n", 2, 4, "'1' cannot stand here"),
        ("A | b-1\n", 2, 5, "'b' cannot stand here"),
        ('A {"x": b-1}\n', 2, 9, "'b' cannot stand here"),
        ('A {"x": 1 "x": 2}\n', 2, 11, "this key is in the dict already"),
        ('A "\\u{110000}"\n', 2, 4, _NO_ESCAPE),
        ('A @"a\\x41"\n', 2, 6, _NO_ESCAPE),
        ('A | {"k\\": 1}\n', 2, 14, "the string does not end on its line"),
        ('A "é', 2, 5, "the string does not end on its line"),
        ('A "tab\t"\n', 2, 7, "a string cannot hold '\\t' as it is; write \\u{9}"),
        ('A -> @"x\n', 2, 9, "the string does not end on its line"),
        ("A -> l l\n", 2, 8, "two runs of l in a row; write them as one"),
        ("A -> b l4 l5\n", 2, 11, "two runs of l in a row; write them as one"),
        ("A True\n", 2, 3, "'T' cannot stand here"),
        ("A é\n", 2, 3, "'\\xe9' cannot stand here"),
        ("Größe\n", 2, 3, "'\\xf6' cannot stand here"),
        ("A 1e999\n", 2, 3, "this number is beyond the range of a double; infinity is inf or -inf"),
        ("@1 = 2\nA\n", 3, 1, "'A' cannot stand here"),
        ("@1 = b-1\n", 2, 6, "'b' cannot stand here"),
        ("A -> b -> b\n", 2, 8, "'-' cannot stand here"),
        ("A -> l999999 b2\n", 2, 14, f"a script may define at most {MAX_OUTPUTS} outputs"),
        ("A -> l" + "9" * 5000 + "\n", 2, 6, f"a script may define at most {MAX_OUTPUTS} outputs"),
    ],
)
def test_place_and_reason(body, line, column, message):
    error = error_of("tracescript 1\n" + body)
    assert (error.message, error.line, error.column) == (message, line, column)
    assert error.source_line == ("tracescript 1\n" + body).split("\n")[line - 1]


@pytest.mark.parametrize(
    "text", ["", "x", "\n", "tracescript", "tracescript 1", "A b-1\n", "\ufeff"]
)
def test_missing_header(text):
    error = error_of(text)
    assert error.line == 1
    if not "tracescript 1\n".startswith(text):
        assert error.expected == ("the header 'tracescript 1'",)


@pytest.mark.parametrize("version", ["0", "2", "17", "01"])
def test_unknown_version(version):
    error = error_of(f"tracescript {version}\nA\n")
    assert isinstance(error, TraceVersionError)
    assert error.version == version
    assert "Upgrade tracescript" in str(error)


def test_the_text_of_an_error():
    error = error_of("tracescript 1\nGetSBlock -> b\nGetLoops b-1-> l3\n")
    assert str(error) == (
        "line 3, column 13: '-' cannot stand here\n"
        "    GetLoops b-1-> l3\n"
        "                ^\n"
        "expected ' -> ' and outputs, ' = ' and a decision, ' | ' and attributes, "
        "one blank and another item or the end of the line"
    )


def test_a_long_line_is_cut_around_the_place():
    error = error_of("tracescript 1\nA " + "1 " * 500 + "?" + " 1" * 500 + "\n")
    _, shown, caret, _ = str(error).split("\n")
    assert len(shown) < 150
    assert shown[caret.index("^")] == "?"


def test_control_characters_are_not_sent_to_the_terminal():
    assert "\x1b" not in str(error_of("tracescript 1\nA \x1b[31m\n"))


def test_every_terminal_has_a_name_for_people():
    used = {terminal.name for terminal in _lark().terminals}
    assert used == TERMINALS.keys() - {"$END"}


def test_errors_survive_pickling():
    for error in (
        error_of("tracescript 1\nA  1\n"),
        error_of("tracescript 2\n"),
        TraceShapeError("$[0]", "a list", "dict"),
        TraceFileError("cut off", file="log.trace", line=7),
        RefusedToken(5, "'b-1'", 9, "Fuse ", "TVM says no"),
        ReplayError("TVM says no", inst=3, text="Fuse b-1"),
        MigrationError("0.27", (Refusal("$[0][0]", "it is old", "record it again"),)),
        ModelError("model.safetensors", "all weights", "none"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert (str(copy), copy.__dict__) == (str(error), error.__dict__)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 2000])
@pytest.mark.parametrize(("start", "end"), [("A ", ""), ("A | ", ""), ("A = ", ""), ("@9 = ", "")])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_deep_nesting_is_refused(depth, start, end, opening, closing):
    text = f"tracescript 1\n{start}{opening * depth}1{closing * depth}{end}\n"
    with pytest.raises(TraceSyntaxError, match="more than 100 levels") as caught:
        loads(text)
    assert caught.value.column == 1 + len(start) + MAX_DEPTH * len(opening)


@pytest.mark.parametrize("end", ["", "]" * 100_000 + "\n"])
def test_very_deep_nesting_is_refused(end):
    with pytest.raises(TraceSyntaxError):
        loads("tracescript 1\nA | " + "[" * 100_000 + end)


def test_the_deepest_value_survives():
    value = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    testing.check_trace_laws([[["A", [value], [value], []]], [[0, value]]])


@pytest.mark.parametrize("field", ["inputs", "attrs"])
def test_a_deeper_value_is_not_written(field):
    value = 1
    for _ in range(MAX_DEPTH + 1):
        value = (value,)
    trace = Trace((Instruction("A", **{field: (value,)}),))
    for write in (dumps, to_json):
        with pytest.raises(TraceShapeError, match="at most 100 levels of lists and dicts"):
            write(trace)


def test_more_outputs_than_allowed_are_not_written():
    trace = Trace((Instruction("A", outputs=("x",) * (MAX_OUTPUTS + 1)),))
    for write in (dumps, to_json):
        with pytest.raises(TraceShapeError, match="at most 1000000 outputs in all"):
            write(trace)


@pytest.mark.parametrize(
    ("trace", "path"),
    [
        (Trace((Instruction(7),)), "$[0][0][0]"),
        (Trace((Instruction("A", [1]),)), "$[0][0][1]"),
        (Trace((Instruction("A", ([1],)),)), "$[0][0][1][0]"),
        (Trace((Instruction("A", (), (b"x",)),)), "$[0][0][2][0]"),
        (Trace((Instruction("A", (), ({"k": (object(),)},)),)), "$[0][0][2][0]['k'][0]"),
        (Trace((Instruction("A", (), ({1: 2},)),)), "$[0][0][2][0]"),
        (Trace((Instruction("A", (), (), (7,)),)), "$[0][0][3][0]"),
        (Trace((), (Decision(True, 1),)), "$[1][0][0]"),
        (Trace((), (Decision(0, 1), Decision(0, b""))), "$[1][1][1]"),
    ],
)
def test_objects_that_no_trace_holds_are_not_written(trace, path):
    for write in (dumps, to_json):
        with pytest.raises(TraceShapeError) as caught:
            write(trace)
        assert caught.value.path == path


def test_time_grows_with_the_text_and_not_faster():
    """Each of these once made a decoder quadratic or worse, somewhere."""
    for text in (
        "A " + "1 " * 100_000 + "\n",
        'A "' + "\\n" * 200_000 + '"\n',
        'A "' + "x" * 400_000 + "\n",
        "A -> " + '@"x" ' * 50_000 + "b\n",
        "A | " + '" | ' * 50_000 + "\n",
        "A " + "9" * 400_000 + "\n",
        "A\n" * 20_000 + "?\n",
    ):
        start = time.perf_counter()
        try:
            loads("tracescript 1\n" + text)
        except TraceSyntaxError:
            pass
        assert time.perf_counter() - start < 20
