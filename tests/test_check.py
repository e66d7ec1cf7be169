"""What `check` reports, with path and sentence, and that it reports nothing on real traces."""

import json
import re

import pytest
from hypothesis import given

from corpora import LOGS
from releases import releases_of
from tracescript import (
    RV,
    Decision,
    IndexMap,
    Instruction,
    Trace,
    TraceShapeError,
    from_json,
    to_json,
)
from tracescript.check import Problem, check
from tracescript.instructions import KINDS
from tracescript.testing import traces

REMOVED = {"GetBlock", "SetAxisSeparator"}
"""Kinds of earlier releases that TVM 0.27 no longer has."""

BLOCK = ["GetBlock", [], ["C", "main"], ["b0"]]
LOOPS = ["GetLoops", ["b0"], [], ["l1", "l2"]]
FACTOR = ["SampleCategorical", [], [[2, 4], [0.5, 0.5]], ["v3"]]
HEAD = [BLOCK, LOOPS, FACTOR]
"""Instructions 0 to 2 of most traces here: they define one value of each type, and l2."""

UNDEFINED = "which no earlier instruction defines"
ANNOTATION = "an expression, an integer, a float, a boolean, a string, None, a list or a dict"
SAMPLES_NOTHING = (
    "expected a decision of a sampling instruction, found one for GetLoops, which samples nothing"
)


def found(insts, decisions=()):
    """The problems of a trace in its JSON form, as (path, message, instruction, severity)."""
    problems = check(from_json([list(insts), [list(decision) for decision in decisions]]))
    return [(it.path, it.message, it.inst, it.severity) for it in problems]


def expect(insts, *errors, decisions=()):
    """Assert the errors, all of them, as (path, message); the instruction is that of the path."""
    where = [(path, message, severity) for path, message, _, severity in found(insts, decisions)]
    assert where == [(path, message, "error") for path, message in errors]


def expect_last(inst, *errors):
    """Assert the errors of one instruction after HEAD, with paths inside of it."""
    expect([*HEAD, inst], *[(f"$[0][3]{path}", message) for path, message in errors])


def tile(value, attrs=(3, 64), kind="SamplePerfectTile", outputs=("v3", "v4", "v5")):
    """The problems of a decision, with paths inside of it and without those of its attributes."""
    insts = [BLOCK, LOOPS, [kind, ["l1"], list(attrs), list(outputs)]]
    prefix = "$[1][0][1]"
    return [
        (path.removeprefix(prefix), message, severity)
        for path, message, _, severity in found(insts, [[2, value]])
        if path.startswith(prefix)
    ]


def traces_of(path):
    """The traces of a file, of bare traces or of tuning records, that Python can read."""
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            assert path.name == "unloadable.tuning_record.json"
            continue
        yield from_json(value if isinstance(value[0], list) else value[1][0])


# Laws.


@pytest.mark.parametrize("path", LOGS)
def test_recorded_traces_have_no_error(path):
    for trace in traces_of(path):
        assert check(trace) == []
        assert {inst.kind for inst in trace.insts} <= KINDS.keys()


@given(traces())
def test_every_path_leads_somewhere(trace):
    for problem in check(trace):
        value = to_json(trace)
        assert re.fullmatch(r"\$(\[\d+\])+", problem.path)
        for index in re.findall(r"\d+", problem.path):
            value = value[int(index)]
        assert problem.message.startswith("expected ")


def test_the_table_has_the_kinds_of_live_tvm():
    pytest.importorskip("tvm", reason="the kinds are those that an installed TVM 0.27 registers")
    import tvm_ffi
    from tvm.s_tir.schedule import InstructionKind

    def is_kind(name):
        try:
            return bool(InstructionKind.get(name))
        except AttributeError:
            return False

    prefix = "s_tir.schedule.Schedule"
    names = [name for name in tvm_ffi.registry.list_global_func_names() if name.startswith(prefix)]
    live = {name for name in (full.removeprefix(prefix) for full in names) if is_kind(name)}
    assert len(live) == 52
    assert set(KINDS) == live | REMOVED


def test_the_table_is_sound():
    for name, kind in KINDS.items():
        assert kind.name == name
        assert kind.meaning.endswith(".")
        assert len(set(kind.forms)) == len(kind.forms) > 0
        for form in kind.forms:
            assert not any(slot.repeats for slot in form.inputs[:-1])


