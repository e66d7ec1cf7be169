"""The loops around blocks, as far as they are known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from tracescript.masks.task import Workload

__all__ = ["Block", "Loop", "Nest", "Nests"]

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
        plain: these are all, and the iterations of the block, in this order.
    """

    loops: tuple[Loop, ...]
    whole: bool = True
    plain: bool = False


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

    def above(self, loop: Loop) -> tuple[Loop, ...] | None:
        """The loops around a loop, None if it is around no block that is known."""
        for nest in self.found.values():
            if nest and loop in nest.loops:
                return nest.loops[: nest.loops.index(loop)]
        return None

    def lose(self) -> Nests:
        """Any loop may have changed."""
        return replace(self, changed=True, lost=True, found=MappingProxyType({}))

    def find(self, block: Block, nest: Nest) -> Nests:
        """The loops around a block are these, and are followed from now on."""
        return replace(self, found={**self.found, block: nest})

    def name(self, loops: Iterable[Loop]) -> Nests:
        """Variables stand for loops."""
        return replace(self, named=(*self.named, *loops))

    def put(self, block: Block, nest: Nest | None) -> Nests:
        """A block has other loops, or unknown ones."""
        return replace(self, changed=True, found={**self.found, block: nest})

    def forget(self, loops: Collection[Loop]) -> Nests:
        """Loops are no longer what they were; variables may still stand for them."""
        return replace(
            self, named=tuple([Loop(None) if each in loops else each for each in self.named])
        )

    def change(self, loops: tuple[Loop, ...], change: Callable[[Nest], Nest | None]) -> Nests:
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
