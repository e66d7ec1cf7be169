"""The text of a trace as `tracescript show` prints it, in pieces that know what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Literal, TypeAlias

import msgspec

from tracescript.dependencies import DecisionNode, Node, ValueNode
from tracescript.encode import write_value
from tracescript.listing import Style as TextStyle
from tracescript.listing import pieces_of
from tracescript.literals import format_int
from tracescript.model import Instruction, Trace

__all__ = ["Line", "Span", "Style", "lines_of", "shorten", "spans_of"]

Style: TypeAlias = Literal["plain"] | TextStyle
"""What a piece of a line is."""

_LONG = 60
"""A name or a value that has more characters is shortened, to this many:"""
_SHOWN = 40


class Span(msgspec.Struct, frozen=True, gc=False):
    """A piece of a line.

    Attributes:
        text: the characters.
        style: what they are.
        node: the node that they name.
    """

    text: str
    style: Style = "plain"
    node: Node | None = None


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line of the text.

    Attributes:
        inst: the position of its instruction; None for decisions that name none.
        spans: its pieces, up to the decisions.
        decisions: the decisions at its end, each with its text.
    """

    inst: int | None
    spans: tuple[Span, ...]
    decisions: tuple[tuple[DecisionNode, str], ...]

    def all_spans(self) -> Iterator[Span]:
        """The pieces whose texts together are the line."""
        yield from self.spans
        for position, (node, text) in enumerate(self.decisions):
            if self.inst is not None:
                yield Span(" = ")
            elif position:
                yield _BLANK
            yield Span(text, "decision", node)

    def defined(self) -> Iterator[tuple[ValueNode, str]]:
        """The values that it defines, and their names as they are written."""
        for span in self.spans:
            if isinstance(span.node, ValueNode) and span.node.inst == self.inst:
                yield span.node, span.text

    def subject(self) -> str:
        """What is done to what, shortened; if to nothing, what comes of it."""
        spans = list(takewhile(lambda span: span.text not in (" | ", " -> "), self.spans))
        if len(spans) == 1:
            spans += [Span(" ->"), *(Span(f" {name}") for _, name in self.defined())]
        return shorten("".join([shorten(span.text) for span in spans]))


_BLANK = Span(" ")


def lines_of(trace: Trace) -> Iterator[Line]:
    r"""The lines of a trace that `dumps` can write.

    Law: the texts of all pieces are what `tracescript show` prints.

    >>> from tracescript import loads
    >>> trace = loads('tracescript 1\nGetSBlock | "C" "main" -> b\nGetLoops b-1 -> l2\n')
    >>> ["".join([span.text for span in line.all_spans()]) for line in lines_of(trace)]
    ['GetSBlock | "C" "main" -> b0', 'GetLoops b0 -> l1 l2']
    """
    decided: dict[int, list[tuple[DecisionNode, str]]] = {}
    for number, decision in enumerate(trace.decisions):
        found = DecisionNode(number), write_value(decision.value)
        decided.setdefault(decision.index, []).append(found)
    values: dict[str, ValueNode] = {}
    for index, inst in enumerate(trace.insts):
        spans = tuple(spans_of(index, inst, values))
        yield Line(index, spans, tuple(decided.pop(index, ())))
        for output, name in enumerate(inst.outputs):
            values.setdefault(name, ValueNode(index, output))
    for index, rest in decided.items():
        comment = Span(f"# decision {format_int(index)}, of no instruction: ", "comment")
        yield Line(None, (comment,), tuple(rest))


def spans_of(index: int, inst: Instruction, values: Mapping[str, ValueNode]) -> Iterator[Span]:
    """The pieces of an instruction, without its decisions.

    Args:
        index: its position.
        inst: the instruction.
        values: the values that names stand for.
    """
    for piece in pieces_of(inst):
        node = None if piece.output is None else ValueNode(index, piece.output)
        if piece.rv is not None:
            node = values.get(piece.rv)
        yield Span(piece.text, piece.style or "plain", node)


def shorten(text: str) -> str:
    """A text, or the beginning of a long one.

    >>> shorten("b0"), len(shorten("x" * 1000))
    ('b0', 40)
    """
    return text if len(text) <= _LONG else text[: _SHOWN - 1] + "…"
