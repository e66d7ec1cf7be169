"""The index maps that an instruction holds as text, and how to put others in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from tracescript.instructions import forms_of
from tracescript.model import IndexMap, Instruction

__all__ = ["index_map_texts", "with_texts"]

_ATTRIBUTES = ("index_map", "pad_value")
"""The attributes that hold the text of an index map. A value to pad with is such a map, too."""

_BECOMES_INPUT = ("TransformLayout", "index_map")
"""The attribute that is an input in later releases."""


def index_map_texts(inst: Instruction) -> Iterator[tuple[str, str]]:
    """Where index maps stand, as the end of a path into the instruction, and their texts."""
    for position, item in enumerate(inst.inputs):
        if isinstance(item, IndexMap):
            yield f"[1][{position}]", item.text
    for position, _ in _positions(inst):
        text = inst.attrs[position]
        if isinstance(text, str):
            yield f"[2][{position}]", text


def with_texts(inst: Instruction, write: Callable[[str, str, bool], str]) -> Instruction:
    """Put other texts in their places.

    Args:
        inst: the instruction.
        write: gives the new text for a place, the old text, and whether TVM indents it, as it
            does among the attributes.
    """
    inputs = tuple(
        IndexMap(write(f"[1][{position}]", item.text, False))
        if isinstance(item, IndexMap)
        else item
        for position, item in enumerate(inst.inputs)
    )
    attrs = list(inst.attrs)
    for position, name in _positions(inst):
        text = attrs[position]
        if isinstance(text, str):
            is_indented = (inst.kind, name) != _BECOMES_INPUT
            attrs[position] = write(f"[2][{position}]", text, is_indented)
    return replace(inst, inputs=inputs, attrs=tuple(attrs))


def _positions(inst: Instruction) -> list[tuple[int, str]]:
    """The attributes of an instruction that may be texts, and their names."""
    forms = forms_of(inst)
    if not forms:
        return []
    return [(n, attr.name) for n, attr in enumerate(forms[-1].attrs) if attr.name in _ATTRIBUTES]