@pytest.mark.parametrize(
    ("kind", "inputs", "attrs", "outputs"),
    [
        ("GetSBlock", [], ["C", "main"], ["b4"]),
        ("Split", ["l1", "None", "v3", 4], [], ["l4", "l5", "l6"]),
        ("Split", ["l1", "None", 4], [1], ["l4", "l5"]),
        ("Split", ["l1", "None", 4], [True, False], ["l4", "l5"]),
        ("Fuse", ["l1", "l2"], [], ["l4"]),
        ("Fuse", ["l1"], [1], ["l4"]),
        ("Reorder", [], [], []),
        ("CacheRead", ["b0"], [0, "shared"], ["b4"]),
        ("CacheRead", ["b0", []], [0, "shared"], ["b4"]),
        ("CacheWrite", ["b0", ["b0"]], [0, "shared"], ["b4"]),
        ("CacheIndex", ["b0"], [0], ["b4"]),
        ("ComputeAt", ["b0", "l1"], [1], []),
        ("ReverseComputeAt", ["b0", "l1"], [1, -1], []),
        ("Blockize", ["l1"], [], ["b4"]),
        ("Blockize", [["b0", "b0"]], [True], ["b4"]),
        ("Tensorize", ["b0"], ["dot"], []),
        ("Tensorize", ["l1"], ["dot", True], []),
        ("TransformLayout", ["b0"], [0, 0, "{}"], []),
        ("TransformLayout", ["b0"], [0, 0, "{}", None], []),
        ("TransformLayout", ["b0", "{}"], [0, 0, None, True], []),
        ("SetAxisSeparator", ["b0"], [0, 0, [1]], []),
        ("Annotate", ["b0", [1, [1.0, "v3", '"v3"', "None"], {"k": "b9"}]], ["key"], []),
    ],
)
def test_each_form_of_any_release_is_good(kind, inputs, attrs, outputs):
    expect_last([kind, inputs, attrs, outputs])


def test_an_empty_trace_is_good():
    assert check(Trace()) == []


def test_all_problems_are_reported_in_order():
    insts = [["GetLoops", ["b9"], [0], ["v0"]], ["Parallel", ["l9"], [], []]]
    assert found(insts, [[0, 1], [7, 1]]) == [
        ("$[0][0][2]", "expected 0 attributes, found 1", 0, "error"),
        (
            "$[0][0][1][0]",
            "expected a block, found b9, which no earlier instruction defines",
            0,
            "error",
        ),
        ("$[0][0][3][0]", "expected a name that begins with l, for a loop, found v0", 0, "error"),
        (
            "$[0][1][1][0]",
            "expected a loop, found l9, which no earlier instruction defines",
            1,
            "error",
        ),
        (
            "$[1][0][0]",
            SAMPLES_NOTHING,
            0,
            "error",
        ),
        ("$[1][1][0]", "expected the index of one of 2 instructions, found 7", None, "error"),
    ]


def test_what_no_trace_can_hold_is_refused():
    with pytest.raises(TraceShapeError) as caught:
        check(Trace((Instruction("Parallel", (object(),)),)))
    assert caught.value.path == "$[0][0][1][0]"


def test_a_problem_is_a_value():
    problem = Problem("$[0][0][0]", "expected", 0)
    assert problem == Problem("$[0][0][0]", "expected", 0, "error")
    with pytest.raises(AttributeError):
        problem.path = ""


# Scope.


def test_a_reference_to_what_is_never_defined():
    expect_last(
        ["Parallel", ["l9"], [], []],
        ("[1][0]", "expected a loop, found l9, which no earlier instruction defines"),
    )


def test_a_reference_to_what_is_defined_later():
    expect(
        [["GetLoops", ["b1"], [], ["l0"]], ["GetBlock", [], ["C", "main"], ["b1"]]],
        ("$[0][0][1][0]", "expected a block, found b1, which no earlier instruction defines"),
    )


def test_a_reference_of_an_instruction_to_itself():
    expect_last(
        ["Fuse", ["l1", "l4"], [1], ["l4"]],
        ("[1][1]", "expected a loop, found l4, which no earlier instruction defines"),
    )


def test_a_reference_inside_lists():
    expect_last(
        ["Annotate", ["b0", [1, ["v3", "v4"]]], ["key"], []],
        (
            "[1][1][1][1]",
            f"expected {ANNOTATION}, found v4, {UNDEFINED}",
        ),
    )


