"""Each case that is known to break codecs of traces, with its value."""

import math

import pytest

from tracescript import (
    MAX_OUTPUTS,
    NULL,
    RV,
    IndexMap,
    Instruction,
    Trace,
    TraceShapeError,
    dumps,
    from_json,
    loads,
    testing,
    to_json,
)


def trace_of(*insts, decisions=()):
    return [[list(inst) for inst in insts], [list(decision) for decision in decisions]]


def body_of(value):
    """The script of a JSON trace without its header, after all laws were checked."""
    return testing.check_trace_laws(value).removeprefix("tracescript 1\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (1.0, "1.0"), (True, "true"), ("1", '"1"'), (None, "null"), (False, "false")],
)
def test_look_alikes_in_attributes_and_decisions(value, text):
    trace = trace_of(["K", [], [value], []], decisions=[[0, value]])
    assert body_of(trace) == f"K | {text} = {text}\n"


@pytest.mark.parametrize(
    ("value", "meaning", "text"),
    [
        ("None", None, "null"),
        ('"None"', "None", '"None"'),
        (None, NULL, "@null"),
        ("b0", RV("b0"), '@"b0"'),
        ('"b0"', "b0", '"b0"'),
        ({"x": "b0"}, {"x": "b0"}, '{"x": "b0"}'),
        ({"x": None}, {"x": None}, '{"x": null}'),
        (["b0", ["None"]], (RV("b0"), (None,)), '[@"b0" [null]]'),
        ('""', "", '""'),
        ('"', RV('"'), '@"\\""'),
        ('"""', '"', '"\\""'),
        ("", RV(""), '@""'),
        ("{}", IndexMap("{}"), '@"{}"'),
        (1, 1, "1"),
        (1.0, 1.0, "1.0"),
        (True, True, "true"),
    ],
)
def test_strings_in_inputs(value, meaning, text):
    trace = trace_of(["K", [value], [], []])
    assert body_of(trace) == f"K {text}\n"
    assert from_json(trace).insts[0] == Instruction("K", (meaning,))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (["Split", ["l0"], [1], []], ["Split", ["l0"], [True, False], []]),
        (["Split", ["l0"], [1, 0], []], ["Split", ["l0"], [True, False], []]),
        (["CacheRead", ["b0"], [0], []], ["CacheRead", ["b0", []], [0], []]),
        (["CacheRead", ["b0", []], [0], []], ["CacheRead", ["b0", ["b0"]], [0], []]),
        (["ComputeAt", ["b0"], [1], []], ["ComputeAt", ["b0"], [1, -1], []]),
        (["Blockize", ["l0"], [], []], ["Blockize", ["l0"], [True], []]),
        (["Tensorize", ["l0"], ["x"], []], ["Tensorize", ["l0"], ["x", True], []]),
        (["TransformLayout", ["b0"], [0, 1, None], []], ["TransformLayout", ["b0"], [0, 1, 0], []]),
        (
            ["TransformLayout", ["b0", "{}"], [0, 1, None, True], []],
            ["TransformLayout", ["b0"], [0, 1, None, False], []],
        ),
    ],
)
def test_arity_is_data(left, right):
    both = trace_of(left, right)
    assert to_json(loads("tracescript 1\n" + body_of(both))) == both
    assert from_json(trace_of(left)) != from_json(trace_of(right))


def test_canonical_names_become_counts():
    trace = trace_of(
        ["GetSBlock", [], ["C", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
        ["Mixed", ["l1", "l3"], [], ["b4", "l5", "l6", "v7"]],
        ["Use", ["b0", "b4", "l6", "v7"], [], []],
    )
    assert body_of(trace) == (
        'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l3\n'
        "Mixed l-3 l-1 -> b l2 v\nUse b-2 b-1 l-1 v-1\n"
    )


def test_ten_outputs_and_more():
    names = [f"l{number}" for number in range(12)]
    assert body_of(trace_of(["K", [], [], names])) == "K -> l12\n"


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        (["x", "_", "b 0", "ü", '"q"'], '@"x" @"_" @"b 0" @"ü" @"\\"q\\""'),
        (["b0", "b0"], 'b @"b0"'),
        (["l1"], '@"l1"'),
        (["b0", "x", "b2"], 'b @"x" b'),
        (["B0", "b00", "b", "b-1"], '@"B0" @"b00" @"b" @"b-1"'),
        (["None", "{", ""], '@"None" @"{" @""'),
        (["b٠"], '@"b٠"'),
    ],
)
def test_odd_output_names(outputs, text):
    assert body_of(trace_of(["K", [], [], outputs])) == f"K -> {text}\n"


