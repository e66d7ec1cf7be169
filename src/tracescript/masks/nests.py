"""The loops around blocks, as the lines of a script change them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from tracescript.instructions import LoopEffect
from tracescript.masks.ranges import mapped_extents
from tracescript.masks.reading import Words
from tracescript.masks.task import Loops, Workload

__all__ = ["Block", "Loop", "Nests"]

Block: TypeAlias = "str | int"
"""A block by its name in the workload, or one that a line has made by its place in the scope."""


class Loop(msgspec.Struct, frozen=True, eq=False):
    """A loop; another object is another loop.

    Attributes:
        extent: None if it is not known.
    """

    extent: int | None


class Nest(msgspec.Struct, frozen=True):
    """The loops around a block.

    Attributes:
        loops: the outermost first.
        whole: these are all; else there may be more inside, which are around no other block.
        plain: the iterations of the block are these loops, in this order.
    """

    loops: tuple[Loop, ...]
    whole: bool = True
    plain: bool = False


class Step(NamedTuple):
    """A line, and what is known before it.

    Attributes:
        words: its words.
        blocks: what each variable of a block stands for; None where that is not known.
        extents: of the loops that the line defines.
        workload: what the script is for.
    """

    words: Words
    blocks: tuple[Block | None, ...]
    extents: Loops
    workload: Workload


class Nests(msgspec.Struct, frozen=True):
    """What is known of the loops around all blocks.

    Law: what it says is so in every schedule that TVM makes of the lines. Where it cannot
    follow a line, it says nothing.

    Attributes:
        named: the loop of each variable.
        found: what is around a block; None if that is not known. Of a block that is not
            here, it is what the workload says.
        changed: a line has changed loops.
        lost: a line may have changed any loop.
    """

    named: tuple[Loop, ...] = ()
    found: Mapping[Block, Nest | None] = MappingProxyType({})
    changed: bool = False
    lost: bool = False

    @property
    def longest(self) -> int:
        """The greatest number of loops that is known of a block."""
        return max((len(nest.loops) for nest in self.found.values() if nest), default=0)

    def around(self, block: Block, workload: Workload) -> Nest | None:
        """The loops around a block, None if nothing is known of them."""
        if self.lost:
            return None
        if block in self.found:
            return self.found[block]
        if not isinstance(block, str):
            return None
        is_plain = workload.is_plain(block)
        loops = None if self.changed and not is_plain else workload.loops_of(block)
        return None if loops is None else Nest(tuple(map(Loop, loops)), plain=is_plain)

    def after(self, effect: LoopEffect, step: Step) -> Nests:
        """What is known after a line."""
        return self if effect == "finds" else _EFFECTS[effect](self, step)

    def lose(self) -> Nests:
        """Any loop may have changed."""
        return replace(self, changed=True, lost=True, found=MappingProxyType({}))

    def _name(self, loops: Iterable[Loop]) -> Nests:
        """Variables stand for loops."""
        return replace(self, named=(*self.named, *loops))

    def _put(self, block: Block, nest: Nest | None) -> Nests:
        """A block has other loops, or unknown ones."""
        return replace(self, changed=True, found={**self.found, block: nest})

    def _forget(self, loops: Collection[Loop]) -> Nests:
        """Loops are no longer what they were; variables may still stand for them."""
        return replace(
            self, named=tuple([Loop(None) if each in loops else each for each in self.named])
        )

    def _loops(self, step: Step) -> tuple[Loop, ...] | None:
        """The loops that are among the inputs; None if they are not all that is there."""
        words = step.words.inputs
        if not all(word.startswith("l-") and int(word[2:]) <= len(self.named) for word in words):
            return None
        return tuple([self.named[-int(word[2:])] for word in words])

    def _block(self, step: Step) -> Block | None:
        """The block that is the first input; None if it may be any."""
        first = step.words.inputs[0] if step.words.inputs else ""
        block = step.blocks[-int(first[2:])] if first.startswith("b-") else None
        # A name that is none of the workload's may be that of a block that a line has made.
        is_known = not isinstance(block, str) or step.workload.loops_of(block) is not None
        return block if is_known else None

    def _change(
        self, loops: tuple[Loop, ...], change: Callable[[Nest], Nest | None]
    ) -> Nests:
        """The blocks that have all of some loops around them have others.

        A loop that is around no block that is known may be around any.
        """
        wanted = set(loops)
        found = dict(self.found)
        is_known = False
        for block, nest in self.found.items():
            if nest is None or wanted.isdisjoint(nest.loops):
                continue
            is_within = wanted.issubset(nest.loops)
            is_known |= is_within
            found[block] = change(nest) if is_within else None
        return replace(self, changed=True, found=found) if is_known else self.lose()


def _keeps(nests: Nests, step: Step) -> Nests:
    return nests._name(map(Loop, step.extents))


def _adds(nests: Nests, _step: Step) -> Nests:
    return replace(nests, changed=True)


def _changes(nests: Nests, step: Step) -> Nests:
    return _keeps(nests.lose(), step)


def _looks_up(nests: Nests, step: Step) -> Nests:
    block = nests._block(step)
    nest = None if block is None else nests.around(block, step.workload)
    if block is None or nest is None:
        return _keeps(nests, step)
    more = len(step.extents) - len(nest.loops)
    if more and (more < 0 or nest.whole):
        # TVM gives another number of them.
        return _changes(nests, step)
    loops = nest.loops + tuple([Loop(None) for _ in range(more)])
    if block not in nests.found and not nest.plain:
        # They may be around other blocks as well.
        return nests._name(loops)
    known = Nest(loops, plain=nest.plain)
    return replace(nests, found={**nests.found, block: known})._name(loops)


def _splits(nests: Nests, step: Step) -> Nests:
    new = tuple(map(Loop, step.extents))
    first = step.words.inputs[:1]
    old = nests._loops(step._replace(words=step.words._replace(inputs=first)))

    def change(nest: Nest) -> Nest:
        at = nest.loops.index(old[0])
        return Nest((*nest.loops[:at], *new, *nest.loops[at + 1 :]), nest.whole)

    return (nests._change(old, change) if old else nests.lose())._name(new)


def _fuses(nests: Nests, step: Step) -> Nests:
    new = tuple(map(Loop, step.extents))
    old = nests._loops(step)

    def change(nest: Nest) -> Nest | None:
        at = nest.loops.index(old[0])
        if nest.loops[at : at + len(old)] != old:
            return None
        return Nest((*nest.loops[:at], *new, *nest.loops[at + len(old) :]), nest.whole)

    return (nests._change(old, change) if old else nests.lose())._name(new)


def _reorders(nests: Nests, step: Step) -> Nests:
    order = nests._loops(step)
    if not order:
        return nests.lose()

    def change(nest: Nest) -> Nest:
        left = iter(order)
        return Nest(tuple([next(left) if each in order else each for each in nest.loops]), nest.whole)

    return nests._change(order, change)


def _moves(nests: Nests, step: Step) -> Nests:
    block = nests._block(step)
    if block is None:
        return nests.lose()
    place = nests._loops(step._replace(words=step.words._replace(inputs=step.words.inputs[1:2])))
    for nest in nests.found.values():
        if place and nest and place[0] in nest.loops:
            within = nest.loops[: nest.loops.index(place[0]) + 1]
            return nests._put(block, Nest(within, whole=False))
    return nests._put(block, None)


def _removes(nests: Nests, step: Step) -> Nests:
    block = nests._block(step)
    return _adds(nests, step) if block is None else nests._put(block, None)


def _maps(nests: Nests, step: Step) -> Nests:
    text = step.words.name

    def mapped(extents: tuple[int, ...]) -> Loops | None:
        return None if text is None else mapped_extents(text, extents)

    return _made_anew(nests, step, mapped)


def _pads(nests: Nests, step: Step) -> Nests:
    multiples = [int(word) for word in step.words.attrs[0][1:-1].split()]

    def padded(extents: tuple[int, ...]) -> Loops | None:
        if len(multiples) != len(extents) or min(multiples, default=1) < 1:
            return None
        return tuple([-(-e // each) * each for e, each in zip(extents, multiples, strict=True)])

    return _made_anew(nests, step, padded)


def _made_anew(
    nests: Nests, step: Step, extents: Callable[[tuple[int, ...]], Loops | None]
) -> Nests:
    """A block has loops anew, one for each of its iterations."""
    block = nests._block(step)
    if block is None:
        return nests.lose()
    old = nests.around(block, step.workload)
    if old is None:
        return nests._put(block, None)
    known = [loop.extent for loop in old.loops if loop.extent is not None]
    is_known = old.whole and old.plain and len(known) == len(old.loops)
    new = extents(tuple(known)) if is_known else None
    nest = None if new is None else Nest(tuple(map(Loop, new)), plain=True)
    return nests._put(block, nest)._forget(old.loops)


def _wraps(nests: Nests, step: Step) -> Nests:
    inner = nests._loops(step)
    if not inner or len(inner) != 1:
        return nests.lose()
    after = nests._change(inner, lambda _: Nest((), whole=False))
    for nest in nests.found.values():
        if nest and inner[0] in nest.loops:
            within = nest.loops[: nest.loops.index(inner[0])]
            return after._put(len(step.blocks), Nest(within))
    return after


def _lays_out(nests: Nests, step: Step) -> Nests:
    # What is padded has new loops around it.
    return _adds(nests, step) if "null" in step.words.attrs else nests.lose()


_EFFECTS: Mapping[LoopEffect, Callable[[Nests, Step], Nests]] = {
    "adds": _adds,
    "changes": _changes,
    "fuses": _fuses,
    "keeps": _keeps,
    "lays out": _lays_out,
    "looks up": _looks_up,
    "maps": _maps,
    "merges": _changes,
    "moves": _moves,
    "pads": _pads,
    "removes": _removes,
    "reorders": _reorders,
    "splits": _splits,
    "wraps": _wraps,
}
