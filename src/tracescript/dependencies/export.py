"""The graph for networkx, which has the general algorithms: paths, centrality, drawing.

Needs the extra `graph`. networkx is the usual library for graphs in Python, is well kept,
and is pure Python, so it installs wherever this does. The questions that tuning asks need
none of it: `TraceGraph` answers them itself.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeArgument=false, reportUnknownParameterType=false
# networkx has no types of its own.

from __future__ import annotations

import networkx

from tracescript.dependencies.graph import TraceGraph
from tracescript.dependencies.nodes import DecisionNode, InstNode, Node

__all__ = ["to_networkx"]


def to_networkx(graph: TraceGraph) -> networkx.DiGraph:
    r"""The graph as a `networkx.DiGraph`, over the same nodes.

    A node has a `label`: the kind of an instruction, the name of a value, `decision` for a
    decision. An edge has its `kind`. As in `edges`, an `orders` edge that follows from other
    edges is left out.

    Law: a path leads from a node to those that it influences, with `orders`, and no others.

    >>> from tracescript import loads
    >>> from tracescript.dependencies import graph
    >>> made = to_networkx(graph(loads('tracescript 1\nGetSBlock | "C" "main" -> b\n')))
    >>> [made.nodes[node]["label"] for node in networkx.topological_sort(made)]
    ['GetSBlock', 'b0']
    """
    made = networkx.DiGraph()
    for node in graph.nodes:
        made.add_node(node, label=_label(graph, node))
    for edge in graph.edges():
        made.add_edge(edge.source, edge.target, kind=edge.kind)
    return made


def _label(graph: TraceGraph, node: Node) -> str:
    if isinstance(node, DecisionNode):
        return "decision"
    if isinstance(node, InstNode):
        return graph.trace.insts[node.index].kind
    return graph.trace.insts[node.inst].outputs[node.output]
