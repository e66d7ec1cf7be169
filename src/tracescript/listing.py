"""Instructions and traces for people to read, with absolute names; no scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, cast

from tracescript.encode import write_value
from tracescript.literals import format_int, quote
from tracescript.model import NULL, RV, IndexMap, Input, Instruction, Trace

__all__ = ["Piece", "Style", "paint", "pieces_of", "show_instruction", "show_trace"]

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
    return "".join([_painted(piece, colour) for piece in pieces_of(inst)])


class Piece(NamedTuple):
    """A piece of the line that shows an instruction.

    Attributes:
        text: its characters.
        style: what it is; None for blanks and marks.
        rv: the random variable that it names among the inputs.
        output: the position of the output that it names.
    """

    text: str
    style: Style | None = None
    rv: str | None = None
    output: int | None = None


def pieces_of(inst: Instruction) -> Iterator[Piece]:
    """The pieces of the line that shows an instruction, without its decision."""
    yield Piece(inst.kind if inst.kind.isidentifier() else quote(inst.kind), "kind")
    for item in inst.inputs:
        yield _BLANK
        yield from _input(item)
    if inst.attrs:
        yield Piece(" | ")
        yield from _joined([Piece(write_value(value), "value") for value in inst.attrs])
    if inst.outputs:
        yield Piece(" -> ")
        outputs = enumerate(inst.outputs)
        yield from _joined([Piece(_name(name), "rv", output=place) for place, name in outputs])


_BLANK = Piece(" ")


def _input(item: Input) -> Iterator[Piece]:
    if isinstance(item, RV):
        yield Piece(_name(item.name), "rv", rv=item.name)
    elif isinstance(item, tuple):
        yield Piece("[")
        for position, element in enumerate(cast("tuple[Input, ...]", item)):
            if position:
                yield _BLANK
            yield from _input(element)
        yield Piece("]")
    elif isinstance(item, IndexMap):
        yield Piece("@" + quote(item.text), "value")
    else:
        yield Piece("@null" if item == NULL else write_value(item), "value")


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Pieces with blanks between them."""
    for position, piece in enumerate(pieces):
        if position:
            yield _BLANK
        yield piece


def _painted(piece: Piece, colour: bool) -> str:
    return piece.text if piece.style is None else paint(piece.text, piece.style, colour)


def _name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else "@" + quote(name)
