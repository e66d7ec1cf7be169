"""Who depends on whom in a trace: the dependency graph, and what it is good for."""

from tracescript.dependencies.graph import TraceGraph, graph
from tracescript.dependencies.nodes import (
    DecisionNode,
    Edge,
    EdgeKind,
    InstNode,
    Node,
    ValueNode,
)
from tracescript.dependencies.simplify import simplify

__all__ = [
    "DecisionNode",
    "Edge",
    "EdgeKind",
    "InstNode",
    "Node",
    "TraceGraph",
    "ValueNode",
    "graph",
    "simplify",
]
