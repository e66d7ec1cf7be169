"""The identities of reductions: what TVM begins a sum, product, maximum or minimum with."""

from __future__ import annotations

from tracescript.workloads.model import Const

__all__ = ["REDUCERS", "identity"]

REDUCERS = ("+", "*", "max", "min")
"""The operators that a reduction is written by."""

_LARGEST_FLOATS = {
    "float16": 65504.0,
    "bfloat16": 3.4028234663852886e38,  # TVM takes the one of float32
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}
_SIGNED = {f"int{bits}": bits for bits in (8, 16, 32, 64)}
_UNSIGNED = {f"uint{bits}": bits for bits in (8, 16, 32, 64)}


def identity(reducer: str, dtype: str) -> Const | None:
    """What a reduction begins with; None for a dtype whose limits are not known.

    >>> identity("max", "int8")
    Const(value=-128, dtype='int8')
    """
    if dtype in _LARGEST_FLOATS:
        largest = _LARGEST_FLOATS[dtype]
        return Const({"+": 0.0, "*": 1.0, "max": -largest, "min": largest}[reducer], dtype)
    if dtype in _SIGNED:
        least, largest = -(1 << _SIGNED[dtype] - 1), (1 << _SIGNED[dtype] - 1) - 1
    elif dtype in _UNSIGNED:
        least, largest = 0, (1 << _UNSIGNED[dtype]) - 1
    else:
        return None
    return Const({"+": 0, "*": 1, "max": least, "min": largest}[reducer], dtype)
