"""Lines from where values come from down to where they are used, one lane beside the other.

It is the layout that `git log --graph` draws: a row for each instruction, and for each
instruction whose values are used a line that goes down to the last row that uses one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

__all__ = ["MAX_LANES", "RowLanes", "lay_out"]

MAX_LANES = 40
"""Lines that run beside each other. What finds no lane has none, so that the space stays linear."""


class RowLanes(msgspec.Struct, frozen=True, gc=False):
    """What is drawn in one row.

    Attributes:
        node: the lane of the node; None in a row without one.
        starts: whether a line begins at the node.
        ends: the lines that lead to the node, as pairs of their lane and their source.
        passes: the lines that go on to the next row, likewise, without that of the node.
    """

    node: int | None
    starts: bool
    ends: tuple[tuple[int, int], ...]
    passes: tuple[tuple[int, int], ...]


def lay_out(rows: Sequence[int | None], edges: Iterable[tuple[int, int]]) -> list[RowLanes]:
    """Give each node and each line a lane, in linear time.

    Law: two lines that are in one row have different lanes. A line may go on in the lane of
    one that ends at its node.

    Args:
        rows: the node of each row; None for a row without one.
        edges: pairs of nodes, the source in an earlier row than the target.

    >>> first, second, third = lay_out([0, 1, 2], [(0, 1), (0, 2), (1, 2)])
    >>> first.node, second.node, third.node, third.ends
    (0, 1, 0, ((0, 0), (1, 1)))
    """
    place = {node: row for row, node in enumerate(rows) if node is not None}
    sources: dict[int, list[int]] = {}
    last: dict[int, int] = {}
    for source, target in dict.fromkeys(edges):
        sources.setdefault(target, []).append(source)
        last[source] = max(last.get(source, 0), place[target])
    lanes = _Lanes(last)
    return [
        lanes.row(row, node, sources.get(node, ()) if node is not None else ())
        for row, node in enumerate(rows)
    ]


class _Lanes:
    """The lines that are under way."""

    def __init__(self, last: dict[int, int]) -> None:
        self._last = last
        self._sources: list[int | None] = [None] * MAX_LANES
        self._lane_of: dict[int, int] = {}

    def row(self, row: int, node: int | None, sources: Iterable[int]) -> RowLanes:
        """Draw the next row."""
        found = [(self._lane_of[each], each) for each in sources if each in self._lane_of]
        for lane, source in found:
            if self._last[source] == row:
                self._sources[lane] = None
        passes = tuple(
            [(lane, source) for lane, source in enumerate(self._sources) if source is not None]
        )
        if node is None:
            return RowLanes(None, False, (), passes)
        lane = self._lane(sorted(found))
        starts = node in self._last and self._sources[lane] is None
        if starts:
            self._sources[lane] = node
            self._lane_of[node] = lane
        return RowLanes(lane, starts, tuple(sorted(found)), passes)

    def _lane(self, ends: Iterable[tuple[int, int]]) -> int:
        """A free lane, best one that goes on from a line; the last one if none is free."""
        for lane, _ in ends:
            if self._sources[lane] is None:
                return lane
        return self._sources.index(None) if None in self._sources else MAX_LANES - 1
