"""What may come next: goals, each of which reads a word and leaves further goals.

A thread is a stack of goals, the current one last: below it are the list or dict that it is
in, and the line. What may come next is a set of threads, since the forms of a kind begin alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from tracescript.instructions import Kind
from tracescript.masks.lexemes import Lexeme, Want

__all__ = ["Goal", "Line", "Need", "Rules", "Thread", "Way", "best", "push"]


class Need(NamedTuple):
    """What it takes to get somewhere: how many symbols, and which values in scope.

    Attributes:
        symbols: the number of symbols.
        b: how many blocks have to be defined; l and v likewise, loops and expressions.
    """

    symbols: int
    b: int = 0
    l: int = 0  # noqa: E741 (the letters of the references)
    v: int = 0

    def plus(self, other: Need) -> Need:
        """This and then the other, which defines nothing."""
        return Need(
            self.symbols + other.symbols,
            max(self.b, other.b),
            max(self.l, other.l),
            max(self.v, other.v),
        )


Way: TypeAlias = "tuple[Need, Any]"
"""A way to finish a goal: what it takes, and the value that is read on it."""


class Rules:
    """What is enforced on a line, and the words that are symbols.

    Attributes:
        kinds: the table of the release.
        counts: outputs, probabilities and factors are as many as they have to be.
        domains: decisions are such that TVM could have taken them.
        tracked: names and loops of blocks are kept, so that a task can judge them.
        symbols: the texts of all symbols; other words are spelled in bytes.
    """

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        symbols: frozenset[str],
        *,
        counts: bool,
        domains: bool,
        tracked: bool,
    ) -> None:
        self.kinds = kinds
        self.symbols = symbols
        self.counts = counts
        self.domains = domains
        self.tracked = tracked
        self._ways: dict[Goal, list[Way]] = {}

    def cost(self, text: str) -> int:
        """How many symbols a word takes."""
        return 1 if text in self.symbols else len(text.encode())

    def ways(self, goal: Goal) -> list[Way]:
        """`goal.ways`, remembered: many positions have the same goals below."""
        ways = self._ways.get(goal)
        if ways is None:
            ways = goal.ways(self)
            if len(self._ways) >= _GOALS:
                self._ways.clear()
            self._ways[goal] = ways
        return ways


_GOALS = 50_000
"""Goals whose ways are remembered."""


class Line(msgspec.Struct, frozen=True):
    """What the words so far have said about a line.

    Attributes:
        kind: the kind of the instruction; empty at the beginning.
        form: which of its forms.
        inputs: how many inputs it has, where that matters.
        numbers: what its attributes say about the decision.
        block: how far back the block is whose loops are looked up; 0 if that is not it.
        name: the name of the block that is looked up, None if that is not it.
        function: likewise, that of the function in which it is looked up.
    """

    kind: str = ""
    form: int = 0
    inputs: int = 0
    numbers: tuple[int, ...] = ()
    block: int = 0
    name: str | None = None
    function: str | None = None


class Goal(msgspec.Struct, frozen=True):
    """Something that is to be read.

    Attributes:
        line: the line that it belongs to.
    """

    line: Line

    def closed(self, rules: Rules) -> list[Goal]:
        """This goal or what comes after it, if nothing need be read for it."""
        return [self]

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """The threads after a word; none if it cannot stand here."""
        raise NotImplementedError

    def wants(self, rules: Rules) -> list[Want]:
        """The words that may stand here and that bytes can spell."""
        return []

    def took(self, value: Any, rules: Rules) -> Goal:
        """The goal after a value that a goal above this one has read."""
        raise NotImplementedError

    def ways(self, rules: Rules) -> list[Way]:
        """How this goal can be finished; one of a line is finished with the line."""
        raise NotImplementedError


Thread: TypeAlias = "tuple[Goal, ...]"


def push(goal: Goal, below: Thread, rules: Rules) -> list[Thread]:
    """The threads with a new current goal."""
    return [(*below, option) for option in goal.closed(rules)]


def best(ways: Iterable[Way]) -> list[Way]:
    """The ways that no other one beats in everything."""
    kept: list[Way] = []
    for need, value in sorted(ways, key=lambda way: way[0]):
        if not any(all(a <= b for a, b in zip(other, need, strict=True)) for other, _ in kept):
            kept.append((need, value))
    return kept
