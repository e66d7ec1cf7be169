"""What the dependency graph of a trace is made of: nodes, and edges between them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = ["DecisionNode", "Edge", "EdgeKind", "InstNode", "Node", "ValueNode"]


class InstNode(msgspec.Struct, frozen=True, gc=False):
    """An instruction.

    Attributes:
        index: its position among the instructions of the trace.
    """

    index: int


class ValueNode(msgspec.Struct, frozen=True, gc=False):
    """A random variable. Its name may occur twice in a trace, this does not.

    Attributes:
        inst: the position of the instruction that defines it.
        output: the position among the outputs of that instruction.
    """

    inst: int
    output: int


class DecisionNode(msgspec.Struct, frozen=True, gc=False):
    """A decision.

    Attributes:
        number: its position among the decisions of the trace, which is not the index of the
            instruction that it names.
    """

    number: int


Node: TypeAlias = InstNode | ValueNode | DecisionNode
"""A node of the graph."""

EdgeKind: TypeAlias = Literal["defines", "uses", "decides", "orders"]
"""Why the target depends on the source.

An instruction `defines` a value, a value is one that an instruction `uses`, a decision
`decides` an instruction. An instruction `orders` a later one if what the later one does or
defines can depend on how the earlier one changed the module.
"""


class Edge(msgspec.Struct, frozen=True, gc=False):
    """An edge of the graph.

    Attributes:
        source: the node that the target depends on.
        target: the node that depends on it.
        kind: why it does.
    """

    source: Node
    target: Node
    kind: EdgeKind
