"""Old traces in the forms of later releases: laws first, then each step and each refusal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.tokens import forms

from corpora import ROOT, SHARED, needs_shared
from old_texts import check_laws, text_for
from releases import releases_of
from tracescript import (
    Decision,
    IndexMap,
    Instruction,
    Trace,
    from_json,
    iter_records,
)
from tracescript import testing as traces_of
from tracescript.check import check
from tracescript.errors import MigrationError
from tracescript.instructions import RELEASES, Form, kinds
from tracescript.migration import infer_release, migrate
from tracescript.model import NULL, RV

OWN = [
    record.trace
    for path in sorted((ROOT / "tests" / "corpus").glob("*.json*"))
    for record in iter_records(path, strict=False)
]


def recorded(release):
    """The traces that a real TVM of a release recorded, by the names of the examples."""
    lines = (ROOT / "tests" / "old_releases" / f"tvm-{release}.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    return {name: value for word, name, *rest in entries if word == "trace" for value in rest}


# Traces in the forms of one release.

EXAMPLES = {
    "block": RV("b0"),
    "loop": RV("l0"),
    "expr": RV("v0"),
    "int": 0,
    "float": 0.5,
    "bool": True,
    "str": "text",
    "none": None,
    "null": NULL,
    "dict": {},
}


def value_of(slot, draw):
    word = draw(st.sampled_from(slot.types))
    if word != "list":
        return EXAMPLES[word]
    words = [word for word in (slot.items or slot).types if word != "list"]
    return tuple(EXAMPLES[word] for word in draw(st.lists(st.sampled_from(words), max_size=3)))


@st.composite
def instructions(draw, release):
    """An instruction in a form that a release has, and reads."""
    kind = draw(st.sampled_from(sorted(kinds(release).values(), key=lambda kind: kind.name)))
    form = draw(st.sampled_from(kind.forms))
    count = len(form.inputs) + draw(st.integers(0, 2)) * form.is_open - form.is_open
    inputs = []
    for position in range(max(count, form.least_inputs)):
        slot = form.slot(position)
        is_map = slot.types == ("index map",)
        inputs.append(IndexMap(text_for(release)) if is_map else value_of(slot, draw))
    attrs = []
    for attr in form.attrs:
        value = value_of(attr.slot, draw)
        if attr.name in ("index_map", "pad_value") and value != NULL:
            value = text_for(release)
        attrs.append(None if value == NULL else value)
    outputs = draw(st.lists(st.sampled_from(["b1", "l2", "v3", "_", ""]), max_size=2))
    return Instruction(kind.name, tuple(inputs), tuple(attrs), tuple(outputs))


@st.composite
def old_traces(draw):
    release = draw(st.sampled_from(RELEASES))
    insts = draw(st.lists(instructions(release), max_size=6))
    decisions = draw(st.lists(st.builds(Decision, st.integers(-1, 6), st.integers()), max_size=3))
    return release, Trace(tuple(insts), tuple(decisions))


@given(old_traces(), st.sampled_from(RELEASES))
def test_traces_of_one_release(drawn, to):
    release, trace = drawn
    releases = infer_release(trace)
    assert release in releases
    try:
        migration = migrate(trace, to)
    except MigrationError as error:
        assert error.to == to
        assert error.refusals
        assert all(refusal.path.startswith("$[0][") for refusal in error.refusals)
        assert to not in releases
        return
    check_laws(trace, migration, to)


@given(traces_of.traces(), st.sampled_from(RELEASES), st.none() | st.sampled_from(RELEASES))
def test_any_trace_is_migrated_or_refused(trace, to, recorded_by):
    try:
        migration = migrate(trace, to, recorded_by=recorded_by)
    except MigrationError as error:
        assert error.refusals
        assert to not in infer_release(trace) or recorded_by is not None
        return
    if recorded_by is None:
        check_laws(trace, migration, to)


# Every form of the table has a way to each later release, or is refused.


def examples_of(form: Form, name, release):
    """The instruction with the first type in each slot, and no more inputs than needed."""

    def value(slot):
        word = slot.types[0]
        return () if word == "list" else EXAMPLES[word]

    inputs = [
        IndexMap(text_for(release)) if slot.types == ("index map",) else value(slot)
        for slot in form.inputs[: form.least_inputs]
    ]
    attrs = [
        text_for(release) if attr.name in ("index_map", "pad_value") else value(attr.slot)
        for attr in form.attrs
    ]
    return Instruction(name, tuple(inputs), tuple(attrs))


@pytest.mark.parametrize("to", RELEASES)
def test_every_form_of_the_table(to):
    refused = set()
    for release in RELEASES[: RELEASES.index(to) + 1]:
        for name, kind in kinds(release).items():
            for number, form in enumerate(kind.forms):
                if release not in (form.since, form.until):
                    continue
                trace = Trace((examples_of(form, name, release),))
                assert release in infer_release(trace)
                try:
                    check_laws(trace, migrate(trace, to), to)
                except MigrationError as error:
                    reasons = [refusal.reason.split()[0] for refusal in error.refusals]
                    refused |= {(name, number, reason) for reason in reasons}
    expected = set()
    if RELEASES.index(to) >= RELEASES.index("0.12"):
        expected |= {("CacheIndex", 0, "CacheIndex")}
    if RELEASES.index(to) >= RELEASES.index("0.26"):
        expected |= {("SetAxisSeparator", 0, "buffers")}
    # Index maps are written for the newest release alone.
    maps = {"TransformLayout", "TransformBlockLayout", "ReindexCacheRead"}
    maps |= {"ReindexCacheWrite", "AnnotateBufferAccess"}
    if to != "0.27":
        assert {name for name, _, reason in refused if reason == "this"} <= maps
        refused = {entry for entry in refused if entry[2] != "this"}
    assert refused == expected


# What real releases recorded.


@pytest.mark.parametrize("release", ["0.25", "0.26"])
def test_a_migrated_trace_is_the_one_that_the_newer_tvm_records(release):
    """Byte for byte: the same examples, run with an older TVM and with 0.27."""
    new = recorded("0.27")
    different, migrated = [], 0
    for name, value in recorded(release).items():
        trace = from_json(value)
        assert release in infer_release(trace)
        migration = migrate(trace)
        check_laws(trace, migration, "0.27")
        migrated += bool(migration.steps)
        # An index map names the TVM that wrote it.
        wanted = json.loads(json.dumps(new[name]).replace("0.27.0.post1", "0.27.0"))
        if migration.trace != from_json(wanted):
            different.append(name)
    assert len(recorded(release)) == 44
    assert migrated == 6
    # 0.27 records where the source of a variable stands; the older ones do not know.
    assert different == ["buffer_accesses"]


def test_traces_of_the_newest_release_stay_as_they_are():
    assert len(OWN) == 204
    for trace in OWN:
        assert "0.27" in infer_release(trace)
        assert migrate(trace).trace is trace


OLD_FORMS = {
    "0.16": (forms.get_block, forms.split_with_one_flag),
    "0.23": (forms.get_block,),
}


@pytest.mark.parametrize("release", OLD_FORMS)
def test_there_and_back(release):
    """Older forms of traces of 0.27 lead back to them, where the older form loses nothing."""
    back = 0
    for trace in OWN:
        flags = [inst.attrs for inst in trace.insts if inst.kind == "Split"]
        names = {inst.kind for inst in trace.insts}
        if names - kinds(release).keys() - {"GetSBlock"} or any(len(f) != 2 or f[1] for f in flags):
            continue
        if any(isinstance(item, IndexMap) for inst in trace.insts for item in inst.inputs):
            continue
        insts = trace.insts
        for rewrite in OLD_FORMS[release]:
            insts = tuple(map(rewrite, insts))
        old = Trace(insts, trace.decisions)
        assert release in infer_release(old)
        # `split_with_one_flag` writes the flag as a number, whatever it was.
        if release == "0.23" or all(type(f[0]) is int and f[0] == 1 for f in flags):
            assert migrate(old, recorded_by=release).trace == trace
            back += 1
    assert back > 100


STEPS_TAKEN = {
    "mlc-llm-cuda-2023-06.jsonl": (299, 0, {"split-predication": 649, "get-sblock": 1086}),
    "mlc-llm-redpajama-2023-05.jsonl": (36, 0, {"split-predication": 132, "get-sblock": 147}),
    "mlc-llm-rwkv-2023-06.jsonl": (30, 1, {"split-predication": 67, "get-sblock": 168}),
    "tvm-0.27-unit-tests.traces.jsonl": (219, 0, {}),
    "web-llm-2023-05.jsonl": (19, 0, {"split-predication": 46, "get-sblock": 59}),
    "web-stable-diffusion-2023-03.jsonl": (
        292,
        0,
        {"split-predication": 1129, "get-sblock": 1353},
    ),
    "x86-layout-rewrite-2024-02.traces.jsonl": (
        249,
        0,
        {"split-predication": 1853, "index-map-format": 5, "get-sblock": 1513},
    ),
}


@needs_shared
def test_public_records():
    """Each is migrated, and fits 0.27 then; but for one whose meaning is not certain."""
    assert {path.name for path in SHARED} == STEPS_TAKEN.keys()
    for path in SHARED:
        migrated, refused, taken = 0, 0, {}
        for record in iter_records(path):
            trace = record.trace
            assert set(infer_release(trace)) & set(releases_of(path))
            try:
                migration = migrate(trace)
            except MigrationError as error:
                (refusal,) = error.refusals
                assert refusal.reason.startswith("PadEinsum")
                refused += 1
                migration = migrate(trace, recorded_by="0.14")
                continue
            migrated += 1
            check_laws(trace, migration, "0.27")
            for step in migration.steps:
                taken[step.name] = taken.get(step.name, 0) + len(step.insts)
            before = [problem for problem in check(trace) if problem.severity == "error"]
            after = check(migration.trace, tvm="0.27")
            assert [problem for problem in after if problem.severity == "error"] == before
        assert (migrated, refused, taken) == STEPS_TAKEN[path.name], path.name
