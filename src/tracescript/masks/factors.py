"""The decision of a tile: factors whose product is the extent of a loop.

The rules are those of TVM's `SamplePerfectTile` and `SamplePartitionedTile`. Each factor is
offered only if the others can still be chosen.
"""

from __future__ import annotations

import math
from functools import lru_cache

from tracescript.masks.goals import Goal, Need, Rules, Thread, Way
from tracescript.masks.lexemes import ANY_INT, IntDomain, Lexeme, Want

__all__ = ["Brackets", "Factors"]


class Brackets(Goal, frozen=True):
    """The bracket before the factors; `after` is what follows the one behind them."""

    after: Goal
    unknown: bool

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read the bracket."""
        is_bracket = word.type == "open" and word.text == "[" and word.spaced
        return [(*below, self.factors(rules))] if is_bracket else []

    def ways(self, rules: Rules) -> list[Way]:
        """The bracket, the factors, and the rest of the line."""
        return [(Need(1).plus(need), None) for need, _ in rules.ways(self.factors(rules))]

    def factors(self, rules: Rules) -> Factors:
        """What follows the bracket."""
        partitioned = rules.kinds[self.line.kind].decision == "partitioned tile"
        numbers = self.line.numbers
        divisor = 1
        if rules.domains and partitioned and numbers[1] < numbers[0]:
            divisor = max(1, numbers[2])
        return Factors(
            self.line, self.after, divisor=divisor, unknown=self.unknown, pending=rules.tracked
        )


class Factors(Goal, frozen=True):
    """The next factor, or the bracket behind them.

    Attributes:
        after: what follows the bracket.
        position: which factor is next, from 0.
        rest: what the factors still have to multiply to; None if the extent is not known.
        divisor: what the inner factors still have to be a multiple of.
        unknown: the extent is no constant: the factors are -1 and ones.
        pending: the extent has yet to be looked up.
    """

    after: Goal
    position: int = 0
    rest: int | None = None
    divisor: int = 1
    unknown: bool = False
    pending: bool = False

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read a factor that leaves a way to finish, or the bracket."""
        if word.is_mark("]"):
            return [(*below, self.after)] if self._is_full(rules) else []
        spaced = self.position > 0
        if word.type != "int" or word.spaced != spaced or word.number not in self._domain(rules):
            return []
        return [(*below, self._with(word.number, rules))]

    def wants(self, rules: Rules) -> list[Want]:
        """The factors that are no symbols."""
        domain = self._domain(rules)
        return [] if domain.values == frozenset() else [Want("int", self.position > 0, "", domain)]

    def ways(self, rules: Rules) -> list[Way]:
        """Ones and one factor that is all the rest, the bracket, and the rest of the line."""
        symbols, goal = 1, self
        while goal.position < goal.count(rules):
            factor = goal._least(rules)
            symbols += rules.cost(f" {factor}" if goal.position else str(factor))
            goal = goal._with(factor, rules)
        (rest, _), *_others = rules.ways(self.after)
        return [(Need(symbols).plus(rest), None)]

    def count(self, rules: Rules) -> int:
        """How many factors there have to be."""
        return self.line.numbers[0] if rules.counts else self.line.inputs

    def of(self, extent: int | None, rules: Rules) -> Factors:
        """The first factor of a loop of this extent, None if it is not known."""
        divisor = self.divisor
        if extent is not None and extent % divisor:
            # TVM does not partition such a loop.
            divisor = 1
        unknown = self.unknown and extent is None
        return Factors(self.line, self.after, 0, extent, divisor, unknown)

    def _is_full(self, rules: Rules) -> bool:
        return self.position == self.count(rules)

    def _with(self, factor: int, rules: Rules) -> Factors:
        rest = None if self.rest is None else self.rest // factor
        divisor = self.divisor
        if self._is_inner():
            divisor //= math.gcd(divisor, factor)
        return Factors(self.line, self.after, self.position + 1, rest, divisor, self.unknown)

    def _is_inner(self) -> bool:
        return len(self.line.numbers) < 3 or self.position >= self.line.numbers[1]

    def _least(self, rules: Rules) -> int:
        """A factor that keeps what follows short."""
        domain = self._domain(rules)
        if domain.values is None or not self._is_inner():
            return domain.least()
        return max(domain.values)

    def _domain(self, rules: Rules) -> IntDomain:
        left = self.count(rules) - self.position
        if left <= 0:
            return _NONE
        if not rules.domains:
            return ANY_INT
        if self.unknown:
            return _MINUS_ONE if self.position == 0 else _ONE
        if self.rest is None:
            return self._unbounded(left)
        return IntDomain(values=self._divisors(left))

    def _unbounded(self, left: int) -> IntDomain:
        bound = self._bound() if left == 1 else None
        return IntDomain(1, bound, self.divisor if left == 1 else 1)

    def _bound(self) -> int | None:
        """The greatest innermost factor."""
        numbers = self.line.numbers
        return numbers[1] if len(numbers) == 2 and numbers[1] >= 1 else None

    def _divisors(self, left: int) -> frozenset[int]:
        assert self.rest is not None
        rest, bound = self.rest, self._bound()
        if left == 1:
            return frozenset({rest})
        if not self._is_inner():
            return frozenset(f for f in _divisors(rest) if rest // f % self.divisor == 0)
        if left == 2 and bound is not None:
            return frozenset(f for f in _divisors(rest) if rest // f <= bound)
        return _divisors(rest)


_NONE = IntDomain(values=frozenset())
_ONE = IntDomain(values=frozenset({1}))
_MINUS_ONE = IntDomain(values=frozenset({-1}))


@lru_cache(maxsize=4096)
def _divisors(number: int) -> frozenset[int]:
    """All divisors; extents have at most 31 bits, so trial division will do."""
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return frozenset(small + [number // d for d in small])
