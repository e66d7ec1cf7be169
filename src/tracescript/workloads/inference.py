"""The dtypes of expressions, and which dtype the place of a constant gives it.

Texts leave the dtype of a constant out if it is that of what the constant is computed with, and
else that of the result. Constants tell each other nothing, so that a reader who does not know
them yet comes to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tracescript.workloads.model import Const, Expr, Load, Op, Var
from tracescript.workloads.operators import OPERATORS

__all__ = ["Dtypes"]


class Dtypes(NamedTuple):
    """What is known before an expression is read.

    Attributes:
        buffers: the dtypes of the buffers so far, by their positions.
        axes: the dtype of iteration variables.
    """

    buffers: Sequence[str]
    axes: str

    def of(self, expr: Expr) -> str:
        """The dtype of an expression."""
        while isinstance(expr, Op):
            if OPERATORS[expr.name].result == "bool":
                return "bool"
            expr = expr.args[-1]
        if isinstance(expr, Var):
            return self.axes
        return self.buffers[expr.buffer] if isinstance(expr, Load) else expr.dtype

    def known(self, expr: Expr) -> str | None:
        """The dtype of an expression as far as it is known without its constants."""
        if isinstance(expr, Var):
            return self.axes
        if isinstance(expr, Load):
            return self.buffers[expr.buffer]
        if isinstance(expr, Op):
            operator = OPERATORS[expr.name]
            return "bool" if operator.result == "bool" else self._among(expr)
        return None if isinstance(expr, Const) else expr.dtype

    def of_operands(self, op: Op, wanted: str | None) -> list[str | None]:
        """The dtype that each operand is taken to have.

        Args:
            op: the operator and its operands.
            wanted: the dtype of the result, as far as its place gives it.
        """
        operator = OPERATORS[op.name]
        if operator.operands == "bool":
            return ["bool"] * operator.arity
        among = self._among(op)
        if among is None and operator.result == "operand":
            among = wanted
        if operator.operands == "choice":
            return ["bool", among, among]
        return [among] * operator.arity

    def _among(self, op: Op) -> str | None:
        """The dtype that the operands of one dtype have, by the first one that tells."""
        first = int(OPERATORS[op.name].operands == "choice")
        found = (self.known(operand) for operand in op.args[first:])
        return next((dtype for dtype in found if dtype is not None), None)
