"""The table of kinds: whether it is sound, and whether TVM and its traces agree with it."""

import importlib.util
import json
import re
import sys

import pytest

from corpora import ROOT
from tracescript import from_json
from tracescript.instructions import KINDS, RELEASES, Attr, Form, Slot, kinds

EACH_RELEASE = pytest.mark.parametrize("tvm", RELEASES)

COUNTS = {
    "0.8": 24,
    "0.9": 35,
    "0.10": 37,
    "0.11": 40,
    "0.12": 48,
    "0.13": 50,
    "0.16": 51,
    "0.19": 52,
    "0.23": 53,
    "0.26": 52,
}
"""How many kinds TVM registered from a release on."""


# The table.


def test_the_releases():
    assert RELEASES[0] == "0.8"
    assert RELEASES[-1] == "0.27"
    assert len(RELEASES) == 20


@EACH_RELEASE
def test_the_number_of_kinds(tvm):
    since = [first for first in COUNTS if RELEASES.index(first) <= RELEASES.index(tvm)]
    assert len(kinds(tvm)) == COUNTS[since[-1]]


def test_all_releases_together():
    assert kinds() is KINDS
    assert kinds("0.27") is kinds("0.27")
    for name, kind in KINDS.items():
        present = [kinds(tvm)[name] for tvm in RELEASES if name in kinds(tvm)]
        assert {form for row in present for form in row.forms} == set(kind.forms)


@EACH_RELEASE
def test_each_kind_of_a_release_has_one_form(tvm):
    """Except for the one where it is not known which of two it was."""
    for name, kind in kinds(tvm).items():
        assert len(kind.forms) == 1 + ((tvm, name) == ("0.10", "TransformLayout"))
        for form in kind.forms:
            first, last = RELEASES.index(form.since), RELEASES.index(form.until)
            assert first <= RELEASES.index(tvm) <= last


def test_each_kind_is_there_without_a_break():
    for name, kind in KINDS.items():
        present = [tvm for tvm in RELEASES if name in kinds(tvm)]
        first, last = RELEASES.index(kind.since), RELEASES.index(kind.until)
        assert present == list(RELEASES[first : last + 1])
        starts = [RELEASES.index(form.since) for form in kind.forms]
        assert starts == sorted(starts)


@pytest.mark.parametrize("tvm", ["0.7", "0.28", "0.27.0", "", "latest"])
def test_a_release_that_the_table_does_not_know(tvm):
    with pytest.raises(ValueError, match=r"one of 0\.8, 0\.9, .*, 0\.27, found '" + tvm):
        kinds(tvm)


WHAT_ASSUMES = {
    "inner": "block",
    "siblings": "list",
    "readers": "list",
    "apart": "list",
    "nest": "loop",
}
"""What has to be in a slot of which TVM takes something for granted."""


def test_slots_say_what_they_hold():
    """What the rest of the library takes for granted."""
    for slot in every_slot():
        assert len(set(slot.types)) == len(slot.types) > 0
        assert not slot.items or "list" in slot.types
        assert not slot.texts or slot.types == ("str",)
        assert slot.assumes is None or WHAT_ASSUMES[slot.assumes] in slot.types
        assert list(slot.texts) == list(dict.fromkeys(slot.texts))
    for kind in KINDS.values():
        for form in kind.forms:
            names = [attr.name for attr in form.attrs]
            assert len(set(names)) == len(names)
            # Attributes are plain values.
            types = {word for attr in form.attrs for word in attr.slot.types}
            assert types.isdisjoint({"block", "loop", "expr", "none", "index map"})


def every_slot():
    for kind in KINDS.values():
        for form in kind.forms:
            for slot in (*form.inputs, *(attr.slot for attr in form.attrs)):
                yield slot
                yield from [slot.items] * (slot.items is not None)


