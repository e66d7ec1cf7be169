"""The new trace from the old one and what is different."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tracescript.dependencies.scope import Scope, resolve
from tracescript.difference.decisions import expected_decisions
from tracescript.difference.difference import Difference
from tracescript.difference.naming import expected_names
from tracescript.difference.references import renamed, sources_of
from tracescript.errors import TraceShapeError
from tracescript.json_trace import to_json
from tracescript.literals import quote
from tracescript.model import RV, Decision, Instruction, Trace, bare

__all__ = ["rebuild"]


def rebuild(difference: Difference, a: Trace) -> Trace:
    """See `Difference.apply`."""
    # It refuses what is no trace; from here on all is of a bounded depth.
    to_json(a)
    _check_positions(difference, a)
    _check_instructions(difference, a)
    given = {change.b: change.new for change in difference.changed}
    given.update({placed.index: placed.inst for placed in difference.added})
    same = {j: i for i, j in (*difference.kept, *difference.moved)}
    to_b: list[int | None] = [None] * len(a.insts)
    for j, i in same.items():
        to_b[i] = j
    for change in difference.changed:
        to_b[change.a] = change.b
    names = _names(difference, a, same, given)
    scope = resolve(a)
    insts = [
        given[j]
        if j in given
        else renamed(a.insts[same[j]], tuple(outputs), _new_names(scope, same[j], to_b, names))
        for j, outputs in enumerate(names)
    ]
    decisions = expected_decisions(a, difference.decisions, to_b)
    return Trace(tuple(insts), _in_order(decisions, difference.decision_order))


def _check_positions(difference: Difference, a: Trace) -> None:
    """See to it that each instruction of both traces is in one place, and in order."""
    in_place = sorted([*difference.kept, *((one.a, one.b) for one in difference.changed)])
    pairs = [*in_place, *difference.moved]
    old = [*(i for i, _ in pairs), *(placed.index for placed in difference.removed)]
    new = [*(j for _, j in pairs), *(placed.index for placed in difference.added)]
    if len(old) != len(a.insts):
        raise TraceShapeError("$[0]", f"{len(old)} instructions", str(len(a.insts)))
    ascends = all(one[1] < other[1] for one, other in pairwise(in_place))
    complete = all(sorted(each) == list(range(len(each))) for each in (old, new))
    if not (ascends and complete):
        expected = "a difference that has each instruction once, and in its order"
        raise TraceShapeError("$", expected, "one that contradicts itself")


def _check_instructions(difference: Difference, a: Trace) -> None:
    """See to it that the trace has what is to be changed or removed."""
    wanted = [
        *((change.a, change.old) for change in difference.changed),
        *((placed.index, placed.inst) for placed in difference.removed),
    ]
    for index, inst in wanted:
        found = a.insts[index]
        if found != inst:
            another = f"another {found.kind}" if found.kind == inst.kind else found.kind
            raise TraceShapeError(
                f"$[0][{index}]", f"the {inst.kind} that the difference changes or removes", another
            )


def _names(
    difference: Difference,
    a: Trace,
    same: Mapping[int, int],
    given: Mapping[int, Instruction],
) -> list[list[str]]:
    """The names of all outputs of the new trace."""
    counts = [
        len(given[j].outputs if j in given else a.insts[same[j]].outputs)
        for j in range(len(same) + len(given))
    ]
    expected = expected_names(a, [(i, j) for j, i in same.items()], counts)
    names = [list(given[j].outputs if j in given else expected[j]) for j in range(len(counts))]
    for one in difference.renamed:
        if one.index not in same or not 0 <= one.output < counts[one.index]:
            wanted = "the output of an instruction that is kept"
            raise TraceShapeError("$.renamed", wanted, f"output {one.output} of {one.index}")
        names[one.index][one.output] = one.name
    return names


def _new_names(
    scope: Scope, i: int, to_b: Sequence[int | None], names: Sequence[Sequence[str]]
) -> dict[str, str]:
    """What an instruction that is kept has to call what it refers to."""
    found: dict[str, str] = {}
    for name, (inst, output) in sources_of(scope, i).items():
        partner = to_b[inst]
        new = names[partner][output : output + 1] if partner is not None else ()
        if not new or type(bare(new[0])) is not RV:
            expected = "references to what the difference leaves in place"
            raise TraceShapeError(f"$[0][{i}][1]", expected, quote(name))
        found[name] = new[0]
    return found


def _in_order(decisions: Sequence[Decision], order: Sequence[int]) -> tuple[Decision, ...]:
    if not order:
        return tuple(decisions)
    if sorted(order) != list(range(len(decisions))):
        raise TraceShapeError("$.decision_order", f"{len(decisions)} positions", str(len(order)))
    return tuple([decisions[position] for position in order])
