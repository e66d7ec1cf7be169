"""The dependency graph: laws over any traces and over real ones, then examples."""

from collections import defaultdict

import pytest
from hypothesis import given

from corpora import LOGS, ROOT, SHARED, needs_shared
from tracescript import TraceShapeError, iter_records, loads, testing
from tracescript.dependencies import (
    DecisionNode,
    Edge,
    InstNode,
    ValueNode,
    graph,
    simplify,
)
from tracescript.dependencies.links import MAX_INSTRUCTIONS
from tracescript.instructions import ASPECTS, KINDS
from tracescript.model import RV, Decision, IndexMap, Instruction, Trace

TILED = loads("""\
tracescript 1
GetSBlock | "C" "main" -> b
GetSBlock | "root" "main" -> b
GetLoops b-2 -> l3
SamplePerfectTile l-3 | 2 64 -> v2 = [8 16]
Split l-3 v-2 v-1 | true false -> l2
SamplePerfectTile l-4 | 2 64 -> v2 = [8 8]
Split l-4 v-2 v-1 | true false -> l2
Reorder l-4 l-2 l-3 l-1
Bind l-3 | "threadIdx.x"
GetLoops b-2 -> l5
SampleCategorical | [0 16 64] [0.25 0.25 0.5] -> v = 1
Annotate b-1 v-1 | "meta_schedule.unroll_explicit"
EnterPostproc
Unannotate b-1 | "meta_schedule.unroll_explicit"
""")


def insts_of(nodes):
    return [node.index for node in nodes if isinstance(node, InstNode)]


# An oracle: the definitions, followed to the letter.


def aspects_of(trace, index):
    """What an instruction looks at and changes, as sets of words."""
    inst = trace.insts[index]
    kind = KINDS.get(inst.kind)
    if kind is None:
        everything = {*ASPECTS, "random"}
        return everything, everything
    found = tuple(set(aspects) for aspects in (kind.looks, kind.changes))
    drawn = [each.value for each in trace.decisions if each.index == index][-1:]
    if kind.decision != "none" and drawn in ([], [None]):
        return found[0] | {"random"}, found[1] | {"random"}
    if "own annotation" not in kind.changes:
        return found
    key = inst.attrs[0] if inst.attrs and isinstance(inst.attrs[0], str) else None
    place = type_of(trace, index, inst.inputs[0] if inst.inputs else None)
    types = [place] if place in ("block", "loop") else ["block", "loop"]
    own = {(f"{one} annotations", key) for one in types}
    return own, own


def type_of(trace, index, item):
    for earlier in trace.insts[:index]:
        if isinstance(item, RV) and item.name in earlier.outputs:
            kind = KINDS.get(earlier.kind)
            return kind.outputs.type if kind and kind.outputs.count != 0 else None
    return None


def meet(one, other):
    """Whether two sets of aspects have something in common; an annotation may have a key."""

    def same(left, right):
        left, right = (item if isinstance(item, tuple) else (item, None) for item in (left, right))
        return left[0] == right[0] and (None in (left[1], right[1]) or left[1] == right[1])

    return any(same(left, right) for left in one for right in other)


DATA = {"defines", "uses", "decides"}


def reached(edges, start, kinds):
    """Every node that edges of some kinds lead to."""
    after = defaultdict(list)
    for edge in edges:
        if edge.kind in kinds:
            after[edge.source].append(edge.target)
    found, rest = set(), [start]
    while rest:
        new = [node for node in after[rest.pop()] if node not in found]
        found.update(new)
        rest += new
    return found


def check_graph_laws(trace):
    """Every law of the graph of one trace, however it is made."""
    made = graph(trace)
    nodes, edges = made.nodes, list(made.edges())
    assert len(nodes) == len(set(nodes))
    assert len(nodes) == sum(1 + len(inst.outputs) for inst in trace.insts) + len(trace.decisions)
    assert {end for edge in edges for end in (edge.source, edge.target)} <= set(nodes)
    assert len(edges) == len(set(edges))
    for orders, kinds in ((False, DATA), (True, {*DATA, "orders"})):
        after = {node: made.influences(node, orders=orders) for node in nodes}
        before = {node: made.depends_on(node, orders=orders) for node in nodes}
        for node in nodes:
            assert set(after[node]) == reached(edges, node, kinds) - {node}
        pairs = {(node, other) for node in nodes for other in after[node]}
        assert pairs == {(other, node) for node in nodes for other in before[node]}
        places = {node: place for place, node in enumerate(nodes)}
        for found in (*after.values(), *before.values()):
            assert list(found) == sorted(set(found), key=places.__getitem__)


