"""What is known of the values that the lines so far have defined."""

from __future__ import annotations

import math
from typing import get_args

import msgspec
from msgspec.structs import replace

from tracescript.instructions import KINDS, Kind, LoopEffect
from tracescript.masks.effects import Step, nests_after
from tracescript.masks.lexemes import MOST_OUTPUTS
from tracescript.masks.nests import Block, Nest, Nests
from tracescript.masks.reading import Words, distance, read
from tracescript.masks.task import Loops, TaskInfo, Workload

__all__ = ["CHANGES", "Scope"]


CHANGES: frozenset[LoopEffect] = frozenset(get_args(LoopEffect)) - {
    "finds",
    "looks up",
    "keeps",
}
"""What leaves the loops of a workload other than they were."""


class Scope(msgspec.Struct, frozen=True):
    """What the lines so far have defined, oldest first.

    Attributes:
        blocks: what variables of blocks stand for; None where that is not known.
        exprs: the values of expressions, None where they are not known.
        nests: the loops that variables stand for, and those around blocks.
        workload: what is known of the blocks.
    """

    blocks: tuple[Block | None, ...] = ()
    exprs: tuple[int | None, ...] = ()
    nests: Nests = Nests()
    workload: Workload = TaskInfo(())

    @property
    def loops(self) -> Loops:
        """The extents of loops, None where they are not known."""
        return tuple([loop.extent for loop in self.nests.named])

    @property
    def most_loops(self) -> int:
        """The greatest number of loops that is known of a block."""
        return max(self.workload.most_loops, self.nests.longest)

    def loop_count(self, block: int | str) -> int | None:
        """How many loops a block has, None if that is not known.

        Args:
            block: its name, or how far back it is among the blocks.
        """
        nest = self._nest(block)
        return None if nest is None else len(nest.loops)

    def loops_of(self, block: int | str) -> Loops | None:
        """The extents of the loops around a block, None if they are not known."""
        nest = self._nest(block)
        return None if nest is None else tuple([loop.extent for loop in nest.loops])

    def _nest(self, block: int | str) -> Nest | None:
        """All loops around a block, None if they are not known."""
        known = self.blocks[-block] if isinstance(block, int) else block
        nest = None if known is None else self.nests.around(known, self.workload)
        # Nothing can be said of more loops than a line may define.
        is_known = nest is not None and nest.whole and len(nest.loops) <= MOST_OUTPUTS
        return nest if is_known else None

    def extent(self, back: int) -> int | None:
        """The extent of the loop at a distance; None if it is not known or none that a loop has."""
        return _usual(self.nests.named[-back].extent)

    def after(self, line: str) -> Scope:
        """The scope after a whole line, which fits the grammar of some release."""
        kind, words = KINDS[line.partition(" ")[0]], read(line)
        letter, count = words.letter, words.outputs
        new = _values(kind, words, self) if count and letter != "b" else ()
        step = Step(kind, words, self.blocks, new if letter == "l" else (), self.workload)
        return Scope(
            self.blocks + (_blocks(kind, words, len(self.blocks)) if letter == "b" else ()),
            self.exprs + (new if letter == "v" else ()),
            nests_after(self.nests, step),
            self.workload,
        )

    def unsettled(self) -> Scope:
        """The scope after a line that may change any loop."""
        return replace(self, nests=self.nests.lose())


def _blocks(kind: Kind, words: Words, place: int) -> tuple[Block | None, ...]:
    """What the variables of blocks stand for that a line defines."""
    if kind.loops == "finds":
        return (words.name,) * words.outputs
    is_new = kind.loops in ("adds", "wraps")
    return tuple([place + number if is_new else None for number in range(words.outputs)])


def _values(kind: Kind, words: Words, scope: Scope) -> Loops:
    """The extents or values that a line defines."""
    if kind.decision in ("tile", "partitioned tile"):
        return _tile(words)
    if kind.loops == "looks up":
        return _looked_up(words, scope)
    if kind.loops == "splits":
        return _split(words, scope)
    return _fused(words, scope) if kind.loops == "fuses" else (None,) * words.outputs


def _looked_up(words: Words, scope: Scope) -> Loops:
    extents = scope.loops_of(distance(words.inputs[0]))
    if extents is None or len(extents) != words.outputs:
        return (None,) * words.outputs
    return extents


def _tile(words: Words) -> Loops:
    factors = tuple(map(int, (words.decision or "").split()))
    return factors if len(factors) == words.outputs else (None,) * words.outputs


def _split(words: Words, scope: Scope) -> Loops:
    loop, *given = words.inputs
    factors = [_factor(word, scope) for word in given]
    known = [factor for factor in factors if factor is not None]
    extent = scope.extent(distance(loop))
    if given.count("null") != 1 or len(known) != len(given) - 1 or extent is None:
        return tuple(factors)
    # TVM rounds the factor up that follows from the others.
    rest = -(-extent // math.prod(known))
    return tuple([rest if factor is None else factor for factor in factors])


def _factor(word: str, scope: Scope) -> int | None:
    """The value of a factor; None for one that is not known or cannot be."""
    if word == "null":
        return None
    return _usual(scope.exprs[-distance(word)] if word[:2] == "v-" else int(word))


def _usual(number: int | None) -> int | None:
    """A number that a loop can run to; any other one is as good as unknown."""
    return number if number is not None and 0 < number <= _GREATEST else None


def _fused(words: Words, scope: Scope) -> Loops:
    extents = [scope.extent(distance(word)) for word in words.inputs]
    known = [extent for extent in extents if extent is not None]
    return (_usual(math.prod(known)) if len(known) == len(extents) else None,)


_GREATEST = (1 << 31) - 1
"""The greatest extent that is followed; the divisors of all up to here are found at once."""
