"""One trace of a picture: its graph, its lines, and what draws them as HTML."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from tracescript.dependencies import InstNode, Node, TraceGraph, ValueNode
from tracescript.pictures.gutter import Gutter, draw, gutter_of
from tracescript.pictures.keys import key_of
from tracescript.pictures.markup import span_html
from tracescript.pictures.roles import defined_type, role_of
from tracescript.pictures.spans import Line, lines_of

__all__ = ["Side", "line_html", "link", "order_gutter", "row_svg", "side_of", "value_gutter"]


class Side(msgspec.Struct, frozen=True):
    """One trace of a picture.

    Attributes:
        graph: its graph.
        prefix: what the keys of its nodes begin with.
        lines: its lines.
        numbers: the numbers of its nodes.
    """

    graph: TraceGraph
    prefix: str
    lines: Sequence[Line]
    numbers: Mapping[Node, int]


def side_of(graph: TraceGraph, prefix: str = "", first: int = 0) -> Side:
    """Make a side; the numbers of its nodes begin with `first`."""
    numbers = {node: number for number, node in enumerate(graph.nodes, first)}
    return Side(graph, prefix, tuple(lines_of(graph.trace)), numbers)


def value_gutter(side: Side, rows: Sequence[int | None]) -> Gutter:
    """The lines from where values come from to where they are used."""
    edges = [
        (edge.source.inst, edge.target.index)
        for edge in side.graph.edges()
        if isinstance(edge.source, ValueNode) and isinstance(edge.target, InstNode)
    ]
    return _gutter(side, rows, edges, [defined_type(inst) for inst in side.graph.trace.insts])


def order_gutter(side: Side, rows: Sequence[int | None]) -> Gutter:
    """The lines from what changes the module to what looks at the change."""
    edges = [
        (edge.source.index, edge.target.index)
        for edge in side.graph.edges()
        if isinstance(edge.source, InstNode) and isinstance(edge.target, InstNode)
    ]
    return _gutter(side, rows, edges, ["order"] * len(side.graph.trace.insts))


def _gutter(
    side: Side,
    rows: Sequence[int | None],
    edges: Iterable[tuple[int, int]],
    colours: Sequence[str],
) -> Gutter:
    insts = range(len(side.graph.trace.insts))
    return gutter_of(rows, edges, colours, [side.numbers[InstNode(inst)] for inst in insts])


def row_svg(side: Side, gutter: Gutter, position: int, inst: int | None) -> str:
    """A row of a gutter."""
    node = None if inst is None else (inst, role_of(side.graph.trace.insts[inst]))
    return draw(gutter, position, node)


def line_html(side: Side, line: Line, differs: Collection[int] = ()) -> str:
    """A line, with links to the nodes that it names.

    Args:
        side: the trace.
        line: the line.
        differs: the positions of the pieces to mark as different.
    """
    insts = side.graph.trace.insts
    return "".join(
        [
            span_html(span, insts, link(side, span.node), differs=place in differs)
            for place, span in enumerate(line.all_spans())
        ]
    )


def link(side: Side, node: Node | None) -> str:
    """The attributes of a link to a node; empty for none."""
    if node is None:
        return ""
    return f'data-n="{side.numbers[node]}" href="#{side.prefix}{key_of(node)}"'