def check_order_laws(trace):
    """What the table says about two instructions, for all pairs."""
    made = graph(trace)
    aspects = [aspects_of(trace, index) for index in range(len(trace.insts))]
    paths = [insts_of(made.depends_on(InstNode(j), orders=True)) for j in range(len(trace.insts))]
    for later, (looks, changes) in enumerate(aspects):
        for earlier, (looked, changed) in enumerate(aspects[:later]):
            if meet(changed, looks):
                assert earlier in paths[later]
            if made.commute(earlier, later):
                assert not meet(changed, looks | changes)
                assert not meet(changes, looked)
                assert not set(trace.insts[earlier].outputs) & set(trace.insts[later].outputs)
            assert made.commute(earlier, later) == made.commute(later, earlier)


def check_slice_laws(trace):
    made = graph(trace)
    edges = list(made.edges())
    aspects = [aspects_of(trace, index) for index in range(len(trace.insts))]
    direct = [
        {
            edge.source.inst
            for edge in edges
            if (edge.target, edge.kind) == (InstNode(later), "uses")
        }
        | {n for n, (_, changed) in enumerate(aspects[:later]) if meet(changed, looks)}
        for later, (looks, _) in enumerate(aspects)
    ]
    targets = {edge.source: edge.target.index for edge in edges if edge.kind == "decides"}
    for node in made.nodes:
        index = getattr(node, "inst", getattr(node, "index", targets.get(node)))
        wanted, rest = set(), [] if index is None else [index]
        while rest:
            wanted.add(last := rest.pop())
            rest += [n for n in direct[last] - wanted if trace.insts[n].kind != "EnterPostproc"]
        part = made.slice(node)
        assert list(part.insts) == [trace.insts[n] for n in sorted(wanted)]
        if isinstance(node, ValueNode):
            assert graph(part).slice(ValueNode(len(part.insts) - 1, node.output)) == part


def check_group_laws(trace):
    made = graph(trace)
    groups = made.independent_groups()
    numbers = [node.number for group in groups for node in group]
    assert sorted(numbers) == list(range(len(trace.decisions)))
    for group in groups:
        for node in group:
            # All that are reached by dependence, and no others.
            near = {node}
            while more := {
                other
                for one in near
                for other in map(DecisionNode, numbers)
                if other not in near and not made.independent(one, other)
            }:
                near |= more
            assert near == set(group)


def alive(trace, end):
    """The positions before the end that dead-code elimination leaves, one removal at a time."""
    uses = [edge for edge in graph(trace).edges() if edge.kind == "uses"]
    kept = list(range(end))
    while True:
        needed = {edge.source.inst for edge in uses if edge.target.index in kept}
        pure = {n for n in kept if (kind := KINDS.get(trace.insts[n].kind)) and kind.pure}
        if pure <= needed:
            return kept
        kept = [n for n in kept if n not in pure or n in needed]


def check_simplify_laws(trace):
    marks = [n for n, inst in enumerate(trace.insts) if inst.kind == "EnterPostproc"]
    for remove_postproc in (False, True):
        simple = simplify(trace, remove_postproc=remove_postproc)
        assert simplify(simple, remove_postproc=remove_postproc) == simple
        end = marks[0] if remove_postproc and marks else len(trace.insts)
        kept = alive(trace, end)
        assert list(simple.insts) == [trace.insts[n] for n in kept]
        decisions = [(kept.index(d.index), d.value) for d in trace.decisions if d.index in kept]
        assert list(simple.decisions) == [Decision(*each) for each in decisions]
        # What is left refers to what it did refer to.
        before, after = graph(trace), graph(simple)
        for place, position in enumerate(kept):
            used = insts_of(after.depends_on(InstNode(place)))
            assert [kept[n] for n in used] == insts_of(before.depends_on(InstNode(position)))


CHECKS = [check_graph_laws, check_order_laws, check_slice_laws, check_group_laws]
CHECKS.append(check_simplify_laws)
EACH_LAW = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


@EACH_LAW
@given(trace=testing.traces())
def test_laws_of_any_trace(check, trace):
    check(trace)


def recorded(path):
    """The traces of a log that differ in more than their decisions."""
    shapes = {}
    for record in iter_records(path, strict=False):
        trace = record.trace
        shapes.setdefault(tuple(inst.kind for inst in trace.insts), trace)
    return list(shapes.values())


