"""Each step of a migration, what tells releases apart, and what is refused."""

import json
import pickle

import pytest

from old_texts import MAP_OF, check_laws, legacy_text
from tracescript import IndexMap, Instruction, Trace, dumps, loads
from tracescript.errors import MigrationError, Refusal
from tracescript.instructions import KINDS, RELEASES, forms_of
from tracescript.migration import STEPS, AppliedStep, infer_release, migrate
from tracescript.model import NULL, RV


def parse(*lines):
    return loads("tracescript 1\n" + "".join(f"{line}\n" for line in lines))


# The steps, one by one.

OLD_MAP = legacy_text("0.9")
QUOTED = json.dumps(legacy_text(key="made_by"))

STEP_CASES = [
    ("fuse-flag", "0.9", 'Fuse @"l0" @"l1" -> l', 'Fuse @"l0" @"l1" | 0 -> l'),
    ("split-flag", "0.9", 'Split @"l0" null 4 -> l2', 'Split @"l0" null 4 | 0 -> l2'),
    (
        "cache-read-consumers",
        "0.10",
        'CacheRead @"b0" | 0 "local" -> b',
        'CacheRead @"b0" [] | 0 "local" -> b',
    ),
    ("compute-at-index", "0.10", 'ComputeAt @"b0" @"l0" | 1', 'ComputeAt @"b0" @"l0" | 1 -1'),
    (
        "reverse-compute-at-index",
        "0.10",
        'ReverseComputeAt @"b0" @"l0" | true',
        'ReverseComputeAt @"b0" @"l0" | true -1',
    ),
    (
        "layout-padding",
        "0.11",
        f'TransformLayout @"b0" | 0 1 {QUOTED}',
        f'TransformLayout @"b0" | 0 1 {QUOTED} null',
    ),
    (
        "cache-write-consumers",
        "0.11",
        'CacheWrite @"b0" | 0 "local" -> b',
        'CacheWrite @"b0" [] | 0 "local" -> b',
    ),
    ("blockize-flag", "0.11", 'Blockize @"l0" -> b', 'Blockize @"l0" | 0 -> b'),
    ("tensorize-flag", "0.11", 'Tensorize @"l0" | "mma"', 'Tensorize @"l0" | "mma" 0'),
    (
        "pad-einsum-factor",
        "0.13",
        ('PadEinsum @"b0" | [0 0 0]', 'CacheWrite @"b0" | 0 "local" -> b'),
        ('PadEinsum @"b0" | [1 1 1]', 'CacheWrite @"b0" [] | 0 "local" -> b'),
    ),
    ("split-predication", "0.17", 'Split @"l0" null 4 | 1 -> l2', 'Split @"l0" null 4 | 1 0 -> l2'),
    ("split-predication", "0.17", 'Split @"l0" 2 | true -> l', 'Split @"l0" 2 | true false -> l'),
    ("get-sblock", "0.24", 'GetBlock | "C" "main" -> b', 'GetSBlock | "C" "main" -> b'),
    (
        "tirx-annotation",
        "0.25",
        'Annotate @"b0" 1 | "tir.manifest_shared_memory_local_stage"',
        'Annotate @"b0" 1 | "tirx.manifest_shared_memory_local_stage"',
    ),
    (
        "tirx-annotation",
        "0.27",
        'Unannotate @"b0" | "tir.manifest_shared_memory_local_stage"',
        'Unannotate @"b0" | "tirx.manifest_shared_memory_local_stage"',
    ),
]


def lines_of(case):
    return (case,) if isinstance(case, str) else case


@pytest.mark.parametrize(("name", "to", "old", "new"), STEP_CASES)
def test_a_step(name, to, old, new):
    trace, wanted = parse(*lines_of(old)), parse(*lines_of(new))
    (step,) = [step for step in STEPS if step.name == name]
    migration = migrate(trace, to)
    assert dumps(migration.trace) == dumps(wanted)
    taken = AppliedStep(name, step.since, step.reference, (0,))
    assert taken in migration.steps
    check_laws(trace, migration, to)


