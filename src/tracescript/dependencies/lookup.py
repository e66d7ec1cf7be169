"""From nodes to the positions and numbers that the sets are made of, and back."""

from __future__ import annotations

from collections.abc import Collection

from tracescript.dependencies.links import Links, elements
from tracescript.dependencies.nodes import DecisionNode, InstNode, Node, ValueNode
from tracescript.model import Trace

__all__ = ["listed", "outputs", "set_of", "value_node", "value_number"]


def set_of(trace: Trace, links: Links, node: Node) -> int:
    """The instruction of a node, as a set; the empty set for a decision that decides nothing.

    Raises:
        ValueError: the trace has no such node.
    """
    if isinstance(node, DecisionNode):
        decision = trace.decisions[_within("decision", node.number, len(trace.decisions))]
        # Of two decisions for one instruction the first decides nothing.
        decides = links.decided.get(decision.index) == node.number
        return 1 << decision.index if decides else 0
    index = node.inst if isinstance(node, ValueNode) else node.index
    _within("instruction", index, len(trace.insts))
    if isinstance(node, ValueNode):
        _within("output", node.output, len(trace.insts[index].outputs))
    return 1 << index


def value_number(links: Links, node: ValueNode) -> int:
    """The number of a value of the trace."""
    return links.scope.first[node.inst] + node.output


def value_node(links: Links, number: int) -> ValueNode:
    """The value that has a number."""
    inst = links.scope.definers[number]
    return ValueNode(inst, number - links.scope.first[inst])


def outputs(links: Links, inst: int) -> range:
    """The numbers of the values that an instruction defines."""
    return range(links.scope.first[inst], links.scope.first[inst + 1])


def listed(
    links: Links, insts: int, values: Collection[int], *, decisions: bool
) -> tuple[Node, ...]:
    """Instructions with some of their values, and with their decisions if asked for."""
    found: list[Node] = []
    for inst in elements(insts):
        if decisions and inst in links.decided:
            found.append(DecisionNode(links.decided[inst]))
        found.append(InstNode(inst))
        found += [value_node(links, number) for number in outputs(links, inst) if number in values]
    return tuple(found)


def _within(what: str, position: int, count: int) -> int:
    if 0 <= position < count:
        return position
    raise ValueError(f"expected the position of one of {count} {what}s, found {position}")