def test_names_that_could_be_misread_are_quoted():
    expect_last(
        ["Parallel", ["l 1\n"], [], []],
        (
            "[1][0]",
            'expected a loop, found the name "l 1\\n", which no earlier instruction defines',
        ),
    )
    expect_last(
        ["Parallel", ["l" * 99], [], []],
        (
            "[1][0]",
            f"expected a loop, found a long name, {UNDEFINED}",
        ),
    )


def test_a_name_defined_twice():
    expect_last(
        ["GetLoops", ["b0"], [], ["l4", "l2"]],
        ("[3][1]", "expected a new name, found l2, which instruction 1 defines"),
    )


def test_a_name_defined_twice_by_one_instruction():
    expect_last(
        ["GetLoops", ["b0"], [], ["l4", "l5", "l4"]],
        ("[3][2]", "expected a new name, found l4, which this instruction defines already"),
    )


def test_the_first_of_two_equal_names_counts():
    insts = [BLOCK, ["GetLoops", ["b0"], [], ["b0"]], ["ComputeInline", ["b0"], [], []]]
    expect(
        insts,
        ("$[0][1][3][0]", "expected a name that begins with l, for a loop, found b0"),
        ("$[0][1][3][0]", "expected a new name, found b0, which instruction 0 defines"),
    )


def test_names_need_not_be_canonical():
    expect([["GetBlock", [], ["C", "main"], ["block"]], ["GetLoops", ["block"], [], ["l"]]])


def test_a_name_with_the_letter_of_another_type():
    expect_last(
        ["GetLoops", ["b0"], [], ["l4", "b5"]],
        ("[3][1]", "expected a name that begins with l, for a loop, found b5"),
    )
    expect_last(
        ["GetLoops", ["b0"], [], ["_"]],
        ("[3][0]", "expected a name that begins with l, for a loop, found _"),
    )


def test_the_outer_factor_of_an_unknown_extent_has_no_name():
    first = ["SamplePerfectTile", ["l1"], [2, 64], ["_", "v5"]]
    second = ["SamplePerfectTile", ["l2"], [2, 64], ["_", "v7"]]
    expect([*HEAD, first, second], decisions=[[3, [-1, 1]], [4, [-1, 1]]])
    expect(
        [*HEAD, first, ["Split", ["l1", "_", "v5"], [1], ["l6", "l7"]]],
        (
            "$[0][4][1][1]",
            f"expected an expression, an integer or None, found _, {UNDEFINED}",
        ),
    )


# Types of inputs.


def test_a_reference_of_the_wrong_type():
    expect_last(
        ["GetLoops", ["l1"], [], ["l4"]],
        ("[1][0]", "expected a block, found l1, which is a loop"),
    )
    expect_last(
        ["Tensorize", ["v3"], ["dot"], []],
        ("[1][0]", "expected a block or a loop, found v3, which is an expression"),
    )


def test_the_type_is_that_of_the_definition_not_of_the_name():
    expect(
        [BLOCK, ["GetLoops", ["b0"], [], ["b1"]], ["Parallel", ["b1"], [], []]],
        ("$[0][1][3][0]", "expected a name that begins with l, for a loop, found b1"),
    )


def test_a_reference_of_the_wrong_type_in_a_list():
    expect_last(
        ["CacheRead", ["b0", ["b0", "l1"]], [0, "shared"], ["b4"]],
        ("[1][1][1]", "expected a block, found l1, which is a loop"),
    )


def test_a_reference_where_none_may_be():
    expect_last(
        ["ReindexCacheRead", ["b0", "v3"], [0, "shared"], ["b4"]],
        ("[1][1]", "expected an index map, found v3, which is an expression"),
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1, "1"),
        (10**100, "an integer"),
        (1.5, "1.5"),
        (True, "true"),
        ('"l1"', '"l1"'),
        ('""', '""'),
        ("None", "None"),
        (None, "a JSON null"),
        ({}, "a dict"),
        ('{"a": 1}', "an index map"),
        (["l1", 3], "a list"),
    ],
)
def test_a_value_where_a_reference_must_be(value, words):
    expect_last(["Parallel", [value], [], []], ("[1][0]", f"expected a loop, found {words}"))