def test_an_index_map_moves_to_the_inputs():
    text = legacy_text(key="made_by")
    trace = parse(f'TransformLayout @"b0" | 0 1 {json.dumps(" " + text)}')
    migration = migrate(trace, "0.13")
    assert migration.trace.insts == (
        Instruction("TransformLayout", (RV("b0"), IndexMap(text)), (0, 1, None, 0)),
    )
    assert [step.name for step in migration.steps] == ["layout-padding", "layout-map"]
    newest = migrate(trace)
    assert [step.name for step in newest.steps] == [
        "index-map-format",
        "layout-padding",
        "layout-map",
    ]
    (text,) = [item.text for item in newest.trace.insts[0].inputs if isinstance(item, IndexMap)]
    # Compact among the inputs, as TVM writes it there.
    assert text.startswith('{"root_index":5,"nodes":[{"type":"None"},{"type":"ir.PrimType",')


def test_index_maps_among_attributes_are_indented():
    trace = Trace(
        (
            Instruction("TransformBlockLayout", (RV("b0"),), (OLD_MAP,)),
            Instruction(
                "TransformLayout", (RV("b0"), IndexMap(OLD_MAP)), (0, 1, legacy_text("0.16"), 0)
            ),
        )
    )
    assert infer_release(trace) == ()
    trace = Trace(trace.insts[:1])
    migration = migrate(trace)
    text = migration.trace.insts[0].attrs[0]
    assert text.startswith(
        '{\n  "root_index": 5,\n  "nodes": [\n    {\n      "type": "None"\n    },\n'
    )
    assert text.endswith('  ],\n  "metadata": {\n    "tvm_version": "0.27.0"\n  }\n}')
    assert migration.steps == (AppliedStep("index-map-format", "0.27", STEPS[0].reference, (0,)),)


def test_an_index_map_that_is_the_same_in_both_releases_keeps_its_text():
    """One that names no TVM, and has no nodes that were renamed from 0.26 to 0.27."""
    same = MAP_OF["0.26"].replace("tvm_version", "made_by")
    insts = [
        Instruction("TransformBlockLayout", (RV("b0"),), (text,)) for text in (same, MAP_OF["0.26"])
    ]
    migration = migrate(Trace(tuple(insts)))
    assert migration.trace.insts[0] == insts[0]
    assert [step.insts for step in migration.steps] == [(1,)]


def test_steps_are_in_order_and_have_names_of_their_own():
    since = [RELEASES.index(step.since) for step in STEPS[1:]]
    assert since == sorted(since)
    assert len({step.name for step in STEPS}) == len(STEPS)
    changed = {form.since for kind in KINDS.values() for form in kind.forms[1:]}
    assert changed <= {step.since for step in STEPS} | {"0.13"}


def test_the_report():
    trace = parse(
        'GetBlock | "C" "main" -> b',
        'Split @"l0" 2 | 1 -> l',
        "EnterPostproc",
        'Split @"l0" 2 | 1 -> l',
    )
    migration = migrate(trace)
    assert migration.releases == tuple(f"0.{minor}" for minor in range(9, 17))
    assert migration.steps == (
        AppliedStep("split-predication", "0.17", "#16862", (1, 3)),
        AppliedStep("get-sblock", "0.24", "#18689", (0,)),
    )


# What releases a trace can come from.


@pytest.mark.parametrize(
    ("lines", "first", "last"),
    [
        ("", "0.8", "0.27"),
        ("EnterPostproc", "0.8", "0.27"),
        ('GetSBlock | "C" "main" -> b', "0.24", "0.27"),
        ('GetBlock | "C" "main" -> b', "0.8", "0.23"),
        ('Split @"l0" null 4 | 1 -> l2', "0.9", "0.16"),
        ('Split @"l0" null 4 | 1 0 -> l2', "0.17", "0.27"),
        ('Split @"l0" null 4 | 1 0 -> l2\nGetBlock | "C" "main" -> b', "0.17", "0.23"),
        ('Blockize @"l0" | 1 -> b', "0.11", "0.27"),
        ('Blockize [@"b0"] | 1 -> b', "0.13", "0.27"),
        ('SetAxisSeparator @"b0" | 0 0 []', "0.9", "0.25"),
        ('Annotate @"b0" 1 | "tir.manifest_shared_memory_local_stage"', "0.9", "0.24"),
        ('Annotate @"b0" 1 | "tirx.manifest_shared_memory_local_stage"', "0.24", "0.27"),
        (f'TransformBlockLayout @"b0" | {json.dumps(legacy_text("0.16.dev0"))}', "0.15", "0.16"),
        (f'TransformBlockLayout @"b0" | {json.dumps(legacy_text("9"))}', "0.9", "0.21"),
    ],
)
def test_the_releases_that_a_trace_can_come_from(lines, first, last):
    expected = RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1]
    assert infer_release(parse(*lines.split("\n")) if lines else Trace()) == expected


