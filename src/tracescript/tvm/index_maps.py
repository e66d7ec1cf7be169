"""Index maps from their text, with the random variables that they mention.

TVM writes a sampled factor that an index map uses as a variable with the name of the random
variable, and finds it by that name when it reads the map again.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from tvm.ir import load_json
from tvm.tirx import IndexMap, Var
from tvm.tirx.expr import BinaryOpExpr

from tracescript.model import MAX_DEPTH

__all__ = ["load_index_map"]


def load_index_map(text: str, values: Mapping[str, Any]) -> Any:
    """The index map of a text, in which a free variable named like a random one is that one.

    TVM takes the map's own variables for random ones too if they are named like that, which
    breaks the map; here they stay what they are.

    Args:
        text: what an input holds.
        values: TVM's random variables by their names in the trace.

    Raises:
        ValueError: a random variable stands where none can be put in, or too deep in the map.
    """
    index_map = load_json(text)
    if not isinstance(index_map, IndexMap):
        return index_map
    own: list[Any] = list(index_map.initial_indices)
    old = list(index_map.final_indices)
    new = [_with_values(index, values, own, MAX_DEPTH) for index in old]
    if all(after is before for after, before in zip(new, old, strict=True)):
        return index_map
    return IndexMap(own, new, cast("Any", index_map).inverse_index_map)


def _with_values(node: Any, values: Mapping[str, Any], own: list[Any], depth: int) -> Any:
    """The expression with random variables put in; itself if there are none to put in."""
    if isinstance(node, Var):
        value = values.get(str(node.name))
        is_own = any(node.same_as(variable) for variable in own)
        return value if isinstance(value, Var) and not is_own else node
    if not isinstance(node, BinaryOpExpr):
        return node
    if not depth:
        raise ValueError(f"expected an index map of at most {MAX_DEPTH} levels, found a deeper one")
    sides = node.a, node.b
    a, b = [_with_values(side, values, own, depth - 1) for side in sides]
    return node if a is sides[0] and b is sides[1] else cast("Any", type(node))(a, b)