def test_a_list_in_the_wrong_place_is_still_in_scope():
    expect_last(
        ["Parallel", [["l1", "l9"]], [], []],
        ("[1][0]", "expected a loop, found a list"),
        (
            "[1][0][1]",
            f"expected the name of a random variable, found l9, {UNDEFINED}",
        ),
    )


def test_a_value_of_any_size_can_be_reported():
    huge = 10**5000
    expect_last(["Parallel", [huge], [], []], ("[1][0]", "expected a loop, found an integer"))
    assert found(HEAD, [[huge, 0]])[0][1].endswith("instructions, found an integer")
    assert tile([1, 1, huge]) == [
        ("[2]", "expected an innermost factor of at most 64, found an integer", "note")
    ]


def test_a_value_of_the_wrong_type_in_a_list():
    expect_last(
        ["ReorderBlockIterVar", ["b0", [1, True, 1.0]], [], []],
        ("[1][1][1]", "expected an integer, found true"),
        ("[1][1][2]", "expected an integer, found 1.0"),
    )
    expect_last(["Blockize", [[3]], [True], ["b4"]], ("[1][0][0]", "expected a block, found 3"))


def test_a_split_factor():
    expect_last(
        ["Split", ["l1", "None", 4, "v3", "l2", 1.0], [1], ["l4", "l5", "l6", "l7", "l8"]],
        ("[1][4]", "expected an expression, an integer or None, found l2, which is a loop"),
        ("[1][5]", "expected an expression, an integer or None, found 1.0"),
    )


# Arity.


def test_the_number_of_inputs():
    expect_last(["Parallel", [], [], []], ("[1]", "expected 1 input, found 0"))
    expect_last(
        ["ComputeAt", ["b0", "l1", "l9"], [1], []],
        ("[1]", "expected 2 inputs, found 3"),
        (
            "[1][2]",
            f"expected the name of a random variable, found l9, {UNDEFINED}",
        ),
    )


def test_the_number_of_inputs_if_there_are_several_forms():
    expect_last(
        ["CacheRead", ["b0", [], "l1"], [0, "shared"], ["b4"]],
        ("[1]", "expected 1 or 2 inputs, found 3"),
    )


def test_the_number_of_inputs_if_any_more_may_follow():
    expect_last(["Merge", ["l1"], [], ["l4"]], ("[1]", "expected at least 2 inputs, found 1"))
    expect_last(["Split", ["l1"], [1], ["l4"]], ("[1]", "expected at least 2 inputs, found 1"))


def test_the_number_of_attributes():
    expect_last(["Bind", ["l1"], [], []], ("[2]", "expected 1 attribute, found 0"))
    expect_last(
        ["Split", ["l1", 2], [1, 2, 3], ["l4"]],
        ("[2]", "expected 0, 1 or 2 attributes, found 3"),
    )


def test_the_number_of_attributes_goes_with_that_of_the_inputs():
    expect_last(
        ["TransformLayout", ["b0", "{}"], [0, 0, None], []],
        ("[2]", "expected 4 attributes, found 3"),
    )
    expect_last(
        ["TransformLayout", ["b0"], [0, 0], []],
        ("[2]", "expected 3 or 4 attributes, found 2"),
    )


def test_the_number_of_outputs():
    expect_last(["Parallel", ["l1"], [], ["l4"]], ("[3]", "expected 0 outputs, found 1"))
    expect_last(["Fuse", ["l1"], [1], []], ("[3]", "expected 1 output, found 0"))
    expect_last(
        ["CacheInplace", ["b0"], [0, "local"], ["b4"]], ("[3]", "expected 2 outputs, found 1")
    )


def test_a_split_has_one_output_for_each_factor():
    expect_last(
        ["Split", ["l1", "None", 4], [1], ["l4", "l5", "l6"]],
        ("[3]", "expected 2 outputs, found 3"),
    )


def test_a_tile_has_as_many_outputs_as_it_says():
    expect_last(
        ["SamplePerfectTile", ["l1"], [4, 64], ["v4", "v5"]],
        ("[3]", "expected 4 outputs, found 2"),
    )


def test_what_may_have_any_number_of_outputs():
    expect_last(["GetChildBlocks", ["b0"], [], []])
    expect_last(["GetChildBlocks", ["b0"], [], ["b4", "b5", "b6"]])


