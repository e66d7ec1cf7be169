"""`diff`: its laws over any traces and over real ones, then what exactly it finds."""

import json
import re
from itertools import accumulate, pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import LOGS
from tracescript import iter_records, loads, testing
from tracescript.difference import (
    Changed,
    DecisionChange,
    Difference,
    Placed,
    Renamed,
    diff,
    subsequence,
)
from tracescript.model import RV, Decision, IndexMap, Instruction, Trace

# An oracle: instructions with names that say what they stand for.


def in_tokens(trace, token):
    """The instructions, with a token in the place of each name that is defined.

    `token` gives that of an output, from the position of its instruction and its own.
    """
    tokens, found = {}, []
    for index, inst in enumerate(trace.insts):
        inputs = tuple(in_other_names(item, tokens) for item in inst.inputs)
        own = [token(index, place) for place in range(len(inst.outputs))]
        for name, new in zip(inst.outputs, own, strict=True):
            tokens.setdefault(name, new)
        found.append(Instruction(inst.kind, inputs, inst.attrs, tuple(own)))
    return found


def in_other_names(item, names):
    if isinstance(item, RV):
        return RV(names.get(item.name, item.name))
    if isinstance(item, tuple):
        return tuple(in_other_names(inner, names) for inner in item)
    if isinstance(item, IndexMap) and is_json(item.text):
        strings = re.compile(r'"([^"\\]*)"(\s*:)?')

        def other(found):
            return found[0] if found[2] or found[1] not in names else f'"{names[found[1]]}"'

        return IndexMap(strings.sub(other, item.text))
    return item


def is_json(text):
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return True


def same_but_for_names(a, b):
    def by_position(index, place):
        return f"output {index}.{place}"

    return a.decisions == b.decisions and in_tokens(a, by_position) == in_tokens(b, by_position)


def by_pairs(names, other):
    """Tokens that two outputs share if their instructions are a pair."""
    return lambda index, place: f"output {names.get(index, f'{other} {index}')}.{place}"


# Laws.


def check_laws(a, b):
    """Every law of the difference between two traces."""
    found, back = diff(a, b), diff(b, a)
    assert found.apply(a) == b
    assert back.apply(b) == a
    assert found.is_empty == back.is_empty == same_but_for_names(a, b)
    assert Difference.from_json(found.to_json()) == found
    assert diff(a, a) == Difference(kept=tuple((n, n) for n in range(len(a.insts))))
    check_parts(a, b, found)
    check_mirrored(found, back)


def check_parts(a, b, found):
    """What each part of a difference says is so."""
    changed = [(one.a, one.b) for one in found.changed]
    in_place = sorted([*found.kept, *changed])
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(in_place))
    pairs = [*in_place, *found.moved]
    for side, trace, rest in ((0, a, found.removed), (1, b, found.added)):
        positions = [pair[side] for pair in pairs] + [placed.index for placed in rest]
        assert sorted(positions) == list(range(len(trace.insts)))
        assert all(trace.insts[placed.index] == placed.inst for placed in rest)
    assert all((a.insts[one.a], b.insts[one.b]) == (one.old, one.new) for one in found.changed)
    old = in_tokens(a, by_pairs(dict(pairs), "of a"))
    new = in_tokens(b, by_pairs({j: j for _, j in pairs}, "of b"))
    assert [(i, j) for i, j in pairs if old[i] == new[j]] == [
        pair for pair in pairs if pair not in changed
    ]
    for one in found.decisions:
        assert one.old is None or one.old in a.decisions
        assert one.new is None or one.new in b.decisions


def check_mirrored(found, back):
    """The difference the other way around says the same."""
    for one, other in ((found.kept, back.kept), (found.moved, back.moved)):
        assert {(j, i) for i, j in one} == set(other)
    assert (found.removed, found.added) == (back.added, back.removed)
    assert [Changed(one.b, one.a, one.new, one.old) for one in found.changed] == list(back.changed)
    assert {(one.new, one.old) for one in found.decisions} == {
        (one.old, one.new) for one in back.decisions
    }


