"""The nodes that an index map can be made of, and what each node holds.

TVM writes an object as a graph of nodes, which refer to each other by number. Each kind of
node has had several names: `tir.Add` was renamed `tirx.Add` and then `prim.Add`. Here it is
`Add`.

Sources: the texts that TVM 0.25, 0.26 and 0.27 write, those of public logs of 2024, and
`src/node/serialization.cc` of TVM 0.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

__all__ = ["BITWISE", "EXPRESSIONS", "FIELDS", "NAMES", "SORTS", "TARGETS", "Sort"]

Sort: TypeAlias = Literal["node", "dtype", "int", "float"]
"""What a field holds: the number of another node, or a value that stands there itself."""

_BINARY = (
    *("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max"),
    *("EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or"),
)

EXPRESSIONS: Mapping[str, Mapping[str, Sort]] = MappingProxyType(
    {
        "Var": {"name": "node"},
        "IntImm": {"value": "int"},
        "FloatImm": {"value": "float"},
        "Cast": {"value": "node"},
        **{name: {"a": "node", "b": "node"} for name in _BINARY},
        "Not": {"a": "node"},
        "Select": {"condition": "node", "true_value": "node", "false_value": "node"},
        "Call": {"op": "node", "args": "node"},
    }
)
"""The kinds that are expressions, and their own fields in the order of 0.27.

Besides, an expression has a span, and a type: `dtype` until 0.25, `ty` since 0.26.
"""

FIELDS: Mapping[str, Mapping[str, Sort]] = MappingProxyType(
    {
        **{name: {"span": "node", **fields} for name, fields in EXPRESSIONS.items()},
        "IndexMap": {"initial_indices": "node", "final_indices": "node"},
        "PrimType": {"dtype": "dtype"},
        "Span": {
            "source_name": "node",
            "line": "int",
            "column": "int",
            "end_line": "int",
            "end_column": "int",
        },
    }
)
"""Every kind of node with named fields, and those that each node of the kind has."""

_OPTIONAL: Mapping[str, Mapping[str, Sort]] = MappingProxyType(
    {
        **{name: {"dtype": "dtype", "ty": "node"} for name in EXPRESSIONS},
        "Var": {"dtype": "dtype", "ty": "node", "type_annotation": "node"},
        "Call": {
            "dtype": "dtype",
            "ty": "node",
            "attrs": "node",
            "annotations": "node",
            "ty_args": "node",
        },
        "IndexMap": {"inverse_index_map": "node"},
        "PrimType": {"span": "node"},
    }
)
"""The fields that only some releases have."""

SORTS: Mapping[str, Mapping[str, Sort]] = MappingProxyType(
    {kind: {**fields, **_OPTIONAL.get(kind, {})} for kind, fields in FIELDS.items()}
)
"""What each field of each kind holds, of any release."""

NAMES: Mapping[str, str] = MappingProxyType(
    {
        **{
            f"{prefix}.{name}": name
            for prefix in ("tir", "tirx", "prim")
            for name in EXPRESSIONS
            if name not in ("IntImm", "FloatImm")
        },
        **{f"{prefix}.IndexMap": "IndexMap" for prefix in ("tir", "tirx")},
        **{
            f"{prefix}{name}": name
            for prefix in ("", "ir.")
            for name in ("IntImm", "FloatImm", "PrimType", "Span", "SourceName", "Op")
        },
        "ir.Var": "Var",
        "ir.Call": "Call",
        **{f"{prefix}String": "String" for prefix in ("runtime.", "object.", "ffi.")},
        **{f"{prefix}Array": "Array" for prefix in ("", "object.", "ffi.")},
        "None": "None",
        "": "None",
    }
)
"""From all names that a node has had to the one that is used here."""

TARGETS: Mapping[str, str] = MappingProxyType(
    {
        **{name: f"prim.{name}" for name in EXPRESSIONS},
        "Var": "ir.Var",
        "IntImm": "ir.IntImm",
        "FloatImm": "ir.FloatImm",
        "IndexMap": "tirx.IndexMap",
        "PrimType": "ir.PrimType",
        "Span": "ir.Span",
    }
)
"""What 0.27 calls a kind of node with fields."""

BITWISE: Mapping[str, str] = MappingProxyType(
    {
        "bitwise_and": "BitwiseAnd",
        "bitwise_or": "BitwiseOr",
        "bitwise_xor": "BitwiseXor",
        "bitwise_not": "BitwiseNot",
        "shift_left": "LShift",
        "shift_right": "RShift",
    }
)
"""The calls of operators that are nodes of their own in 0.27, without `tir.` or `tirx.`."""
