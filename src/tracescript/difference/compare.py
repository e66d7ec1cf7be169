"""What is different in one trace from another: the work of `diff`."""

from __future__ import annotations

from tracescript.difference.decisions import changed_decisions, expected_decisions, order_of
from tracescript.difference.difference import Difference
from tracescript.difference.matching import Matches, match
from tracescript.difference.naming import expected_names
from tracescript.difference.parts import Changed, Placed, Renamed
from tracescript.difference.side import take_apart
from tracescript.model import Instruction, Trace

__all__ = ["compare"]


def compare(a: Trace, b: Trace) -> Difference:
    """See `diff`."""
    matches = match(take_apart(a), take_apart(b))
    to_b: list[int | None] = [None] * len(a.insts)
    for pairs in matches:
        for i, j in pairs:
            to_b[i] = j
    decisions = changed_decisions(a, b, to_b)
    return Difference(
        kept=tuple(matches.kept),
        moved=tuple(matches.moved),
        changed=tuple([Changed(i, j, a.insts[i], b.insts[j]) for i, j in matches.changed]),
        removed=_without(a.insts, {i for i, j in enumerate(to_b) if j is not None}),
        added=_without(b.insts, {j for j in to_b if j is not None}),
        decisions=decisions,
        decision_order=order_of(b.decisions, expected_decisions(a, decisions, to_b)),
        renamed=_renamed(a, b, matches),
    )


def _without(insts: tuple[Instruction, ...], partners: set[int]) -> tuple[Placed, ...]:
    """The instructions that have no partner."""
    alone = [index for index in range(len(insts)) if index not in partners]
    return tuple([Placed(index, insts[index]) for index in alone])


def _renamed(a: Trace, b: Trace, matches: Matches) -> tuple[Renamed, ...]:
    """The outputs that are not called what was to be expected."""
    counts = [len(inst.outputs) for inst in b.insts]
    expected = expected_names(a, [*matches.kept, *matches.moved], counts)
    return tuple(
        [
            Renamed(j, place, name)
            for j in sorted(expected)
            for place, name in enumerate(b.insts[j].outputs)
            if name != expected[j][place]
        ]
    )
