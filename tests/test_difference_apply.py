"""`Difference.apply` and the JSON form, where they are given something else than `diff` made."""

import json
from copy import deepcopy
from itertools import pairwise

import msgspec
import pytest

from corpora import ROOT
from tracescript import Trace, TraceShapeError, iter_records, loads
from tracescript.difference import Changed, DecisionChange, Difference, Placed, Renamed, diff
from tracescript.model import RV, Decision, IndexMap, Instruction

A = loads(
    "tracescript 1\n"
    'GetSBlock | "C" "main" -> b\n'
    "GetLoops b-1 -> l2\n"
    "SampleCategorical | [1 2] [0.5 0.5] -> v = 1\n"
    "Annotate l-1 v-1\n"
    'Bind l-2 | "threadIdx.x"\n'
)
B = loads(
    "tracescript 1\n"
    'GetSBlock | "C" "main" -> b\n'
    "GetLoops b-1 -> l2\n"
    "SampleCategorical | [1 2] [0.5 0.5] -> v = 0\n"
    "New\n"
    'Bind l-2 | "threadIdx.y"\n'
)
FOUND = diff(A, B)


def changed(trace, place, inst):
    insts = list(trace.insts)
    insts[place : place + 1] = inst
    return Trace(tuple(insts), trace.decisions)


def test_what_was_found():
    assert (
        Difference(
            kept=((0, 0), (1, 1), (2, 2)),
            changed=(Changed(4, 4, A.insts[4], B.insts[4]),),
            removed=(Placed(3, A.insts[3]),),
            added=(Placed(3, B.insts[3]),),
            decisions=(DecisionChange(Decision(2, 1), Decision(2, 0)),),
        )
        == FOUND
    )


def test_it_can_be_applied_to_another_trace_that_has_what_it_changes():
    """So a change that made one trace better can be tried on its like."""
    block = Instruction("GetSBlock", (), ("D", "main"), ("b0",))
    assert FOUND.apply(changed(A, 0, [block])) == changed(B, 0, [block])


@pytest.mark.parametrize(
    ("trace", "error"),
    [
        (changed(A, 0, []), "$[0]: expected 5 instructions, found 4"),
        (
            changed(A, 3, [Instruction("Annotate")]),
            (
                "$[0][3]: expected the Annotate that the difference changes or removes, "
                "found another Annotate"
            ),
        ),
        (
            changed(A, 4, [Instruction("Unroll")]),
            "$[0][4]: expected the Bind that the difference changes or removes, found Unroll",
        ),
        (Trace(A.insts), "$[1]: expected a decision [2 1], found none"),
        (
            Trace(A.insts, (*A.decisions, Decision(3, (1.0, None)))),
            (
                "$[1][1]: expected no decision, since the difference removes its instruction, "
                "found [3 [1.0 null]]"
            ),
        ),
        (
            changed(A, 2, [Instruction("K", (7j,))]),
            (
                "$[0][2][1][0]: expected null, true, false, a number, a string, a list or a dict, "
                "found complex"
            ),
        ),
    ],
)
def test_a_trace_that_it_does_not_fit(trace, error):
    with pytest.raises(TraceShapeError) as caught:
        FOUND.apply(trace)
    assert str(caught.value) == error


def test_a_trace_that_refers_to_what_is_no_more():
    a = Trace((Instruction("D", (), (), ("b0",)), Instruction("Use", (RV("b0"),))))
    gone = Difference(kept=((1, 0),), removed=(Placed(0, a.insts[0]),))
    fewer = Difference(kept=((1, 1),), changed=(Changed(0, 0, a.insts[0], Instruction("D")),))
    other = Instruction("D", (), (), ("None",))
    unusable = Difference(kept=((1, 1),), changed=(Changed(0, 0, a.insts[0], other),))
    for difference in (gone, fewer, unusable):
        with pytest.raises(TraceShapeError) as caught:
            difference.apply(a)
        assert str(caught.value) == (
            '$[0][1][1]: expected references to what the difference leaves in place, found "b0"'
        )


@pytest.mark.parametrize(
    "difference",
    [
        Difference(kept=((0, 0), (0, 1))),
        Difference(kept=((0, 0), (1, 0))),
        Difference(kept=((0, 1), (1, 0))),
        Difference(kept=((0, 0), (1, 2))),
        Difference(kept=((0, 0), (2, 1))),
        Difference(kept=((-1, 0), (0, 1))),
        Difference(kept=((0, 0),), moved=((1, 0),)),
        Difference(kept=((0, 0),), moved=((1, 1),), added=(Placed(0, Instruction("K")),)),
    ],
)
def test_a_difference_that_contradicts_itself(difference):
    with pytest.raises(TraceShapeError, match="has each instruction once, and in its order"):
        difference.apply(Trace((Instruction("K"), Instruction("K"))))