# Unknown kinds.


def test_an_unknown_kind_is_a_note_and_its_references_are_in_scope():
    insts = [BLOCK, ["RollingUpdate", ["b0", ["b8"], 3, '"b9"'], [1], ["x1"]]]
    assert found([*insts, ["GetLoops", ["x1"], [], ["l2"]]], [[1, "data"]]) == [
        ("$[0][1][0]", "expected a known kind, found RollingUpdate", 1, "note"),
        (
            "$[0][1][1][1][0]",
            f"expected the name of a random variable, found b8, {UNDEFINED}",
            1,
            "error",
        ),
    ]


def test_an_unknown_kind_defines_names_too():
    insts = [BLOCK, ["Two words", [], [], ["b0"]]]
    assert found(insts) == [
        ("$[0][1][0]", 'expected a known kind, found the name "Two words"', 1, "note"),
        ("$[0][1][3][0]", "expected a new name, found b0, which instruction 0 defines", 1, "error"),
    ]


def test_what_an_unknown_kind_defines_is_still_a_random_variable():
    insts = [BLOCK, ["Novel", [], [], ["b1"]], ["ReorderBlockIterVar", ["b0", "b1"], [], []]]
    assert found(insts)[1:] == [
        ("$[0][2][1][1]", "expected a list, found the random variable b1", 2, "error")
    ]


# Attributes.


@pytest.mark.parametrize("flag", [True, False, 1, 0])
def test_a_flag_is_a_boolean_or_what_the_file_writer_makes_of_it(flag):
    expect_last(["Fuse", ["l1", "l2"], [flag], ["l4"]])


@pytest.mark.parametrize(("flag", "words"), [(1.0, "1.0"), ("1", '"1"'), (None, "a JSON null")])
def test_a_flag_is_nothing_else(flag, words):
    message = f"expected a boolean or an integer, found {words}"
    expect_last(["Fuse", ["l1", "l2"], [flag], ["l4"]], ("[2][0]", message))


def test_the_type_of_an_attribute():
    expect_last(["Bind", ["l1"], [3], []], ("[2][0]", "expected a string, found 3"))
    expect_last(
        ["TransformLayout", ["b0", "{}"], [0, False, {}, 1], []],
        ("[2][1]", "expected an integer, found false"),
        ("[2][2]", "expected a string or a JSON null, found a dict"),
    )
    expect_last(
        ["PadEinsum", ["b0"], [[1, None]], []],
        ("[2][0][1]", "expected an integer, found a JSON null"),
    )


# Releases.


def expect_of(tvm, inst, *errors):
    """Assert the errors of one instruction in one release, after what every release has."""
    head = ["Tile", [], [], ["b0", "l1", "l2"]]
    problems = check(from_json([[head, inst], []]), tvm=tvm)
    assert [(it.path, it.message, it.severity) for it in problems[1:]] == [
        (f"$[0][1]{path}", message, "error") for path, message in errors
    ]


@pytest.mark.parametrize("path", LOGS)
def test_recorded_traces_have_no_error_in_the_release_that_recorded_them(path):
    for trace in traces_of(path):
        for tvm in releases_of(path):
            assert check(trace, tvm=tvm) == []


def test_a_release_that_the_table_does_not_know():
    with pytest.raises(ValueError, match=r"one of 0\.8, 0\.9, .*, 0\.27, found '0\.28'"):
        check(Trace(), tvm="0.28")


def test_a_kind_of_another_release():
    inst = ["GetBlock", [], ["C", "main"], ["b3"]]
    expect_of("0.23", inst)
    message = "expected a kind of TVM 0.24, found GetBlock, which it had until 0.23"
    expect_of("0.24", inst, ("[0]", message))
    message = "expected a kind of TVM 0.15, found LoopPartition, which it has had since 0.16"
    inst = ["LoopPartition", ["l1", 2], [1, 1], ["l3"]]
    expect_of("0.15", inst, ("[0]", message), ("[2]", "expected 1 attribute, found 2"))
    inst = ["SetAxisSeparator", ["b0"], [0, 0, [1]], []]
    message = "expected a kind of TVM 0.26, found SetAxisSeparator, which it had from 0.9 to 0.25"
    expect_of("0.26", inst, ("[0]", message))


