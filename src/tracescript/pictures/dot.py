"""A graph in DOT, the language of Graphviz: https://graphviz.org/doc/info/lang.html."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tracescript.dependencies import EdgeKind, Node, TraceGraph
from tracescript.pictures.diagram import Arrow, Box, Values, diagram_of

__all__ = ["to_dot"]

_HEAD = """\
digraph trace {
  graph [rankdir=%s, nodesep=0.15, ranksep=0.4, bgcolor="transparent"]
  node [shape=box, style="filled,rounded", fontname="monospace", fontsize=11, height=0.3,
        margin="0.12,0.06", color="#6b7280", fillcolor="#ffffff"]
  edge [fontname="monospace", fontsize=9, arrowsize=0.6, color="#6b7280", fontcolor="#4b5563"]
"""

_LOOKS: Mapping[str, str] = {
    "sample": 'color="#b45309", fillcolor="#fffbeb"',
    "look": 'color="#d1d5db", fillcolor="#f9fafb"',
    "change": 'color="#2563eb", fillcolor="#eff6ff"',
    "mark": 'color="#6b7280", fillcolor="#e5e7eb"',
    "unknown": 'color="#6b7280", style="filled,dashed"',
    "decision": 'color="#b45309", fillcolor="#fcd34d", shape=ellipse, margin="0.04,0.02"',
    "value": 'shape=plaintext, style="", height=0.2, margin="0.04,0.02"',
}
_ARROWS: Mapping[EdgeKind, str] = {
    "uses": "",
    "defines": "arrowhead=none",
    "decides": 'color="#b45309", penwidth=1.6',
    "orders": 'style=dashed, color="#9ca3af", arrowhead=vee',
}

# What a label cannot hold as it is: Graphviz reads a backslash and `&` as the beginning of more.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def to_dot(
    graph: TraceGraph,
    *,
    only: Collection[Node] | None = None,
    values: Values = "labels",
    orders: bool = False,
) -> str:
    r"""Write a graph in DOT.

    Laws: Graphviz reads it, whatever names the trace has. Each node that is drawn has one box,
    under its key (`key_of`).

    Args:
        graph: the graph.
        only: the nodes to draw, such as `graph.influences(node)`; None for all of them.
        values: `labels` writes the random variables at the arrows between instructions;
            `nodes` draws each of them.
        orders: also draw the `orders` edges, dashed.

    Raises:
        TraceShapeError: the trace holds what no trace can hold.
        ValueError: `only` has a node that the graph has not.

    >>> from tracescript import loads
    >>> from tracescript.dependencies import graph
    >>> made = graph(loads('tracescript 1\nGetSBlock | "C" "main" -> b\nGetLoops b-1 -> l\n'))
    >>> print("\n".join(to_dot(made).splitlines()[5:]))
      "i0" [label="GetSBlock | \"C\" \"main\" -> b0", color="#d1d5db", fillcolor="#f9fafb"]
      "i1" [label="GetLoops b0 -> l1", color="#d1d5db", fillcolor="#f9fafb"]
      "i0" -> "i1" [label="b0"]
    }
    """
    drawn = diagram_of(graph, only=only, values=values, orders=orders)
    lines = [*map(_box, drawn.boxes), *map(_arrow, drawn.arrows)]
    # The order makes long chains, which pages have room for downwards.
    head = _HEAD % ("TB" if orders else "LR")
    return head + "".join([f"  {line}\n" for line in lines]) + "}\n"


def _box(box: Box) -> str:
    # A line that ends with \l is set to the left; a single one needs no such end.
    end = "\\l" if len(box.lines) > 1 else ""
    label = "".join([line.translate(_ESCAPES) + end for line in box.lines])
    return f'"{box.key}" [label="{label}", {_LOOKS[box.look]}]'


def _arrow(arrow: Arrow) -> str:
    label = f'label="{arrow.text.translate(_ESCAPES)}"' if arrow.text else ""
    attributes = ", ".join([part for part in (label, _ARROWS[arrow.kind]) if part])
    return f'"{arrow.source}" -> "{arrow.target}"' + (f" [{attributes}]" if attributes else "")