NAMES = st.sampled_from(["b0", "l1", "v2", "odd name", "", "None", '"x"', "{}", "\ud800", "l3"])


@st.composite
def related(draw):
    """Two traces, the second made from the first by a few edits."""
    a = draw(testing.traces())
    spare = draw(testing.traces(max_instructions=3)).insts
    insts, decisions = list(a.insts), list(a.decisions)
    for _ in range(draw(st.integers(0, 4))):
        edit = draw(st.sampled_from(["remove", "insert", "swap", "repeat", "attrs", "names"]))
        i, j = (draw(st.integers(0, max(0, len(insts) - 1))) for _ in range(2))
        if edit == "insert":
            insts[i:i] = spare
        elif not insts:
            continue
        elif edit == "remove":
            del insts[i]
        elif edit == "swap":
            insts[i], insts[j] = insts[j], insts[i]
        elif edit == "repeat":
            insts.insert(j, insts[i])
        else:
            attrs, outputs = insts[i].attrs, insts[i].outputs
            attrs = (*attrs, draw(st.sampled_from([1, 1.0, True]))) if edit == "attrs" else attrs
            outputs = tuple(draw(NAMES) for _ in outputs) if edit == "names" else outputs
            insts[i] = Instruction(insts[i].kind, insts[i].inputs, attrs, outputs)
    for edit in draw(
        st.lists(st.sampled_from(["remove", "repeat", "shuffle", "index"]), max_size=2)
    ):
        k = draw(st.integers(0, len(decisions)))
        if edit == "shuffle":
            decisions = draw(st.permutations(decisions))
        elif edit == "index":
            decisions.insert(k, Decision(draw(st.integers(-1, 9)), draw(st.integers(0, 2))))
        else:
            decisions[k : k + 1] = decisions[k : k + 1] * 2 * (edit == "repeat")
    return a, Trace(tuple(insts), tuple(decisions))


@given(testing.traces(), testing.traces())
def test_laws_of_any_two_traces(a, b):
    check_laws(a, b)


@given(related())
def test_laws_of_traces_that_have_much_in_common(pair):
    check_laws(*pair)


@given(testing.traces())
def test_traces_that_differ_in_names_alone_do_not_differ(a):
    named = in_tokens(a, lambda index, place: f"output {index}.{place}")
    found = diff(a, Trace(tuple(named), a.decisions))
    assert found.is_empty
    assert found.kept == tuple((n, n) for n in range(len(a.insts)))


