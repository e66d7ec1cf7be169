"""What is known about the workload that a script is for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

import msgspec

from tracescript.literals import quote

__all__ = ["BlockInfo", "Loops", "Names", "TaskInfo", "Workload"]

Loops: TypeAlias = "tuple[int | None, ...]"
"""The extents of the loops around a block, the outermost first; None for one not known."""


class Workload(Protocol):
    """What a mask asks about the blocks of a workload: a `TaskInfo` knows, or a live schedule."""

    @property
    def most_loops(self) -> int:
        """The greatest number of loops of a block."""
        ...

    def loops_of(self, name: str) -> Loops | None:
        """The extents of the loops around a block, None if they are not known."""
        ...


class BlockInfo(msgspec.Struct, frozen=True):
    """A block of a workload.

    Attributes:
        name: its name.
        loops: the extents of the loops around it, the outermost first; None for an extent
            that is no constant.
        buffers: the names of the buffers that it reads and writes.
    """

    name: str
    loops: Loops = ()
    buffers: tuple[str, ...] = ()


class TaskInfo(msgspec.Struct, frozen=True):
    """A workload, as far as a mask needs to know it.

    Attributes:
        blocks: its blocks. The block `root` is there in any case.
    """

    blocks: tuple[BlockInfo, ...]

    def has_block(self, name: str) -> bool:
        """Whether there can be a block of that name.

        Primitives name the blocks that they make after a buffer or a block: `C_local`,
        `matmul_init`. Which of them there are, only TVM knows; so any such name will do.

        >>> task = TaskInfo((BlockInfo("C", (64, 64), ("A", "C")),))
        >>> [task.has_block(name) for name in ("C", "root", "A_shared", "B")]
        [True, True, True, False]
        """
        return self.names.have(name)

    @property
    def names(self) -> Names:
        """The names that its blocks can have."""
        known = {"root", *(block.name for block in self.blocks)}
        stems = {name for block in self.blocks for name in (block.name, *block.buffers) if name}
        return Names(frozenset(map(_raw, known)), frozenset(_raw(stem + "_") for stem in stems))

    @property
    def most_loops(self) -> int:
        """The greatest number of loops of a block."""
        return max((len(block.loops) for block in self.blocks), default=0)

    def loops_of(self, name: str) -> Loops | None:
        """The extents of the loops around a block, None if it is none of the workload's."""
        return next((block.loops for block in self.blocks if block.name == name), None)


class Names(msgspec.Struct, frozen=True):
    """The names that blocks can have, as the bytes of a script, in Latin-1.

    Attributes:
        known: names that are known in full.
        stems: what any other name begins with.
    """

    known: frozenset[str]
    stems: frozenset[str] = frozenset()

    @classmethod
    def exactly(cls, names: Iterable[str]) -> Names:
        """These names and no others."""
        return cls(frozenset(map(_raw, names)))

    @property
    def longest(self) -> int:
        """How many bytes the longest of the known names takes."""
        return max(map(len, self.known))

    def have(self, name: str) -> bool:
        """Whether this is a name, of the workload or made by a primitive; not as bytes."""
        raw = _raw(name)
        return raw in self.known or self.goes_on(raw)

    def begins(self, raw: str) -> bool:
        """Whether a name begins like this."""
        return self.goes_on(raw) or any(name.startswith(raw) for name in self._all())

    def goes_on(self, raw: str) -> bool:
        """Whether this goes on after the name of a known block or buffer."""
        return any(raw.startswith(stem) for stem in self.stems)

    def rest(self, raw: str) -> int:
        """How many bytes the beginning of a name still lacks."""
        return min(len(name) - len(raw) for name in self._all() if name.startswith(raw))

    def _all(self) -> frozenset[str]:
        return self.known | self.stems


def _raw(name: str) -> str:
    return quote(name)[1:-1].encode().decode("latin-1")
