"""How many there are of what, in words."""

from __future__ import annotations

from collections.abc import Iterable

from tracescript.dependencies import DecisionNode, InstNode, Node, TraceGraph, ValueNode

__all__ = ["counted", "counts_of", "summary"]


def counted(number: int, noun: str) -> str:
    """Say how many.

    >>> counted(1, "decision"), counted(1200, "decision")
    ('1 decision', '1,200 decisions')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counts_of(nodes: Iterable[Node]) -> str:
    """Say how many nodes of each sort there are.

    >>> counts_of([DecisionNode(0), InstNode(1)]), counts_of([])
    ('1 decision, 1 instruction', 'nothing')
    """
    types = [type(node) for node in nodes]
    nouns = {DecisionNode: "decision", InstNode: "instruction", ValueNode: "random variable"}
    found = [counted(types.count(kind), noun) for kind, noun in nouns.items() if kind in types]
    return ", ".join(found) or "nothing"


def summary(graph: TraceGraph) -> str:
    """Say what is in a trace."""
    trace = graph.trace
    return (
        f"{counted(len(trace.insts), 'instruction')}, "
        f"{counted(len(trace.decisions), 'decision')}, "
        f"{counted(sum([len(inst.outputs) for inst in trace.insts]), 'random variable')} "
        f"({len(graph.dead_values()):,} dead)"
    )
