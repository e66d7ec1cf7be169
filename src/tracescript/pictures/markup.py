"""Pieces of a line as HTML. All text of a trace is escaped here, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tracescript.dependencies import ValueNode
from tracescript.model import Instruction
from tracescript.pictures.roles import defined_type
from tracescript.pictures.spans import Span, shorten

__all__ = ["decision_html", "span_html", "text_html"]

# An arrow is not parted at the end of a line.
_PLAIN = {" -> ": ' <span class="arrow">-&gt;</span> '}


def span_html(
    span: Span, insts: Sequence[Instruction], place: str = "", *, differs: bool = False
) -> str:
    """A piece in the class of what it is; a long one is shortened, its title is all of it.

    Args:
        span: the piece.
        insts: the instructions of its trace.
        place: the attributes that make it a link; empty for none.
        differs: whether to mark it as different.

    >>> span_html(Span("a < b", "value"), ())
    '<span class="value">a &lt; b</span>'
    """
    shown = shorten(span.text)
    if span.style == "plain":
        return _PLAIN.get(shown) or text_html(shown)
    attributes = f'class="{_class(span, insts)}{" differs" if differs else ""}"'
    if len(span.text) > len(shown):
        attributes += f' title="{text_html(span.text)}"'
    if place:
        return f"<a {attributes} {place}>{text_html(shown)}</a>"
    return f"<span {attributes}>{text_html(shown)}</span>"


def decision_html(text: str) -> str:
    """The text of a decision, as part of no trace."""
    return span_html(Span(text, "decision"), ())


def text_html(text: str) -> str:
    r"""Any text as HTML that UTF-8 can hold.

    >>> text_html('"<>"'), text_html("a\ud800")
    ('&quot;&lt;&gt;&quot;', 'a?')
    """
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def _class(span: Span, insts: Sequence[Instruction]) -> str:
    if isinstance(span.node, ValueNode):
        return defined_type(insts[span.node.inst])
    return "unknown" if span.style == "rv" else span.style
