"""What is known of the values that the lines so far have defined."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import msgspec

from tracescript.instructions import Kind, LoopEffect
from tracescript.literals import unquote
from tracescript.masks.lexemes import MOST_OUTPUTS
from tracescript.masks.task import Loops, TaskInfo, Workload

__all__ = ["CHANGES", "Scope", "defines", "first_distance"]


CHANGES: frozenset[LoopEffect] = frozenset({"changes", "splits", "fuses", "merges"})
"""What leaves the loops of a workload other than they were."""


class Scope(msgspec.Struct, frozen=True):
    """What the lines so far have defined, oldest first.

    Attributes:
        blocks: the names under which blocks were looked up; None for others.
        loops: the extents of loops, None where they are not known.
        exprs: the values of expressions, None where they are not known.
        changed: whether the loops of the workload are no longer what they were.
        workload: what is known of the blocks.
    """

    blocks: tuple[str | None, ...] = ()
    loops: tuple[int | None, ...] = ()
    exprs: tuple[int | None, ...] = ()
    changed: bool = False
    workload: Workload = TaskInfo(())

    def loop_count(self, block: int | str) -> int | None:
        """How many loops a block has, None if that is not known.

        Args:
            block: its name, or how far back it is among the blocks.
        """
        loops = self.loops_of(block)
        return None if loops is None else len(loops)

    def loops_of(self, block: int | str) -> Loops | None:
        """The extents of the loops around a block, None if they are not known."""
        name = self.blocks[-block] if isinstance(block, int) else block
        loops = None if name is None or self.changed else self.workload.loops_of(name)
        # Nothing can be said of more loops than a line may define.
        return None if loops is None or len(loops) > MOST_OUTPUTS else loops

    def extent(self, distance: int) -> int | None:
        """The extent of the loop at a distance; None if it is not known or none that a loop has."""
        return _usual(self.loops[-distance])

    def after(self, line: str, kind: Kind) -> Scope:
        """The scope after a whole line."""
        outputs = _OUTPUTS.search(line)
        letter, count = ("", 0) if outputs is None else (outputs[1], int(outputs[2] or 1))
        new = _values(kind, _Line(line, count, self)) if count else ()
        blocks, loops, exprs = self.blocks, self.loops, self.exprs
        if letter == "b":
            blocks += (_name(line) if kind.loops == "finds" else None,) * count
        elif letter == "l":
            loops += new
        else:
            exprs += new
        changed = self.changed or kind.loops in CHANGES
        return Scope(blocks, loops, exprs, changed, self.workload)


class _Line(NamedTuple):
    """A line that defines loops or expressions, and what was known before it."""

    text: str
    outputs: int
    scope: Scope


def _values(kind: Kind, line: _Line) -> Loops:
    """The extents or values that a line defines."""
    if kind.decision in ("tile", "partitioned tile"):
        return _tile(line)
    if kind.loops == "looks up":
        return _looked_up(line)
    if kind.loops == "splits":
        return _split(line)
    return _fused(line) if kind.loops == "fuses" else (None,) * line.outputs


def _looked_up(line: _Line) -> Loops:
    extents = line.scope.loops_of(first_distance(line.text))
    if extents is None or len(extents) != line.outputs:
        return (None,) * line.outputs
    return extents


def _tile(line: _Line) -> Loops:
    _, _, decision = line.text.rpartition(" = [")
    factors = tuple(map(int, decision[:-1].split())) if decision != line.text else ()
    return factors if len(factors) == line.outputs else (None,) * line.outputs


def _split(line: _Line) -> Loops:
    words = _inputs(line)[1:]
    factors = [_factor(word, line.scope) for word in words]
    known = [factor for factor in factors if factor is not None]
    extent = line.scope.extent(first_distance(line.text))
    if words.count("null") != 1 or len(known) != len(words) - 1 or extent is None:
        return tuple(factors)
    # TVM rounds the factor up that follows from the others.
    rest = -(-extent // math.prod(known))
    return tuple(rest if factor is None else factor for factor in factors)


def _factor(word: str, scope: Scope) -> int | None:
    """The value of a factor; None for one that is not known or cannot be."""
    if word == "null":
        return None
    return _usual(scope.exprs[-int(word[2:])] if word[:2] == "v-" else int(word))


def _usual(number: int | None) -> int | None:
    """A number that a loop can run to; any other one is as good as unknown."""
    return number if number is not None and 0 < number <= _GREATEST else None


def _fused(line: _Line) -> Loops:
    extents = [line.scope.extent(int(word[2:])) for word in _inputs(line)]
    known = [extent for extent in extents if extent is not None]
    return (_usual(math.prod(known)) if len(known) == len(extents) else None,)


def _inputs(line: _Line) -> list[str]:
    return line.text.partition(" | ")[0].partition(" -> ")[0].split(" ")[1:]


def _name(line: str) -> str | None:
    match = _NAME.search(line)
    return None if match is None else unquote(match[1])


def defines(line: str) -> bool:
    """Whether a line, or the beginning of one, has come to its outputs."""
    return _OUTPUTS.search(line) is not None


def first_distance(line: str) -> int:
    """The distance of the first input of a line, which is a reference."""
    match = _DISTANCE.search(line)
    assert match is not None
    return int(match[1])


_GREATEST = (1 << 31) - 1
"""The greatest extent that is followed; the divisors of all up to here are found at once."""

_OUTPUTS = re.compile(r' -> (?:@"_" )?([blv])([0-9]*)(?: = [^"]*)?$')
_NAME = re.compile(r' \| ("(?:[^"\\]|\\.)*")')
_DISTANCE = re.compile(r" [blv]-([0-9]+)")
