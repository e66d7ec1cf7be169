"""Two traces side by side: which line stands beside which, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Literal, TypeAlias

import msgspec

from tracescript.dependencies import InstNode, Node
from tracescript.difference import Difference
from tracescript.pictures.spans import Line, Span

__all__ = ["Comparison", "Fate", "Row", "Status", "align", "compare"]

Status: TypeAlias = Literal["same", "changed", "moved", "removed", "added"]
"""What became of a line."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """A row with a line of the first trace, one of the second, or both.

    Attributes:
        left: the position of the line of the first trace; None if there is none.
        right: that of the second trace.
    """

    left: int | None
    right: int | None


class Fate(msgspec.Struct, frozen=True, gc=False):
    """What became of a line.

    Attributes:
        status: in a word.
        differs: the positions of the pieces in which it differs from the line it is paired with.
    """

    status: Status
    differs: frozenset[int] = frozenset()


class Comparison(msgspec.Struct, frozen=True):
    """How two traces stand beside each other.

    Attributes:
        rows: the rows.
        left: what became of each line of the first trace.
        right: likewise for the second trace.
        peers: the nodes of the second trace that stand for nodes of the first one.
    """

    rows: tuple[Row, ...]
    left: Mapping[int, Fate]
    right: Mapping[int, Fate]
    peers: Mapping[Node, Node]


def compare(left: Sequence[Line], right: Sequence[Line], difference: Difference) -> Comparison:
    """Put the lines of two traces beside each other, as their difference pairs them."""
    changed = {each.a: each.b for each in difference.changed}
    beside = sorted([*difference.kept, *changed.items()])
    beside += _idle_pairs(left, right)
    pairs = [*beside, *difference.moved]
    peers = _peers([(left[one], right[other]) for one, other in pairs])
    moved = {one for one, _ in difference.moved}
    lefts = dict.fromkeys(range(len(left)), Fate("removed"))
    rights = dict.fromkeys(range(len(right)), Fate("added"))
    for one, other in pairs:
        # The difference has found the rest of a line to be the same, and knows better than its
        # text, in which an index map may hold names.
        whole = one in changed or left[one].inst is None
        first = 0 if whole else len(left[one].spans)
        differs = _differing(left[one], right[other], peers, first)
        status: Status = "changed" if differs or one in changed else "same"
        lefts[one] = rights[other] = Fate("moved" if one in moved else status, differs)
    return Comparison(tuple(align(len(left), len(right), beside)), lefts, rights, peers)


def align(left: int, right: int, pairs: Iterable[tuple[int, int]]) -> Iterator[Row]:
    """Rows for two traces with some numbers of lines.

    Args:
        left: the number of lines of the first trace.
        right: that of the second one.
        pairs: positions of lines that stand beside each other, which ascend on both sides.

    >>> [(row.left, row.right) for row in align(3, 4, [(0, 1), (2, 2)])]
    [(None, 0), (0, 1), (1, None), (2, 2), (None, 3)]
    """
    one = other = 0
    for pair in (*pairs, (left, right)):
        for alone in zip_longest(range(one, pair[0]), range(other, pair[1])):
            yield Row(*alone)
        if pair != (left, right):
            yield Row(*pair)
        one, other = pair[0] + 1, pair[1] + 1


def _idle_pairs(left: Sequence[Line], right: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Pairs of the lines that have decisions of no instruction, which stand at the end."""
    idle = [
        [place for place, line in enumerate(lines) if line.inst is None] for lines in (left, right)
    ]
    return zip(*idle, strict=False)


def _peers(pairs: Iterable[tuple[Line, Line]]) -> dict[Node, Node]:
    """Peers in paired lines: values by the place where they are defined, decisions in order."""
    peers: dict[Node, Node] = {}
    for left, right in pairs:
        if left.inst is not None and right.inst is not None:
            peers[InstNode(left.inst)] = InstNode(right.inst)
        for one, other in ((left.defined(), right.defined()), (left.decisions, right.decisions)):
            peers.update([(old, new) for (old, _), (new, _) in zip(one, other, strict=False)])
    return peers


def _differing(left: Line, right: Line, peers: Mapping[Node, Node], first: int) -> frozenset[int]:
    """The positions of the pieces in which two lines differ, from some position on.

    References are the same if they are to peers, whatever their names.
    """
    pairs = enumerate(zip_longest(left.all_spans(), right.all_spans()))
    return frozenset([place for place, pair in pairs if place >= first and not _same(*pair, peers)])


def _same(left: Span | None, right: Span | None, peers: Mapping[Node, Node]) -> bool:
    if left is None or right is None or left.style != right.style:
        return False
    if left.style == "rv" and left.node is not None:
        return peers.get(left.node) == right.node
    return left.text == right.text
