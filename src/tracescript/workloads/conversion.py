"""The same computation in other dtypes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tracescript.workloads.inference import Dtypes
from tracescript.workloads.model import (
    Axis,
    Block,
    Buffer,
    Cast,
    Const,
    Expr,
    Load,
    Op,
    Output,
    Reinterpret,
    Var,
    Workload,
)

__all__ = ["with_dtypes"]


def with_dtypes(workload: Workload, dtypes: Mapping[str, str]) -> Workload:
    """The same computation in other dtypes: those of buffers, conversions and constants.

    Laws: `with_dtypes(w, {}) == w`, and names, shapes, operators and values stay as they are. So
    the least float16, which a maximum of them begins with, is still that in float64. Iteration
    variables and shapes have a dtype, too: who maps `int32` maps these with it. Bits that are
    read as another dtype are still those of the old dtypes, converted before and after.

    Args:
        workload: the workload.
        dtypes: the new dtype for each that changes, such as `{"float16": "float64"}`.

    Raises:
        ValueError: a constant is no number of the new dtype: 0.5 is no integer.

    >>> half = Workload((Buffer("A", "float16", (8,)),), (), params=(0,))
    >>> with_dtypes(half, {"float16": "float64"}).inputs
    (Buffer(name='A', dtype='float64', shape=(8,)),)
    """
    change = _Change(workload, dtypes)
    return msgspec.structs.replace(
        workload,
        inputs=tuple(map(change.buffer, workload.inputs)),
        blocks=tuple(map(change.block, workload.blocks)),
        index_dtype=change.dtype(workload.index_dtype),
    )


class _Change:
    """Rebuilds the parts of one workload."""

    def __init__(self, workload: Workload, dtypes: Mapping[str, str]) -> None:
        self._dtypes = dtypes
        self._old = Dtypes([buffer.dtype for buffer in workload.buffers], workload.index_dtype)

    def dtype(self, dtype: str) -> str:
        """The new dtype."""
        return self._dtypes.get(dtype, dtype)

    def buffer(self, buffer: Buffer) -> Buffer:
        """The buffer in its new dtype."""
        return Buffer(buffer.name, self.dtype(buffer.dtype), buffer.shape)

    def block(self, block: Block) -> Block:
        """The block in the new dtypes."""
        axes = tuple(map(self._axis, block.axes))
        return Block(block.name, axes, tuple(map(self._output, block.outputs)), block.annotations)

    def _axis(self, axis: Axis) -> Axis:
        extent = axis.extent
        return Axis(axis.kind, extent if isinstance(extent, int) else self._expr(extent))

    def _output(self, output: Output) -> Output:
        init = None if output.init is None else self._expr(output.init)
        indices = self._exprs(output.indices)
        return Output(self.buffer(output.buffer), indices, self._expr(output.value), init)

    def _exprs(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(map(self._expr, exprs))

    def _expr(self, expr: Expr) -> Expr:
        match expr:
            case Var():
                return expr
            case Const(value, dtype):
                return Const(value, self.dtype(dtype))
            case Load(buffer, indices):
                return Load(buffer, self._exprs(indices))
            case Op(name, args):
                return Op(name, self._exprs(args))
            case Cast(dtype, value):
                return Cast(self.dtype(dtype), self._expr(value))
            case _:
                bits = self._converted(self._expr(expr.value), self._old.of(expr.value), back=True)
                return self._converted(Reinterpret(expr.dtype, bits), expr.dtype)

    def _converted(self, expr: Expr, old: str, *, back: bool = False) -> Expr:
        """Convert from an old dtype to the new one, or back, if it is another one."""
        new = self.dtype(old)
        return expr if new == old else Cast(old if back else new, expr)