@EACH_LAW
@pytest.mark.parametrize("path", LOGS)
def test_laws_of_recorded_traces(check, path):
    """Some of each log, the longest among them."""
    traces = sorted(recorded(path), key=lambda trace: len(trace.insts))
    for trace in traces[:: max(1, len(traces) // 6)] + traces[-1:]:
        check(trace)


# Real logs.


@needs_shared
def test_more_than_a_third_of_the_values_are_dead():
    dead = values = 0
    for path in SHARED:
        for record in iter_records(path, strict=False):
            dead += len(graph(record.trace).dead_values())
            values += sum(len(inst.outputs) for inst in record.trace.insts)
    assert dead / values == pytest.approx(0.37, abs=0.02)


def test_decisions_of_gpu_records_are_independent_and_those_of_cpu_records_fall_in_groups():
    """A compute location depends on the loops that were tiled before; nothing else does."""
    found = {}
    for log in ("cuda", "llvm"):
        path = ROOT / "tests" / "corpus" / f"{log}.tuning_record.json"
        traces = [record.trace for record in iter_records(path)]
        sizes = [max(map(len, graph(trace).independent_groups()), default=0) for trace in traces]
        sampled = [{trace.insts[each.index].kind for each in trace.decisions} for trace in traces]
        found[log] = {
            (size > 1, "SampleComputeLocation" in kinds)
            for size, kinds in zip(sizes, sampled, strict=True)
        }
    assert found == {"cuda": {(False, False)}, "llvm": {(True, True), (False, False)}}


# Examples.


def test_what_a_tile_influences():
    made = graph(TILED)
    tile, second, unroll = map(DecisionNode, range(3))
    assert insts_of(made.influences(tile)) == [3, 4, 7, 8]
    # The loops that are looked up again are others if the tile is another one.
    assert insts_of(made.influences(tile, orders=True)) == [3, 4, 7, 8, 9, 12, 13]
    assert insts_of(made.influences(unroll)) == [10, 11]
    assert insts_of(made.influences(unroll, orders=True)) == [10, 11, 12, 13]
    assert made.influences(made.value("l8")) == (InstNode(7), InstNode(8))
    assert made.depends_on(made.value("v10")) == (
        InstNode(0),
        ValueNode(0, 0),
        InstNode(2),
        ValueNode(2, 1),
        second,
        InstNode(5),
    )
    assert made.depends_on(tile) == ()


def test_edges():
    insts = (
        Instruction("GetSBlock", (), ("B", "main"), ("b0",)),
        Instruction("SampleCategorical", (), ((1, 2), (0.5, 0.5)), ("v1",)),
        Instruction("Annotate", (RV("b0"), (RV("v1"), RV("b0"))), ("k",)),
        Instruction("Unannotate", (RV("b0"),), ("k",)),
    )
    assert list(graph(Trace(insts, (Decision(1, 0),))).edges()) == [
        Edge(InstNode(0), ValueNode(0, 0), "defines"),
        Edge(DecisionNode(0), InstNode(1), "decides"),
        Edge(InstNode(1), ValueNode(1, 0), "defines"),
        Edge(ValueNode(0, 0), InstNode(2), "uses"),
        Edge(ValueNode(1, 0), InstNode(2), "uses"),
        Edge(ValueNode(0, 0), InstNode(3), "uses"),
        Edge(InstNode(2), InstNode(3), "orders"),
    ]


def test_an_edge_that_follows_is_left_out():
    """The Split orders the second GetLoops alone: what it uses leads to all the rest."""
    orders = [edge for edge in graph(TILED).edges() if edge.kind == "orders"]
    assert [(edge.source.index, edge.target.index) for edge in orders] == [
        (7, 8),
        (7, 9),
        (8, 12),
        (11, 12),
        (12, 13),
    ]


def test_a_name_is_the_first_of_its_definitions():
    text = 'GetSBlock | "B" "main" -> @"x"\nGetSBlock | "C" "main" -> @"x"\nGetLoops @"x" -> l\n'
    made = graph(loads("tracescript 1\n" + text))
    assert made.value("x") == ValueNode(0, 0)
    assert made.influences(ValueNode(0, 0)) == (InstNode(2), ValueNode(2, 0))
    assert made.dead_values() == (ValueNode(1, 0), ValueNode(2, 0))
    # Neither may pass the other: which one is first would change.
    assert not made.commute(0, 1)


@pytest.mark.parametrize(
    ("item", "uses"),
    [
        (RV("b0"), True),
        ((), False),
        (((RV("b0"), 1),), True),
        ("b0", False),
        ({"x": "b0"}, False),
        (IndexMap('{"nodes": [{"name": "b0"}]}'), True),
        (IndexMap('{"nodes": [{"name": "\\u00620"}]}'), True),
        (IndexMap('{"nodes": ["b", {"b0": 1}]}'), False),
        (IndexMap('{"b0"'), False),
        (IndexMap("{" + 2000 * "["), False),
        (IndexMap('{"\ud800b0"'), False),
    ],
    ids=str,
)
def test_what_is_a_reference(item, uses):
    first = Instruction("GetSBlock", (), ("B", "main"), ("b0",))
    made = graph(Trace((first, Instruction("Unknown", (1, item)))))
    assert made.influences(ValueNode(0, 0)) == ((InstNode(1),) if uses else ())


def test_a_name_that_is_defined_later_or_never_is_no_value():
    text = 'GetLoops @"b1" -> l\nGetSBlock | "C" "main" -> b\nGetLoops @"b7" -> l\n'
    made = graph(loads("tracescript 1\n" + text))
    assert made.depends_on(InstNode(0)) == made.depends_on(InstNode(2)) == ()
    # Moved before it, the definition would give the reference a value.
    assert not made.commute(0, 1)
    with pytest.raises(ValueError, match=r"^expected a name .* defines, found 'b7'$"):
        made.value("b7")


def test_deep_lists_are_followed_without_recursion():
    deep = RV("b0")
    for _ in range(5000):
        deep = (deep,)
    first = Instruction("GetSBlock", (), ("B", "main"), ("b0",))
    made = graph(Trace((first, Instruction("Blockize", (deep, True)))))
    assert made.influences(ValueNode(0, 0)) == (InstNode(1),)


def test_odd_decisions():
    """Of two for one instruction the last counts; one that is out of range decides nothing."""
    sample = Instruction("SampleCategorical", (), ((1, 2), (0.5, 0.5)), ("v0",))
    decisions = (Decision(0, 1), Decision(7, 1), Decision(0, 0), Decision(-1, 1))
    made = graph(Trace((sample,), decisions))
    assert made.nodes == (
        *(DecisionNode(2), InstNode(0), ValueNode(0, 0)),
        *(DecisionNode(0), DecisionNode(1), DecisionNode(3)),
    )
    assert [made.influences(DecisionNode(n)) for n in (0, 1, 3)] == [(), (), ()]
    assert made.independent_groups() == tuple((DecisionNode(n),) for n in range(4))
    assert made.slice(DecisionNode(2)).decisions == (Decision(0, 1), Decision(0, 0))
    assert made.slice(DecisionNode(1)) == Trace()
    assert not made.independent(DecisionNode(2), DecisionNode(2))
    assert made.independent(DecisionNode(2), DecisionNode(0))


def test_what_is_not_decided_is_drawn_in_turn():
    sample = [
        Instruction("SampleCategorical", (), ((1, 2), (0.5, 0.5)), (f"v{n}",)) for n in (0, 1)
    ]
    for decisions, drawn in [((), True), ((Decision(0, None),), True), ((Decision(0, 1),), False)]:
        made = graph(Trace(tuple(sample), decisions))
        assert made.commute(0, 1) != drawn
        assert made.influences(InstNode(0), orders=True)[1:] == (
            (InstNode(1), ValueNode(1, 0)) if drawn else ()
        )


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (InstNode(14), "expected the position of one of 14 instructions, found 14"),
        (InstNode(-1), "expected the position of one of 14 instructions, found -1"),
        (ValueNode(14, 0), "expected the position of one of 14 instructions, found 14"),
        (ValueNode(2, 3), "expected the position of one of 3 outputs, found 3"),
        (ValueNode(2, -1), "expected the position of one of 3 outputs, found -1"),
        (DecisionNode(3), "expected the position of one of 3 decisions, found 3"),
    ],
)
def test_a_node_that_there_is_not(node, message):
    made = graph(TILED)
    for ask in (made.influences, made.depends_on, made.slice):
        with pytest.raises(ValueError, match=f"^{message}$"):
            ask(node)


