"""Make the objects of TVM 0.27 from the nodes that an older TVM wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

from tracescript.migration.index_maps.document import FORMAT, BadIndexMap, Node, read
from tracescript.migration.index_maps.graph import ArrayObject, Child, FieldsObject, Inline, Leaf
from tracescript.migration.index_maps.legacy import nodes_of
from tracescript.migration.index_maps.schema import (
    BITWISE,
    EXPRESSIONS,
    FIELDS,
    NAMES,
    SORTS,
    TARGETS,
    Sort,
)
from tracescript.migration.index_maps.write import write

__all__ = ["converted"]

_EMPTY = Leaf("None")

_TEXTS = {"String": "ffi.String", "SourceName": "ir.SourceName", "Op": "Op"}
"""The kinds that are nothing but a string. An operator becomes part of the node that calls it."""

_EXPRESSION_TYPES = frozenset(
    [TARGETS[name] for name in EXPRESSIONS] + [f"prim.{name}" for name in BITWISE.values()]
)

_is_dtype = re.compile(r"(int|uint|float|bfloat)[0-9]{1,3}|bool").fullmatch

_INT64 = range(-(2**63), 2**63)

_HOLDS: Mapping[Sort, Callable[[object], bool]] = {
    "node": lambda value: value is None or type(value) is int,
    "dtype": lambda value: type(value) is str,
    "int": lambda value: type(value) is int and value in _INT64,
    "float": lambda value: type(value) in (int, float),
}


def converted(text: str, *, indented: bool) -> str:
    """Write the index map of a text as TVM 0.27 writes it.

    Law: `tvm.ir.load_json` of the result is structurally equal to the map that the older
    TVM had, and saving it again gives the result. What it refers to twice stays shared.

    Args:
        text: what a release since 0.8 wrote.
        indented: whether to write it as an attribute, not as an input.

    Raises:
        BadIndexMap: it holds a node that is not known to be the same in 0.27.
    """
    document = read(text)
    root = _Converter(nodes_of(document)).convert(document.root)
    return write(root, f"{FORMAT}.0", indented=indented)


class _Converter:
    """Converts nodes from the leaves up, each one once."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes
        self._made: dict[int, Child] = {}
        self._types: dict[str, FieldsObject] = {}

    def convert(self, root: int) -> FieldsObject:
        """Convert a node and all that it refers to; without recursion, as the text may be deep."""
        pending = [(root, False)]
        open_nodes: set[int] = set()
        while pending:
            number, is_ready = pending.pop()
            if is_ready:
                self._made[number] = self._make(number)
                open_nodes.discard(number)
                continue
            if number in self._made:
                continue
            if number in open_nodes:
                raise BadIndexMap(_place(number), "a node that refers to itself")
            open_nodes.add(number)
            pending.append((number, True))
            pending += [(child, False) for child in self._references(number)]
        return self._is(self._made[root], frozenset({TARGETS["IndexMap"]}), root)

    def _references(self, number: int) -> list[int]:
        """The numbers of the nodes that a node refers to."""
        kind, data = self._kind(number), self._nodes[number].data
        if kind == "Array":
            if type(data) is not list:
                raise BadIndexMap(_place(number), "an array without a list of its items")
            return [self._number(item, number) for item in cast("list[object]", data)]
        fields = self._fields(number) if kind in FIELDS else {}
        return [
            self._number(value, number)
            for name, value in fields.items()
            if SORTS[kind][name] == "node" and value is not None
        ]

    def _make(self, number: int) -> Child:
        """Make the object of a node whose references are made."""
        kind, data = self._kind(number), self._nodes[number].data
        if kind == "None":
            return _EMPTY
        if kind in _TEXTS:
            if type(data) is not str:
                raise BadIndexMap(_place(number), "a string without its text")
            return Leaf(_TEXTS[kind], data)
        if kind == "Array":
            return ArrayObject(tuple(self._made[item] for item in self._references(number)))
        if kind == "PrimType":
            return self._type(self._fields(number)["dtype"], number)
        if kind == "Span":
            return self._span(number)
        if kind == "IndexMap":
            return self._index_map(number)
        if kind == "Call":
            return self._call(number)
        return self._expression(number)

    def _span(self, number: int) -> FieldsObject:
        fields = self._fields(number)
        source = self._child(fields["source_name"])
        if not isinstance(source, Leaf) or source.type != _TEXTS["SourceName"]:
            raise BadIndexMap(_place(number), "a span without the name of its source")
        places = [(name, Inline(cast("int", fields[name]))) for name in FIELDS["Span"]][1:]
        return FieldsObject(TARGETS["Span"], (("source_name", source), *places))

    def _index_map(self, number: int) -> FieldsObject:
        fields = self._fields(number)
        variables = self._items(fields["initial_indices"], frozenset({TARGETS["Var"]}), number)
        indices = self._items(fields["final_indices"], _EXPRESSION_TYPES, number)
        inverse = self._child(fields.get("inverse_index_map"))
        if inverse != _EMPTY:
            inverse = self._is(inverse, frozenset({TARGETS["IndexMap"]}), number)
        return FieldsObject(
            TARGETS["IndexMap"],
            (
                ("initial_indices", variables),
                ("final_indices", indices),
                ("inverse_index_map", inverse),
            ),
        )

    def _expression(self, number: int) -> FieldsObject:
        kind, fields = self._kind(number), self._fields(number)
        own = [(name, self._own(kind, name, fields[name], number)) for name in EXPRESSIONS[kind]]
        return FieldsObject(TARGETS[kind], (*self._common(fields, number), *own))

    def _own(self, kind: str, name: str, value: object, number: int) -> Child | Inline:
        """A field that not all expressions have."""
        if kind == "IntImm":
            return Leaf("int", cast("int", value))
        if kind == "FloatImm":
            return Inline(float(cast("float", value)))
        child = self._child(value)
        if kind != "Var":
            return self._is(child, _EXPRESSION_TYPES, number)
        if not isinstance(child, Leaf) or child.type != _TEXTS["String"]:
            raise BadIndexMap(_place(number), f"a variable whose {name} is no string")
        return child

    def _call(self, number: int) -> FieldsObject:
        """Make a call of an operator on bits; other calls are not known to be the same."""
        fields = self._fields(number)
        op = self._child(fields["op"])
        name = str(op.value).split(".")[-1] if isinstance(op, Leaf) and op.type == "Op" else ""
        rest = [self._child(fields.get(name)) for name in ("attrs", "annotations", "ty_args")]
        if name not in BITWISE or any(map(_holds_something, rest)):
            raise BadIndexMap(_place(number), f"a call that is not known in TVM {FORMAT}")
        arguments = self._items(fields["args"], _EXPRESSION_TYPES, number).items
        names = ("a",) if name == "bitwise_not" else ("a", "b")
        if len(arguments) != len(names):
            raise BadIndexMap(_place(number), f"a call of {name} on {len(arguments)} arguments")
        operands = tuple(zip(names, arguments, strict=True))
        return FieldsObject(f"prim.{BITWISE[name]}", (*self._common(fields, number), *operands))

    def _common(self, fields: Mapping[str, object], number: int) -> list[tuple[str, Child]]:
        """The fields that every expression has in 0.27: its span and its type."""
        span = self._child(fields["span"])
        if span != _EMPTY:
            span = self._is(span, frozenset({TARGETS["Span"]}), number)
        types = {
            self._is(self._child(fields[name]), frozenset({TARGETS["PrimType"]}), number)
            for name in ("ty", "type_annotation")
            if name in fields
        }
        if "dtype" in fields:
            types.add(self._type(fields["dtype"], number))
        if len(types) != 1:
            raise BadIndexMap(_place(number), "an expression that is not of one type")
        return [("span", span), ("ty", types.pop())]

    def _type(self, dtype: object, number: int) -> FieldsObject:
        """The type of a name; TVM writes each of them once."""
        if type(dtype) is not str or not _is_dtype(dtype):
            raise BadIndexMap(_place(number), "a type that is no scalar of a known kind")
        if dtype not in self._types:
            fields = (("span", _EMPTY), ("dtype", Inline(dtype)))
            self._types[dtype] = FieldsObject(TARGETS["PrimType"], fields)
        return self._types[dtype]

    def _items(self, value: object, types: frozenset[str], number: int) -> ArrayObject:
        array = self._child(value)
        if not isinstance(array, ArrayObject):
            raise BadIndexMap(_place(number), "a node that should refer to an array")
        for item in array.items:
            self._is(item, types, number)
        return array

    def _is(self, child: Child, types: frozenset[str], number: int) -> FieldsObject:
        if not isinstance(child, FieldsObject) or child.type not in types:
            wanted = min(types) if len(types) == 1 else "an expression"
            raise BadIndexMap(_place(number), f"a node that should refer to {wanted}")
        return child

    def _child(self, value: object) -> Child:
        return _EMPTY if value is None else self._made[cast("int", value)]

    def _kind(self, number: int) -> str:
        name = self._nodes[number].type
        kind = NAMES.get(name)
        if kind is None:
            raise BadIndexMap(_place(number), f"a node {name[:60]!a}, not known in TVM {FORMAT}")
        return kind

    def _number(self, value: object, number: int) -> int:
        if type(value) is not int or not 0 <= value < len(self._nodes):
            raise BadIndexMap(_place(number), "a reference to no node")
        return value

    def _fields(self, number: int) -> dict[str, object]:
        """The fields of a node that has some: all that it needs, and no others."""
        kind, data = self._kind(number), self._nodes[number].data
        if type(data) is not dict:
            raise BadIndexMap(_place(number), "a node without fields")
        fields = cast("dict[str, object]", data)
        if not FIELDS[kind].keys() <= fields.keys() <= SORTS[kind].keys():
            raise BadIndexMap(_place(number), f"{kind} with other fields than it has")
        for name, value in fields.items():
            if not _HOLDS[SORTS[kind][name]](value):
                raise BadIndexMap(_place(number), f"{kind} with a wrong {name}")
        return fields


def _place(number: int) -> str:
    return f"['nodes'][{number}]"


def _holds_something(child: Child) -> bool:
    return child != _EMPTY and not (isinstance(child, ArrayObject) and not child.items)