def test_the_attributes_of_another_release():
    old, new = ["Fuse", ["l1"], [], ["l3"]], ["Fuse", ["l1"], [1], ["l3"]]
    expect_of("0.8", old)
    expect_of("0.9", new)
    found = "found 0, which TVM had in 0.8 only"
    expect_of("0.27", old, ("[2]", f"expected 1 attribute, {found}"))
    found = "found 1, which TVM has had since 0.9"
    expect_of("0.8", new, ("[2]", f"expected 0 attributes, {found}"))
    inst = ["Split", ["l1", 2, 3], [1], ["l3", "l4"]]
    found = "found 1, which TVM had from 0.9 to 0.16"
    expect_of("0.17", inst, ("[2]", f"expected 2 attributes, {found}"))


def test_the_inputs_of_another_release():
    inst = ["CacheRead", ["b0"], [0, "local"], ["b3"]]
    expect_of("0.9", inst)
    message = "expected 2 inputs, found 1, which TVM had until 0.9"
    expect_of("0.10", inst, ("[1]", message))
    inst = ["Blockize", [["b0"]], [1], ["b3"]]
    expect_of("0.13", inst)
    expect_of("0.12", inst, ("[1][0]", "expected a loop, found a list"))


def test_a_kind_of_no_release_is_a_note():
    problems = check(from_json([[["Novel", [], [], []]], []]), tvm="0.27")
    assert [(it.message, it.severity) for it in problems] == [
        ("expected a known kind, found Novel", "note")
    ]


# Attributes that decisions depend on.


def test_the_attributes_of_a_tile():
    expect_last(
        ["SamplePerfectTile", ["l1"], [True, 64.0], ["v4"]],
        ("[2][0]", "expected an integer, found true"),
        ("[2][1]", "expected an integer, found 64.0"),
    )


def test_the_attributes_of_a_categorical():
    expect_last(
        ["SampleCategorical", [], [[1, 2], [1.0]], ["v4"]],
        ("[2][1]", "expected one probability for each of 2 candidates, found 1"),
    )
    expect_last(
        ["SampleCategorical", [], [[1, True, 2.0], [1, "p", [0.5]]], ["v4"]],
        ("[2][0][1]", "expected an integer, found true"),
        ("[2][0][2]", "expected an integer, found 2.0"),
        ("[2][1][1]", 'expected a float or an integer, found "p"'),
        ("[2][1][2]", "expected a float or an integer, found a list"),
    )
    expect_last(
        ["SampleCategorical", [], [3, "p"], ["v4"]],
        ("[2][0]", "expected a list, found 3"),
        ("[2][1]", 'expected a list, found "p"'),
    )
    expect_last(
        ["SampleCategorical", [], [None, []], ["v4"]],
        ("[2][0]", "expected a list, found a JSON null"),
    )


def test_attributes_of_the_wrong_number_are_one_problem():
    insts = [*HEAD, ["SampleCategorical", [], [], ["v4"]]]
    expect(insts, ("$[0][3][2]", "expected 2 attributes, found 0"), decisions=[[3, 7]])


# Decisions.


def test_a_missing_decision_is_good():
    expect(HEAD)


@pytest.mark.parametrize("index", [-1, 3])
def test_a_decision_out_of_range(index):
    message = f"expected the index of one of 3 instructions, found {index}"
    assert found(HEAD, [[index, 1]]) == [("$[1][0][0]", message, None, "error")]


def test_decisions_that_do_not_ascend():
    sample = ["SampleCategorical", [], [[1], [1.0]], ["v4"]]
    assert found([*HEAD, sample], [[3, 0], [2, 9]]) == [
        ("$[1][1][0]", "expected an index above 3, which came before, found 2", 2, "error"),
        ("$[1][1][1]", "expected the index of one of 2 candidates, found 9", 2, "error"),
    ]


def test_two_decisions_for_one_instruction():
    sample = ["SampleCategorical", [], [[1], [1.0]], ["v4"]]
    assert found([*HEAD, sample], [[2, 0], [3, 0], [2, 1]]) == [
        ("$[1][2][0]", "expected one decision for instruction 2, found another", 2, "error")
    ]


def test_a_decision_for_what_samples_nothing():
    assert found(HEAD, [[1, [4]]]) == [("$[1][0][0]", SAMPLES_NOTHING, 1, "error")]


