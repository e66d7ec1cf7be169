"""What is related to what, as numbers: the answers of the graph, for the script of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tracescript.dependencies import InstNode, Node, TraceGraph, ValueNode
from tracescript.pictures.keys import key_of
from tracescript.pictures.sides import Side

__all__ = ["Relations", "relate"]


class Relations(msgspec.Struct, frozen=True):
    """The relations of the nodes of one or two graphs; nodes are numbers.

    Attributes:
        keys: the key of each node.
        sets: sets of nodes. Each is a list of runs: a first number and a count, in turn.
        related: for each node the positions of four sets: what it influences and what it
            depends on, and both again with `orders`.
        uses: for each value that an instruction uses: what defines it, the value, the user.
        orders: pairs of instructions.
        peers: pairs of nodes, one of each trace, that are the same.
    """

    keys: list[str] = []
    sets: list[list[int]] = []
    related: list[list[int]] = []
    uses: list[tuple[int, int, int]] = []
    orders: list[tuple[int, int]] = []
    peers: list[tuple[int, int]] = []


def relate(sides: Iterable[Side], peers: Iterable[tuple[int, int]] = ()) -> Relations:
    """Ask the graphs for all relations of their nodes."""
    found = Relations(peers=list(peers))
    positions: dict[tuple[int, ...], int] = {}
    for side in sides:
        for node, answers in _answers(side.graph):
            runs = [_runs([side.numbers[each] for each in answer]) for answer in answers]
            found.keys.append(side.prefix + key_of(node))
            found.related.append([positions.setdefault(each, len(positions)) for each in runs])
        _add_edges(found, side)
    found.sets.extend([list(runs) for runs in positions])
    return found


def _answers(graph: TraceGraph) -> Iterator[tuple[Node, list[tuple[Node, ...]]]]:
    """For each node what it influences and what it depends on, and both with `orders`."""
    sources: dict[bool, tuple[Node, ...]] = {}
    for node in graph.nodes:
        answers: list[tuple[Node, ...]] = []
        for orders in (False, True):
            # All values of an instruction depend on the same, and a trace has many of them.
            if not isinstance(node, ValueNode) or node.output == 0:
                sources[orders] = graph.depends_on(node, orders=orders)
            answers += [graph.influences(node, orders=orders), sources[orders]]
        yield node, answers


def _runs(numbers: Iterable[int]) -> tuple[int, ...]:
    """Ascending numbers, as runs.

    >>> _runs([3, 4, 5, 9])
    (3, 3, 9, 1)
    """
    runs: list[int] = []
    for number in numbers:
        if runs and number == runs[-2] + runs[-1]:
            runs[-1] += 1
        else:
            runs += (number, 1)
    return tuple(runs)


def _add_edges(found: Relations, side: Side) -> None:
    numbers = side.numbers
    for edge in side.graph.edges():
        if isinstance(edge.source, ValueNode):
            definer = numbers[InstNode(edge.source.inst)]
            found.uses.append((definer, numbers[edge.source], numbers[edge.target]))
        elif edge.kind == "orders":
            found.orders.append((numbers[edge.source], numbers[edge.target]))
