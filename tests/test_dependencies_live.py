"""The dependency graph against live TVM: what it says of a trace, TVM does to a module."""

import random
from itertools import pairwise
from typing import NamedTuple

import pytest

from corpora import OWN, SHARED
from tracescript import RV, Trace, from_json, iter_records, to_json
from tracescript.dependencies import DecisionNode, InstNode, graph, simplify
from tracescript.dependencies.subtrace import subtrace
from tracescript.instructions import KINDS, kinds

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

from tvm_ffi import structural_equal  # noqa: E402

import tvm_cases  # noqa: E402
from tracescript.tvm import ReplayError, from_tvm, import_intrinsics, replay, to_tvm  # noqa: E402

SEED = tvm_cases.SEED


class Case(NamedTuple):
    """A trace, and a module that takes it."""

    module: object
    trace: Trace


def tile_after_padding():
    """Padding makes the loops longer that a tile is then sampled for."""
    module = tvm_cases.example("pad_einsum").module
    schedule = tvm.s_tir.Schedule(module, seed=SEED, debug_mask="none")
    block = schedule.get_sblock("matmul")
    loops = schedule.get_loops(block)
    schedule.pad_einsum(block, [32, 1, 16])
    schedule.split(loops[0], schedule.sample_perfect_tile(loops[0], n=2))
    return Case(module, from_tvm(schedule.trace))


def cases():
    """Each example, one that they lack, and of each workload of the logs the longest record."""
    yield pytest.param(tile_after_padding(), id="tile_after_padding")
    for example in tvm_cases.EXAMPLES:
        trace = from_tvm(example.schedule(SEED).trace)
        yield pytest.param(Case(example.module, trace), id=example.name)
    for log in ("cuda", "llvm"):
        for index, module in enumerate(tvm_cases.modules(log)):
            traces = [trace for owner, trace in tvm_cases.records(log) if owner is module]
            longest = max(traces, key=lambda trace: len(trace.insts))
            yield pytest.param(Case(module, longest), id=f"{log}-{index}")


PARAMETERS = list(cases())
CASES = [parameter.values[0] for parameter in PARAMETERS]
TRACES = {
    tuple(inst.kind for inst in each.trace.insts): each.trace
    for path in OWN + SHARED
    for each in iter_records(path, strict=False)
}.values()
"""Of all logs, one trace of each sequence of kinds."""

EACH_CASE = pytest.mark.parametrize("case", PARAMETERS)


@pytest.fixture(scope="module", autouse=True)
def _intrinsics():
    import_intrinsics()


def replayed(trace, module, seed=SEED):
    return replay(trace, module, seed=seed)


# What instructions change.


def statements(stmt):
    """The blocks and loops in a statement, the outer ones first."""
    name = type(stmt).__name__
    if name in ("SBlock", "For"):
        yield stmt
    inside = list(stmt.seq) if name == "SeqStmt" else []
    inside += [getattr(stmt, part, None) for part in ("block", "body", "then_case", "else_case")]
    for part in inside:
        if part is not None:
            yield from statements(part)


def around(sref):
    """The loops around a block, as TVM's GetLoops finds them."""
    while (sref := sref.parent) is not None and type(sref.stmt).__name__ == "For":
        yield sref


def looked_at(schedule):
    """Each aspect of the module, by the blocks and loops that have it."""
    state = schedule.state
    found = [stmt for func in schedule.mod.functions.values() for stmt in statements(func.body)]
    srefs = {sref: stmt for stmt in found if (sref := state.get_sref(stmt)) is not None}
    blocks = {sref: stmt for sref, stmt in srefs.items() if type(stmt).__name__ == "SBlock"}
    loops = {sref: stmt for sref, stmt in srefs.items() if sref not in blocks}
    leaves = [sref for sref, block in blocks.items() if not list(statements(block.body))]
    return {
        "blocks": {sref: block.name_hint for sref, block in blocks.items()},
        "loops": {sref: list(around(sref)) for sref in blocks},
        "extents": {sref: [loop.min, loop.extent] for sref, loop in loops.items()},
        "loop kinds": {sref: [loop.kind, loop.thread_binding] for sref, loop in loops.items()},
        "loop annotations": {sref: dict(loop.annotations) for sref, loop in loops.items()},
        "block annotations": {sref: dict(block.annotations) for sref, block in blocks.items()},
        "dataflow": {
            sref: [block.iter_vars, block.reads, block.writes, block.body if sref in leaves else 0]
            for sref, block in blocks.items()
        },
        "buffers": {0: [buffer for block in blocks.values() for buffer in block.alloc_buffers]},
    }