@pytest.mark.parametrize(
    "lines",
    [
        'GetSBlock | "C" "main" -> b\nSplit @"l0" null 4 | 1 -> l2',
        "MyKind",
        "Split null 4 | 1 -> l2",
        'Split @"l0" null 4 | "1" -> l2',
        'Split @"l0" null 4 | 1 0 0 -> l2',
        "GetLoops -> l",
        'TransformBlockLayout @"b0" | "{}"',
        'CacheRead @"b0" [1] | 0 "local" -> b',
    ],
)
def test_no_release_can_have_recorded_these(lines):
    assert infer_release(parse(*lines.split("\n"))) == ()


def test_forms_of():
    (split,) = parse('Split @"l0" null 4 | 1 -> l2').insts
    assert forms_of(split) == (KINDS["Split"].forms[1],)
    # A random variable may stand for whatever a slot takes.
    assert forms_of(Instruction("Split", (RV("b0"), 4), (1,))) == (KINDS["Split"].forms[1],)
    assert forms_of(Instruction("Annotate", (RV("b0"), NULL), ("key",))) == ()
    assert len(forms_of(Instruction("Annotate", (RV("b0"), ({},)), ("key",)))) == 1
    assert forms_of(Instruction("PadEinsum", (RV("b0"),), ((1, "2"),))) == ()
    assert forms_of(Instruction("Mine")) == ()


# What is refused.


def refusals(trace, to="0.27", recorded_by=None):
    with pytest.raises(MigrationError) as caught:
        migrate(trace, to, recorded_by=recorded_by)
    assert caught.value.to == to
    return caught.value.refusals


def test_unknown_kinds_and_forms():
    trace = parse(
        "MyKind", 'GetBlock | "C" "main" -> b', 'Split @"l0" null 4 | 1 0 0 -> l2', "Other"
    )
    advice = "mend it, or take it out; tracescript check may help"
    assert refusals(trace) == (
        Refusal("$[0][0][0]", "no release of TVM writes the kind 'MyKind'", advice),
        Refusal(
            "$[0][2]",
            "no release of TVM writes Split with 3 inputs and 3 attributes of these types",
            advice,
        ),
        Refusal("$[0][3][0]", "no release of TVM writes the kind 'Other'", advice),
    )


def test_parts_that_exclude_each_other():
    trace = parse("EnterPostproc", 'Split @"l0" 2 | 1 -> l', 'GetSBlock | "C" "main" -> b')
    reason = (
        "GetSBlock with 0 inputs and 2 attributes of these types is not of TVM before 0.24, but "
        "$[0][1] has Split with 2 inputs and 1 attribute of these types, which is not of TVM "
        "after 0.16"
    )
    advice = "take one trace for each release apart, or mend it"
    assert refusals(trace) == (Refusal("$[0][2]", reason, advice),)


def test_only_forward():
    trace = parse('GetSBlock | "C" "main" -> b', 'Split @"l0" 2 | 1 0 -> l')
    advice = "traces can only be migrated forward"
    assert refusals(trace, "0.16") == (
        Refusal(
            "$[0][0]",
            "GetSBlock with 0 inputs and 2 attributes of these types is not of TVM before 0.24",
            advice,
        ),
        Refusal(
            "$[0][1]",
            "Split with 2 inputs and 2 attributes of these types is not of TVM before 0.17",
            advice,
        ),
    )


def test_kinds_that_are_gone():
    trace = parse('SetAxisSeparator @"b0" | 0 0 []', 'SetAxisSeparator @"b0" | 0 0 [1]')
    assert [refusal.path for refusal in refusals(trace)] == ["$[0][0][0]", "$[0][1][0]"]
    (refusal,) = refusals(parse('CacheIndex @"b0" | 0 -> b'))
    assert refusal.path == "$[0][0][2]"
    assert "since 0.12 it takes a block's" in refusal.reason


