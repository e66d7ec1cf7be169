"""Write an index map as TVM 0.27 does, byte for byte."""

from __future__ import annotations

import math
import re
from typing import cast

from tracescript.migration.index_maps.graph import ArrayObject, Child, FieldsObject, Inline, Leaf

__all__ = ["write"]


class _Text(str):
    """JSON that is written already."""


def write(root: Child, version: str, *, indented: bool) -> str:
    """Write an object and all that it refers to.

    A node comes after those that it refers to, in the order of its fields. Among the inputs
    of an instruction TVM writes index maps without blanks, among the attributes it indents.

    Args:
        root: the object.
        version: the release that the text names.
        indented: whether each value stands on a line of its own.
    """
    numbers: dict[Child, int] = {}
    nodes: list[object] = []
    pending: list[tuple[Child, bool]] = [(root, False)]
    while pending:
        node, is_ready = pending.pop()
        if node in numbers:
            continue
        if is_ready:
            numbers[node] = len(nodes)
            nodes.append(_node(node, numbers))
        else:
            pending.append((node, True))
            pending += [(child, False) for child in reversed(_children(node))]
    document = {
        "root_index": _Text(numbers[root]),
        "nodes": nodes,
        "metadata": {"tvm_version": _quoted(version)},
    }
    return _json(document, "\n" if indented else "")


def _children(node: Child) -> list[Child]:
    if isinstance(node, ArrayObject):
        return list(node.items)
    if isinstance(node, FieldsObject):
        return [value for _, value in node.fields if not isinstance(value, Inline)]
    return []


def _node(node: Child, numbers: dict[Child, int]) -> dict[str, object]:
    if isinstance(node, Leaf):
        return {
            "type": _quoted(node.type),
            **({} if node.value is None else {"data": _scalar(node.value)}),
        }
    if isinstance(node, ArrayObject):
        data: object = [_Text(numbers[item]) for item in node.items]
        return {"type": _quoted("ffi.Array"), "data": data}
    fields = {
        name: _scalar(value.value) if isinstance(value, Inline) else _Text(numbers[value])
        for name, value in node.fields
    }
    return {"type": _quoted(node.type), "data": fields}


def _json(value: object, line: str) -> str:
    """Write lists and dicts. `line` is what begins a line, empty for a text without blanks."""
    if isinstance(value, _Text):
        return value
    inside = line + "  " if line else ""
    if isinstance(value, list):
        items = [_json(item, inside) for item in cast("list[object]", value)]
        return _bracketed("[", items, line, "]")
    colon = ": " if line else ":"
    pairs = cast("dict[str, object]", value).items()
    entries = [f"{_quoted(name)}{colon}{_json(item, inside)}" for name, item in pairs]
    return _bracketed("{", entries, line, "}")


def _bracketed(opening: str, parts: list[str], line: str, closing: str) -> str:
    if not parts:
        return opening + closing
    inside = line + "  " if line else ""
    return opening + inside + ("," + inside).join(parts) + line + closing


def _scalar(value: int | float | str) -> _Text:
    if isinstance(value, str):
        return _quoted(value)
    return _Text(_float(value) if isinstance(value, float) else value)


_EXACT = 2**53
"""Up to here TVM writes a whole number with `.0`."""


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value.is_integer() and abs(value) < _EXACT:
        return f"{value:.1f}"
    return f"{value:.17g}"


_SHORT = {char: "\\" + char for char in '"\\/'} | {
    char: "\\" + letter for char, letter in zip("\b\f\n\r\t", "bfnrt", strict=True)
}
_escaped = re.compile(r'[\x00-\x1f"/\\\x7f]').sub


def _quoted(text: str) -> _Text:
    """A JSON string. Only what TVM escapes is escaped: text beyond ASCII stays as it is."""
    return _Text(f'"{_escaped(_escape, text)}"')


def _escape(match: re.Match[str]) -> str:
    return _SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}"
