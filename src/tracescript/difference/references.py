"""The references of an instruction: what they stand for, and the same ones by other names.

References are those that `tracescript.dependencies` knows: names among the inputs, in lists
there, and strings in the JSON text of index maps. TVM writes an index map that uses a random
variable with its name, and most tensor core schedules have some.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

import msgspec

from tracescript.dependencies.scope import Scope
from tracescript.model import RV, IndexMap, Input, Instruction

__all__ = ["Source", "blanked", "renamed", "sources_of"]

Source: TypeAlias = tuple[int, int]
"""What a reference stands for: an output of the trace, as the position of its instruction and
its own position there."""

_BLANK = RV("")
# A key of a dict, which is no reference, has a colon behind it.
_STRING = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?', re.DOTALL)


def sources_of(scope: Scope, index: int) -> dict[str, Source]:
    """What the names that an instruction refers to stand for; without those that are not defined.

    An output can be referred to from behind its own instruction on.
    """
    found: dict[str, Source] = {}
    for name in scope.names[index]:
        number = scope.values.get(name)
        if number is not None and number < scope.first[index]:
            inst = scope.definers[number]
            found[name] = inst, number - scope.first[inst]
    return found


def blanked(
    inst: Instruction, sources: Mapping[str, Source]
) -> tuple[Instruction, tuple[Source, ...]]:
    """An instruction without outputs and with all references alike; and what they stand for.

    Law: if two instructions are the same when blanked, and so are what their references stand
    for, then they differ in names alone: `renamed` gives the one from the other.
    """
    found: list[Source] = []

    def blank(name: str) -> RV:
        if name in sources:
            found.append(sources[name])
            return _BLANK
        # It stands for nothing but itself, and for itself only.
        return RV("?" + name)

    def blank_string(text: str) -> str:
        has_escapes = "\\" in text
        name = msgspec.json.decode(text, type=str) if has_escapes else text[1:-1]
        if name not in sources:
            return text
        found.append(sources[name])
        # No JSON text has an @ outside of its strings.
        return text if has_escapes else "@"

    inputs = _mapped(inst.inputs, blank, blank_string if sources else None)
    return Instruction(inst.kind, inputs, inst.attrs), tuple(found)


def renamed(inst: Instruction, outputs: tuple[str, ...], names: Mapping[str, str]) -> Instruction:
    """An instruction with other names for its outputs, and for what it refers to.

    A string with escapes in an index map stays what it is.
    """

    def rename_string(text: str) -> str:
        name = names.get(text[1:-1])
        return text if name is None else f'"{name}"'

    def rename(name: str) -> RV:
        return RV(names.get(name, name))

    inputs = _mapped(inst.inputs, rename, rename_string if names else None)
    return Instruction(inst.kind, inputs, inst.attrs, outputs)


# A trace that can be written is of a bounded depth.
def _mapped(
    items: tuple[Input, ...],
    change: Callable[[str], RV],
    change_string: Callable[[str], str] | None,
) -> tuple[Input, ...]:
    found: list[Input] = []
    for item in items:
        if type(item) is RV:
            found.append(change(item.name))
        elif type(item) is tuple:
            inner = cast("tuple[Input, ...]", item)
            found.append(_mapped(inner, change, change_string))
        elif type(item) is IndexMap and change_string is not None:
            found.append(IndexMap(_mapped_text(item.text, change_string)))
        else:
            found.append(item)
    return tuple(found)


def _mapped_text(text: str, change: Callable[[str], str]) -> str:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        # It is no JSON, so it has no strings.
        return text
    return _STRING.sub(lambda found: found[0] if found[2] else change(found[1]), text)