def differ(aspect, before, after):
    """Whether an aspect of what is there before and after has changed."""
    stay = [sref for sref in before if sref in after]
    if aspect == "blocks":
        return before != after
    if aspect == "loops":
        return any(before[sref] != after[sref] for sref in stay)
    if aspect == "dataflow" and stay != [sref for sref in after if sref in before]:
        return True
    return not all(structural_equal(before[sref], after[sref], map_free_vars=True) for sref in stay)


def changes(case):
    """Each instruction of a trace with the aspects that it has changed."""
    schedule = tvm.s_tir.Schedule(case.module, seed=SEED, debug_mask="none")
    seen = []

    def look(_inst, _inputs, _attrs, decision):
        seen.append(looked_at(schedule))
        return decision

    live = replayed(case.trace, case.module).trace
    live.apply_to_schedule(schedule, remove_postproc=False, decision_provider=look)
    seen.append(looked_at(schedule))
    for inst, (before, after) in zip(case.trace.insts, pairwise(seen), strict=True):
        yield inst, {name for name in before if differ(name, before[name], after[name])}


def test_instructions_change_what_the_table_says():
    found = {}
    for case in CASES:
        # TVM's Trace.apply_to_schedule refuses dicts among the inputs.
        if not any(isinstance(item, dict) for inst in case.trace.insts for item in inst.inputs):
            for inst, changed in changes(case):
                found.setdefault(inst.kind, set()).update(changed)
                if inst.kind in ("Annotate", "Unannotate"):
                    is_block = inst.inputs[0].name.startswith("b")
                    assert changed <= {"block annotations" if is_block else "loop annotations"}
                else:
                    assert changed <= set(KINDS[inst.kind].changes), inst
    assert found.keys() == kinds("0.27").keys()
    # The test sees what they do: of those that may change something, each does, but the mark.
    idle = {name for name, changed in found.items() if not changed}
    assert {name for name in idle if not KINDS[name].pure} == {"EnterPostproc"}


# What the graph says about orders.


def some(positions):
    """All of a few, and of many as many as there is time for."""
    return random.Random(SEED).sample(positions, min(len(positions), 15))


def moved(trace, inst, before):
    order = [index for index in range(len(trace.insts)) if index != inst]
    order.insert(before - (inst < before), inst)
    part = subtrace(trace, order)
    return Trace(part.insts, tuple(sorted(part.decisions, key=lambda each: each.index)))


@EACH_CASE
def test_neighbours_that_commute_change_places(case):
    made, want = graph(case.trace), replayed(case.trace, case.module).mod
    pairs = range(len(case.trace.insts) - 1)
    for index in some([first for first in pairs if made.commute(first, first + 1)]):
        swapped = replayed(moved(case.trace, index, index + 2), case.module).mod
        assert structural_equal(swapped, want), case.trace.insts[index : index + 2]


@EACH_CASE
def test_instructions_move_as_far_as_they_can(case):
    made, want = graph(case.trace), replayed(case.trace, case.module).mod
    count = len(case.trace.insts)
    for inst in some(range(count)):
        for places in (range(inst - 1, -1, -1), range(inst + 2, count + 1)):
            reached = [before for before in places if made.can_move(inst, before)]
            if reached:
                result = replayed(moved(case.trace, inst, reached[-1]), case.module).mod
                assert structural_equal(result, want), (inst, reached[-1])


@EACH_CASE
def test_a_slice_defines_the_same(case):
    made = graph(case.trace)
    for index in some([n for n, inst in enumerate(case.trace.insts) if inst.outputs]):
        whole = replayed(subtrace(case.trace, range(index + 1)), case.module)
        part = replayed(made.slice(InstNode(index)), case.module)
        assert last_defined(part) == last_defined(whole), case.trace.insts[index]


def last_defined(schedule):
    """What the last instruction of a schedule has defined, as text."""
    return [shown(schedule, value) for value in schedule.trace.insts[-1].outputs]


def shown(schedule, value):
    try:
        found = schedule.get(value)
    except TypeError:
        # A compute location may stand for inlining, or for where the block is.
        return "no loop"
    name = type(found).__name__
    if name == "SBlock":
        return found.name_hint, [str(each.dom) for each in found.iter_vars]
    if name == "For":
        # The names of the variables in an extent differ from one replay to the next.
        return str(found.extent) if isinstance(found.extent, tvm.tirx.IntImm) else "an extent"
    return str(found)


