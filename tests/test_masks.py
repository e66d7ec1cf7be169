"""Masks: what they let through, what they refuse, and that there is always a way on."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import LOGS, OWN
from releases import releases_of
from tracescript import dumps, from_json, loads
from tracescript.check import check
from tracescript.literals import quote
from tracescript.masks import BlockInfo, Constraints, IllegalToken, ScriptMasker, TaskInfo
from tracescript.masks.ranges import mapped_extents
from tracescript.tokens import Tokenizer

HEADER = "tracescript 1\n"
SYMBOLS = Tokenizer.default("symbol")
PHRASES = Tokenizer.default("phrase")
LEVELS = pytest.mark.parametrize("tokenizer", [SYMBOLS, PHRASES], ids=["symbol", "phrase"])
ALL = {level: ScriptMasker(level, tvm=None) for level in (SYMBOLS, PHRASES)}
SYMBOLIC = ScriptMasker(SYMBOLS)
NEWEST = {level: ScriptMasker(level) for level in (SYMBOLS, PHRASES)}
TASK = TaskInfo(
    (
        BlockInfo("C", (64, 128, 1009), ("A", "B", "C")),
        BlockInfo("T_relu", (64, None), ("C", "T_relu")),
        BlockInfo('odd "é"', ()),
        BlockInfo("thin", (7,)),
        BlockInfo("deep", (2,) * 17),
    )
)
NAMED = TaskInfo(TASK.blocks, 'plus "é"')
MAIN = TaskInfo(TASK.blocks, "main")
PLAIN = TaskInfo(
    (
        BlockInfo("C", (64, 128, 1009), ("A", "B", "C"), plain=True),
        BlockInfo("T_relu", (64, None), ("C", "T_relu"), plain=True),
    )
)
TASKS = [None, TASK, NAMED, MAIN, PLAIN]
START = 'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l3\n'


def taken(masker, body, task=None):
    """How much of a script the masks let through, as text."""
    tokens = masker.tokenizer.encode(HEADER + body)
    count = masker.new(task).validate(tokens)
    return masker.tokenizer.decode(tokens[:count])[len(HEADER) :]


def next_texts(masker, body, task=None):
    """The texts of the tokens that may come after the beginning of a script."""
    state = masker.new(task)
    tokens = masker.tokenizer.encode(HEADER + body)
    assert state.try_advance(tokens) == len(tokens)
    return {masker.tokenizer.token_bytes(token) for token in state.allowed_tokens()}


# What is let through.


@LEVELS
@pytest.mark.parametrize("path", LOGS)
def test_every_recorded_trace_is_let_through(tokenizer, path):
    for trace in traces_of(path):
        tokens = tokenizer.encode(dumps(trace))
        state = ALL[tokenizer].new()
        assert state.try_advance(tokens) == len(tokens)
        assert state.is_accepting()


def traces_of(path):
    for line in path.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        yield from_json(value if ".traces." in path.name else value[1][0])


@LEVELS
def test_every_recorded_trace_fits_its_own_release(tokenizer):
    masker = NEWEST[tokenizer]
    for path in OWN:
        assert "0.27" in releases_of(path)
        for trace in traces_of(path):
            tokens = tokenizer.encode(dumps(trace))
            assert masker.new().validate(tokens) == len(tokens)


GOOD = [
    "",
    START,
    START
    + "SamplePerfectTile l-3 | 4 64 -> v4 = [1 8 4 2]\nSplit l-3 v-4 v-3 v-2 v-1 | 1 0 -> l4\n",
    START + "Split l-3 null 4 | true false -> l2\nFuse l-2 l-1 | 1 -> l\n",
    START + 'SamplePerfectTile l-3 | 2 -1 -> @"_" v = [-1 1]\nSplit l-3 null v-1 | 1 0 -> l2\n',
    START + 'SamplePerfectTile l-3 | 1 -1 -> @"_" = [-1]\n',
    START + "SamplePerfectTile l-3 | 2 16 -> v2\n",
    START + "SamplePartitionedTile l-3 | 4 2 32 -> v4 = [1 3 8 4]\n",
    START + "SampleComputeLocation b-1 -> l = -2\nComputeAt b-1 l-1 | true -1\n",
    "SampleCategorical | [8 1733] [0.137 1] -> v = 1\n",
    'GetSBlock | "a \\u{10ffff}\\u{d800} é\u20ac\U0001f600 \\n" "main" -> b\n',
    START + 'Annotate b-1 {"a": [1 2.5 true null] "b": {} "\\u{61}b": "x"} | "k"\n',
    START + 'Annotate l-1 [1 [] -7] | "k"\n',
    START + 'Annotate b-1 -inf | "k"\nAnnotate b-1 null | "k"\nAnnotate b-1 1e+16 | "k"\n',
    START + 'CacheRead b-1 [] | 0 "shared" -> b\nCacheRead b-2 [b-2 b-1] | 10000 "x" -> b\n',
    START + 'TransformLayout b-1 @"{\\"a\\": 1}" | 0 1 null true\n',
    START + 'Annotate b-1 {"main": 1 "root": [2.5 -0.5 []] "read": ""} | "k"\n',
    START + "Annotate b-1 " + "[" * 99 + "]" * 99 + ' | "k"\n',
    START + "GetChildBlocks l-3\nGetChildBlocks b-1 -> b20\n",
    START + "LoopPartition l-1 2 null | 1 -> l9\nEnterPostproc\n",
]


@LEVELS
@pytest.mark.parametrize("body", GOOD)
def test_good_scripts_are_let_through(tokenizer, body):
    assert not [p for p in check(loads(HEADER + body)) if p.severity == "error"]
    assert taken(NEWEST[tokenizer], body) == body


# A script, and from where on it is refused, with the constraint that refuses it.
BAD = [
    ("grammar", "", "Foo"),
    ("grammar", "", "GetBlock"),
    ("grammar", "", "\n"),
    ("grammar", "GetSBlock", ' "C"'),
    ("grammar", START + "Bind", " b-1"),
    ("grammar", START + "Bind l-1", "\n"),
    ("grammar", START + 'Bind l-1 | "x"', ' "y"'),
    ("grammar", START + "Bind l-1 |", " 1"),
    ("grammar", START + "Unroll l-1", " ->"),
    ("grammar", START + "Unroll l-1", " ="),
    ("grammar", START + "Fuse l-1 |", " 2"),
    ("grammar", START + "Annotate b-1", " @null"),
    ("grammar", START + 'Annotate b-1 {"a": ', "b-1"),
    ("grammar", START + "Annotate b-1 [1", " @null"),
    ("grammar", START + 'Annotate b-1 "', "\x01"),
    ("grammar", START + 'Annotate b-1 "\\', "x"),
    ("grammar", START + 'Annotate b-1 {"a": 1 "a', '"'),
    ("grammar", START + 'Annotate b-1 {"a": 1 "\\u{61}', '"'),
    ("grammar", START + 'TransformLayout b-1 @"', "x"),
    ("grammar", START + 'Annotate b-1 {"a": 1', '"'),
    ("grammar", START + "Annotate b-1 {", ' "main"'),
    ("grammar", START + "Annotate b-1 {", "1"),
    ("grammar", START + "Annotate b-1 " + "[" * 100, "["),
    ("grammar", START + "CacheRead b-1 [b-1", " l-1"),
    ("grammar", START + "AddUnitLoop l-1 ->", " b"),
    ("grammar", START + "Merge l-1", "\n"),
    ("grammar", START + 'CacheInplace b-1 | 0 "x" ->', " b"),
    ("scope", "", "GetLoops"),
    ("scope", START + "Bind", " l-4"),
    ("scope", START + "Reorder l-3", " l-77"),
    ("scope", START + "Split l-3", " v-1"),
    ("counts", START + "Split l-3 null 4 | 1 0 ->", " l3"),
    ("counts", START + "SamplePerfectTile l-3 | 4 64 ->", " v3"),
    ("counts", START + "SamplePerfectTile l-3 |", " 0"),
    ("grammar", START + "SamplePerfectTile l-3 | 2 64 -> v2 = [1 1", " 1"),
    ("counts", "SampleCategorical | [1 2] [0.5", "]"),
    ("counts", "SampleCategorical | [1] [1.0", " 1.0"),
    ("counts", "SampleCategorical | [", "]"),
    ("counts", "SampleCategorical | [" + " ".join(["1"] * 64), " 1"),
    ("domains", "SampleCategorical | [1 2] [0.5 0.5] -> v =", " 2"),
    ("domains", "SampleCategorical | [1 2] [0.5 0.5] -> v =", " -1"),
    ("domains", START + "SampleComputeLocation b-1 -> l =", " -3"),
    ("domains", START + "SamplePerfectTile l-3 | 2 64 -> v2 = [", "0"),
    ("domains", START + "SamplePerfectTile l-3 | 2 64 -> v2 = [1", " 65"),
    ("domains", START + "SamplePartitionedTile l-3 | 2 1 8 -> v2 = [3", " 12"),
    ("domains", START + 'SamplePerfectTile l-3 | 2 64 -> @"_" v = [', "1"),
]


def _off(constraint):
    return {} if constraint == "grammar" else {constraint: False}


LOOSE = {
    (tokenizer, constraint): ScriptMasker(tokenizer, constraints=Constraints(**_off(constraint)))
    for tokenizer in (SYMBOLS, PHRASES)
    for constraint in {constraint for constraint, _, _ in BAD}
}


@LEVELS
@pytest.mark.parametrize(("constraint", "body", "wrong"), BAD)
def test_bad_scripts_are_refused_where_they_go_wrong(tokenizer, constraint, body, wrong):
    """And not for another reason: without the constraint they are let through."""
    assert taken(NEWEST[tokenizer], body) == body
    symbols = SYMBOLS.encode(wrong)
    state = NEWEST[tokenizer].new()
    state.try_advance(tokenizer.encode(HEADER + body))
    assert state.validate(symbols) < len(symbols)
    if constraint != "grammar":
        state = LOOSE[tokenizer, constraint].new()
        tokens = tokenizer.encode(HEADER + body)
        assert state.try_advance(tokens) == len(tokens)
        assert state.validate(symbols) == len(symbols)


def test_the_release_decides():
    masks = {tvm: ScriptMasker(SYMBOLS, tvm=tvm) for tvm in ("0.16", "0.27")}
    for tvm, body in (
        ("0.16", 'GetBlock | "C" "main" -> b\nGetLoops b-1 -> l\nSplit l-1 null 4 | 1 -> l2\n'),
        ("0.27", 'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l\nSplit l-1 null 4 | 1 0 -> l2\n'),
    ):
        assert {name for name, mask in masks.items() if taken(mask, body) == body} == {tvm}
    with pytest.raises(ValueError, match=r"one of 0\.8, .*, found '1\.0'"):
        ScriptMasker(SYMBOLS, tvm="1.0")


# What a task adds.


@LEVELS
def test_factors_multiply_to_the_extent(tokenizer):
    masker, tile = NEWEST[tokenizer], "SamplePerfectTile l-3 | 3 16 -> v3 = ["
    assert next_texts(masker, START + tile, TASK) == {b"1", b"2", b"4", b"8", b"16", b"32", b"64"}
    # The innermost factor is at most 16, so the middle one takes at least 2 of 32.
    expected = {b" 2", b" 4", b" 8", b" 16", b" 32"}
    assert next_texts(masker, START + tile + "2", TASK) == expected
    assert next_texts(masker, START + tile + "2 8", TASK) == {b" 4"}
    # Unless there is no other way.
    whole = "SamplePerfectTile l-3 | 1 16 -> v = ["
    assert next_texts(masker, START + whole, TASK) == {b"64"}


@LEVELS
def test_inner_factors_are_a_multiple(tokenizer):
    masker, tile = NEWEST[tokenizer], "SamplePartitionedTile l-2 | 3 1 32 -> v3 = ["
    assert next_texts(masker, START + tile, TASK) == {b"1", b"2", b"4"}
    assert b" 32" in next_texts(masker, START + tile + "4", TASK)
    # 32 does not divide 1009: TVM then does not partition.
    assert next_texts(masker, START + tile.replace("l-2", "l-1"), TASK) == {b"1"}
    odd = START + "SamplePartitionedTile l-3 | 2 1 5 -> v2 = ["
    assert next_texts(masker, odd, TASK) == {b"1", b"2", b"4", b"8", b"16", b"32", b"64"}
    outside = START + "SamplePartitionedTile l-3 | 2 2 7 -> v2 = [2"
    assert next_texts(masker, outside, TASK) == {b" 32"}


@LEVELS
def test_factors_that_are_no_symbols_are_spelled(tokenizer):
    masker, tile = NEWEST[tokenizer], "SamplePerfectTile l-1 | 2 -1 -> v2 = ["
    assert next_texts(masker, START + tile, TASK) == {b"1"}
    # Either 1 was the first factor, or it is the beginning of 1009.
    assert next_texts(masker, START + tile + "1", TASK) == {b" ", b"0"}
    assert next_texts(masker, START + tile + "1009", TASK) == {b" 1"}
    state = masker.new(TASK)
    state.try_advance([*tokenizer.encode(HEADER + START + tile + "1"), *SYMBOLS.encode(" ")])
    forced = state.forced()[:4]
    assert [tokenizer.token_bytes(token) for token in forced] == [b"1", b"0", b"0", b"9"]
    assert state.remaining_min() == len(forced) + 3


@LEVELS
def test_extents_follow_from_decisions(tokenizer):
    masker = NEWEST[tokenizer]
    body = (
        START + "SamplePerfectTile l-3 | 2 64 -> v2 = [4 16]\n"
        "Split l-3 v-2 v-1 | 1 0 -> l2\n"
        "Fuse l-4 l-2 | 1 -> l\n"
        "Split l-1 null 100 | 1 0 -> l2\n"
        "SampleCategorical | [3 5] [0.5 0.5] -> v = 1\n"
        "Split l-1 v-1 null | 1 0 -> l2\n"
    )
    tile = "SamplePerfectTile l-{} | 1 -1 -> v = ["
    state = masker.new(TASK)
    state.try_advance(tokenizer.encode(HEADER + body))
    assert state.scope.loops == (64, 128, 1009, 4, 16, 512, 6, 100, None, None)
    assert state.scope.exprs == (4, 16, None)
    assert next_texts(masker, body + tile.format(4), TASK) == {b"6"}
    assert {b"1", b"7"} < next_texts(masker, body + tile.format(1), TASK)


@LEVELS
def test_extents_that_no_loop_has_are_not_known(tokenizer):
    masker = NEWEST[tokenizer]
    odd = TaskInfo((BlockInfo("C", (0, -7, 8)),))
    huge = str(10**20 + 39)
    for split in ("null 0", "-4 null", "0 -1", "null null", f"{huge} {huge}"):
        body = START + f"Split l-1 {split} | 1 0 -> l2\nSamplePerfectTile l-3 | 2 -1 -> v2 = ["
        assert {b"1", b"7"} < next_texts(masker, body.replace("l-3 |", "l-1 |"), odd)
        for loop in ("l-4", "l-5"):
            assert {b"1", b"7"} < next_texts(masker, body.replace("l-3 |", f"{loop} |"), odd)
        assert next_texts(masker, body, odd) == {b"1", b"2", b"4", b"8"}
    big = TaskInfo((BlockInfo("C", (2**62 - 57, 2**31 - 1, 2**31 - 1)),))
    tile = "SamplePerfectTile l-{} | 2 -1 -> v2 = ["
    # The greatest is a prime; of two of them fused nothing is known.
    assert next_texts(masker, START + tile.format(1), big) == {b"1", b"2"}
    fused = START + "Fuse l-2 l-1 | 1 -> l\n"
    assert {b"3", b"7"} < next_texts(masker, fused + tile.format(1), big)
    assert {b"3", b"7"} < next_texts(masker, START + tile.format(3), big)


@LEVELS
def test_loops_are_as_many_as_the_block_has(tokenizer):
    masker = NEWEST[tokenizer]
    found = 'GetSBlock | "{}" "main" -> b\nGetLoops b-1'
    assert next_texts(masker, found.format("C") + " ->", TASK) >= {b" l3"}
    for name, loops in (("C", " -> l3\n"), ('odd \\"é\\"', "\n"), ("deep", " -> l17\n")):
        body = found.format(name) + loops
        assert taken(masker, body, TASK) == body
        for other in (" -> l4\n", " -> l18\n", "\n", " -> l1009\n"):
            if other != loops:
                wrong = found.format(name) + other
                assert len(taken(masker, wrong, TASK)) < len(wrong)
    # Once loops have changed, nobody knows.
    body = START + "Fuse l-2 l-1 | 1 -> l\nGetLoops b-1 -> l2\nGetLoops b-1 -> l\n"
    assert taken(masker, body, TASK) == body
    both = 'GetSBlock | "C" "main" -> b\nGetSBlock | "T_relu" "main" -> b\nGetLoops b-2 -> l3\n'
    assert taken(masker, both, TASK) == both
    assert taken(masker, both.replace("b-2", "b-1"), TASK) != both.replace("b-2", "b-1")
    later = both.replace("GetLoops", "GetChildBlocks b-1 -> b\nGetLoops").replace(
        "-2 -> l3", "-3 -> l3"
    )
    assert taken(masker, later, TASK) == later
    assert taken(masker, later.replace("b-3", "b-2"), TASK) != later.replace("b-3", "b-2")
    made = START + "GetChildBlocks b-1 -> b2\nGetLoops b-1 -> l9\n"
    assert taken(masker, made, TASK) == made


def loops_after(body, task=PLAIN):
    """The extents of the loops around the block that was first looked up; None if not known."""
    state = SYMBOLIC.new(task)
    tokens = SYMBOLS.encode(HEADER + body)
    assert state.try_advance(tokens) == len(tokens)
    return state.scope.loops_of(body.count(" -> b"))


SPLIT = "Split l-3 null 16 | true false -> l2\n"


@pytest.mark.parametrize(
    ("body", "loops"),
    [
        ("", (64, 128, 1009)),
        (SPLIT, (4, 16, 128, 1009)),
        ("Split l-1 null 16 | true false -> l2\n", (64, 128, 64, 16)),
        (
            "SamplePerfectTile l-3 | 2 64 -> v2 = [4 16]\nSplit l-3 v-2 v-1 | 1 0 -> l2\n",
            (4, 16, 128, 1009),
        ),
        ("Fuse l-3 l-2 | 1 -> l\n", (8192, 1009)),
        ("Fuse l-3 l-1 | 1 -> l\n", None),
        ("Fuse l-2 l-3 | 1 -> l\n", None),
        ("Reorder l-1 l-3\n", (1009, 128, 64)),
        (SPLIT + "Reorder l-4 l-1 l-3 l-2\n", (128, 16, 1009, 4)),
        (SPLIT + "Reorder l-3 l-1\n", (4, 1009, 128, 16)),
        (SPLIT + "Fuse l-5 l-4 | 1 -> l\n", None),
        ('Bind l-1 | "blockIdx.x"\nAnnotate b-1 1 | "k"\n', (64, 128, 1009)),
        ("PadEinsum b-1 | [1 3 16]\n", (64, 129, 1024)),
        ("PadEinsum b-1 | [1 3]\n", None),
        ("PadEinsum b-1 | [1 3 0]\n", None),
        (SPLIT + "PadEinsum b-1 | [1 1 1 1]\n", None),
        ("Blockize l-2 | true -> b\nGetLoops b-2 -> l2\nFuse l-2 l-1 | 1 -> l\n", (None,)),
        ("Blockize [b-1 b-1] | true -> b\n", None),
        (SPLIT + "Blockize l-5 | true -> b\n", None),
        ("ReIndex b-1 | 0 0 -> b\nComputeInline b-1\n", (64, 128, 1009)),
        ('ReIndex b-1 | 0 0 -> b\nTransformBlockLayout b-1 | "{}"\n', (64, 128, 1009)),
        ("Reorder\n", None),
        ('CacheRead b-1 [] | 0 "shared" -> b\nComputeAt b-1 l-2 | 1 -1\n', (64, 128, 1009)),
        ('CacheRead b-1 [] | 0 "shared" -> b\nGetLoops b-1 -> l2\nFuse l-2 l-1 | 1 -> l\n', None),
        ("ComputeInline b-1\n", None),
        ("GetChildBlocks b-1 -> b\nComputeInline b-1\n", (64, 128, 1009)),
        ("GetChildBlocks b-1 -> b\nComputeAt b-1 l-1 | 1 -1\n", None),
        ("GetChildBlocks b-1 -> b\nPadEinsum b-1 | [1 1 1]\n", None),
        ("SampleComputeLocation b-1 -> l\nComputeAt b-1 l-1 | 1 -1\n", None),
        ("AddUnitLoop l-1 -> l\n", None),
        ("Merge l-1 l-2 -> l\n", None),
        ('GetSBlock | "C_local" "main" -> b\nComputeAt b-1 l-1 | 1 -1\n', None),
        ('GetSBlock | "T_relu" "main" -> b\nComputeAt b-1 l-1 | 1 -1\n', (64, 128, 1009)),
    ],
)
def test_loops_are_followed(body, loops):
    assert loops_after(START + body) == loops


def test_a_block_that_is_moved_has_the_loops_above_it_and_more():
    moved = 'CacheWrite b-1 [] | 0 "local" -> b\nReverseComputeAt b-1 l-2 | 1 -1\n'
    state = SYMBOLIC.new(PLAIN)
    body = START + moved + "GetLoops b-1 -> l4\nFuse l-2 l-1 | 1 -> l\n"
    assert state.try_advance(SYMBOLS.encode(HEADER + body)) == len(SYMBOLS.encode(HEADER + body))
    assert state.scope.loops == (64, 128, 1009, 64, 128, None, None, None)
    assert state.scope.loops_of(1) == (64, 128, None)
    assert state.scope.loops_of(2) == (64, 128, 1009)
    # Fewer loops than are above it cannot be.
    state = SYMBOLIC.new(PLAIN)
    body = START + moved + "GetLoops b-1 -> l\n"
    assert state.try_advance(SYMBOLS.encode(HEADER + body)) == len(SYMBOLS.encode(HEADER + body))
    assert state.scope.loops_of(2) is None
    # Whoever fuses a loop above it, fuses it for both.
    assert loops_after(START + moved + "Fuse l-3 l-2 | 1 -> l\n") == (8192, 1009)


def test_loops_that_others_may_share_are_not_followed():
    for body in (SPLIT, "Reorder l-1 l-3\n", "ReIndex b-1 | 0 0 -> b\n"):
        assert loops_after(START + body, TASK) is None
        assert loops_after('GetSBlock | "C" "main" -> b\n', TASK) == (64, 128, 1009)


def index_map(variables, *final):
    """The text of an index map, as TVM 0.27 writes it, but for what none of it depends on.

    An expression is the number of a variable, or an operator with two of them; a number is a str.
    """
    nodes = [{"type": "None"}, {"type": "ir.PrimType", "data": {"span": 0, "dtype": "int32"}}]

    def add(type_, data):
        nodes.append({"type": type_, "data": data})
        return len(nodes) - 1

    def expression(made):
        if isinstance(made, int):
            return own[made]
        if isinstance(made, str):
            return add("ir.IntImm", {"span": 0, "ty": 1, "value": add("int", int(made))})
        kind, a, b = made
        return add(f"prim.{kind}", {"span": 0, "ty": 1, "a": expression(a), "b": expression(b)})

    own = [add("ir.Var", {"span": 0, "ty": 1, "name": 0}) for _ in range(variables)]
    first = add("ffi.Array", own)
    last = add("ffi.Array", [expression(made) for made in final])
    data = {"initial_indices": first, "final_indices": last, "inverse_index_map": 0}
    return json.dumps({"root_index": add("tirx.IndexMap", data), "nodes": nodes})


FUSED = ("Add", ("Add", ("Mul", 0, "10"), ("Mul", 1, "5")), 2)
"""A number with digits of 3, 2 and 5."""


def deep(depth):
    return 0 if depth == 0 else ("Add", deep(depth - 1), "0")


@pytest.mark.parametrize(
    ("final", "extents"),
    [
        ([2, 0, 1], (5, 3, 2)),
        ([FUSED], (30,)),
        ([("FloorDiv", FUSED, "6"), ("FloorMod", FUSED, "6")], (5, 6)),
        ([("FloorDiv", FUSED, "30"), ("FloorMod", FUSED, "31")], (1, 30)),
        ([("FloorDiv", FUSED, "4")], None),
        ([("FloorMod", FUSED, "4")], None),
        ([("FloorMod", FUSED, "0")], None),
        ([("Add", ("Mul", 0, "2"), 1), 2], (6, 5)),
        ([("Add", 1, ("Mul", 0, "2")), 2], (6, 5)),
        ([("Add", ("Mul", 0, "3"), 1), 2], None),
        ([("Mul", 0, "2"), 1, 2], None),
        ([("Add", 0, 0)], None),
        ([("Add", 0, 1)], None),
        ([("Add", 0, "0")], (3,)),
        ([("Add", 0, "1")], None),
        ([("Sub", 0, 1)], None),
        ([("Mul", 0, 1)], None),
        ([("Mul", 0, "-1")], None),
        ([deep(60)], (3,)),
        ([deep(70)], None),
    ],
)
def test_how_far_the_indices_of_a_map_go(final, extents):
    assert mapped_extents(index_map(3, *final), (3, 2, 5)) == extents


def test_an_index_of_one_value_adds_nothing():
    fused = ("Add", ("Mul", 0, "196"), ("Add", ("Mul", 1, "14"), 2))
    assert mapped_extents(index_map(3, fused), (1, 14, 14)) == (196,)
    assert mapped_extents(index_map(2, ("Add", 0, 1)), (1, 1)) == (1,)


def test_of_what_is_no_index_map_nothing_is_said():
    text = index_map(2, 1, ("FloorDiv", ("Add", 0, "0"), "1"))
    whole = json.loads(text)
    assert mapped_extents(text, (2, 3)) == (3, 2)
    assert mapped_extents(text, (2, 3, 4)) is None
    assert mapped_extents("{}", (2, 3)) is None
    others = [7, -1, "x", None, [99], [[]], [whole["root_index"]], {}]
    others += [{key: value} for key in ("a", "value", "final_indices") for value in (99, [], {})]
    for number, node in enumerate(whole["nodes"]):
        for other in ({**node, "type": "prim.Sub"}, *({**node, "data": data} for data in others)):
            nodes = [*whole["nodes"][:number], other, *whole["nodes"][number + 1 :]]
            found = mapped_extents(json.dumps({**whole, "nodes": nodes}), (2, 3))
            assert found is None or len(found) == 2, (number, other)
    number = whole["root_index"]
    whole["nodes"][number]["data"]["initial_indices"] = None
    assert mapped_extents(json.dumps(whole), (2, 3)) is None


@pytest.mark.parametrize(("value", "extents"), [(2, (2,)), ("2", None), (True, None)])
def test_before_0_27_a_number_is_part_of_its_node(value, extents):
    own = {"type": "tirx.Var", "data": {"name": 0}}
    number = {"type": "ir.IntImm", "data": {"value": value}}
    cut = {"type": "tirx.FloorMod", "data": {"a": 1, "b": 2}}
    arrays = [{"type": "ffi.Array", "data": [item]} for item in (1, 3)]
    made = {"type": "tirx.IndexMap", "data": {"initial_indices": 4, "final_indices": 5}}
    nodes = [{"type": "None"}, own, number, cut, *arrays, made]
    assert mapped_extents(json.dumps({"root_index": 6, "nodes": nodes}), (6,)) == extents


def test_a_block_whose_iterations_are_mapped_has_their_loops():
    fused = ("Add", ("Mul", 0, "128"), 1)
    body = f"TransformBlockLayout b-1 | {quote(index_map(3, 2, fused))}\n"
    found = 'GetSBlock | "C" "main" -> b\n'
    assert loops_after(found + body) == (1009, 8192)
    tile = "PadEinsum b-1 | [16 1]\nGetLoops b-1 -> l2\nSamplePerfectTile l-2 | 2 4 -> v2 = ["
    assert next_texts(SYMBOLIC, found + body + tile, PLAIN) == {b"256", b"512", b"1024"}
    # The loops from before may be there no more.
    assert loops_after(START + body) == (1009, 8192)
    state = SYMBOLIC.new(PLAIN)
    assert state.try_advance(SYMBOLS.encode(HEADER + START + body)) > 0
    assert state.scope.loops == (None, None, None)
    no_map = 'TransformBlockLayout b-1 | "{}"\n'
    assert loops_after(START + no_map) is None
    padded = 'TransformLayout b-1 @"{}" | 0 0 "{}" true\n'
    assert loops_after(START + padded) is None
    assert loops_after(START + padded.replace('"{}" true', "null true")) == (64, 128, 1009)


@LEVELS
@pytest.mark.parametrize("loops", [*range(1, 22), 99, 100, 999])
def test_a_number_of_loops_that_is_begun_in_bytes_can_be_finished(tokenizer, loops):
    task = TaskInfo((BlockInfo("C", (2,) * loops),))
    begin = HEADER + 'GetSBlock | "C" "main" -> b\nGetLoops b-1 ->'
    state = NEWEST[tokenizer].new(task)
    tokens = tokenizer.encode(begin)
    assert state.try_advance(tokens) == len(tokens)
    ways, words = [state], set()
    while ways:
        way = ways.pop()
        word = tokenizer.decode(way.tokens)[len(begin) :]
        allowed = {token: tokenizer.token_bytes(token) for token in way.allowed_tokens().tolist()}
        if any(data.startswith(b"\n") for data in allowed.values()):
            words.add(word)
        else:
            assert allowed, word
        for token, data in allowed.items():
            if b"\n" not in data:
                ways.append(way.fork())
                ways[-1].advance(token)
    assert words == {" l" if loops == 1 else f" l{loops}"}


@LEVELS
def test_a_block_may_have_more_loops_than_a_line_defines(tokenizer):
    body = 'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l{}\n'
    for loops, right in ((999, {999}), (1000, {2, 999})):
        task = TaskInfo((BlockInfo("C", (2,) * loops),))
        for count in (2, 999, 1000):
            text = body.format(count)
            assert (taken(NEWEST[tokenizer], text, task) == text) == (count in right)


ENTRIES = 'GetSBlock | "root" "main" -> b\nAnnotate b-1 {'
LONG = "x" * 17


@LEVELS
@pytest.mark.parametrize(
    "right",
    [
        *['"a": 1 "b": 2', '"": 1 "a": 2 "aa": 3', '"a": {"a": {"a": 1}}', '"\\u{61}": 1 "\\"": 2'],
        *[f'"{LONG[1:]}": 1 "{LONG[2:]}y": 2', f'"{LONG}": 1 "{LONG[1:]}": 2', f'"{LONG * 9}": 1'],
    ],
)
def test_keys_of_a_dict(tokenizer, right):
    body = ENTRIES + right + '} | "k"\n'
    assert taken(NEWEST[tokenizer], body) == body


@LEVELS
@pytest.mark.parametrize(
    "wrong",
    [
        *['"a": 1 "a": 2', '"": 1 "": 2', '"a": 1 "\\u{61}": 2', '"\\u{61}": 1 "a": 2'],
        *[f'"{LONG[1:]}": 1 "{LONG[1:]}": 2', f'"{LONG}": 1 "{LONG}": 2'],
        # Of two long keys nobody knows whether they are the same.
        f'"{LONG}": 1 "{LONG * 2}": 2',
    ],
)
def test_no_key_twice(tokenizer, wrong):
    body = ENTRIES + wrong + '} | "k"\n'
    assert taken(NEWEST[tokenizer], body) != body


@LEVELS
def test_a_key_can_always_be_finished_as_another_one(tokenizer):
    """Where a longer key is there already, a key of 16 letters may not be begun once more."""
    masker, most = NEWEST[tokenizer], "a" * 16
    begin = f'{ENTRIES}"{most}": 1 "{LONG}": 2 "'
    assert taken(masker, begin + most[1:]) == begin + most[1:]
    assert taken(masker, begin + most) == begin + most[1:]
    state = masker.new()
    state.try_advance(tokenizer.encode(HEADER + begin + most[1:]))
    finish(state, tokenizer)
    one = begin.replace(f' "{LONG}": 2', "")
    assert taken(masker, one + most) == one + most


def test_what_a_key_may_be_takes_few_positions():
    masker = ScriptMasker(PHRASES)
    state = masker.new()
    state.try_advance(PHRASES.encode(HEADER + ENTRIES + '"'))
    before = state._room.machine.size
    state.allowed_tokens()
    assert state._room.machine.size - before < 10_000


@LEVELS
def test_blocks_exist(tokenizer):
    masker = NEWEST[tokenizer]
    find = 'GetSBlock | "{}" "main" -> b\n'
    for name in ("C", "root", "T_relu", 'odd \\"é\\"', "A_shared", "C_local_é\\n", "T_relu_o"):
        assert taken(masker, find.format(name), TASK) == find.format(name), name
    for name in ("D", "", "C2", "odd", "Roo", "A", "T_rel", "_shared"):
        assert taken(masker, find.format(name), TASK) != find.format(name), name
    loose = ScriptMasker(tokenizer, constraints=Constraints(names=False))
    assert taken(loose, find.format("D"), TASK) == find.format("D")
    assert taken(loose, find.format("D") + "GetLoops b-1 -> l9\n", TASK).endswith("l9\n")


@LEVELS
def test_only_blocks_of_the_workload_if_that_is_asked_for(tokenizer):
    masker = ScriptMasker(tokenizer, constraints=Constraints(own=True))
    find = 'GetSBlock | "{}" "main" -> b\n'
    for name in ("C", "root", "T_relu", 'odd \\"é\\"'):
        assert taken(masker, find.format(name), TASK) == find.format(name), name
    for name in ("D", "A_shared", "T_relu_", "T_relu_1", "C_local_é\\n"):
        assert taken(masker, find.format(name), TASK) != find.format(name), name
    assert taken(masker, find.format("A_shared")) == find.format("A_shared")


@LEVELS
def test_an_escape_in_a_name_is_the_one_that_the_name_has(tokenizer):
    task = TaskInfo((BlockInfo("a\\b", loops=(8,), buffers=("A",)),))
    masker = ScriptMasker(tokenizer, constraints=Constraints(own=True))
    find = 'GetSBlock | "{}" "main" -> b\n'
    assert taken(masker, find.format("a\\\\b"), task) == find.format("a\\\\b")
    for name in ('a\\"', 'a\\"b', "a\\nb", "a\\\\", "a"):
        assert taken(masker, find.format(name), task) != find.format(name), name


@LEVELS
def test_the_function_exists(tokenizer):
    masker = NEWEST[tokenizer]
    find = 'GetSBlock | "C" "{}" -> b\n'
    for task, name in ((NAMED, 'plus \\"é\\"'), (MAIN, "main"), (TASK, "C"), (None, "")):
        assert taken(masker, find.format(name), task) == find.format(name), name
    for task, name in (
        (NAMED, "main"),
        (NAMED, "plus"),
        (MAIN, "mai"),
        (MAIN, "mainly"),
        (MAIN, ""),
    ):
        assert taken(masker, find.format(name), task) != find.format(name), name
    assert next_texts(SYMBOLIC, 'GetSBlock | "C"', MAIN) == {b' "', b' "main"'}
    assert next_texts(SYMBOLIC, 'GetSBlock | "C" "mai', MAIN) == {b"n"}
    assert next_texts(SYMBOLIC, 'GetSBlock | "C" "main', MAIN) == {b'"'}
    assert next_texts(SYMBOLIC, "GetSBlock |", NAMED) == {b' "', b' "root"'}
    loose = ScriptMasker(tokenizer, constraints=Constraints(names=False))
    assert taken(loose, find.format("main"), NAMED) == find.format("main")


@LEVELS
def test_a_task_can_be_set_aside(tokenizer):
    tile = START + "SamplePerfectTile l-3 | 2 64 -> v2 = [7 7]\n"
    name = 'GetSBlock | "D" "main" -> b\n'
    masks = {
        key: ScriptMasker(tokenizer, constraints=Constraints(**dict.fromkeys(key, False)))
        for key in [("extents",), ("names",), ("extents", "names")]
    }
    passing = {
        key: [body for body in (tile, name) if taken(mask, body, TASK) == body]
        for key, mask in masks.items()
    }
    assert passing == {
        ("extents",): [tile],
        ("names",): [name],
        ("extents", "names"): [tile, name],
    }


@LEVELS
def test_how_far_the_end_is(tokenizer):
    """A task knows when a shorter line would not do."""
    masker, loose = (
        NEWEST[tokenizer],
        ScriptMasker(tokenizer, constraints=Constraints(extents=False)),
    )
    find = 'GetSBlock | "{}" "main" -> b\n'
    tile = "SamplePerfectTile l-1 | 2 -1 -> v2 ="
    for mask, body, task, tokens in (
        (masker, "", None, 1),
        (masker, find.format("C") + "GetLoops b-1", None, 2),
        (masker, find.format("C") + "GetLoops b-1", TASK, 4),
        (masker, find.format("C") + "GetLoops", TASK, 8),
        (masker, find.format("deep") + "GetLoops b-1", TASK, 7),
        (masker, find.format("deep") + "GetLoops b-1 ->", TASK, 6),
        (masker, find.format('odd \\"é\\"') + "GetLoops b-1", TASK, 2),
        (masker, START + tile, TASK, 9),
        (masker, START + tile, None, 6),
        (loose, START + tile, TASK, 6),
        (masker, 'GetSBlock | "T_r', TASK, 10),
        (masker, 'GetSBlock | "odd ', TASK, 13),
        (masker, 'GetSBlock | "odd \\', TASK, 12),
        (masker, 'GetSBlock | "C" "', NAMED, 16),
        (masker, 'GetSBlock | "C" "plus', NAMED, 12),
        (masker, 'GetSBlock | "T_r', NAMED, 21),
        (masker, 'GetSBlock | "C"', MAIN, 5),
    ):
        state = mask.new(task)
        given = tokenizer.encode(HEADER + body)
        assert state.try_advance(given) == len(given)
        left = state.remaining_min()
        assert left == tokens, body
        completion = state.completion()
        assert state.try_advance(completion) == len(completion) <= left


# There is always a way on.


def walk(masker, task, choices, length):
    """A random sequence: mostly symbols, some bytes; ends are put off."""
    state = masker.new(task)
    for _ in range(length):
        allowed = state.allowed_tokens()
        assert len(allowed)
        words = allowed[allowed > 258]
        pool = words if len(words) and choices.random() < 0.8 else allowed
        token = int(pool[choices.randrange(len(pool))])
        if token != masker.tokenizer.eos_id:
            state.advance(token)
    return state


@LEVELS
@given(st.randoms(use_true_random=False), st.sampled_from(TASKS), st.integers(1, 100))
def test_every_prefix_can_be_finished(tokenizer, choices, task, length):
    """And what comes of it can be read, and has no error."""
    finish(walk(NEWEST[tokenizer], task, choices, length), tokenizer)


def finish(state, tokenizer):
    """Go the shortest way to the end, and look at what has come of it."""
    left, before = state.remaining_min(), len(state.tokens)
    completion = state.completion()
    assert len(completion) <= left
    assert state.try_advance(completion) == len(completion)
    assert state.is_finished()
    assert len(state.tokens) == before + len(completion)
    text = tokenizer.decode(state.tokens)
    assert not [p for p in check(loads(text), tvm="0.27") if p.severity == "error"]


@LEVELS
@given(st.randoms(use_true_random=False), st.booleans(), st.integers(0, 60))
def test_a_limit_is_kept(tokenizer, choices, with_task, more):
    """With as few tokens as there have to be, and with more, random choices end in time."""
    state = walk(NEWEST[tokenizer], TASK if with_task else None, choices, choices.randrange(30))
    left = state.remaining_min() + more
    while not state.is_finished():
        allowed = state.allowed_tokens(left=left)
        assert set(allowed.tolist()) <= set(state.allowed_tokens().tolist())
        state.advance(int(allowed[choices.randrange(len(allowed))]))
        left -= 1
    assert left >= 0


@LEVELS
@given(st.randoms(use_true_random=False), st.integers(0, 20))
def test_a_limit_refuses_nothing_else(tokenizer, choices, more):
    state = walk(NEWEST[tokenizer], TASK, choices, choices.randrange(30))
    left = state.remaining_min() + more
    expected = [
        token
        for token in state.allowed_tokens().tolist()
        if token == tokenizer.eos_id or remaining_after(state, token) < left
    ]
    assert state.allowed_tokens(left=left).tolist() == expected
    assert (state.allowed_tokens(left=10**6) == state.allowed_tokens()).all()
    assert (state.allowed_tokens(left=0) == state.allowed_tokens(left=left - more)).all()


@LEVELS
@pytest.mark.parametrize("extent", [2**31 - 1, 2 * (2**30 - 35), 2**30, 13])
@pytest.mark.parametrize("more", [0, 8, 30, 75, 100, 150])
def test_a_limit_far_off_refuses_nothing(tokenizer, extent, more):
    """With extents that are spelled as long as any."""
    state = NEWEST[tokenizer].new(TaskInfo((BlockInfo("C", (extent,) * 3, ("C",)),)))
    for line in (
        'GetSBlock | "C" "main" -> b\n',
        "GetLoops b-1 -> l3\n",
        "SamplePerfectTile l-1 | 3 64 -> v3 = [1",
    ):
        tokens = tokenizer.encode(line if state.tokens else HEADER + line)
        for token in tokens:
            left = state.remaining_min() + more
            allowed = state.allowed_tokens().tolist()
            expected = [each for each in allowed if remaining_after(state, each) < left]
            assert state.allowed_tokens(left=left).tolist() == expected
            if state.try_advance([token]) == 0:
                break


def remaining_after(state, token):
    ahead = state.fork()
    ahead.advance(token)
    return ahead.remaining_min()


@LEVELS
@given(st.randoms(use_true_random=False))
def test_the_mask_is_what_advance_takes(tokenizer, choices):
    state = walk(NEWEST[tokenizer], TASK, choices, choices.randrange(60))
    allowed = set(state.allowed_tokens().tolist())
    for token in {choices.randrange(tokenizer.vocab_size) for _ in range(200)} | allowed:
        assert state.validate([token]) == (token in allowed)


@given(st.randoms(use_true_random=False))
def test_a_phrase_may_come_when_its_symbols_may(choices):
    state = walk(NEWEST[PHRASES], TASK, choices, choices.randrange(40))
    allowed = set(state.allowed_tokens().tolist())
    for token in range(SYMBOLS.vocab_size, PHRASES.vocab_size, 7):
        parts = PHRASES.parts(token)
        assert (state.validate(parts) == len(parts)) == (token in allowed)


# The state.


def test_bits_are_laid_out_as_engines_have_them():
    state = NEWEST[PHRASES].new(TASK)
    state.try_advance(PHRASES.encode(HEADER + START))
    rows = np.full((3, NEWEST[PHRASES].mask_words + 2), -1, dtype=np.int32)
    state.fill_bitmask(rows, 1)
    bits = {
        word * 32 + bit
        for word, value in enumerate(rows[1].tolist())
        for bit in range(32)
        if value >> bit & 1
    }
    assert bits == set(state.allowed_tokens().tolist())
    assert (rows[[0, 2]] == -1).all()
    with pytest.raises(ValueError, match="expected rows of at least 128 words, found 127"):
        state.fill_bitmask(rows[:, :127], 0)


def test_going_back_and_forking():
    state = NEWEST[SYMBOLS].new()
    tokens = SYMBOLS.encode(HEADER + START)
    state.try_advance(tokens)
    twin = state.fork()
    twin.rollback(3)
    twin.advance(int(twin.allowed_tokens()[0]))
    assert state.tokens == tokens
    state.rollback(len(tokens) - 1)
    assert state.tokens == tokens[:1]
    with pytest.raises(ValueError, match="cannot take back 2 tokens of 1"):
        state.rollback(2)
    assert state.tokens == tokens[:1]
    state.reset()
    assert state.tokens == []
    assert state.forced() == tokens[:1]
    assert state.remaining_min() == 2
    assert not state.is_accepting()


def test_the_end():
    state = NEWEST[SYMBOLS].new()
    state.try_advance([*SYMBOLS.encode(HEADER), SYMBOLS.eos_id])
    assert state.is_finished()
    assert state.is_accepting()
    assert state.remaining_min() == 0
    assert state.allowed_tokens().tolist() == [SYMBOLS.eos_id]
    assert state.completion() == []
    assert state.forced() == []
    assert state.validate(SYMBOLS.encode("EnterPostproc")) == 0
    state.advance(SYMBOLS.eos_id)
    assert state.is_finished()


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (-1, "token -1 (there are {size} tokens) cannot come next at place 9, after 'GetLoops'"),
        (10**9, "token 1000000000 (there are {size} tokens) cannot come next at place 9"),
        (1, "token 1 (a special token) cannot come next at place 9"),
        (13, "token 13 ('\\n') cannot come next at place 9, after 'GetLoops'; allowed_tokens()"),
    ],
)
def test_a_token_that_may_not_come(token, message):
    state = ScriptMasker(SYMBOLS).new()
    tokens = SYMBOLS.encode(HEADER + 'GetSBlock | "main" "main" -> b\nGetLoops')
    state.try_advance(tokens)
    with pytest.raises(IllegalToken) as caught:
        state.advance(token)
    assert str(caught.value).startswith(message.format(size=SYMBOLS.vocab_size))
    assert (caught.value.token, caught.value.place) == (token, 9)
    assert state.tokens == tokens


@LEVELS
def test_a_masker_can_be_pickled(tokenizer):
    masker = ScriptMasker(tokenizer, tvm="0.26", constraints=Constraints(names=False))
    masker.warm([HEADER + START], TASK)
    again = pickle.loads(pickle.dumps(masker))
    assert (again.tvm, again.constraints) == (masker.tvm, masker.constraints)
    body = START.replace('"C"', '"none"') + "Parallel l-1\n"
    assert taken(again, body, TASK) == taken(masker, body, TASK)
    assert next_texts(again, START, TASK) == next_texts(masker, START, TASK)


def test_warm_tables_change_nothing():
    masker, body = ScriptMasker(PHRASES), HEADER + START
    masker.warm([body, "no script", body + "Foo"], TASK)
    masker.warm([body])
    assert next_texts(masker, START, TASK) == next_texts(NEWEST[PHRASES], START, TASK)


def test_warm_makes_the_tables(monkeypatch):
    from tracescript.masks import room

    masker, script = ScriptMasker(PHRASES), HEADER + START
    masker.warm([script])
    monkeypatch.setattr(room, "Table", None)
    state = masker.new()
    for token in PHRASES.encode(script):
        assert token in state.allowed_tokens()
        state.advance(token)


@pytest.mark.parametrize(
    "bounds",
    [("room._POSITIONS",), ("room._TABLES",), ("room._MASKS", "tables._MASKS"), ("goals._GOALS",)],
    ids=["positions", "tables", "masks", "goals"],
)
def test_what_is_kept_is_bounded(monkeypatch, bounds):
    """Forgetting changes nothing, not even for a sequence that has begun."""
    small = ScriptMasker(SYMBOLS)
    tile = START + "SamplePerfectTile l-3 | 2 -1 -> v2 = ["
    script = HEADER + tile + "4 16]\n" + START + "Fuse l-2 l-1 | 1 -> l\n" + START
    for name in bounds:
        monkeypatch.setattr(f"tracescript.masks.{name}", 1)
    for task in (None, TASK):
        state, usual = small.new(task), NEWEST[SYMBOLS].new(task)
        for token in SYMBOLS.encode(script):
            assert (state.allowed_tokens() == usual.allowed_tokens()).all()
            state.advance(token)
            usual.advance(token)
    assert small.new().allowed_tokens().tolist() == NEWEST[SYMBOLS].new().allowed_tokens().tolist()


def test_a_float_stays_within_the_range_of_a_double():
    state = ScriptMasker(SYMBOLS).new()
    state.try_advance(SYMBOLS.encode(HEADER + "SampleCategorical | [1] [1e3"))
    for digit, allowed in (("0", "012345678"), ("7", "])")):
        state.advance(SYMBOLS.encode(digit)[0])
        found = {SYMBOLS.token_bytes(token).decode() for token in state.allowed_tokens()}
        assert set("0123456789]") & found == set(allowed) & set("0123456789]") | {"]"}
    # That many digits in front of the point are too many as well.
    state.reset()
    digits = "1" + "0" * 400
    state.try_advance(SYMBOLS.encode(HEADER + 'GetSBlock | "C" "main" -> b\nAnnotate b-1 '))
    taken = state.try_advance(SYMBOLS.encode(digits + ".5"))
    assert taken < len(digits)


def test_a_line_that_changes_loops_is_done_when_a_phrase_goes_on_to_the_next():
    """Only TVM knows the loops of a block after ComputeInline, though nothing is defined by it."""
    state = ScriptMasker(PHRASES).new(TASK)
    lines = 'tracescript 1\nGetSBlock | "C" "main" -> b\nGetSBlock | "C" "main" -> b\n'
    for count in (2, 3, 4):
        tokens = PHRASES.encode(f"{lines}ComputeInline b-2\nGetLoops b-1 -> l{count}\n")
        assert state.validate(tokens) == len(tokens), count
