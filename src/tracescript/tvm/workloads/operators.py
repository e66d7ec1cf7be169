"""TVM's nodes and calls for the operators of a workload, in both directions."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.ir import Call

from tracescript.workloads.operators import OPERATORS

__all__ = ["apply", "name_and_operands"]

_NODES: dict[str, type] = {
    "+": tirx.Add,
    "-": tirx.Sub,
    "*": tirx.Mul,
    "/": tirx.Div,
    "//": tirx.FloorDiv,
    "%": tirx.FloorMod,
    "truncmod": tirx.Mod,
    "<<": tirx.LShift,
    ">>": tirx.RShift,
    "bitwise_and": tirx.BitwiseAnd,
    "bitwise_or": tirx.BitwiseOr,
    "bitwise_xor": tirx.BitwiseXor,
    "bitwise_not": tirx.BitwiseNot,
    "max": tirx.Max,
    "min": tirx.Min,
    "<": tirx.LT,
    "<=": tirx.LE,
    ">": tirx.GT,
    ">=": tirx.GE,
    "==": tirx.EQ,
    "!=": tirx.NE,
    "&": tirx.And,
    "|": tirx.Or,
    "!": tirx.Not,
    "select": tirx.Select,
}
_NAMES = {node: name for name, node in _NODES.items()}

_FIELDS = {
    tirx.Not: ("a",),
    tirx.BitwiseNot: ("a",),
    tirx.Select: ("condition", "true_value", "false_value"),
}
"""Where a node has its operands, if they are not `a` and `b`."""

_CALLS = {
    **{name: f"tirx.{name}" for name in OPERATORS.keys() - _NODES.keys()},
    **{name: f"prim.{name}" for name in ("ceil", "clz", "log2")},
    "?": "prim.if_then_else",
}
_CALLED = {call: name for name, call in _CALLS.items()}


def apply(name: str, operands: list[Any], dtype: str) -> Any:
    """The node or call of an operator; nothing is simplified.

    Args:
        name: the operator.
        operands: TVM's expressions.
        dtype: the dtype of the result.
    """
    node = _NODES.get(name)
    return Call(_CALLS[name], operands, ret_ty=dtype) if node is None else node(*operands)


def name_and_operands(expr: Any) -> tuple[str, list[Any]] | None:
    """The operator of an expression and its operands; None if it is none of ours."""
    if isinstance(expr, Call):
        name = _CALLED.get(str(getattr(expr.op, "name", "")))
        return None if name is None else (name, list(expr.args))
    name = _NAMES.get(type(expr))
    if name is None:
        return None
    return name, [getattr(expr, field) for field in _FIELDS.get(type(expr), ("a", "b"))]
