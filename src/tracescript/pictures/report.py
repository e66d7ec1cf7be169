"""What depends on what, in words and as JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tracescript.dependencies import DecisionNode, InstNode, Node, TraceGraph
from tracescript.encode import dumps
from tracescript.pictures.counts import counted, counts_of, summary
from tracescript.pictures.keys import key_of
from tracescript.pictures.spans import Line, lines_of, shorten

__all__ = ["graph_json", "graph_text", "node_json", "node_text"]

_WIDTH = 100
"""Characters of a line of text, if they can be parted."""


def graph_text(graph: TraceGraph, *, orders: bool = False) -> Iterator[str]:
    """The lines that say what each decision of a trace influences.

    Raises:
        TraceShapeError: the trace holds what no trace can hold.
    """
    # It says where. What follows relies on the limits of a trace.
    dumps(graph.trace)
    yield summary(graph)
    lines = list(lines_of(graph.trace))
    for line in lines:
        for node, text in line.decisions:
            yield f"{key_of(node)}  {line.subject()} = {shorten(text)}"
            found = graph.influences(node, orders=orders)
            insts = [
                f"{key_of(each)} {shorten(lines[each.index].spans[0].text)}"
                for each in found
                if isinstance(each, InstNode)
            ]
            yield from _wrapped(f"influences {counted(len(insts), 'instruction')}", insts)
    groups = [" ".join(_keys(group)) for group in graph.independent_groups()]
    yield from _wrapped(counted(len(groups), "independent group"), groups, "")


def node_text(graph: TraceGraph, node: Node, *, orders: bool = False) -> Iterator[str]:
    """The lines that say what a node influences and what it depends on.

    Raises:
        TraceShapeError: the trace holds what no trace can hold.
        ValueError: the graph has no such node.
    """
    dumps(graph.trace)
    found = {
        "influences": graph.influences(node, orders=orders),
        "depends on": graph.depends_on(node, orders=orders),
    }
    lines = list(lines_of(graph.trace))
    yield f"{key_of(node)}  {shorten(_texts(lines)[node])}"
    for verb, nodes in found.items():
        yield f"{verb} {counts_of(nodes)}"
        for each in nodes:
            if isinstance(each, InstNode):
                spans = lines[each.index].all_spans()
                yield f"  {key_of(each)}  {''.join([shorten(span.text) for span in spans])}"


def graph_json(graph: TraceGraph, *, orders: bool = False) -> dict[str, Any]:
    """A graph as a JSON value: `nodes`, `edges`, and for each decision what it `influences`.

    Nodes are named by their keys (`key_of`). `groups` are the independent groups of decisions,
    `dead` the random variables that nothing uses.

    Raises:
        TraceShapeError: the trace holds what no trace can hold.
    """
    dumps(graph.trace)
    texts = _texts(lines_of(graph.trace))
    decisions = map(DecisionNode, range(len(graph.trace.decisions)))
    return {
        "nodes": [{"key": key_of(node), "text": texts[node]} for node in graph.nodes],
        "edges": [
            {"source": key_of(edge.source), "target": key_of(edge.target), "kind": edge.kind}
            for edge in graph.edges()
        ],
        "influences": {
            key_of(node): _keys(graph.influences(node, orders=orders)) for node in decisions
        },
        "groups": [_keys(group) for group in graph.independent_groups()],
        "dead": _keys(graph.dead_values()),
    }


def node_json(graph: TraceGraph, node: Node, *, orders: bool = False) -> dict[str, Any]:
    """What a node influences and what it depends on, as a JSON value.

    Raises:
        ValueError: the graph has no such node.
    """
    return {
        "node": key_of(node),
        "influences": _keys(graph.influences(node, orders=orders)),
        "depends_on": _keys(graph.depends_on(node, orders=orders)),
    }


def _wrapped(head: str, items: Sequence[str], indent: str = "    ") -> Iterator[str]:
    """A list in lines; no item is parted."""
    line = indent + head + (":" if items else "")
    for place, item in enumerate(items, 1):
        piece = item if place == len(items) else f"{item},"
        if len(line) + 1 + len(piece) > _WIDTH:
            yield line
            line = indent + " "
        line += f" {piece}"
    yield line


def _keys(nodes: Iterable[Node]) -> list[str]:
    return [key_of(node) for node in nodes]


def _texts(lines: Iterable[Line]) -> dict[Node, str]:
    """The text of each node: the line of an instruction, a name, what was decided."""
    texts: dict[Node, str] = {}
    for line in lines:
        texts.update(line.decisions)
        if line.inst is None:
            continue
        texts[InstNode(line.inst)] = "".join([span.text for span in line.spans])
        texts.update(line.defined())
    return texts
