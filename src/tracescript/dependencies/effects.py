"""What an instruction looks at and changes beyond its random variables, as bit sets.

The knowledge is in the table of kinds; here it is read for one instruction of one trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from tracescript.instructions import ASPECTS, KINDS, Aspect, OwnAspect, RVType
from tracescript.model import Instruction

__all__ = ["ALIVE", "WIDTH", "Effects", "bits_of", "effects_of"]

_BITS: dict[str, int] = {aspect: 1 << number for number, aspect in enumerate(ASPECTS)}

_RANDOM = 1 << len(ASPECTS)
"""The random state of the schedule, which is no part of the module."""

WIDTH = len(ASPECTS) + 1
"""The number of bits."""

_EVERYTHING = (1 << WIDTH) - 1

ALIVE = _BITS["blocks"] | _BITS["loops"]
"""What ends the life of a block or a loop that a random variable stands for."""


class Effects(NamedTuple):
    """What an instruction looks at and changes, as sets of aspects.

    Attributes:
        looks: the aspects that it looks at.
        changes: those that it changes.
        key: if both are one annotation alone, its key.
    """

    looks: int
    changes: int
    key: str | None = None


def effects_of(inst: Instruction, place: RVType | None, *, decided: bool) -> Effects:
    """What an instruction looks at and changes; of an unknown kind, everything.

    Args:
        inst: the instruction.
        place: the type of its first input, None if that is not known.
        decided: whether it has a decision. TVM draws one otherwise, and what it draws
            depends on how often it did before.
    """
    kind = KINDS.get(inst.kind)
    if kind is None:
        return Effects(_EVERYTHING, _EVERYTHING)
    effects = _effects(inst.kind, place)
    if kind.decision != "none" and not decided:
        return effects._replace(looks=effects.looks | _RANDOM, changes=effects.changes | _RANDOM)
    key = inst.attrs[0] if "own annotation" in kind.changes and inst.attrs else None
    return effects._replace(key=key) if isinstance(key, str) else effects


@cache
def bits_of(aspects: int) -> tuple[int, ...]:
    """The positions of the bits in a set of aspects."""
    return tuple([bit for bit in range(WIDTH) if aspects >> bit & 1])


@cache
def _effects(kind: str, place: RVType | None) -> Effects:
    return Effects(_set(KINDS[kind].looks, place), _set(KINDS[kind].changes, place))


def _set(aspects: Iterable[Aspect | OwnAspect], place: RVType | None) -> int:
    found = 0
    for aspect in aspects:
        found |= _annotations(place) if aspect == "own annotation" else _BITS[aspect]
    return found


def _annotations(place: RVType | None) -> int:
    """Where the annotation of a place is; it may be a block or a loop if that is not known."""
    types = (place,) if place in ("block", "loop") else ("block", "loop")
    return sum(_BITS[f"{one} annotations"] for one in types)