def test_references_to_odd_duplicate_and_unknown_names():
    trace = trace_of(
        ["K", ["b0"], [], ["b0", "odd"]],
        ["K", ["b0", "odd", "l9"], [], ["b0"]],
        ["K", ["b0"], [], []],
    )
    assert body_of(trace) == ('K @"b0" -> b @"odd"\nK b-1 @"odd" @"l9" -> @"b0"\nK b-1\n')


@pytest.mark.parametrize(
    ("decisions", "text"),
    [
        ([[0, 5], [1, 6]], "A = 5\nB = 6\n"),
        ([[1, 6], [0, 5]], "A\nB = 6\n@0 = 5\n"),
        ([[0, 5], [0, 6]], "A = 5\nB\n@0 = 6\n"),
        ([[7, 5]], "A\nB\n@7 = 5\n"),
        ([[-1, 5], [0, 6]], "A\nB\n@-1 = 5\n@0 = 6\n"),
        ([[1, None]], "A\nB = null\n"),
        ([[1, []]], "A\nB = []\n"),
        ([[1, 0]], "A\nB = 0\n"),
        ([[1, [[1, [2]], {"a": []}]]], 'A\nB = [[1 [2]] {"a": []}]\n'),
        ([[2**70, 1]], f"A\nB\n@{2**70} = 1\n"),
    ],
)
def test_decisions_anywhere(decisions, text):
    assert body_of(trace_of(["A", [], [], []], ["B", [], [], []], decisions=decisions)) == text


@pytest.mark.parametrize(
    "number",
    [2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**4000, -(10**4000), 7**6000, -(7**6000)],
    ids=lambda number: f"{number.bit_length()} bits",
)
def test_integers_of_any_size(number):
    body_of(trace_of(["K", [number], [number], []], decisions=[[0, number]]))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (-0.0, "-0.0"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (1e16, "1e+16"),
        (0.2000000000000000111, "0.2"),
        (0.16666666666666665741, "0.16666666666666666"),
    ],
)
def test_floats(number, text):
    assert body_of(trace_of(["K", [number], [number], []])) == f"K {text} | {text}\n"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("\u2028", r"\u{2028}"),
        ("\x00", r"\u{0}"),
        ("\ud800", r"\u{d800}"),
        ("\ud83d\ude00", r"\u{d83d}\u{de00}"),
        ("\U0001f600", "\U0001f600"),
        ('say "hi"', r"say \"hi\""),
        ("a\\b", r"a\\b"),
        ("\n\r\t", r"\n\r\t"),
        ("\x7f\x85", r"\u{7f}\u{85}"),
        ("\u202e", r"\u{202e}"),
        (" | -> = ", " | -> = "),
        ("A_reindex_shared.dyn_wmma.matrix_a_o", "A_reindex_shared.dyn_wmma.matrix_a_o"),
    ],
)
def test_text_of_any_kind(text, quoted):
    trace = trace_of(["GetSBlock", [f'"{text}"'], [text, {text: text}], [text]])
    assert body_of(trace) == (
        f'GetSBlock "{quoted}" | "{quoted}" {{"{quoted}": "{quoted}"}} -> @"{quoted}"\n'
    )


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("Split", "Split"),
        ("my kind", '"my kind"'),
        ('a"b', '"a\\"b"'),
        ("", '""'),
        ("@7", '"@7"'),
        ("Größe", '"Größe"'),
        ("tracescript", "tracescript"),
        ("null", "null"),
    ],
)
def test_kinds_of_any_name(kind, text):
    assert body_of(trace_of([kind, [], [], []])) == f"{text}\n"


@pytest.mark.parametrize("count", [0, 1, 2])
def test_any_number_of_enter_postproc(count):
    assert body_of(trace_of(*[["EnterPostproc", [], [], []]] * count)) == "EnterPostproc\n" * count


