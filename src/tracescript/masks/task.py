"""What is known about the workload that a script is for."""

from __future__ import annotations

import msgspec

from tracescript.literals import quote

__all__ = ["BlockInfo", "TaskInfo"]


class BlockInfo(msgspec.Struct, frozen=True):
    """A block of a workload.

    Attributes:
        name: its name.
        loops: the extents of the loops around it, the outermost first; None for an extent
            that is no constant.
        buffers: the names of the buffers that it reads and writes.
    """

    name: str
    loops: tuple[int | None, ...] = ()
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
        return name in self._names or any(name.startswith(stem + "_") for stem in self._stems)

    def has_name_beginning(self, raw: str) -> bool:
        """Whether `has_block` takes a name that is written with these bytes first, as Latin-1."""
        names = map(_raw, self._names)
        stems = [_raw(stem + "_") for stem in self._stems]
        return any(name.startswith(raw) for name in names) or any(
            stem.startswith(raw) or raw.startswith(stem) for stem in stems
        )

    def goes_on(self, raw: str) -> bool:
        """Whether the bytes of a name go on after that of a known block or buffer."""
        return any(raw.startswith(_raw(stem + "_")) for stem in self._stems)

    def rest_of_name(self, raw: str) -> int:
        """How many bytes a name that is written with these bytes first still lacks.

        The bytes must be the beginning of a name.
        """
        names = [*map(_raw, self._names), *(_raw(stem + "_") for stem in self._stems)]
        return min(len(name) - len(raw) for name in names if name.startswith(raw))

    @property
    def longest_name(self) -> int:
        """How many bytes the longest name of a block is written with."""
        return max(map(len, map(_raw, self._names)))

    @property
    def most_loops(self) -> int:
        """The greatest number of loops of a block."""
        return max((len(block.loops) for block in self.blocks), default=0)

    def loops_of(self, name: str) -> tuple[int | None, ...] | None:
        """The extents of the loops around a block, None if it is none of the workload's."""
        return next((block.loops for block in self.blocks if block.name == name), None)

    @property
    def _names(self) -> frozenset[str]:
        return frozenset({"root", *(block.name for block in self.blocks)})

    @property
    def _stems(self) -> frozenset[str]:
        return frozenset(
            name for block in self.blocks for name in (block.name, *block.buffers) if name
        )


def _raw(name: str) -> str:
    return quote(name)[1:-1].encode().decode("latin-1")
