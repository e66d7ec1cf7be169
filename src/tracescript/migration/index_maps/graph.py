"""An index map as the objects that TVM 0.27 would write: a graph without cycles."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = ["ArrayObject", "Child", "FieldsObject", "Inline", "Leaf"]


class Leaf(msgspec.Struct, frozen=True):
    """A value without parts, which TVM writes once however often it is used.

    Attributes:
        type: its type in the text.
        value: its data; None if it has none.
    """

    type: str
    value: int | str | None = None


class Inline(msgspec.Struct, frozen=True):
    """A value that stands in the field itself and is no node of its own."""

    value: int | float | str


class ArrayObject(msgspec.Struct, frozen=True, eq=False):
    """An `ffi.Array`."""

    items: tuple[Child, ...]


class FieldsObject(msgspec.Struct, frozen=True, eq=False):
    """An object with named fields, in the order in which TVM writes them."""

    type: str
    fields: tuple[tuple[str, Child | Inline], ...]


Child: TypeAlias = Leaf | ArrayObject | FieldsObject
"""What a node can refer to. Objects are compared by identity: one that is shared stays so."""