def test_more_outputs_than_allowed_are_refused():
    with pytest.raises(TraceShapeError, match="at most 1000000 outputs in all, found more of them"):
        from_json(trace_of(["K", [], [], ["x"] * (MAX_OUTPUTS + 1)]))


def test_empty_trace():
    assert dumps(Trace()) == "tracescript 1\n"
    assert loads("tracescript 1\n") == from_json([[], []]) == Trace()


@pytest.mark.parametrize(
    "text",
    [
        '{"root":2,"nodes":[{"type_key":"","attrs":{"x":"b0"}}]}',
        '{\n  "root_index": 2,\n  "nodes": [\n    {"type": "ir.IndexMap", "data": NaN}\n  ]\n}',
        '{\n"root": 2, \n"nodes": [\n{"path": "\\/tmp\\/x = y -> z | w"}, \n]\n}',
        '{"nodes": "' + "x" * 9000 + '"}',
    ],
    ids=["compact", "indented", "old layout", "9 kB"],
)
def test_index_maps_keep_their_text(text):
    trace = trace_of(["TransformLayout", ["b0", text], [0, text, None], []])
    body_of(trace)
    assert from_json(trace).insts[0].inputs[1] == IndexMap(text)


@pytest.mark.parametrize(
    ("value", "path", "expected", "found"),
    [
        (None, "$", "[instructions, decisions]", "NoneType None"),
        ([[]], "$", "[instructions, decisions]", "a list of length 1"),
        ([[], [], []], "$", "[instructions, decisions]", "a list of length 3"),
        ({}, "$", "[instructions, decisions]", "dict"),
        ([{}, []], "$[0]", "a list", "dict"),
        ([[], 7], "$[1]", "a list", "int"),
        ([[["K", [], []]], []], "$[0][0]", "[kind, inputs, attrs, outputs]", "a list of length 3"),
        (
            [[["A", [], [], []], ["K", [], [], [], []]], []],
            *("$[0][1]", "[kind, inputs, attrs, outputs]", "a list of length 5"),
        ),
        ([["K"], []], "$[0][0]", "[kind, inputs, attrs, outputs]", "str 'K'"),
        ([[[7, [], [], []]], []], "$[0][0][0]", "the name of a kind, a string", "int"),
        ([[["K", "b0", [], []]], []], "$[0][0][1]", "a list", "str 'b0'"),
        ([[["K", [], None, []]], []], "$[0][0][2]", "a list", "NoneType None"),
        (
            [[["K", [], [], ["b0", 1]]], []],
            "$[0][0][3][1]",
            "the name of an output, a string",
            "int",
        ),
        ([[], [[0]]], "$[1][0]", "[instruction index, value]", "a list of length 1"),
        ([[], [[0, 1], ["0", 1]]], "$[1][1][0]", "an instruction index, an integer", "str '0'"),
        ([[], [[True, 1]]], "$[1][0][0]", "an instruction index, an integer", "bool True"),
        (
            [[["K", [["b0", {"x": [1, {2}]}]], [], []]], []],
            *(
                "$[0][0][1][0][1]['x'][1]",
                "null, true, false, a number, a string, a list or a dict",
            ),
            "set",
        ),
        (
            [[["K", [[1, ["b0"]], {"a": [1]}, b""], [], []]], []],
            *("$[0][0][1][2]", "null, true, false, a number, a string, a list or a dict"),
            "bytes",
        ),
        (
            [[["K", [], [{"a": {1: 2}}], []]], []],
            *("$[0][0][2][0]['a']", "a dict whose keys are strings", "int"),
        ),
        (
            [[["K", [(1,)], [], []]], []],
            *("$[0][0][1][0]", "null, true, false, a number, a string, a list or a dict", "tuple"),
        ),
    ],
)
def test_other_shapes_are_refused_with_their_path(value, path, expected, found):
    with pytest.raises(TraceShapeError) as caught:
        from_json(value)
    assert (caught.value.path, caught.value.expected, caught.value.found) == (path, expected, found)
    assert str(caught.value) == f"{path}: expected {expected}, found {found}"
