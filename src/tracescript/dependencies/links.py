"""Who depends on whom in a trace, as sets of instructions: bit i stands for instruction i.

An instruction can depend on earlier ones alone. So the graph has no cycles, and one sweep
over the instructions follows all paths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from tracescript.dependencies.effects import WIDTH, Effects, bits_of, effects_of
from tracescript.dependencies.scope import Scope, resolve
from tracescript.errors import TraceShapeError
from tracescript.instructions import KINDS
from tracescript.model import Trace

__all__ = ["MAX_INSTRUCTIONS", "Links", "as_set", "elements", "is_mark", "link"]

MAX_INSTRUCTIONS = 10_000
"""A graph may have this many instructions: the sets of a larger one could fill the memory."""


class Links(msgspec.Struct, frozen=True, gc=False):
    """What the instructions of a trace have to do with each other.

    Attributes:
        scope: which values they define and use.
        decided: the number of the decision of each instruction that has one. Of two, TVM
            takes the last.
        users: for each value the instructions that use it, in their order.
        definers: for each instruction the set of those whose values it uses.
        orderers: for each instruction the set of earlier ones that changed something of the
            module that it looks at.
        effects: what each instruction looks at and changes.
        marks: the set of instructions that mark where the post-processors begin.
    """

    scope: Scope
    decided: dict[int, int]
    users: list[list[int]]
    definers: list[int]
    orderers: list[int]
    effects: list[Effects]
    marks: int


def link(trace: Trace) -> Links:
    """Find what each instruction of a trace depends on.

    Raises:
        TraceShapeError: the trace has more than `MAX_INSTRUCTIONS` instructions.
    """
    if len(trace.insts) > MAX_INSTRUCTIONS:
        wanted = f"at most {MAX_INSTRUCTIONS} instructions in a graph"
        raise TraceShapeError("$[0]", wanted, str(len(trace.insts)))
    scope, decided = resolve(trace), _decided(trace)
    users: list[list[int]] = [[] for _ in scope.definers]
    definers: list[int] = []
    for index, used in enumerate(scope.used):
        for value in used:
            users[value].append(index)
        definers.append(as_set([scope.definers[value] for value in used]))
    found = _effects(trace, scope, decided)
    marks = [index for index, inst in enumerate(trace.insts) if is_mark(inst.kind)]
    return Links(scope, decided, users, definers, _orderers(found), found, as_set(marks))


def as_set(positions: Iterable[int]) -> int:
    """The set of instructions at some positions."""
    insts = 0
    for position in positions:
        insts |= 1 << position
    return insts


def elements(insts: int) -> list[int]:
    """The positions in a set of instructions, in ascending order."""
    positions: list[int] = []
    while insts:
        lowest = insts & -insts
        positions.append(lowest.bit_length() - 1)
        insts ^= lowest
    return positions


def is_mark(kind: str) -> bool:
    """Whether instructions of a kind mark where the post-processors begin."""
    return kind in KINDS and KINDS[kind].starts_postproc


def _decided(trace: Trace) -> dict[int, int]:
    count = len(trace.insts)
    return {
        decision.index: number
        for number, decision in enumerate(trace.decisions)
        if 0 <= decision.index < count
    }


def _effects(trace: Trace, scope: Scope, decided: dict[int, int]) -> list[Effects]:
    # A null is no decision.
    drawn = {index for index, number in decided.items() if trace.decisions[number].value is None}
    return [
        effects_of(inst, place, decided=index in decided and index not in drawn)
        for index, (inst, place) in enumerate(zip(trace.insts, scope.places, strict=True))
    ]


def _orderers(found: list[Effects]) -> list[int]:
    """For each instruction the earlier ones that changed something that it looks at."""
    changed = [0] * WIDTH
    # An annotation is changed by those that change it, and by those that change them all.
    changed_all = [0] * WIDTH
    changed_one: defaultdict[tuple[int, str], int] = defaultdict(int)
    orderers: list[int] = []
    for index, (looks, changes, key) in enumerate(found):
        earlier = 0
        for bit in bits_of(looks):
            one = key is not None
            earlier |= changed_all[bit] | changed_one[bit, key] if one else changed[bit]
        orderers.append(earlier)
        for bit in bits_of(changes):
            changed[bit] |= 1 << index
            if key is None:
                changed_all[bit] |= 1 << index
            else:
                changed_one[bit, key] |= 1 << index
    return orderers
