"""The spelling of constants, whose dtypes are known from elsewhere."""

from __future__ import annotations

import math

from tracescript.literals import format_float, parse_float
from tracescript.workloads.model import Const, is_float
from tracescript.workloads.reductions import identity

__all__ = ["number_text", "read_number"]

_MAX_DIGITS = 20
"""As many as the largest integer of 64 bits has."""

_EXACT_INTEGERS = 2.0**53
"""Below it, a float that is a whole number is written as an integer."""

_LIMITS = {"max()": "min", "min()": "max"}
"""The largest and the least number; each is what the reduction to the other begins with."""


def number_text(const: Const) -> str:
    """Write a constant without its dtype.

    Law: `read_number(number_text(const), const.dtype) == const`.

    >>> number_text(Const(6.0, "float32")), number_text(Const(-65504.0, "float16"))
    ('6', 'min()')
    """
    value = const.value
    text = _float(value) if isinstance(value, float) else str(int(value))
    for limit, reducer in _LIMITS.items():
        if len(text) > len(limit) and const == identity(reducer, const.dtype):
            return limit
    return text


def _float(value: float) -> str:
    if not math.isfinite(value):
        return f"{value}()"
    text = format_float(value)
    whole = text.endswith(".0") and text != "-0.0" and abs(value) < _EXACT_INTEGERS
    return text[:-2] if whole else text


def read_number(text: str, dtype: str) -> Const:
    """Read a constant of a dtype.

    Raises:
        ValueError: the dtype has no such number.
    """
    if text in _LIMITS:
        limit = identity(_LIMITS[text], dtype)
        if limit is None:
            raise ValueError(f"the limits of {dtype} are not known; write the number")
        return limit
    if is_float(dtype):
        return Const(parse_float(text.removesuffix("()")), dtype)
    if not text.removeprefix("-").isdecimal():
        raise ValueError(f"expected an integer, because its dtype is {dtype}")
    if len(text) > _MAX_DIGITS:
        raise ValueError("this integer has more than 64 bits")
    if dtype != "bool":
        return Const(int(text), dtype)
    if text not in ("0", "1"):
        raise ValueError("expected 0 or 1, because its dtype is bool")
    return Const(text == "1", dtype)
