"""Short names for the nodes of a graph: `d3`, `i17`, `i17.2`.

Names of random variables are any texts and may occur twice, so they cannot tell nodes apart.
"""

from __future__ import annotations

import re

from tracescript.dependencies import DecisionNode, InstNode, Node, TraceGraph, ValueNode

__all__ = ["key_of", "node_of"]

# More digits than a position can have are no key.
_KEY = re.compile(r"d(\d{1,7})|i(\d{1,7})(?:\.(\d{1,7}))?", re.ASCII)


def key_of(node: Node) -> str:
    """The key of a node.

    Law: `node_of(graph, key_of(node)) == node` for each node of a graph.

    >>> key_of(DecisionNode(3)), key_of(InstNode(17)), key_of(ValueNode(17, 2))
    ('d3', 'i17', 'i17.2')
    """
    if isinstance(node, DecisionNode):
        return f"d{node.number}"
    if isinstance(node, InstNode):
        return f"i{node.index}"
    return f"i{node.inst}.{node.output}"


def node_of(graph: TraceGraph, text: str) -> Node:
    """The node of a key, or the random variable of a name; a key goes first.

    Raises:
        ValueError: the graph has no such node.
    """
    match = _KEY.fullmatch(text)
    if match is None:
        return graph.value(text)
    decision, inst, output = match.groups()
    if decision is not None:
        node: Node = DecisionNode(int(decision))
    else:
        node = InstNode(int(inst)) if output is None else ValueNode(int(inst), int(output))
    # The graph says what it has instead.
    graph.influences(node)
    return node