def test_a_form():
    loop, expr = Slot(("loop",)), Slot(("expr",), repeats=True)
    closed = Form((loop,), ())
    assert (closed.since, closed.until) == ("0.8", "0.27")
    assert (closed.least_inputs, closed.is_open) == (1, False)
    assert [closed.slot(place) for place in (0, 1)] == [loop, None]
    assert [closed.takes(count) for count in (0, 1, 2)] == [False, True, False]
    open_form = Form((loop, expr), (Attr("n", Slot(("int",))),), since="0.9", until="0.10")
    assert (open_form.least_inputs, open_form.is_open) == (1, True)
    assert [open_form.slot(place) for place in (0, 1, 7)] == [loop, expr, expr]
    assert [open_form.takes(count) for count in (0, 1, 9)] == [False, True, True]


def test_what_is_pure_is_what_looks_and_samples():
    pure = {name for name, kind in KINDS.items() if kind.pure}
    assert pure == {name for name in KINDS if name.startswith(("Get", "Sample"))}


# The page.


def test_the_page_is_what_the_table_says():
    spec = importlib.util.spec_from_file_location("_kinds", ROOT / "docs" / "_kinds.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), "run `python docs/_kinds.py`"


# Recorded traces.


def recorded():
    """Every instruction of the recorded primitives, by its kind."""
    found = {}
    text = (ROOT / "tests" / "corpus" / "primitives.traces.jsonl").read_text()
    for line in text.splitlines():
        for inst in from_json(json.loads(line)).insts:
            found.setdefault(inst.kind, []).append(inst)
    return found


def test_the_recorded_primitives_are_all_kinds_and_have_their_forms():
    found, table = recorded(), kinds("0.27")
    assert found.keys() == table.keys()
    for name, insts in found.items():
        (form,) = table[name].forms
        for inst in insts:
            assert form.takes(len(inst.inputs))
            assert len(inst.attrs) == len(form.attrs)
            outputs = table[name].outputs
            letter = {"block": "b", "loop": "l", "expr": "v"}[outputs.type]
            assert {output[0] for output in inst.outputs} <= {letter}
            assert outputs.count in (len(inst.outputs), "any", "factors", "first attribute")


# Live TVM.

TOO_MANY = 9
"""More inputs or attributes than any kind has."""

# They read their attributes before they count them; recorded traces count them.
UNCOUNTED = {"TransformLayout", "TransformBlockLayout"}


@pytest.fixture(scope="module")
def refusal():
    """Says why TVM does not apply an instruction of so many inputs and attributes."""
    tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")
    sys.path.insert(0, str(ROOT / "tests" / "corpus"))
    import _primitives

    schedule = tvm.s_tir.Schedule(_primitives.EXAMPLES[0].module)

    def apply(name, inputs, attrs):
        trace = [[[name, [1] * inputs, [0] * attrs, []]], []]
        try:
            tvm.s_tir.schedule.Trace.apply_json_to_schedule(trace, schedule)
        except (ValueError, TypeError, IndexError, AttributeError, RuntimeError) as error:
            return str(error)
        return ""

    return apply


@pytest.mark.parametrize("name", kinds("0.27"))
def test_live_tvm_counts_alike(name, refusal):
    kind = kinds("0.27")[name]
    (form,) = kind.forms
    message = refusal(name, form.least_inputs, TOO_MANY)
    counted = re.search(r"kNumAttrs == attrs.size\(\) \((\d+) vs. 9\)", message)
    assert (counted and int(counted[1])) == (None if name in UNCOUNTED else len(form.attrs))
    message = refusal(name, TOO_MANY, len(form.attrs))
    counted = re.search(r"kNumInputs == inputs.size\(\) \((\d+) vs. 9\)", message)
    uncounted = form.is_open or name in UNCOUNTED
    assert (counted and int(counted[1])) == (None if uncounted else form.least_inputs)


@pytest.mark.parametrize("name", KINDS)
def test_live_tvm_knows_the_kinds_of_its_release(name):
    schedule = pytest.importorskip("tvm.s_tir.schedule", reason="the extra `tvm`")
    if name in kinds("0.27"):
        assert schedule.InstructionKind.get(name).is_pure == KINDS[name].pure
    else:
        with pytest.raises(AttributeError, match=name):
            schedule.InstructionKind.get(name)
