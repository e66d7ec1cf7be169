"""The operators that an expression of a workload can have: one table, pure data."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

__all__ = ["OPERATORS", "Operator"]

Result: TypeAlias = Literal["operand", "bool"]
Operands: TypeAlias = Literal["alike", "choice", "bool"]


class Operator(NamedTuple):
    """One operator.

    Attributes:
        arity: how many operands it has.
        result: `operand` if the result has the dtype of the last operand, `bool` if it is one.
        operands: `alike` if all have one dtype, `choice` if the first is a condition and the
            others have one dtype, `bool` if all are conditions.
    """

    arity: int
    result: Result = "operand"
    operands: Operands = "alike"


_COMPARISON = Operator(2, result="bool")
_LOGIC = Operator(2, result="bool", operands="bool")
_ARITHMETIC = Operator(2)
_FUNCTION = Operator(1)
_CHOICE = Operator(3, operands="choice")

OPERATORS: dict[str, Operator] = {
    "+": _ARITHMETIC,
    "-": _ARITHMETIC,
    "*": _ARITHMETIC,
    "/": _ARITHMETIC,
    "//": _ARITHMETIC,
    "%": _ARITHMETIC,
    "<<": _ARITHMETIC,
    ">>": _ARITHMETIC,
    "<": _COMPARISON,
    "<=": _COMPARISON,
    ">": _COMPARISON,
    ">=": _COMPARISON,
    "==": _COMPARISON,
    "!=": _COMPARISON,
    "&": _LOGIC,
    "|": _LOGIC,
    "!": Operator(1, result="bool", operands="bool"),
    "?": _CHOICE,
    "select": _CHOICE,
    **dict.fromkeys(
        ("max", "min", "truncmod", "bitwise_and", "bitwise_or", "bitwise_xor", "pow", "fmod"),
        _ARITHMETIC,
    ),
    **dict.fromkeys(("atan2", "copysign", "hypot", "nextafter"), _ARITHMETIC),
    "bitwise_not": _FUNCTION,
    **dict.fromkeys(
        (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "clz", "cos"),
            *("cosh", "erf", "exp", "exp10", "exp2", "fabs", "floor", "log", "log10", "log1p"),
            *("log2", "nearbyint", "popcount", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt"),
            *("tan", "tanh", "trunc"),
        ),
        _FUNCTION,
    ),
    "isnan": Operator(1, result="bool"),
}
"""The operators by the names that expressions have; functions are TVM's own."""
