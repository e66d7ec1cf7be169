"""Partners: which instruction of one trace is which one of the other, as far as is known."""

from __future__ import annotations

from collections.abc import Iterator

from tracescript.difference.parts import Pair
from tracescript.difference.side import Side

__all__ = ["Partners"]


class Partners:
    """Pairs of instructions of two traces; an instruction is in one pair at most.

    Attributes:
        a: the old trace.
        b: the new one.
        to_b: the partner of each instruction of `a`, None without one.
        to_a: the partner of each instruction of `b`, None without one.
        moved: the instructions of `b` that stand in another order than their partners.
    """

    def __init__(self, a: Side, b: Side) -> None:
        self.a = a
        self.b = b
        self.to_b: list[int | None] = [None] * len(a.lines)
        self.to_a: list[int | None] = [None] * len(b.lines)
        self.moved: set[int] = set()

    def join(self, pair: Pair) -> None:
        """Make two instructions partners."""
        self.to_b[pair[0]], self.to_a[pair[1]] = pair[1], pair[0]

    def part(self, pair: Pair) -> None:
        """Make them partners no more."""
        self.to_b[pair[0]] = self.to_a[pair[1]] = None
        self.moved.discard(pair[1])

    def pairs(self) -> list[Pair]:
        """All pairs, in the order of the new trace."""
        return [(i, j) for j, i in enumerate(self.to_a) if i is not None]

    def names_of_pairs(self) -> list[int | None]:
        """For each instruction of `b` what `to_b` calls its pair; None without one."""
        return [None if i is None else j for j, i in enumerate(self.to_a)]

    def gaps(self) -> Iterator[tuple[list[int], list[int]]]:
        """The instructions without partners, between one pair that has not moved and the next.

        There is something on both sides. Partners may be joined on the way.
        """
        fixed = [pair for pair in self.pairs() if pair[1] not in self.moved]
        start = (0, 0)
        for end in [*fixed, (len(self.to_b), len(self.to_a))]:
            old = [i for i in range(start[0], end[0]) if self.to_b[i] is None]
            new = [j for j in range(start[1], end[1]) if self.to_a[j] is None]
            if old and new:
                yield old, new
            start = end[0] + 1, end[1] + 1

    def same(self, pair: Pair) -> bool:
        """Whether two instructions do not differ, in themselves or in what they refer to."""
        (i, j), a, b = pair, self.a, self.b
        return (
            a.lines[i] == b.lines[j]
            and a.outputs[i] == b.outputs[j]
            and tuple([(self.to_b[inst], output) for inst, output in a.sources[i]]) == b.sources[j]
        )

    def may_be_same(self, pair: Pair) -> bool:
        """Whether two instructions with equal keys can do what they do to the same things.

        They cannot if one refers to an instruction whose partner is another one than that
        which the other refers to.
        """
        return all(
            self.to_b[old] == new or (self.to_b[old] is None and self.to_a[new] is None)
            for (old, _), (new, _) in zip(
                self.a.sources[pair[0]], self.b.sources[pair[1]], strict=True
            )
        )
