"""Instructions and traces for people to read, with absolute names; no scripts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal, TypeAlias

from tracescript.encode import write_value
from tracescript.literals import format_int, quote
from tracescript.model import NULL, RV, IndexMap, Input, Instruction, Trace

__all__ = ["Style", "paint", "show_instruction", "show_trace"]

Style: TypeAlias = Literal["kind", "rv", "value", "decision", "comment", "old", "new", "moved"]
"""What a text is, which says its colour."""

_COLOURS: dict[Style, str] = {
    "kind": "1",
    "rv": "36",
    "value": "32",
    "decision": "1;33",
    "comment": "2",
    "old": "31",
    "new": "32",
    "moved": "35",
}


def paint(text: str, style: Style, colour: bool) -> str:
    """A text in its colour, or as it is."""
    return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if colour else text


def show_trace(trace: Trace, *, colour: bool = False) -> Iterator[str]:
    """The lines that show a trace.

    >>> list(show_trace(Trace((Instruction("GetLoops", (RV("b0"),), (), ("l1", "l2")),))))
    ['GetLoops b0 -> l1 l2']
    """
    painted = partial(paint, colour=colour)
    decided: dict[int, list[str]] = {}
    for decision in trace.decisions:
        text = painted(write_value(decision.value), "decision")
        decided.setdefault(decision.index, []).append(text)
    for index, inst in enumerate(trace.insts):
        line = show_instruction(inst, colour=colour)
        yield " = ".join([line, *decided.pop(index, [])])
    for index, values in decided.items():
        yield painted(f"# decision {format_int(index)}, of no instruction: ", "comment") + " ".join(
            values
        )


def show_instruction(inst: Instruction, *, colour: bool = False) -> str:
    """The line that shows an instruction, without its decision."""
    painted = partial(paint, colour=colour)
    parts = [painted(inst.kind if inst.kind.isidentifier() else quote(inst.kind), "kind")]
    parts += [_show_input(item, colour) for item in inst.inputs]
    if inst.attrs:
        parts += ["|", *(painted(write_value(value), "value") for value in inst.attrs)]
    if inst.outputs:
        parts += ["->", *(painted(_name(name), "rv") for name in inst.outputs)]
    return " ".join(parts)


def _show_input(value: Input, colour: bool) -> str:
    if isinstance(value, RV):
        return paint(_name(value.name), "rv", colour)
    if isinstance(value, tuple):
        return "[" + " ".join([_show_input(item, colour) for item in value]) + "]"
    if isinstance(value, IndexMap):
        return paint("@" + quote(value.text), "value", colour)
    return paint("@null" if value == NULL else write_value(value), "value", colour)


def _name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else "@" + quote(name)
