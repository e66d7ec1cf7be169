"""TVM's numbers, strings and containers as plain values, and the other way round."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from tvm.tirx import FloatImm, IntImm

from tracescript.instructions import Attr
from tracescript.json_trace import value_to_json
from tracescript.model import RV, IndexMap, Input, Value
from tracescript.tvm.index_maps import load_index_map, load_text

__all__ = ["LiveValues", "attr_to_tvm", "input_to_tvm", "unbox"]

LiveValues: TypeAlias = dict[str, Any]
"""TVM's random variables by their names in the trace."""

_INDEX_MAPS = frozenset({"index_map", "pad_value"})
"""The attributes whose text in the JSON is an index map, by their names in the table."""


def unbox(value: Any) -> Any:
    """The plain Python value of what `Trace.as_json` gives.

    TVM boxes some numbers, each in an immediate that knows its type: 1, 1.0 and true stay apart.

    Raises:
        TypeError: it is of no type that JSON has.

    >>> unbox([IntImm("int32", 1), IntImm("bool", 1), FloatImm("float32", 1), 1])
    [1, True, 1.0, 1]
    """
    if isinstance(value, IntImm):
        return bool(value.value) if str(value.ty) == "bool" else int(value.value)
    if isinstance(value, FloatImm):
        return float(value.value)
    if isinstance(value, str):
        # TVM has a string type of its own.
        return str(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Sequence):
        return [unbox(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        return {unbox(key): unbox(item) for key, item in entries.items()}
    raise TypeError(f"expected a value that JSON has, found {type(value).__name__}")


def input_to_tvm(value: Input, values: LiveValues, *, trusted: bool = False) -> Any:
    """An input as TVM's instructions hold it.

    Args:
        value: the input.
        values: the random variables that are defined.
        trusted: whether TVM may see an index map that is not known to be harmless.

    Raises:
        ValueError: it may not.
    """
    if isinstance(value, RV):
        return values[value.name]
    if isinstance(value, IndexMap):
        return load_index_map(value.text, values, trusted=trusted)
    if isinstance(value, tuple):
        return [input_to_tvm(item, values, trusted=trusted) for item in value]
    return value_to_json(value)


def attr_to_tvm(value: Value, attr: Attr, *, trusted: bool = False) -> Any:
    """An attribute as TVM's instructions hold it: an index map is an object there.

    Raises:
        ValueError: as for `input_to_tvm`.
    """
    if not isinstance(value, str) or attr.name not in _INDEX_MAPS:
        return value_to_json(value)
    return load_text(value, trusted=trusted)