def some_pairs(path):
    """Some pairs of traces of one workload, and some of any two."""
    traces = {}
    for record in iter_records(path, strict=False):
        traces.setdefault(record.workload, []).append(record.trace)
    every = [trace for group in traces.values() for trace in group]
    near = [pair for group in traces.values() for pair in pairwise(group)]
    far = list(zip(every, every[::-1], strict=True))
    return near[:: max(1, len(near) // 8)] + far[:: max(1, len(far) // 8)]


@pytest.mark.parametrize("path", LOGS)
def test_laws_of_recorded_traces(path):
    for a, b in some_pairs(path):
        check_laws(a, b)


def with_one_more(trace):
    """A trace with one more instruction in front, named again as TVM names it.

    It has so many outputs that no name becomes that of a variable of an index map by chance.
    """
    first = Instruction("GetLoops", (RV("another"),), (), tuple(f"l{n}" for n in range(1000)))
    old = [inst.outputs for inst in trace.insts]
    firsts = list(accumulate(map(len, old), initial=1000))
    named = in_tokens(trace, lambda i, place: f"{old[i][place][0]}{firsts[i] + place}")
    decisions = [Decision(decision.index + 1, decision.value) for decision in trace.decisions]
    return Trace((first, *named), tuple(decisions))


@pytest.mark.parametrize("path", LOGS)
def test_an_instruction_more_in_front_of_a_recorded_trace(path):
    """All names shift, those in index maps too, and all decisions; it is one difference."""
    for a, _ in some_pairs(path):
        b = with_one_more(a)
        kept = tuple((n, n + 1) for n in range(len(a.insts)))
        assert diff(a, b) == Difference(kept=kept, added=(Placed(0, b.insts[0]),))
        assert diff(b, a).removed == (Placed(0, b.insts[0]),)


@pytest.mark.parametrize("path", LOGS)
def test_other_attributes_of_a_kind_in_a_recorded_trace(path):
    """What depends on the changed instructions has not changed, however much that is."""
    for a, _ in some_pairs(path):
        for kind in {inst.kind for inst in a.insts}:
            insts = [
                Instruction(inst.kind, inst.inputs, (*inst.attrs, "more"), inst.outputs)
                if inst.kind == kind
                else inst
                for inst in a.insts
            ]
            found = diff(a, Trace(tuple(insts), a.decisions))
            changed = [n for n, inst in enumerate(a.insts) if inst.kind == kind]
            assert [(one.a, one.b) for one in found.changed] == [(n, n) for n in changed]
            assert len(found.kept) == len(a.insts) - len(changed)
            assert not (found.added)
            assert not (found.removed)
            assert not (found.moved)
            assert not (found.decisions)


# What exactly is found.

TILED = """\
GetSBlock | "C" "main" -> b
GetLoops b-1 -> l2
SamplePerfectTile l-2 | 2 64 -> v2 = [8 16]
Split l-2 v-2 v-1 | true false -> l2
SamplePerfectTile l-3 | 2 64 -> v2 = [4 32]
Split l-3 v-2 v-1 | true false -> l2
Reorder l-4 l-2 l-3 l-1
Bind l-4 | "blockIdx.x"
Bind l-2 | "threadIdx.x"
"""


def trace_of(text):
    return loads("tracescript 1\n" + text)


def edited(*replacements):
    text = TILED
    for old, new in replacements:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return trace_of(text)


A = edited()
ALL_KEPT = tuple((n, n) for n in range(9))


def without(pairs, *positions):
    return tuple(pair for pair in pairs if pair[1] not in positions)


def test_one_decision():
    b = edited(("[8 16]", "[16 8]"))
    change = DecisionChange(Decision(2, (8, 16)), Decision(2, (16, 8)))
    assert diff(A, b) == Difference(kept=ALL_KEPT, decisions=(change,))


def test_a_decision_that_appears_and_one_that_goes():
    b = edited((" = [8 16]", ""))
    assert diff(A, b).decisions == (DecisionChange(Decision(2, (8, 16)), None),)
    assert diff(b, A).decisions == (DecisionChange(None, Decision(2, (8, 16))),)
    assert diff(A, b).kept == ALL_KEPT


def test_an_attribute_changes_one_instruction_and_none_that_depends_on_it():
    b = edited(("l-2 | 2 64 ->", "l-2 | 2 32 ->"))
    changed = Changed(2, 2, A.insts[2], b.insts[2])
    assert diff(A, b) == Difference(kept=without(ALL_KEPT, 2), changed=(changed,))


@pytest.mark.parametrize(("one", "other"), [("64", "64.0"), ("1", "true"), ("0.0", "-0.0")])
def test_types_count(one, other):
    a, b = (trace_of(f"K | {value}\nK {value}\n") for value in (one, other))
    assert [(change.a, change.b) for change in diff(a, b).changed] == [(0, 0), (1, 1)]


def test_another_literal_input():
    a, b = (trace_of(f'D -> b\nAnnotate b-1 {value} | "key"\nUse b-1\n') for value in (1, 2))
    assert diff(a, b).changed == (Changed(1, 1, a.insts[1], b.insts[1]),)


def test_another_number_of_outputs():
    a = trace_of("GetLoops -> l2\nUse l-1\nUse l-2\n")
    b = trace_of("GetLoops -> l3\nUse l-2\nUse l-3\n")
    changed = Changed(0, 0, a.insts[0], b.insts[0])
    assert diff(a, b) == Difference(kept=((1, 1), (2, 2)), changed=(changed,))


def test_an_input_from_elsewhere():
    """The loops are bound the other way around; what is bound to what is all that changed."""
    b = edited(('l-4 | "blockIdx.x"', 'l-3 | "blockIdx.x"'))
    changed = Changed(7, 7, A.insts[7], b.insts[7])
    assert diff(A, b) == Difference(kept=without(ALL_KEPT, 7), changed=(changed,))


def test_an_instruction_in_the_way_of_an_input():
    """The Split is applied to something else, and what depends on it is the same."""
    a = trace_of("GetLoops -> l2\nSplit l-1 4 -> l2\nBind l-1\nUnroll l-2\n")
    b = trace_of("GetLoops -> l2\nFuse l-2 l-1 -> l\nSplit l-1 4 -> l2\nBind l-1\nUnroll l-2\n")
    assert diff(a, b) == Difference(
        kept=((0, 0), (2, 3), (3, 4)),
        changed=(Changed(1, 2, a.insts[1], b.insts[2]),),
        added=(Placed(1, b.insts[1]),),
    )


def test_one_more_and_one_less_where_all_names_shift():
    b = edited(
        ('GetSBlock | "C" "main" -> b\n', 'GetSBlock | "C" "main" -> b\nGetConsumers b-1 -> b\n'),
        ("GetLoops b-1", "GetLoops b-2"),
        ('Bind l-4 | "blockIdx.x"\n', ""),
    )
    assert diff(A, b) == Difference(
        kept=((0, 0), *((n, n + 1) for n in range(1, 7)), (8, 8)),
        removed=(Placed(7, A.insts[7]),),
        added=(Placed(1, b.insts[1]),),
    )


def test_blocks_of_lines_that_change_places():
    """The shorter one has moved."""
    first = 'GetSBlock | "A" "main" -> b\nGetLoops b-1 -> l2\nFuse l-2 l-1 -> l\nParallel l-1\n'
    second = 'GetSBlock | "B" "main" -> b\nComputeInline b-1\n'
    found = diff(trace_of(first + second), trace_of(second + first))
    assert found == Difference(kept=((0, 2), (1, 3), (2, 4), (3, 5)), moved=((4, 0), (5, 1)))
    assert not found.is_empty


def test_what_has_moved_is_not_guessed():
    """One of two that are alike cannot be said to be the one that stands elsewhere."""
    a = trace_of("Sample\nSample\nA\nB\n")
    b = trace_of("A\nB\nSample\n")
    found = diff(a, b)
    assert (found.kept, found.moved) == (((2, 0), (3, 1)), ())
    assert [placed.index for placed in found.removed] == [0, 1]
    assert [placed.index for placed in found.added] == [2]


def test_moved_instructions_take_their_decisions_along():
    a = trace_of("Sample -> v = 1\nA\nB\n")
    assert diff(a, trace_of("A\nB\nSample -> v = 1\n")) == Difference(
        kept=((1, 0), (2, 1)), moved=((0, 2),)
    )


def test_what_only_its_users_tell_apart():
    """Of three that are alike the second one went, with the instruction that uses it."""
    text = 'Get | "A" -> b\nGet | "B" -> b\nGet | "C" -> b\n'
    sample = "SampleCategorical -> v = {}\n"
    parts = [sample.format(n) + f"Annotate b-{3 - n} v-1\n" for n in range(3)]
    a, b = trace_of(text + "".join(parts)), trace_of(text + parts[0] + parts[2])
    found = diff(a, b)
    assert [placed.index for placed in found.removed] == [5, 6]
    assert (len(found.kept), found.changed, found.moved) == (7, (), ())
    assert found.decisions == (DecisionChange(Decision(5, 1), None),)


def test_an_instruction_that_is_alike_but_of_another_is_changed():
    """The two samples are alike; the last line uses the other one now."""
    a = trace_of("Sample -> v\nSample -> v\nFirst v-2\nSecond v-1\nThird v-1\n")
    b = trace_of("Sample -> v\nSample -> v\nFirst v-2\nSecond v-1\nThird v-2\n")
    assert diff(a, b) == Difference(
        kept=((0, 0), (1, 1), (2, 2), (3, 3)), changed=(Changed(4, 4, a.insts[4], b.insts[4]),)
    )


def test_lines_that_are_alike_but_use_others_change_places():
    """Which of them has moved is told by what they use."""
    samples = "Sample -> v\nSample -> v\n"
    a, b = trace_of(samples + "Use v-2\nUse v-1\n"), trace_of(samples + "Use v-1\nUse v-2\n")
    found = diff(a, b)
    assert found.kept[:2] == ((0, 0), (1, 1))
    assert sorted([*found.kept[2:], *found.moved]) == [(2, 3), (3, 2)]


def test_what_uses_something_else_has_not_moved():
    """It is not known which D went where, so neither is where the Use comes from."""
    rest = "P\nQ\nR\nS\nT\n"
    a = trace_of("D -> v\nD -> v\nUse v-2\nX v-2\nY v-1\n" + rest)
    b = trace_of(rest + "D -> v\nUse v-1\n")
    found = diff(a, b)
    assert found.kept == ((5, 0), (6, 1), (7, 2), (8, 3), (9, 4))
    assert [placed.index for placed in found.removed] == [0, 1, 2, 3, 4]
    assert [placed.index for placed in found.added] == [5, 6]


def test_two_sketches_of_a_workload():
    """With a cache stage at a sampled place, and without."""
    start = 'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l2\n'
    tile = "SamplePerfectTile l-2 | 2 64 -> v2 = {}\nSplit l-2 v-2 v-1 | true true -> l2\n"
    end = 'SampleCategorical | [0 16] [0.5 0.5] -> v = 1\nAnnotate {} v-1 | "unroll"\n'
    cached = 'CacheWrite b-1 | 0 "local" -> b\nReverseComputeAt b-1 l-2 | true -1\n'
    a = trace_of(start + tile.format("[8 8]") + end.format("b-1"))
    b = trace_of(start + tile.format("[4 16]") + cached + end.format("b-2"))
    assert diff(a, b) == Difference(
        kept=((0, 0), (1, 1), (2, 2), (3, 3), (4, 6), (5, 7)),
        added=(Placed(4, b.insts[4]), Placed(5, b.insts[5])),
        decisions=(DecisionChange(Decision(2, (8, 8)), Decision(2, (4, 16))),),
    )


def test_nothing_in_common():
    a, b = trace_of("A -> b\n"), trace_of("B -> b\nC b-1\n")
    assert diff(a, b) == Difference(
        removed=(Placed(0, a.insts[0]),),
        added=(Placed(0, b.insts[0]), Placed(1, b.insts[1])),
    )
    assert diff(Trace(), Trace()) == Difference()


# Names.


def test_other_names_are_no_difference_and_are_kept_all_the_same():
    b = trace_of('GetSBlock | "C" "main" -> @"the block"\nUse @"the block" @"gone"\n')
    a = trace_of('GetSBlock | "C" "main" -> b\nUse b-1 @"gone"\n')
    found = diff(a, b)
    assert found == Difference(kept=((0, 0), (1, 1)), renamed=(Renamed(0, 0, "the block"),))
    assert found.is_empty
    assert found.apply(a) == b


def test_names_that_say_no_number_stay():
    a = trace_of('D -> @"x"\nD -> b\nUse @"x" b-1\n')
    b = trace_of('E -> v\nD -> @"x"\nD -> b\nUse @"x" b-1\n')
    assert diff(a, b) == Difference(kept=((0, 1), (1, 2), (2, 3)), added=(Placed(0, b.insts[0]),))


def test_a_name_that_is_defined_twice_is_the_first():
    a = trace_of('D -> @"x"\nD -> @"x"\nUse @"x"\n')
    assert diff(a, trace_of('D -> @"x"\nD -> @"y"\nUse @"x"\n')).is_empty
    # The one that is used now stands behind the other.
    b = trace_of('D -> @"y"\nD -> @"x"\nUse @"x"\n')
    assert (diff(a, b).kept, diff(a, b).moved) == (((0, 1), (2, 2)), ((1, 0),))


def test_names_that_stand_for_nothing_are_themselves():
    a = trace_of('Use @"x"\nD -> @"x"\n')
    assert diff(a, trace_of('Use @"x"\nD -> @"y"\n')).is_empty
    changed = diff(a, trace_of('Use @"y"\nD -> @"y"\n')).changed
    assert [(one.a, one.b) for one in changed] == [(0, 0)]


def test_no_name_is_taken_for_a_reference_that_stands_for_something():
    uses = [(RV("b0"), RV("")), (RV(""), RV("b0")), (RV(""), RV("?")), (RV("?"), RV(""))]
    first = Instruction("D", (), (), ("b0",))
    traces = [Trace((first, Instruction("Use", use))) for use in uses]
    assert [diff(a, b).is_empty for a in traces for b in traces] == [
        a is b for a in traces for b in traces
    ]


def index_map(*strings):
    return IndexMap(json.dumps({"v0": list(strings)}))


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (index_map("v0", "i"), index_map("v1", "i"), True),
        (index_map("v0", "i"), index_map("v0", "i"), False),
        (index_map("v0", "i"), index_map("v1", "j"), False),
        (index_map("i"), index_map("i"), True),
        (index_map("v0", "@"), index_map("@", "v1"), False),
        # By chance the variable of the map now has the name of a random variable.
        (index_map("v1"), index_map("v1"), False),
        (IndexMap('{"v0" : ["v0"]}'), IndexMap('{"v0" : ["v1"]}'), True),
        (IndexMap('{"v0": ["v0"]}'), IndexMap('{"v0":["v1"]}'), False),
        # Spelled with escapes it is text, and what it stands for still counts.
        (IndexMap('{"a": ["\\u00760"]}'), IndexMap('{"a": ["v1"]}'), False),
        (IndexMap('{"a": ["\\u00760"]}'), IndexMap('{"a": ["\\u00760"]}'), False),
        (IndexMap('{"a": ["\\u0078"]}'), IndexMap('{"a": ["\\u0078"]}'), True),
        # What is no JSON is only text.
        (IndexMap('{"v0"'), IndexMap('{"v1"'), False),
        (IndexMap('{"v0"'), IndexMap('{"v0"'), True),
        (IndexMap("{" + 2000 * "[" + '"v0"'), IndexMap("{" + 2000 * "[" + '"v0"'), True),
        (IndexMap('{"a": "\ud800", "b": "v0"}'), IndexMap('{"a": "\ud800", "b": "v0"}'), True),
    ],
    ids=str,
)
def test_random_variables_in_index_maps(old, new, same):
    """The first output of `b` is a new one, so v0 of `a` is v1 of `b`."""
    sample = Instruction("Sample", (), (), ("v0",))
    a = Trace((sample, Instruction("TransformLayout", (RV("v0"), old))))
    b = Trace(
        (
            Instruction("Another", (), (), ("v0",)),
            Instruction("Sample", (), (), ("v1",)),
            Instruction("TransformLayout", (RV("v1"), new)),
        )
    )
    found = diff(a, b)
    assert [placed.index for placed in found.added] == [0]
    assert ((1, 2) in found.kept) == same
    assert bool(found.changed) != same
    assert found.apply(a) == b


