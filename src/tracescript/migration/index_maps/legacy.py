"""The nodes of an index map from before 0.22, brought into the shape that came later.

Until 0.21 a node held all its fields as strings under `attrs`, and a string or a name as
`repr_str`. What was empty was left out.

Source: `src/node/serialization.cc` of TVM 0.21 and before.
"""

from __future__ import annotations

import re
from typing import Any, cast

from tracescript.migration.index_maps.document import BadIndexMap, Document, Node
from tracescript.migration.index_maps.schema import NAMES, SORTS, Sort

__all__ = ["nodes_of"]

_is_integer = re.compile(r"-?[0-9]{1,20}").fullmatch


def nodes_of(document: Document) -> list[Node]:
    """The nodes of a document, with the data that a text from 0.22 on would hold.

    Raises:
        BadIndexMap: a node holds what none holds.
    """
    if document.era == "root":
        return [_legacy(node, f"['nodes'][{n}]") for n, node in enumerate(document.nodes)]
    return [
        Node(str(_name(node, "type", f"['nodes'][{n}]")), node.get("data"))
        for n, node in enumerate(document.nodes)
    ]


def _legacy(node: dict[str, Any], place: str) -> Node:
    name = _name(node, "type_key", place)
    kind = NAMES.get(name, "")
    text = node.get("repr_str", "")
    if kind in ("String", "SourceName", "Op") and type(text) is str and "repr_b64" not in node:
        return Node(name, text)
    if kind == "Array":
        return Node(name, node.get("data", []))
    if kind == "None":
        return Node(name)
    return Node(name, _fields(kind, node.get("attrs", {}), f"{place}['attrs']"))


def _fields(kind: str, attrs: object, place: str) -> dict[str, object]:
    if type(attrs) is not dict:
        raise BadIndexMap(place, "no JSON object")
    sorts = SORTS.get(kind, {})
    return {
        name: _value(sorts.get(name), value, f"{place}[{name!a}]")
        for name, value in cast("dict[str, object]", attrs).items()
    }


def _value(sort: Sort | None, text: object, place: str) -> object:
    if type(text) is not str:
        raise BadIndexMap(place, "no string")
    if sort == "node" and text == "null":
        # The late 0.21 wrote this where others have the number of the empty node.
        return None
    if sort in ("node", "int"):
        if not _is_integer(text):
            raise BadIndexMap(place, "no integer")
        return int(text)
    if sort == "float":
        return _float(text, place)
    return text


def _float(text: str, place: str) -> float:
    try:
        return float(text[:64])
    except ValueError:
        raise BadIndexMap(place, "no number") from None


def _name(node: dict[str, Any], key: str, place: str) -> str:
    name = node.get(key)
    if type(name) is not str:
        raise BadIndexMap(f"{place}['{key}']", "no name of a type")
    return name
