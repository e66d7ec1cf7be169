"""Expressions of a workload and of TVM, in both directions."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import tirx
from tvm.ir import Call, TensorLoad

from tracescript.errors import WorkloadError
from tracescript.tvm.workloads.operators import apply, name_and_operands
from tracescript.workloads import (
    MAX_TREE_DEPTH,
    Cast,
    Const,
    Dtypes,
    Expr,
    Load,
    Op,
    Reinterpret,
    Var,
    Workload,
)

__all__ = ["ExpressionBuilder", "ExpressionReader"]

_REINTERPRET = "tirx.reinterpret"


class ExpressionBuilder:
    """Makes TVM's expressions for those of one block.

    Args:
        workload: the workload.
        buffers: TVM's buffers, by their positions.
        axes: TVM's iteration variables, by their positions.
    """

    def __init__(self, workload: Workload, buffers: Sequence[Any], axes: Sequence[Any]) -> None:
        self._dtypes = Dtypes([buffer.dtype for buffer in workload.buffers], workload.index_dtype)
        self._buffers = buffers
        self._axes = axes

    def expr(self, expr: Expr) -> Any:
        """Make one expression; nothing is simplified."""
        match expr:
            case Var(axis):
                return self._axes[axis]
            case Const(value, dtype):
                return _constant(value, dtype)
            case Load(buffer, indices):
                return tirx.BufferLoad(self._buffers[buffer], self.exprs(indices))
            case Cast(dtype, value):
                return tirx.Cast(dtype, self.expr(value))
            case Op(name, args):
                return apply(name, self.exprs(args), self._dtypes.of(expr))
            case _:
                return Call(_REINTERPRET, [self.expr(expr.value)], ret_ty=expr.dtype)

    def exprs(self, exprs: Sequence[Expr]) -> list[Any]:
        """Make several."""
        return [self.expr(expr) for expr in exprs]


def _constant(value: bool | int | float, dtype: str) -> Any:
    if isinstance(value, float):
        return tirx.FloatImm(dtype, value)
    return tirx.IntImm(dtype, int(value))


class ExpressionReader:
    """Reads TVM's expressions in one block.

    Args:
        place: the block, as an error names it.
        buffers: TVM's buffers, by their positions.
    """

    def __init__(self, place: str, buffers: Sequence[Any]) -> None:
        self._place = place
        self._buffers = [(buffer, position) for position, buffer in enumerate(buffers)]
        self._axes: list[tuple[Any, int]] = []

    def add_axis(self, variable: Any, position: int) -> None:
        """Know one more iteration variable, and the position of its axis."""
        self._axes.append((variable, position))

    def expr(self, expr: Any, depth: int = 0) -> Expr:
        """Read one expression.

        Raises:
            WorkloadError: a workload has nothing like it.
        """
        if depth > MAX_TREE_DEPTH:
            wanted = f"an expression nested at most {MAX_TREE_DEPTH} deep"
            raise WorkloadError(self._place, wanted, "a deeper one")
        if isinstance(expr, (tirx.IntImm, tirx.FloatImm)):
            return _read_constant(expr)
        if isinstance(expr, TensorLoad):
            indices = self.exprs(expr.indices, depth)
            return Load(self._find(expr.source, self._buffers), indices)
        if isinstance(expr, tirx.Cast):
            return Cast(str(expr.ty), self.expr(expr.value, depth + 1))
        if isinstance(expr, tirx.Var):
            return Var(self.axis(expr))
        if isinstance(expr, Call) and str(getattr(expr.op, "name", "")) == _REINTERPRET:
            return Reinterpret(str(expr.ty), self.expr(expr.args[0], depth + 1))
        known = name_and_operands(expr)
        if known is None:
            wanted = "operators and functions that a workload has"
            raise WorkloadError(self._place, wanted, _shown(expr))
        return Op(known[0], self.exprs(known[1], depth))

    def exprs(self, exprs: Sequence[Any], depth: int = -1) -> tuple[Expr, ...]:
        """Read several."""
        return tuple([self.expr(expr, depth + 1) for expr in exprs])

    def axis(self, variable: Any) -> int:
        """The position of the axis that an iteration variable stands for."""
        return self._find(variable, self._axes)

    def _find(self, variable: Any, known: Sequence[tuple[Any, int]]) -> int:
        for other, position in known:
            if other.same_as(variable):
                return position
        wanted = "parameters, allocated buffers and the block's own iteration variables"
        raise WorkloadError(self._place, wanted, _shown(variable))


def _read_constant(constant: Any) -> Const:
    dtype = str(constant.ty)
    if isinstance(constant, tirx.FloatImm):
        return Const(float(constant.value), dtype)
    return Const(bool(constant.value) if dtype == "bool" else int(constant.value), dtype)


_SHOWN = 60


def _shown(expr: Any) -> str:
    """A part of a module as a message shows it."""
    text = " ".join(str(expr).split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
