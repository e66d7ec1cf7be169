"""What a workload is made of: frozen structs that hold all that TVM's function says.

A workload is one TIR function of the shape that `te.create_prim_func` makes: blocks one after the
other, each in loops of its own, each computing the elements of new buffers from those of earlier
ones. Buffers, and the iteration variables of a block, go by their position. What TVM derives is
not here: regions that are read and written, bindings, the names of loops.

Equality is strict about types, unlike Python's: `1`, `1.0` and `True` differ, `-0.0` and `0.0`
differ, and `nan` equals `nan`. Hashes agree with it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tracescript.encode import write_value
from tracescript.model import Value

__all__ = [
    "MAX_NODES",
    "MAX_TREE_DEPTH",
    "Attribute",
    "Axis",
    "Block",
    "Buffer",
    "Cast",
    "Const",
    "Expr",
    "Kind",
    "Load",
    "Op",
    "Output",
    "Reinterpret",
    "Var",
    "Workload",
    "is_float",
]

MAX_TREE_DEPTH = 100
"""An expression may be nested this deep."""

MAX_NODES = 50_000
"""A text may have this many nodes of expressions, those of shared parts counted each time."""


_SIZES = 1 << 63


def _require_size(size: int) -> None:
    if not 0 <= size < _SIZES:
        raise ValueError(f"not a size: {size}")


class Var(msgspec.Struct, frozen=True, gc=False):
    """An iteration variable of the block, by its position among the axes."""

    axis: int


class Const(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A number: an int for integers, a float for floats, a bool for the dtype `bool`."""

    value: bool | int | float
    dtype: str

    def __post_init__(self) -> None:
        wanted = bool if self.dtype == "bool" else float if is_float(self.dtype) else int
        fits = type(self.value) is wanted
        if not fits or (wanted is int and not -_SIZES <= self.value < 2 * _SIZES):
            raise ValueError(f"not a number of {self.dtype}: {self.value!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        # A struct does not derive it from `__eq__`.
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str]:
        return repr(self.value), self.dtype


def is_float(dtype: str) -> bool:
    """Whether the numbers of a dtype are floats."""
    return dtype.startswith(("float", "bfloat"))


class Load(msgspec.Struct, frozen=True):
    """An element of a buffer, given by the position of the buffer in `Workload.buffers`."""

    buffer: int
    indices: tuple[Expr, ...]


class Cast(msgspec.Struct, frozen=True):
    """A value converted to another dtype."""

    dtype: str
    value: Expr


class Reinterpret(msgspec.Struct, frozen=True):
    """The bits of a value read as another dtype."""

    dtype: str
    value: Expr


class Op(msgspec.Struct, frozen=True):
    """An operator of `tracescript.workloads.operators` and its operands."""

    name: str
    args: tuple[Expr, ...]


Expr: TypeAlias = Var | Const | Load | Cast | Reinterpret | Op
"""An expression over the iteration variables of a block and the elements of buffers."""


class Attribute(msgspec.Struct, frozen=True, eq=False):
    """An annotation of a block or an attribute of the function; a plain value under a key."""

    key: str
    value: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Attribute) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str]:
        return self.key, write_value(self.value)


class Buffer(msgspec.Struct, frozen=True):
    """A compact buffer in global memory; a scalar has the shape `()`."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        for size in self.shape:
            _require_size(size)


Kind: TypeAlias = Literal["S", "R"]
"""The kind of an axis: spatial, or of a reduction."""


class Axis(msgspec.Struct, frozen=True):
    """An iteration variable of a block.

    Attributes:
        kind: `S` for spatial, `R` for reduction.
        extent: how far it runs from 0 on. An expression over spatial axes before it makes TVM
            nest two blocks, as for an adaptive pool.
    """

    kind: Kind
    extent: int | Expr

    def __post_init__(self) -> None:
        if isinstance(self.extent, int):
            _require_size(self.extent)


class Output(msgspec.Struct, frozen=True):
    """A buffer that a block computes, element by element.

    Attributes:
        buffer: the buffer.
        indices: which element is written.
        value: what is written; a reduction loads the element itself.
        init: what a reduction begins with; None if it is no reduction.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    init: Expr | None = None


class Block(msgspec.Struct, frozen=True):
    """A block: the axes of its loops and the outputs; several are computed before any is written.

    Attributes:
        name: the name, as scripts have it.
        axes: the iteration variables in the order of the loops.
        outputs: what is computed, one or more.
        annotations: the annotations, in the order of their keys.
    """

    name: str
    axes: tuple[Axis, ...]
    outputs: tuple[Output, ...]
    annotations: tuple[Attribute, ...] = ()


class Workload(msgspec.Struct, frozen=True):
    """A function of a module, and what it is compiled for.

    Attributes:
        inputs: the buffers that no block computes.
        blocks: the blocks in order.
        params: the parameters of the function, as positions in `buffers`; the others are
            allocated, in their order.
        target: what it is compiled for: a tag, or the entries of a dict, as `tvm.target.Target`
            takes them; None if that is not given.
        name: the name of the function.
        index_dtype: the dtype of iteration variables and shapes.
        attrs: the attributes of the function, in the order of their keys.
    """

    inputs: tuple[Buffer, ...]
    blocks: tuple[Block, ...]
    params: tuple[int, ...]
    target: str | tuple[Attribute, ...] | None = None
    name: str = "main"
    index_dtype: str = "int32"
    attrs: tuple[Attribute, ...] = ()

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All buffers: the inputs, then what the blocks compute, in order."""
        made = (output.buffer for block in self.blocks for output in block.outputs)
        return (*self.inputs, *made)
