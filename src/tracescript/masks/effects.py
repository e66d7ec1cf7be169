"""What a line does to the loops around blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tracescript.instructions import Kind, LoopEffect
from tracescript.masks.nests import Block, Loop, Nest, Nests
from tracescript.masks.ranges import mapped_extents
from tracescript.masks.reading import Words, distance
from tracescript.masks.task import Loops, Workload

__all__ = ["Step", "nests_after"]


class Step(NamedTuple):
    """A line, and what is known before it.

    Attributes:
        kind: its kind.
        words: its words.
        blocks: what each variable of a block stands for; None where that is not known.
        extents: of the loops that the line defines.
        workload: what the script is for.
    """

    kind: Kind
    words: Words
    blocks: tuple[Block | None, ...]
    extents: Loops
    workload: Workload


def nests_after(nests: Nests, step: Step) -> Nests:
    """What is known of loops after a line, with those that it defines.

    Law: what it says is so in every schedule that TVM makes of the lines. Where it cannot follow
    a line, it says nothing of what the line may change.
    """
    return _EFFECTS[step.kind.loops](nests, step)


def _loops(nests: Nests, words: Sequence[str]) -> tuple[Loop, ...]:
    """The loops that words refer to; none if one of the words is no reference to a loop."""
    if not all(word.startswith("l-") and distance(word) <= len(nests.named) for word in words):
        return ()
    return tuple([nests.named[-distance(word)] for word in words])


def _block(step: Step) -> Block | None:
    """The block that is the first input; None if it may be any."""
    first = step.words.inputs[0]
    block = step.blocks[-distance(first)] if first.startswith("b-") else None
    # A name that is none of the workload's may be that of a block that a line has made.
    is_known = not isinstance(block, str) or step.workload.loops_of(block) is not None
    return block if is_known else None


def _keeps(nests: Nests, step: Step) -> Nests:
    return nests.name(map(Loop, step.extents))


def _adds(nests: Nests, _step: Step) -> Nests:
    return replace(nests, changed=True)


def _changes(nests: Nests, step: Step) -> Nests:
    if "extents" in step.kind.changes:
        nests = nests.forget(nests.named)
    return _keeps(nests.lose(), step)


def _looks_up(nests: Nests, step: Step) -> Nests:
    block = _block(step)
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
        return nests.name(loops)
    known = Nest(loops, plain=nest.plain)
    return nests.find(block, known).name(loops)


def _splits(nests: Nests, step: Step) -> Nests:
    return _replaced(nests, _loops(nests, step.words.inputs[:1]), step)


def _fuses(nests: Nests, step: Step) -> Nests:
    return _replaced(nests, _loops(nests, step.words.inputs), step)


def _replaced(nests: Nests, old: tuple[Loop, ...], step: Step) -> Nests:
    """What the line defines takes the place of loops that are directly in each other."""
    new = tuple(map(Loop, step.extents))

    def change(nest: Nest) -> Nest | None:
        at = nest.loops.index(old[0])
        if nest.loops[at : at + len(old)] != old:
            return None
        return Nest((*nest.loops[:at], *new, *nest.loops[at + len(old) :]), nest.whole)

    return (nests.change(old, change) if old else nests.lose()).name(new)


def _reorders(nests: Nests, step: Step) -> Nests:
    order = _loops(nests, step.words.inputs)
    if not order:
        return nests.lose()

    def change(nest: Nest) -> Nest:
        left = iter(order)
        loops = [next(left) if each in order else each for each in nest.loops]
        return Nest(tuple(loops), nest.whole)

    return nests.change(order, change)


def _moves(nests: Nests, step: Step) -> Nests:
    block = _block(step)
    if block is None:
        return nests.lose()
    place = _loops(nests, step.words.inputs[1:2])
    above = nests.above(place[0]) if place else None
    return nests.put(block, None if above is None else Nest((*above, *place), whole=False))


def _removes(nests: Nests, step: Step) -> Nests:
    block = _block(step)
    return _adds(nests, step) if block is None else nests.put(block, None)


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
    block = _block(step)
    old = None if block is None else nests.around(block, step.workload)
    if block is not None and old is None and step.kind.loops == "maps":
        # Of one that was made. TVM takes no loop that is around another block as well.
        return nests.put(block, None)
    if block is None or old is None or not old.plain:
        return _changes(nests, step)
    known = [loop.extent for loop in old.loops if loop.extent is not None]
    new = extents(tuple(known)) if len(known) == len(old.loops) else None
    nest = None if new is None else Nest(tuple(map(Loop, new)), plain=True)
    return nests.put(block, nest).forget(old.loops)


def _wraps(nests: Nests, step: Step) -> Nests:
    inner = _loops(nests, step.words.inputs)
    if len(inner) != 1:
        return nests.lose()
    above = nests.above(inner[0])
    after = nests.change(inner, lambda _: Nest((), whole=False))
    return after if above is None else after.put(len(step.blocks), Nest(above))


def _lays_out(nests: Nests, step: Step) -> Nests:
    # What is padded has new loops around it.
    return _adds(nests, step) if "null" in step.words.attrs else _changes(nests, step)


_EFFECTS: Mapping[LoopEffect, Callable[[Nests, Step], Nests]] = {
    "adds": _adds,
    "changes": _changes,
    "finds": _keeps,
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