def test_a_graph_of_too_many_instructions():
    inst = Instruction("EnterPostproc")
    assert len(graph(Trace((inst,) * 100)).nodes) == 100
    with pytest.raises(TraceShapeError) as caught:
        graph(Trace((inst,) * (MAX_INSTRUCTIONS + 1)))
    assert str(caught.value) == "$[0]: expected at most 10000 instructions in a graph, found 10001"


def test_a_slice():
    made = graph(TILED)
    # The loops of the second tile need neither the first one nor the annotation.
    part = made.slice(made.value("l12"))
    assert part.insts == tuple(TILED.insts[n] for n in (0, 2, 5, 6))
    assert part.decisions == (Decision(2, (8, 8)),)
    assert graph(part).value("l12") == ValueNode(3, 1)
    # Loops that are looked up later need all that changed loops before.
    assert len(made.slice(made.value("l13")).insts) == 8


def test_independent_decisions():
    made = graph(TILED)
    tile, second, unroll = map(DecisionNode, range(3))
    assert made.independent(tile, second)
    assert made.independent(unroll, tile)
    assert made.independent_groups() == ((tile,), (second,), (unroll,))
    again = Instruction("SamplePerfectTile", (RV("l17"),), (2, 64), ("v18", "v19"))
    decisions = (*TILED.decisions[:2], Decision(10, (1, 8)), Decision(11, 1))
    made = graph(Trace((*TILED.insts[:10], again, TILED.insts[10]), decisions))
    third, fourth = map(DecisionNode, (2, 3))
    assert not made.independent(tile, third)
    assert not made.independent(third, second)
    assert made.independent_groups() == ((tile, second, third), (fourth,))


