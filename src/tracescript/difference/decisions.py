"""Which decisions changed, and the decisions of the new trace from those of the old one.

A decision belongs to the instruction that its index names. It stays what it is if it is the
decision of the partner, too, with the same value. A decision may also name no instruction, or
be one of several for the same; then the n-th of the old trace is compared with the n-th of the
new one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from tracescript.difference.parts import DecisionChange
from tracescript.encode import write_value
from tracescript.errors import TraceShapeError
from tracescript.literals import format_int
from tracescript.model import Decision, Trace

__all__ = ["changed_decisions", "expected_decisions", "order_of"]


class _Slot(NamedTuple):
    """What decisions of both traces belong to, with those that do."""

    old: list[Decision]
    new: list[Decision]


def changed_decisions(a: Trace, b: Trace, to_b: Sequence[int | None]) -> tuple[DecisionChange, ...]:
    """The decisions that changed or went, in the order of `a`, then those that appeared."""
    slots: defaultdict[Hashable, _Slot] = defaultdict(lambda: _Slot([], []))
    for decision in a.decisions:
        slots[_new_place(decision.index, to_b, len(b.insts))].old.append(decision)
    for decision in b.decisions:
        slots["b", decision.index].new.append(decision)
    changes = [
        DecisionChange(old, new)
        for slot in slots.values()
        for old, new in zip_longest(*slot)
        if old is None or new is None or Decision(new.index, old.value) != new
    ]
    return tuple(changes)


def _new_place(index: int, to_b: Sequence[int | None], count: int) -> Hashable:
    """Where a decision of the old trace stands in the new one, if it is still there."""
    if 0 <= index < len(to_b):
        partner = to_b[index]
        return ("a", index) if partner is None else ("b", partner)
    # It names no instruction; it is the same if it names none in the new trace either.
    return ("a", index) if 0 <= index < count else ("b", index)


def expected_decisions(
    a: Trace, changes: Sequence[DecisionChange], to_b: Sequence[int | None]
) -> list[Decision]:
    """The decisions after the changes, in the order to be expected.

    They ascend if those of the old trace do, as TVM's do. Otherwise they stay in their order,
    and what appeared comes last.

    Raises:
        TraceShapeError: a decision that is to change is not there, or one has to stay whose
            instruction went.
    """
    waiting: defaultdict[Decision, deque[Decision | None]] = defaultdict(deque)
    for change in changes:
        if change.old is not None:
            waiting[change.old].append(change.new)
    found: list[Decision | None] = []
    for position, decision in enumerate(a.decisions):
        news = waiting.get(decision)
        found.append(news.popleft() if news else _carried(decision, position, to_b))
    for old, news in waiting.items():
        if news:
            raise TraceShapeError("$[1]", f"a decision {_shown(old)}", "none")
    found += [change.new for change in changes if change.old is None]
    kept = [decision for decision in found if decision is not None]
    if all(one.index < other.index for one, other in pairwise(a.decisions)):
        kept.sort(key=lambda decision: decision.index)
    return kept


def _carried(decision: Decision, position: int, to_b: Sequence[int | None]) -> Decision:
    """A decision that stays what it is, for the instruction that is now the same."""
    index = decision.index
    partner = to_b[index] if 0 <= index < len(to_b) else index
    if partner is None:
        expected = "no decision, since the difference removes its instruction"
        raise TraceShapeError(f"$[1][{position}]", expected, _shown(decision))
    return Decision(partner, decision.value)


def _shown(decision: Decision) -> str:
    return f"[{format_int(decision.index)} {write_value(decision.value)}]"


def order_of(decisions: Sequence[Decision], expected: Sequence[Decision]) -> tuple[int, ...]:
    """The positions in `expected` of the same decisions; empty if they are in the same order."""
    places: defaultdict[Decision, deque[int]] = defaultdict(deque)
    for position, decision in enumerate(expected):
        places[decision].append(position)
    order = [places[decision].popleft() for decision in decisions]
    return () if order == list(range(len(order))) else tuple(order)
