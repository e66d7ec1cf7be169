"""A trace from some of the instructions of another, with their decisions."""

from __future__ import annotations

from collections.abc import Sequence

from tracescript.model import Decision, Trace

__all__ = ["subtrace"]


def subtrace(trace: Trace, positions: Sequence[int]) -> Trace:
    """The instructions at the given positions, in the given order, with their decisions.

    The decisions keep their order; those of other instructions, and those that name no
    instruction at all, are left out. Names stay what they are.
    """
    places = {position: place for place, position in enumerate(positions)}
    return Trace(
        tuple([trace.insts[position] for position in positions]),
        tuple(
            [
                Decision(places[decision.index], decision.value)
                for decision in trace.decisions
                if decision.index in places
            ]
        ),
    )