@EACH_CASE
def test_independent_decisions_stay_what_they_are(case):
    """TVM draws one decision anew: it mends no other that is independent of it."""
    made = graph(case.trace)
    for number, drawn in enumerate(case.trace.decisions):
        others = case.trace.decisions[:number] + case.trace.decisions[number + 1 :]
        kept = [
            other
            for place, other in enumerate(case.trace.decisions)
            if made.independent(DecisionNode(number), DecisionNode(place))
        ]
        for seed in range(1, 4):
            try:
                schedule = replayed(Trace(case.trace.insts, others), case.module, seed)
            except ReplayError:
                # What comes after the sampling may not take what was drawn.
                continue
            found = from_tvm(schedule.trace).decisions
            assert [each for each in found if each.index != drawn.index and each in kept] == kept


# Dead code.


def renamed(trace):
    """The trace with the names that TVM would give."""
    names, insts = {}, []
    for kind, inputs, attrs, outputs in to_json(trace)[0]:
        used = [rename(item, names) for item in inputs]
        for name in outputs:
            names[name] = f"{name[0]}{len(names)}"
        insts.append([kind, used, attrs, [names[name] for name in outputs]])
    return from_json([insts, to_json(trace)[1]])


def rename(item, names):
    if isinstance(item, list):
        return [rename(element, names) for element in item]
    return names.get(item, item) if isinstance(item, str) else item


def hides_references(trace):
    """Whether something is used in a list or in an index map: TVM's result lacks it then."""
    for edge in graph(trace).edges():
        if edge.kind == "uses":
            name = trace.insts[edge.source.inst].outputs[edge.source.output]
            if RV(name) not in trace.insts[edge.target.index].inputs:
                return True
    return False


@pytest.mark.parametrize("remove_postproc", [False, True])
def test_simplify_agrees_with_tvm(remove_postproc):
    seen = {False: 0, True: 0}
    for trace in TRACES:
        try:
            live = to_tvm(trace)
        except ReplayError:
            # Of another release.
            continue
        ours = simplify(from_tvm(live), remove_postproc=remove_postproc)
        hides = hides_references(ours)
        seen[hides] += 1
        if not hides:
            theirs = from_tvm(live.simplified(remove_postproc))
            assert renamed(ours) == theirs
    assert seen[False] > 4 * seen[True] > 4


@EACH_CASE
def test_simplified_traces_make_the_same_module(case):
    want = replayed(case.trace, case.module).mod
    assert structural_equal(replayed(simplify(case.trace), case.module).mod, want)


def test_what_tvm_overlooks_in_lists():
    module = tvm_cases.example("loop_kinds").module
    schedule = tvm.s_tir.Schedule(module, seed=SEED, debug_mask="none")
    block, consumer = schedule.get_sblock("B"), schedule.get_sblock("C")
    schedule.cache_write(block, 0, "local", consumer_blocks=[consumer])
    assert len(simplify(from_tvm(schedule.trace)).insts) == 3
    simplified = schedule.trace.simplified(remove_postproc=False)
    assert len(simplified.insts) == 2
    with pytest.raises(IndexError, match="not defined"):
        simplified.as_json()
    with pytest.raises(IndexError, match="doesn't exist"):
        simplified.apply_to_schedule(tvm.s_tir.Schedule(module), remove_postproc=False)


def test_what_tvm_overlooks_in_index_maps():
    module = tvm_cases.example("loop_kinds").module
    schedule = tvm.s_tir.Schedule(module, seed=SEED, debug_mask="none")
    block = schedule.get_sblock("B")
    factor = schedule.sample_categorical([16, 32], [0.5, 0.5], decision=0)
    schedule.transform_layout(block, ("write", 0), lambda i, j: (i // factor, i % factor, j))
    trace = from_tvm(schedule.trace)
    assert graph(trace).influences(graph(trace).value("v1")) == (InstNode(2),)
    assert simplify(trace) == trace
    assert structural_equal(replayed(trace, module).mod, schedule.mod)
    # TVM's result can be written, but the variable in the index map is nobody's now.
    simplified = from_tvm(schedule.trace.simplified(remove_postproc=False))
    assert [inst.kind for inst in simplified.insts] == ["GetSBlock", "TransformLayout"]
    with pytest.raises(ReplayError, match="introduce padding"):
        replayed(simplified, module)
