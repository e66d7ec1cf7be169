"""What is known about the workload that a script is for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from tracescript.literals import quote

__all__ = ["BlockInfo", "Loops", "NameOf", "NameSet", "Names", "TaskInfo", "Workload"]

Loops: TypeAlias = "tuple[int | None, ...]"
"""The extents of the loops around a block, the outermost first; None for one not known."""


NameOf: TypeAlias = Literal["block", "function"]
"""What a name is of."""


class Workload(Protocol):
    """What a mask asks about the blocks of a workload: a `TaskInfo` knows, or a live schedule."""

    @property
    def most_loops(self) -> int:
        """The greatest number of loops of a block."""
        ...

    def loops_of(self, name: str) -> Loops | None:
        """The extents of the loops around a block, None if they are not known."""
        ...

    def is_plain(self, name: str) -> bool:
        """Whether it is known that a block is `BlockInfo.plain`."""
        ...


class BlockInfo(msgspec.Struct, frozen=True):
    """A block of a workload.

    Attributes:
        name: its name.
        loops: the extents of the loops around it, the outermost first; None for an extent
            that is no constant.
        buffers: the names of the buffers that it reads and writes.
        plain: whether it is known that its loops are around no other block, and that its
            iterations are these loops, in this order. Then its loops are followed from line
            to line; else nothing is known of them once a line has changed any loop.
    """

    name: str
    loops: Loops = ()
    buffers: tuple[str, ...] = ()
    plain: bool = False


class TaskInfo(msgspec.Struct, frozen=True):
    """A workload, as far as a mask needs to know it.

    Attributes:
        blocks: its blocks. The block `root` is there in any case.
        function: the name of its function; None if it has several, or it is not known.
    """

    blocks: tuple[BlockInfo, ...]
    function: str | None = None

    def has_block(self, name: str) -> bool:
        """Whether there can be a block of that name.

        Primitives name the blocks that they make after a buffer or a block: `C_local`,
        `matmul_init`. Which of them there are, only TVM knows; so any such name will do.

        >>> task = TaskInfo((BlockInfo("C", (64, 64), ("A", "C")),))
        >>> [task.has_block(name) for name in ("C", "root", "A_shared", "B")]
        [True, True, True, False]
        """
        return self.names.block.have(name)

    @property
    def names(self) -> Names:
        """The names that its blocks and its function can have."""
        blocks = {"root", *(block.name for block in self.blocks)}
        made = {name for block in self.blocks for name in (block.name, *block.buffers) if name}
        return Names(
            NameSet.of(blocks, [name + "_" for name in made]),
            NameSet.of([], [""]) if self.function is None else NameSet.of([self.function]),
        )

    @property
    def most_loops(self) -> int:
        """The greatest number of loops of a block."""
        return max((len(block.loops) for block in self.blocks), default=0)

    def loops_of(self, name: str) -> Loops | None:
        """The extents of the loops around a block, None if it is none of the workload's."""
        return next((block.loops for block in self.blocks if block.name == name), None)

    def is_plain(self, name: str) -> bool:
        """Whether it is known that a block is `BlockInfo.plain`."""
        return any(block.plain for block in self.blocks if block.name == name)


class Names(NamedTuple):
    """The names that blocks can have, and those that functions can have."""

    block: NameSet
    function: NameSet

    def of(self, what: NameOf) -> NameSet:
        """Those of blocks, or those of functions."""
        return self.block if what == "block" else self.function


class NameSet(msgspec.Struct, frozen=True):
    """Names as the bytes of a script, in Latin-1.

    Attributes:
        known: names that are known in full.
        stems: what any other name begins with.
    """

    known: frozenset[str]
    stems: frozenset[str]

    @classmethod
    def of(cls, names: Iterable[str], stems: Iterable[str] = ()) -> NameSet:
        """These names, and those that begin like this; not as bytes."""
        return cls(frozenset(map(_raw, names)), frozenset(map(_raw, stems)))

    @property
    def longest(self) -> int:
        """How many bytes the longest of the known names takes."""
        return max(map(len, self.known), default=0)

    @property
    def in_full(self) -> NameSet:
        """Those that are known in full."""
        return NameSet(self.known, frozenset())

    def have(self, name: str) -> bool:
        """Whether this is a name, known in full or by its beginning; not as bytes."""
        raw = _raw(name)
        return raw in self.known or self.goes_on(raw)

    def begins(self, raw: str) -> bool:
        """Whether a name begins like this."""
        return self.goes_on(raw) or any(name.startswith(raw) for name in self._all())

    def goes_on(self, raw: str) -> bool:
        """Whether this goes on after one of the stems."""
        return any(raw.startswith(stem) for stem in self.stems)

    def rest(self, raw: str) -> int:
        """How many bytes the beginning of a name still lacks."""
        return min(len(name) - len(raw) for name in self._all() if name.startswith(raw))

    def _all(self) -> frozenset[str]:
        return self.known | self.stems


def _raw(name: str) -> str:
    return quote(name)[1:-1].encode().decode("latin-1")