def test_decisions_that_others_join():
    """Two that have nothing to do with each other, and two that depend on both of them."""
    draws = [Instruction("SampleCategorical", (), ((2, 4), (0.5, 0.5)), (f"v{n}",)) for n in (0, 1)]
    split = Instruction("Split", (RV("l"), RV("v0"), RV("v1")), (True, False), ("l2", "l3"))
    tiles = [Instruction("SamplePerfectTile", (RV(f"l{n}"),), (1, 1)) for n in (2, 3)]
    decisions = [Decision(index, 0) for index in (0, 1, 3, 4)]
    made = graph(Trace((*draws, split, *tiles), tuple(decisions)))
    nodes = tuple(map(DecisionNode, range(4)))
    pairs = {(a, b) for a in range(4) for b in range(a) if made.independent(nodes[a], nodes[b])}
    assert pairs == {(1, 0), (3, 2)}
    assert made.independent_groups() == (nodes,)


def test_instructions_that_commute():
    made = graph(TILED)
    # A tile looks at the extent of its loop, which the Split of another leaves as it is. The
    # other way around, its loop might be the one that the Split removes.
    assert made.commute(5, 4)
    assert made.can_move(5, 3)
    assert not made.commute(5, 6)
    assert not made.can_move(5, 2)
    assert not made.can_move(3, 5)
    assert made.can_move(10, 0)
    assert made.can_move(10, 11)
    assert not made.can_move(10, 12)
    # The mark stays where it is, and nothing passes it.
    assert not made.commute(10, 12)
    assert not made.can_move(10, 14)
    assert not made.can_move(13, 12)
    for before in (-1, 15):
        with pytest.raises(ValueError, match=f"^expected a position from 0 to 14, found {before}$"):
            made.can_move(3, before)
    with pytest.raises(ValueError, match=r"^expected the position of one of 14 instructions"):
        made.commute(3, 14)


@pytest.mark.parametrize(
    ("one", "other", "commute"),
    [
        ('Annotate b-1 1 | "x"', 'Annotate b-1 1 | "y"', True),
        ('Annotate b-1 1 | "x"', 'Annotate b-1 2 | "x"', False),
        ('Annotate b-1 1 | "x"', 'Annotate b-2 2 | "x"', False),
        ('Annotate b-1 1 | "x"', 'Annotate l-1 2 | "x"', True),
        ('Annotate b-1 1 | "x"', 'Annotate u-1 2 | "x"', False),
        ('Annotate b-1 1 | "x"', "Annotate b-1 1 | 7", False),
        ('Annotate b-1 1 | "x"', "StorageAlign b-1 | 0 1 2 3", False),
        ('Annotate l-1 1 | "x"', 'Bind l-2 | "threadIdx.x"', True),
        ('Annotate l-1 1 | "x"', "Split l-2 2 null | true false", False),
        ("Annotate b-1 1", 'Annotate b-1 1 | "x"', False),
        ('Annotate 1 1 | "x"', 'Annotate b-1 1 | "x"', False),
        ("Bind l-1", "GetLoops b-1", True),
        ("Unroll l-1", "Bind l-2", False),
        ("Mystery", 'Annotate b-1 1 | "x"', False),
        ("Mystery", "SampleCategorical | [1] [1.0]", False),
        ("GetLoops b-1", "ComputeInline b-2", False),
        ("ComputeInline b-2", "GetLoops b-1", True),
    ],
)
def test_pairs(one, other, commute):
    """After two blocks, two loops and a value of unknown type, here `u-1`."""
    head = 'GetSBlock -> b\nGetSBlock -> b\nGetLoops b-1 -> l2\nMystery -> @"u"\n'
    text = f"tracescript 1\n{head}{one}\n{other}\n".replace("u-1", '@"u"')
    assert graph(loads(text)).commute(4, 5) == commute