# Decisions that TVM would not write.


@pytest.mark.parametrize(
    ("old", "new", "changes", "order"),
    [
        ("@1 = 1\n@0 = 2\n", "@1 = 1\n@0 = 2\n", [], ()),
        ("@0 = 2\n@1 = 1\n", "@1 = 1\n@0 = 2\n", [], (1, 0)),
        ("@1 = 1\n@0 = 2\n", "@0 = 2\n@1 = 1\n", [], (1, 0)),
        ("@0 = 1\n@0 = 2\n", "@0 = 1\n@0 = 3\n", [((0, 2), (0, 3))], ()),
        ("@0 = 1\n@0 = 1\n", "@0 = 1\n", [((0, 1), None)], ()),
        ("@7 = 1\n@-1 = 1\n", "@7 = 1\n@-1 = 2\n", [((-1, 1), (-1, 2))], ()),
        ("@7 = null\n", "", [((7, None), None)], ()),
        ("@1 = 1\n@0 = 2\n", "@1 = 1\n@0 = 2\n@8 = [1.0]\n", [(None, (8, (1.0,)))], ()),
        ("@0 = 1\n", "@0 = true\n", [((0, 1), (0, True))], ()),
    ],
)
def test_odd_decisions(old, new, changes, order):
    a, b = (trace_of("A -> v\nB -> v\n" + decisions) for decisions in (old, new))
    expected = [
        DecisionChange(*(one if one is None else Decision(*one) for one in change))
        for change in changes
    ]
    found = diff(a, b)
    assert found == Difference(
        kept=((0, 0), (1, 1)), decisions=tuple(expected), decision_order=order
    )
    assert found.is_empty == (not changes and not order)
    assert found.apply(a) == b


