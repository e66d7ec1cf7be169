"""A graph as a Mermaid flowchart: https://mermaid.js.org/syntax/flowchart.html."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import groupby

from tracescript.dependencies import EdgeKind, Node, TraceGraph
from tracescript.errors import TraceShapeError
from tracescript.pictures.diagram import Arrow, Box, Values, diagram_of

__all__ = ["MAX_CHARACTERS", "MAX_EDGES", "to_mermaid"]

MAX_CHARACTERS = 50_000
"""Mermaid draws no text that is longer, unless its host has raised `maxTextSize`."""
MAX_EDGES = 500
"""Mermaid draws no more edges, unless its host has raised `maxEdges`."""

_SHAPES: Mapping[str, tuple[str, str]] = {"decision": ("([", "])"), "value": ("(", ")")}
_BOX = ("[", "]")
_ARROWS: Mapping[EdgeKind, str] = {
    "uses": "-->",
    "defines": "---",
    "decides": "==>",
    "orders": "-.->",
}
_CLASSES = """\
  classDef sample fill:#fffbeb,stroke:#b45309,color:#111827
  classDef look fill:#f9fafb,stroke:#d1d5db,color:#111827
  classDef change fill:#eff6ff,stroke:#2563eb,color:#111827
  classDef mark fill:#e5e7eb,stroke:#6b7280,color:#111827
  classDef unknown fill:#ffffff,stroke:#6b7280,color:#111827,stroke-dasharray:4
  classDef decision fill:#fcd34d,stroke:#b45309,color:#111827
  classDef value fill:#ffffff,stroke:#ffffff,color:#111827
"""

# Mermaid gives more characters a meaning than it lists, also within quotes: comments,
# directives, Markdown, HTML, line breaks, its own style statements. So only these stay.
_SPECIAL = re.compile(r"[^A-Za-z0-9 ,.|=_\[\]()+-]")


def to_mermaid(
    graph: TraceGraph,
    *,
    only: Collection[Node] | None = None,
    values: Values = "labels",
    orders: bool = False,
) -> str:
    r"""Write a graph as a Mermaid flowchart, which GitHub and many editors draw in Markdown.

    Laws: Mermaid reads it, whatever names the trace has, within the limits that it has by
    default. Each node that is drawn has one box, under its key (`key_of`) with `_` for `.`.

    Args:
        graph: the graph.
        only: the nodes to draw, such as `graph.influences(node)`; None for all of them.
        values: `labels` writes the random variables at the arrows between instructions;
            `nodes` draws each of them.
        orders: also draw the `orders` edges, dotted.

    Raises:
        TraceShapeError: the trace holds what no trace can hold, or the flowchart would have
            more than `MAX_EDGES` edges or `MAX_CHARACTERS` characters. Draw a part of it.
        ValueError: `only` has a node that the graph has not.

    >>> from tracescript import loads
    >>> from tracescript.dependencies import graph
    >>> made = graph(loads('tracescript 1\nGetSBlock | "C" "main" -> b\nGetLoops b-1 -> l\n'))
    >>> print("\n".join(to_mermaid(made).splitlines()[:4]))
    flowchart LR
      i0["GetSBlock | #34;C#34; #34;main#34; -#62; b0"]
      i1["GetLoops b0 -#62; l1"]
      i0 -->|"b0"| i1
    """
    drawn = diagram_of(graph, only=only, values=values, orders=orders)
    if len(drawn.arrows) > MAX_EDGES:
        raise _too_large(MAX_EDGES, "edges", len(drawn.arrows))
    lines = [*map(_box, drawn.boxes), *map(_arrow, drawn.arrows), *_classes(drawn.boxes)]
    # The order makes long chains, which pages have room for downwards.
    head = f"flowchart {'TB' if orders else 'LR'}\n"
    text = head + "".join([f"  {line}\n" for line in lines]) + _CLASSES
    if len(text) > MAX_CHARACTERS:
        raise _too_large(MAX_CHARACTERS, "characters", len(text))
    return text


def _box(box: Box) -> str:
    opening, closing = _SHAPES.get(box.look, _BOX)
    label = "<br/>".join([_escape(line) for line in box.lines])
    return f'{_name(box.key)}{opening}"{label}"{closing}'


def _arrow(arrow: Arrow) -> str:
    label = f'|"{_escape(arrow.text)}"|' if arrow.text else ""
    return f"{_name(arrow.source)} {_ARROWS[arrow.kind]}{label} {_name(arrow.target)}"


def _classes(boxes: Collection[Box]) -> list[str]:
    ordered = sorted(boxes, key=lambda box: box.look)
    return [
        f"class {','.join([_name(box.key) for box in group])} {look}"
        for look, group in groupby(ordered, key=lambda box: box.look)
    ]


def _name(key: str) -> str:
    return key.replace(".", "_")


def _escape(text: str) -> str:
    # Mermaid would make a new line of a backslash and an n, however they are written.
    apart = text.replace("\\n", "\\\u200bn")
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", apart)


def _too_large(limit: int, what: str, found: int) -> TraceShapeError:
    return TraceShapeError("$", f"at most {limit} {what} in a Mermaid flowchart", str(found))
