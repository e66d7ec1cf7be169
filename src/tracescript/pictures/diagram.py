"""A graph as boxes and arrows, for the languages that draw those."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from tracescript.dependencies import (
    DecisionNode,
    Edge,
    EdgeKind,
    InstNode,
    Node,
    TraceGraph,
    ValueNode,
)
from tracescript.encode import dumps
from tracescript.pictures.keys import key_of
from tracescript.pictures.roles import Role, role_of
from tracescript.pictures.spans import Line, Span, lines_of, shorten

__all__ = ["Arrow", "Box", "Diagram", "Values", "diagram_of"]

Values: TypeAlias = Literal["labels", "nodes"]
"""Random variables are labels of the arrows between instructions, or nodes of their own."""

_NAMED = 4
"""Names in the label of an arrow; of more it says how many."""
_COLUMNS = 48
"""Characters of a line in a box; one name or value may be longer."""
_LINES = 6
"""Lines in a box."""


class Box(msgspec.Struct, frozen=True, gc=False):
    """A node that is drawn.

    Attributes:
        key: its key.
        lines: its label.
        look: what it is.
    """

    key: str
    lines: tuple[str, ...]
    look: Role | Literal["decision", "value"]


class Arrow(msgspec.Struct, frozen=True, gc=False):
    """One or more edges that are drawn as one.

    Attributes:
        source: the key of the box that it leaves.
        target: the key of the box that it leads to.
        text: its label, which may be empty.
        kind: why the target depends on the source.
    """

    source: str
    target: str
    text: str
    kind: EdgeKind


class Diagram(msgspec.Struct, frozen=True, gc=False):
    """What is drawn: boxes in the order of the trace, and arrows between them."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def diagram_of(
    graph: TraceGraph, *, only: Collection[Node] | None, values: Values, orders: bool
) -> Diagram:
    """Say what is drawn of a graph.

    Args:
        graph: the graph.
        only: the nodes to draw; None for all of them.
        values: how random variables are drawn.
        orders: also draw the edges of that kind.

    Raises:
        TraceShapeError: the trace holds what no trace can hold.
        ValueError: the graph has not all of these nodes.
    """
    # It says where. What follows relies on the limits of a trace.
    dumps(graph.trace)
    drawn = frozenset(graph.nodes if only is None else only)
    for stranger in drawn.difference(graph.nodes):
        raise ValueError(f"expected nodes of the graph, found {key_of(stranger)}")
    edges = [
        edge
        for edge in graph.edges()
        if edge.source in drawn and edge.target in drawn and (orders or edge.kind != "orders")
    ]
    texts = _texts(graph)
    nodes = [node for node in graph.nodes if node in drawn]
    if values == "labels":
        nodes = [node for node in nodes if not isinstance(node, ValueNode)]
        arrows = tuple(_between_instructions(edges, texts))
    else:
        arrows = tuple([_arrow(edge.source, edge.target, "", edge.kind) for edge in edges])
    boxes = [Box(key_of(node), texts[node], _look(graph, node)) for node in nodes]
    return Diagram(tuple(boxes), arrows)


def _between_instructions(
    edges: Iterable[Edge], texts: dict[Node, tuple[str, ...]]
) -> Iterator[Arrow]:
    """The edges, those through values as one from what defines them to what uses them."""
    names: dict[tuple[int, Node], list[str]] = {}
    for edge in edges:
        if isinstance(edge.source, ValueNode):
            pair = edge.source.inst, edge.target
            names.setdefault(pair, []).append(texts[edge.source][0])
        elif not isinstance(edge.target, ValueNode):
            yield _arrow(edge.source, edge.target, "", edge.kind)
    for (definer, user), found in names.items():
        yield _arrow(InstNode(definer), user, _listing(found), "uses")


def _arrow(source: Node, target: Node, text: str, kind: EdgeKind) -> Arrow:
    return Arrow(key_of(source), key_of(target), text, kind)


def _listing(names: list[str]) -> str:
    # "and 1 more" would be longer than most names.
    if len(names) <= _NAMED + 1:
        return " ".join(names)
    return " ".join([*names[:_NAMED], f"and {len(names) - _NAMED} more"])


def _look(graph: TraceGraph, node: Node) -> Role | Literal["decision", "value"]:
    if isinstance(node, InstNode):
        return role_of(graph.trace.insts[node.index])
    return "decision" if isinstance(node, DecisionNode) else "value"


def _texts(graph: TraceGraph) -> dict[Node, tuple[str, ...]]:
    """The label of each node."""
    texts: dict[Node, tuple[str, ...]] = {}
    for line in lines_of(graph.trace):
        texts.update(_labels(line))
    return texts


def _labels(line: Line) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """The labels of an instruction, of what it defines, and of its decisions."""
    for node, text in line.decisions:
        yield node, (shorten(text),)
    if line.inst is None:
        return
    yield InstNode(line.inst), tuple(_wrapped(line.spans))
    for node, name in line.defined():
        yield node, (shorten(name),)


def _wrapped(spans: Iterable[Span]) -> Iterator[str]:
    """The text of an instruction in lines."""
    text, count = "", 1
    for span in spans:
        # A blank may stand at the end of a line, not at the beginning of one.
        if text and len(text) + len(span.text) > _COLUMNS and span.text.strip():
            if count == _LINES:
                text += "…"
                break
            yield text.rstrip()
            text, count = "", count + 1
        text += shorten(span.text)
    yield text