def test_a_decision_of_no_instruction_is_another_than_that_of_a_new_one():
    a, b = trace_of("A\n@1 = 5\n"), trace_of("A\nB\n@1 = 5\n")
    assert diff(a, b).decisions == (
        DecisionChange(Decision(1, 5), None),
        DecisionChange(None, Decision(1, 5)),
    )
    check_laws(a, b)


# Traces of a size that none has.


def test_long_traces():
    """10,000 instructions are compared as any others."""
    insts = [
        Instruction(f"K{n * n % 97}", (RV(f"l{n * 7 % (n + 1)}"),), (n % 3,), (f"l{n}",))
        for n in range(10_000)
    ]
    other = [*insts[:5000], Instruction("New", (), (), ("l5000",)), *insts[5001:]]
    found = diff(Trace(tuple(insts)), Trace(tuple(other)))
    assert [placed.index for placed in found.removed] == [5000]
    assert [placed.index for placed in found.added] == [5000]
    users = [n for n, inst in enumerate(insts) if n > 5000 and inst.inputs == (RV("l5000"),)]
    assert [one.a for one in found.changed] == users
    assert len(found.kept) == 9999 - len(users)


def test_traces_that_are_too_long_for_a_table(monkeypatch):
    """What both have once is matched; it is less, and no less right."""
    monkeypatch.setattr(subsequence, "MAX_TABLE", 0)
    a = trace_of("One\nX\nX\nTwo\nThree\nY\n")
    b = trace_of("Y\nX\nOne\nThree\nX\nTwo\nThree\n")
    check_laws(a, b)
    assert diff(a, b).kept == ((0, 2), (2, 4), (3, 5), (4, 6))
    for path in LOGS[:1]:
        for pair in some_pairs(path.values[0]):
            check_laws(*pair)


keys = st.lists(st.integers(0, 4), max_size=12)


def longest(a, b):
    """The length of the longest common subsequence, by the textbook."""
    row = [0] * (len(b) + 1)
    for left in a:
        before, row = row, [0]
        for j, right in enumerate(b):
            row.append(before[j] + 1 if left == right else max(row[-1], before[j + 1]))
    return row[-1]


@given(keys, keys)
def test_the_longest_common_subsequence(a, b):
    found = subsequence.common_subsequence(a, b)
    assert all(a[i] == b[j] for i, j in found)
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(found))
    assert len(found) == longest(a, b)


@given(keys, keys)
def test_a_common_subsequence_without_a_table(a, b):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsequence, "MAX_TABLE", 0)
        found = subsequence.common_subsequence(a, b)
    assert all(a[i] == b[j] for i, j in found)
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(found))


@given(st.permutations(range(8)))
def test_without_a_table_what_both_have_once_is_matched_best(other):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsequence, "MAX_TABLE", 0)
        assert len(subsequence.common_subsequence(range(8), other)) == longest(range(8), other)
