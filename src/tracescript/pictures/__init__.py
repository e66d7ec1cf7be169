"""Pictures of traces: Graphviz, Mermaid, a page to explore them with, notebooks."""

from tracescript.pictures.dot import to_dot
from tracescript.pictures.keys import key_of, node_of
from tracescript.pictures.mermaid import to_mermaid
from tracescript.pictures.notebook import difference_html, graph_html, trace_html
from tracescript.pictures.page import to_html

__all__ = [
    "difference_html",
    "graph_html",
    "key_of",
    "node_of",
    "to_dot",
    "to_html",
    "to_mermaid",
    "trace_html",
]
