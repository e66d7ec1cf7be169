"""How far the indices go that an index map makes of others."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, cast

from tracescript.migration.index_maps import BadIndexMap
from tracescript.migration.index_maps.document import read
from tracescript.migration.index_maps.legacy import nodes_of
from tracescript.migration.index_maps.schema import NAMES

__all__ = ["mapped_extents"]

_DEEPEST = 64
"""Operations one in the other; more than any map of a public log has."""


@lru_cache(256)
def mapped_extents(text: str, extents: tuple[int, ...]) -> tuple[int, ...] | None:
    """The extents of what an index map gives for indices of these extents.

    Said only of maps that take each index once to the places 0, 1, 2 and so on without a gap, by
    sums, products with a number, and quotients and remainders by a number that divides.

    Args:
        text: what an attribute of an instruction holds.
        extents: of the indices.

    Returns:
        The extents in the order of the map; None if they are not known.
    """
    try:
        return _final(text, extents)
    except (BadIndexMap, _Unknown):
        return None


class _Unknown(Exception):
    """Nothing is said of this."""


class _Range(NamedTuple):
    """The values 0, `step`, 2 * `step` and so on to `last`.

    Attributes:
        last: the greatest value.
        step: between two neighbours; any if there is only one value.
        indices: what the value depends on.
    """

    last: int
    step: int = 1
    indices: frozenset[int] = frozenset()


def _final(text: str, extents: tuple[int, ...]) -> tuple[int, ...]:
    graph = _Graph(text)
    root = graph.fields(graph.root, "IndexMap")
    initial = graph.items(root.get("initial_indices"))
    if len(initial) != len(extents) or len(set(initial)) != len(initial):
        raise _Unknown
    ranges = {
        number: _Range(extent - 1, 1, frozenset([number]))
        for number, extent in zip(initial, extents, strict=True)
    }
    final = [_range(graph, ranges, each, 0) for each in graph.items(root.get("final_indices"))]
    if not all(_is_dense(each) for each in final):
        raise _Unknown
    return tuple([each.last + 1 for each in final])


class _Graph:
    """The nodes of a text."""

    def __init__(self, text: str) -> None:
        document = read(text)
        self.root = document.root
        self._nodes = nodes_of(document)
        # From 0.27 on, a number is a node as well.
        self._apart = any(node.type == "int" for node in self._nodes)

    def kind(self, number: object) -> str:
        """The kind of a node."""
        if type(number) is not int or not 0 <= number < len(self._nodes):
            raise _Unknown
        return NAMES.get(self._nodes[number].type, self._nodes[number].type)

    def fields(self, number: int, kind: str) -> dict[str, Any]:
        """The fields of a node of a kind."""
        data = self._nodes[number].data if self.kind(number) == kind else None
        if type(data) is not dict:
            raise _Unknown
        return cast("dict[str, Any]", data)

    def items(self, number: object) -> list[int]:
        """The nodes in an array."""
        data = self._nodes[cast("int", number)].data if self.kind(number) == "Array" else None
        if type(data) is not list:
            raise _Unknown
        items = cast("list[object]", data)
        if not all(type(item) is int for item in items):
            raise _Unknown
        return cast("list[int]", items)

    def operands(self, number: int) -> tuple[int, int]:
        """The two operands of an operation."""
        fields = self.fields(number, self.kind(number))
        a, b = fields.get("a"), fields.get("b")
        if type(a) is not int or type(b) is not int:
            raise _Unknown
        return a, b

    def integer(self, number: int) -> int:
        """The value of a whole number."""
        value: object = self.fields(number, "IntImm").get("value")
        if self._apart:
            is_number = self.kind(value) == "int"
            value = self._nodes[cast("int", value)].data if is_number else None
        if type(value) is not int:
            raise _Unknown
        return value


def _range(graph: _Graph, known: dict[int, _Range], number: int, depth: int) -> _Range:
    """The range of an expression, which is then known."""
    found = known.get(number)
    if found is None:
        if depth == _DEEPEST:
            raise _Unknown
        found = known[number] = _made(graph, known, number, depth + 1)
    return found


def _made(graph: _Graph, known: dict[int, _Range], number: int, depth: int) -> _Range:
    kind = graph.kind(number)
    if kind == "IntImm" and graph.integer(number) == 0:
        return _Range(0)
    if kind not in ("Add", "Mul", "FloorDiv", "FloorMod"):
        raise _Unknown
    first, second = graph.operands(number)
    a = _range(graph, known, first, depth)
    if kind == "Add":
        return _sum(a, _range(graph, known, second, depth))
    factor = graph.integer(second)
    if factor <= 0:
        raise _Unknown
    if kind == "Mul":
        return a._replace(last=a.last * factor, step=a.step * factor)
    if a.last < factor:
        return a if kind == "FloorMod" else a._replace(last=0)
    if not _is_dense(a) or (a.last + 1) % factor:
        raise _Unknown
    return a._replace(last=factor - 1 if kind == "FloorMod" else a.last // factor)


def _sum(a: _Range, b: _Range) -> _Range:
    """The range of a sum, which goes on where the inner part of it ends."""
    if a.indices & b.indices:
        raise _Unknown
    inner, outer = (a, b) if b.last == 0 or a.step < b.step else (b, a)
    if outer.last and inner.last and outer.step != inner.last + inner.step:
        raise _Unknown
    step = inner.step if inner.last else outer.step
    return _Range(a.last + b.last, step, a.indices | b.indices)


def _is_dense(values: _Range) -> bool:
    return values.last == 0 or values.step == 1
