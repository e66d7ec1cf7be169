"""What a workload is unless it says otherwise; `dumps` leaves it out and `loads` puts it in."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tracescript.model import Value
from tracescript.workloads.model import Axis, Block, Buffer, Expr, Load, Var
from tracescript.workloads.sharing import Parts, expressions

__all__ = [
    "INDEX_DTYPE",
    "NAME",
    "VENDOR",
    "attributes",
    "buffer_name",
    "parameters",
    "place",
    "shape",
]

NAME = "main"
INDEX_DTYPE = "int32"

VENDOR = "nvidia/nvidia-"
"""What a target of one word has in front, to be one of TVM's tags."""


def attributes(name: str) -> dict[str, Value]:
    """The attributes that TVM gives a function of this name."""
    return {"global_symbol": name, "s_tir": True, "tirx.noalias": True}


def buffer_name(block: str, earlier: Collection[str], number: int | None) -> str:
    """The name of a buffer that a block computes.

    TVM names the block after its buffer, with a number if another block has that name already:
    two buffers `T_add` make the blocks `T_add` and `T_add_1`.

    Args:
        block: the name of the block.
        earlier: the names of the blocks before it.
        number: which of several buffers it is; None if it is the only one.

    >>> buffer_name("T_add_1", ["T_add"], None), buffer_name("argmax", [], 1)
    ('T_add', 'argmax.v1')
    """
    base, _, count = block.rpartition("_")
    if count.isdecimal() and base in earlier:
        block = base
    return block if number is None else f"{block}.v{number}"


def parameters(inputs: Sequence[Buffer], blocks: Sequence[Block]) -> tuple[int, ...]:
    """The inputs, then the buffers that are computed and that no other block reads."""
    made: list[int] = []
    read: set[int] = set()
    count = len(inputs)
    for block in blocks:
        own = range(count, count + len(block.outputs))
        count = own.stop
        parts = Parts(expressions(block)).exprs
        read |= {part.buffer for part in parts if isinstance(part, Load)} - set(own)
        made += own
    return (*range(len(inputs)), *(place for place in made if place not in read))


def place(axes: Sequence[Axis]) -> tuple[Expr, ...]:
    """The element that a block writes: the one that its spatial axes say."""
    return tuple([Var(number) for number, axis in enumerate(axes) if axis.kind == "S"])


def shape(axes: Sequence[Axis]) -> tuple[int, ...] | None:
    """The shape of what a block writes: the extents of its spatial axes; None if they vary."""
    extents = [axis.extent for axis in axes if axis.kind == "S"]
    sizes = [extent for extent in extents if isinstance(extent, int)]
    return tuple(sizes) if len(sizes) == len(extents) else None