@pytest.mark.parametrize("place", [(0, 1), (0, -1), (1, 0), (7, 0), (-1, 0)])
def test_a_name_for_no_output(place):
    a = Trace((Instruction("D", (), (), ("b0",)),))
    difference = Difference(
        kept=((0, 0),), added=(Placed(1, Instruction("D")),), renamed=(Renamed(*place, "x"),)
    )
    with pytest.raises(TraceShapeError) as caught:
        difference.apply(a)
    assert caught.value.path == "$.renamed"
    assert caught.value.found == f"output {place[1]} of {place[0]}"


@pytest.mark.parametrize("order", [(0,), (0, 0), (1, 2), (0, 1, 2)])
def test_an_order_that_is_none(order):
    a = Trace((Instruction("K"),), (Decision(0, 1), Decision(0, 2)))
    difference = Difference(kept=((0, 0),), decision_order=order)
    with pytest.raises(TraceShapeError) as caught:
        difference.apply(a)
    assert str(caught.value) == f"$.decision_order: expected 2 positions, found {len(order)}"


def test_traces_that_nothing_can_write():
    deep = ()
    for _ in range(5000):
        deep = (deep,)
    for trace in (
        Trace((Instruction("K", (deep,)),)),
        Trace((Instruction("K", (), (deep,)),)),
        Trace((), (Decision(0, deep),)),
        Trace((Instruction("K", (), (), (1,)),)),
    ):
        for run in (diff(A, A).apply, lambda given: diff(given, A), lambda given: diff(A, given)):
            with pytest.raises(TraceShapeError):
                run(trace)


# The JSON form.


def test_the_json_form():
    assert FOUND.to_json() == {
        "kept": [[0, 0], [1, 1], [2, 2]],
        "moved": [],
        "changed": [
            {
                "a": 4,
                "b": 4,
                "old": ["Bind", ["l1"], ["threadIdx.x"], []],
                "new": ["Bind", ["l1"], ["threadIdx.y"], []],
            }
        ],
        "removed": [{"index": 3, "instruction": ["Annotate", ["l2", "v3"], [], []]}],
        "added": [{"index": 3, "instruction": ["New", [], [], []]}],
        "decisions": [{"old": [2, 1], "new": [2, 0]}],
        "decision_order": [],
        "renamed": [],
    }


def test_all_parts_survive_json():
    insts = (Instruction("K", (RV("b"), None, "x"), (1.0, {"k": (True, None)}), ("o",)),)
    whole = Difference(
        kept=((0, 1),),
        moved=((1, 0),),
        changed=(Changed(2, 3, insts[0], Instruction("K", (IndexMap("{}"),))),),
        removed=(Placed(3, insts[0]),),
        added=(Placed(2, insts[0]),),
        decisions=(DecisionChange(None, Decision(0, None)), DecisionChange(Decision(9, ()), None)),
        decision_order=(1, 0),
        renamed=(Renamed(1, 0, "odd"),),
    )
    text = msgspec.json.encode(whole.to_json())
    assert Difference.from_json(msgspec.json.decode(text)) == whole
    assert json.loads(text) == whole.to_json()


def faulty(path, value):
    """The JSON form with another value at a place, or without one."""
    form = deepcopy(FOUND.to_json())
    *road, last = path
    inner = form
    for key in road:
        inner = inner[key]
    inner[last] = value
    return form


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "$: expected `object`, found `null`"),
        (
            {"kept": []},
            (
                "$: expected the JSON form of a difference, "
                "found Object missing required field `moved`"
            ),
        ),
        (
            faulty(["more"], 1),
            "$: expected the JSON form of a difference, found Object contains unknown field `more`",
        ),
        (faulty(["kept", 1, 0], True), "$.kept[1][0]: expected `int`, found `bool`"),
        (faulty(["kept", 1], [1]), "$.kept[1]: expected `array` of length 2, found 1"),
        (
            faulty(["changed", 0, "old", 1], 5),
            "$.changed[0].old[1]: expected a list, found int",
        ),
        (
            faulty(["changed", 0, "new"], []),
            "$.changed[0].new: expected [kind, inputs, attrs, outputs], found a list of length 0",
        ),
        (
            faulty(["removed", 0, "instruction", 3], [None]),
            (
                "$.removed[0].instruction[3][0]: expected the name of an output, a string, "
                "found NoneType None"
            ),
        ),
        (
            faulty(["added", 0, "instruction"], None),
            "$.added[0].instruction: expected [kind, inputs, attrs, outputs], found NoneType None",
        ),
        (
            faulty(["decisions", 0, "new", 0], "x"),
            "$.decisions[0].new[0]: expected an instruction index, an integer, found str 'x'",
        ),
        (
            faulty(["decisions", 0, "old"], 1),
            "$.decisions[0].old: expected [instruction index, value], found int",
        ),
    ],
)
def test_what_is_no_json_form(value, error):
    with pytest.raises(TraceShapeError) as caught:
        Difference.from_json(value)
    assert str(caught.value) == error


def test_real_differences_survive_json():
    records = list(iter_records(ROOT / "tests" / "corpus" / "llvm.tuning_record.json"))
    for one, other in pairwise(records):
        found = diff(one.trace, other.trace)
        text = msgspec.json.encode(found.to_json())
        assert Difference.from_json(msgspec.json.decode(text)) == found