@pytest.mark.parametrize(
    ("value", "words"), [(-1, "-1"), (2, "2"), (True, "true"), (1.0, "1.0"), ([0], "a list")]
)
def test_a_categorical_decision(value, words):
    message = f"expected the index of one of 2 candidates, found {words}"
    expect(HEAD, ("$[1][0][1]", message), decisions=[[2, value]])


def test_a_categorical_decision_without_candidates():
    insts = [*HEAD, ["SampleCategorical", [], [3, []], ["v4"]]]
    attrs = ("$[0][3][2][0]", "expected a list, found 3")
    expect(insts, attrs, decisions=[[3, 5]])
    for value, words in [(-1, "-1"), (None, "None")]:
        decided = ("$[1][0][1]", f"expected the index of a candidate, found {words}")
        expect(insts, attrs, decided, decisions=[[3, value]])


@pytest.mark.parametrize(("value", "words"), [(-3, "-3"), (None, "None"), (False, "false")])
def test_a_compute_location(value, words):
    insts = [*HEAD, ["SampleComputeLocation", ["b0"], [], ["l4"]]]
    for good in (-2, -1, 0, 7):
        expect(insts, decisions=[[3, good]])
    message = f"expected the index of a loop, -1 or -2, found {words}"
    expect(insts, ("$[1][0][1]", message), decisions=[[3, value]])


@pytest.mark.parametrize(
    ("value", "where", "message"),
    [
        (8, "", "expected a list of factors, found 8"),
        (None, "", "expected a list of factors, found None"),
        ([2, 4], "", "expected 3 factors, found 2"),
        ([-1, 1], "", "expected 3 factors, found 2"),
        ([], "", "expected 3 factors, found 0"),
        ([4, 0, 2], "[1]", "expected a positive integer, found 0"),
        ([4, 2, -1], "[2]", "expected a positive integer, found -1"),
        ([-1, 2, 1], "[0]", "expected a positive integer, found -1"),
        ([4, True, 2], "[1]", "expected a positive integer, found true"),
        ([4, [2], 2], "[1]", "expected a positive integer, found a list"),
    ],
)
@pytest.mark.parametrize("kind", ["SamplePerfectTile", "SamplePartitionedTile"])
def test_the_factors_of_a_tile(kind, value, where, message):
    attrs = {"SamplePerfectTile": [3, 64], "SamplePartitionedTile": [3, 0, 1]}[kind]
    assert tile(value, attrs, kind) == [(where, message, "error")]


def test_the_number_of_factors_without_a_first_attribute():
    assert tile([1, 2, 3], attrs=["n", 64]) == []
    assert tile([1, 2], attrs=["n", 64]) == [("", "expected 3 factors, found 2", "error")]


def test_a_tile_of_nothing():
    assert tile([], attrs=[0, 64], outputs=()) == []


def test_the_innermost_factor():
    message = "expected an innermost factor of at most 16, found 32"
    assert tile([1, 1, 32], attrs=[3, 16]) == [("[2]", message, "note")]
    assert tile([1, 1, 16], attrs=[3, 16]) == []
    assert tile([1, 1, 2**40], attrs=[3, -1]) == []
    assert tile([1, 1, 32], attrs=[3, None]) == []


@pytest.mark.parametrize("attrs", [[3, 1, 4], [3, 0, 1], [3, 1, 0], [3, -1, 4], [3, None, 4]])
def test_a_partitioned_tile(attrs):
    assert tile([3, 2, 6], attrs, "SamplePartitionedTile") == []
    assert tile([-1, 1, 1], attrs, "SamplePartitionedTile") == []


def test_a_partitioned_tile_without_its_divisor():
    assert tile([3, 2, 7], [3, 1, "4"], "SamplePartitionedTile") == []


def test_the_inner_part_of_a_partitioned_tile():
    message = "expected factors from position 1 whose product 4 divides, found the product 14"
    assert tile([3, 2, 7], [3, 1, 4], "SamplePartitionedTile") == [("", message, "note")]


def test_the_model_and_the_json_are_checked_alike():
    trace = Trace(
        (
            Instruction("GetBlock", (), ("C", "main"), ("b0",)),
            Instruction("TransformLayout", (RV("b0"), IndexMap("{}")), (0, 0, None, True)),
        ),
        (Decision(0, 1),),
    )
    assert [problem.path for problem in check(trace)] == ["$[1][0][0]"]
