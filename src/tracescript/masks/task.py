"""What is known about the workload that a script is for."""

from __future__ import annotations

import msgspec

from tracescript.literals import quote

__all__ = ["BlockInfo", "Names", "TaskInfo"]


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
        return Names(self).have(name)

    @property
    def most_loops(self) -> int:
        """The greatest number of loops of a block."""
        return max((len(block.loops) for block in self.blocks), default=0)

    def loops_of(self, name: str) -> tuple[int | None, ...] | None:
        """The extents of the loops around a block, None if it is none of the workload's."""
        return next((block.loops for block in self.blocks if block.name == name), None)


class Names:
    """The names that blocks of a task can have, as the bytes of a script, in Latin-1.

    Attributes:
        longest: how many bytes the longest of those that are known takes.
    """

    def __init__(self, task: TaskInfo) -> None:
        known = {"root", *(block.name for block in task.blocks)}
        stems = {name for block in task.blocks for name in (block.name, *block.buffers) if name}
        self._known = frozenset(map(_raw, known))
        self._stems = frozenset(_raw(stem + "_") for stem in stems)
        self.longest = max(map(len, self._known))

    def have(self, name: str) -> bool:
        """Whether this is a name, of the workload or made by a primitive; not as bytes."""
        raw = _raw(name)
        return raw in self._known or self.goes_on(raw)

    def begins(self, raw: str) -> bool:
        """Whether a name begins like this."""
        return self.goes_on(raw) or any(name.startswith(raw) for name in self._all())

    def goes_on(self, raw: str) -> bool:
        """Whether this goes on after the name of a known block or buffer."""
        return any(raw.startswith(stem) for stem in self._stems)

    def rest(self, raw: str) -> int:
        """How many bytes the beginning of a name still lacks."""
        return min(len(name) - len(raw) for name in self._all() if name.startswith(raw))

    def _all(self) -> frozenset[str]:
        return self._known | self._stems


def _raw(name: str) -> str:
    return quote(name)[1:-1].encode().decode("latin-1")
