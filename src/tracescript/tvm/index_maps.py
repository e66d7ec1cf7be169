"""Index maps from their text, with the random variables that they mention.

A text is a graph of nodes. TVM follows it without looking: one that refers to itself, or to
nothing where something has to be, kills the process.

TVM writes a sampled factor that an index map uses as a variable with the name of the random
variable, and finds it by that name when it reads the map again.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from tvm.ir import load_json
from tvm.tirx import IndexMap, Var
from tvm.tirx.expr import BinaryOpExpr

from tracescript.migration.index_maps import BadIndexMap
from tracescript.migration.index_maps.convert import converted
from tracescript.model import MAX_DEPTH

__all__ = ["load_index_map", "load_text"]


def load_text(text: str, *, trusted: bool) -> Any:
    """The index map of a text.

    Args:
        text: what an input or an attribute holds.
        trusted: whether TVM may see a text that is not known to be harmless.

    Raises:
        ValueError: it is not, and may not.
    """
    if not trusted:
        _require_known(text)
    return load_json(text)


def load_index_map(text: str, values: Mapping[str, Any], *, trusted: bool = False) -> Any:
    """The index map of a text, in which a free variable named like a random one is that one.

    TVM takes the map's own variables for random ones too if they are named like that, which
    breaks the map; here they stay what they are.

    Args:
        text: what an input holds.
        values: TVM's random variables by their names in the trace.
        trusted: as in `load_text`.

    Raises:
        ValueError: the text may not be read, or the map is too deep.
    """
    index_map = load_text(text, trusted=trusted)
    if not isinstance(index_map, IndexMap):
        return index_map
    own: list[Any] = list(index_map.initial_indices)
    old = list(index_map.final_indices)
    new = [_with_values(index, values, own, MAX_DEPTH) for index in old]
    if all(after is before for after, before in zip(new, old, strict=True)):
        return index_map
    return IndexMap(own, new, cast("Any", index_map).inverse_index_map)


@lru_cache(maxsize=1024)
def _require_known(text: str) -> None:
    try:
        converted(text, indented=False)
    except BadIndexMap as error:
        raise ValueError(
            f"expected an index map whose nodes are known, found {error.reason} at "
            f"${error.place}; rehearse it with isolated=True"
        ) from None


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