# Dead code.


def test_simplify():
    left = simplify(TILED)
    assert left.insts == TILED.insts[:9] + TILED.insts[10:]
    assert [each.index for each in TILED.decisions] == [3, 5, 10]
    assert [each.index for each in left.decisions] == [3, 5, 9]
    assert simplify(TILED, remove_postproc=True).insts == left.insts[:11]
    assert simplify(Trace(TILED.insts[:4])) == Trace()
    assert simplify(Trace((), TILED.decisions)) == Trace()


@pytest.mark.parametrize(
    "user",
    [
        Instruction("CacheRead", (RV("b1"), (RV("b0"),)), (0, "shared"), ("b2",)),
        Instruction("Blockize", ((RV("b0"),), True), (), ("b2",)),
        Instruction("Annotate", (RV("b1"), ((RV("b0"), 1), 2)), ("k",)),
        Instruction(
            "TransformLayout", (RV("b1"), IndexMap('{"nodes": ["b0"]}')), (0, 0, None, True)
        ),
    ],
    ids=lambda user: user.kind,
)
def test_simplify_knows_all_references(user):
    blocks = [Instruction("GetSBlock", (), (name, "main"), (name,)) for name in ("b0", "b1")]
    trace = Trace((*blocks, user))
    assert [inst.outputs for inst in simplify(trace).insts if inst.kind == "GetSBlock"] == (
        [("b0",), ("b1",)] if RV("b1") in user.inputs else [("b0",)]
    )


def test_simplify_keeps_what_it_does_not_know():
    trace = Trace((Instruction("Mystery", (), (), ("b0",)), Instruction("GetLoops", (RV("b0"),))))
    assert simplify(trace).insts == trace.insts[:1]


def test_simplify_has_no_limit():
    many = Instruction("GetSBlock", (), ("B", "main"), ("b0",))
    assert simplify(Trace((many,) * 50_000)) == Trace()


# The table.


def test_the_aspects_of_the_table():
    for name, kind in KINDS.items():
        assert kind.pure == (not kind.changes), name
        assert len(set(kind.looks)) == len(kind.looks)
        assert len(set(kind.changes)) == len(kind.changes)
        if kind.loops == "keeps":
            assert kind.starts_postproc or not {"loops", "extents"} & set(kind.changes), name
        if kind.loops in ("splits", "fuses"):
            assert kind.changes == ("loops",), name
        if "own annotation" in (*kind.looks, *kind.changes):
            # A key is all that it looks at and changes, and its place comes first.
            assert kind.looks == kind.changes == ("own annotation",)
            assert [form.attrs[0].name for form in kind.forms] == ["ann_key"]
            assert [form.inputs[0].types for form in kind.forms] == [("block", "loop")]
    assert [name for name, kind in KINDS.items() if kind.starts_postproc] == ["EnterPostproc"]
    assert KINDS["EnterPostproc"].looks == KINDS["EnterPostproc"].changes == ASPECTS


# Other libraries.


def test_networkx_has_the_same_paths():
    networkx = pytest.importorskip("networkx", reason="the extra `graph` is not installed")
    from tracescript.dependencies.export import to_networkx

    made = graph(TILED)
    exported = to_networkx(made)
    assert tuple(exported.nodes) == made.nodes
    assert exported.nodes[DecisionNode(1)]["label"] == "decision"
    assert exported.nodes[InstNode(1)]["label"] == "GetSBlock"
    assert exported.nodes[ValueNode(3, 1)]["label"] == "v6"
    assert {(a, b, kind) for a, b, kind in exported.edges(data="kind")} == {
        (edge.source, edge.target, edge.kind) for edge in made.edges()
    }
    for node in made.nodes:
        assert networkx.descendants(exported, node) == set(made.influences(node, orders=True))