PADDED = parse('GetBlock | "C" "main" -> b', "PadEinsum b-1 | [0 16]")


def test_the_amounts_of_a_padding():
    (refusal,) = refusals(PADDED)
    assert refusal.path == "$[0][1][2][0]"
    assert "the trace can come from either" in refusal.reason
    (refusal,) = refusals(PADDED, recorded_by="0.12")
    assert refusal.path == "$[0][1][2][0]"
    assert "extents that the trace does not have" in refusal.reason
    migration = migrate(PADDED, recorded_by="0.13")
    assert migration.trace.insts[1] == PADDED.insts[1]
    assert migration.releases == ("0.13",)
    # A release that the trace can come from leaves it as it is.
    assert migrate(PADDED, "0.20").trace is PADDED


def test_the_release_that_recorded_a_trace():
    (refusal,) = refusals(PADDED, recorded_by="0.9")
    assert refusal == Refusal(
        "$[0][1]",
        "TVM 0.9 does not write PadEinsum with 1 input and 1 attribute of these types",
        "name another release, or none",
    )
    assert migrate(PADDED, "0.23", recorded_by="0.23").trace is PADDED
    assert refusals(PADDED, "0.9", recorded_by="0.14") == (
        Refusal("$", "it was recorded by TVM 0.14", "traces can only be migrated forward"),
        Refusal(
            "$[0][1]",
            "PadEinsum with 1 input and 1 attribute of these types is not of TVM before 0.10",
            "traces can only be migrated forward",
        ),
    )


def test_an_index_map_for_a_release_in_between():
    trace = Trace((Instruction("TransformBlockLayout", (RV("b0"),), (OLD_MAP,)),))
    (refusal,) = refusals(trace, "0.24")
    assert refusal == Refusal(
        "$[0][0][2][0]",
        "this index map is not as TVM 0.24 writes it",
        "migrate to 0.27: others are not written",
    )
    assert [one.path for one in refusals(trace, "0.21")] == ["$[0][0][2][0]"]
    unversioned = OLD_MAP.replace("tvm_version", "made_by")
    trace = Trace((Instruction("TransformBlockLayout", (RV("b0"),), (unversioned,)),))
    assert migrate(trace, "0.21").trace is trace


def test_an_index_map_that_does_not_convert():
    text = OLD_MAP.replace('"tir.Var"', '"tir.SizeVar"')
    trace = Trace((Instruction("TransformBlockLayout", (RV("b0"),), (text,)),))
    (refusal,) = refusals(trace)
    assert refusal.path == "$[0][0][2][0]['nodes'][3]"
    assert refusal.reason == "a node 'tir.SizeVar', not known in TVM 0.27"


def test_all_places_are_named():
    """One refusal does not hide another."""
    text = OLD_MAP.replace('"tir.Var"', '"tir.SizeVar"')
    trace = Trace(
        (
            Instruction("SetAxisSeparator", (RV("b0"),), (0, 0, ())),
            Instruction("TransformBlockLayout", (RV("b0"),), (text,)),
        )
    )
    paths = [refusal.path for refusal in refusals(trace)]
    assert paths == ["$[0][0][0]", "$[0][1][2][0]['nodes'][3]"]


def test_unknown_releases():
    for arguments in ({"to": "0.28"}, {"recorded_by": "0.7"}):
        with pytest.raises(ValueError, match=r"one of 0\.8, .*, 0\.27, found '0\.(28|7)'"):
            migrate(Trace(), **arguments)


def test_the_error():
    with pytest.raises(MigrationError) as caught:
        migrate(parse("MyKind", "MyKind"))
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value)
    assert str(error) == (
        "the trace cannot be migrated to TVM 0.27:\n"
        "    $[0][0][0]: no release of TVM writes the kind 'MyKind'; mend it, or take it out; "
        "tracescript check may help\n"
        "    $[0][1][0]: no release of TVM writes the kind 'MyKind'; mend it, or take it out; "
        "tracescript check may help"
    )
