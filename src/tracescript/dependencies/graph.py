"""The dependency graph of a trace, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Iterator

from tracescript.dependencies.groups import groups_of
from tracescript.dependencies.links import Links, as_set, elements, link
from tracescript.dependencies.lookup import listed, outputs, set_of, value_node, value_number
from tracescript.dependencies.moves import commute
from tracescript.dependencies.nodes import DecisionNode, Edge, InstNode, Node, ValueNode
from tracescript.dependencies.paths import closest_orderers, future, past
from tracescript.dependencies.subtrace import subtrace
from tracescript.model import Trace

__all__ = ["TraceGraph", "graph"]


def graph(trace: Trace) -> TraceGraph:
    r"""The dependency graph of a trace: of any trace, whatever kinds and names it has.

    Raises:
        TraceShapeError: the trace has more than 10,000 instructions.

    >>> from tracescript import loads
    >>> g = graph(loads('tracescript 1\nGetSBlock | "C" "main" -> b\nGetLoops b-1 -> l2\n'))
    >>> g.influences(g.value("b0"))
    (InstNode(index=1), ValueNode(inst=1, output=0), ValueNode(inst=1, output=1))
    """
    return TraceGraph(trace, link(trace))


class TraceGraph:
    """Instructions, random variables and decisions, and who depends on whom.

    `graph` makes one. Answers list nodes in the order of the trace: a decision stands before
    its instruction, a value behind it.

    Attributes:
        trace: the trace that it is of.
    """

    __slots__ = ("_links", "trace")

    def __init__(self, trace: Trace, links: Links) -> None:
        self.trace = trace
        self._links = links

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node; decisions that decide nothing stand at the end."""
        everything = (1 << len(self.trace.insts)) - 1
        idle = set(range(len(self.trace.decisions))).difference(self._links.decided.values())
        values = range(len(self._links.users))
        found = listed(self._links, everything, values, decisions=True)
        return (*found, *map(DecisionNode, sorted(idle)))

    def edges(self) -> Iterator[Edge]:
        """Every edge, ordered by target.

        An `orders` edge that follows is left out: other edges lead from its source to its
        target, whether they are of that kind or of others.
        """
        links = self._links
        for index, orderers in enumerate(closest_orderers(links)):
            inst = InstNode(index)
            if index in links.decided:
                yield Edge(DecisionNode(links.decided[index]), inst, "decides")
            for number in links.scope.used[index]:
                yield Edge(value_node(links, number), inst, "uses")
            for orderer in orderers:
                yield Edge(InstNode(orderer), inst, "orders")
            for number in outputs(links, index):
                yield Edge(inst, value_node(links, number), "defines")

    def value(self, name: str) -> ValueNode:
        """The random variable of a name: the first one, as TVM has it.

        Raises:
            ValueError: no instruction defines the name.
        """
        number = self._links.scope.values.get(name)
        if number is None:
            raise ValueError(f"expected a name that an instruction defines, found {name!r}")
        return value_node(self._links, number)

    # What depends on what.

    def influences(self, node: Node, *, orders: bool = False) -> tuple[Node, ...]:
        """Every node that depends on a node, without that node itself.

        Args:
            node: a decision, a value or an instruction.
            orders: also follow what instructions change in the module. That is careful: it
                may give too many nodes, never too few.

        Raises:
            ValueError: the graph has no such node.
        """
        links, start = self._links, self._set(node)
        if isinstance(node, ValueNode):
            start = as_set(links.users[value_number(links, node)])
        insts = future(links, start, orders=orders)
        found = listed(links, insts, range(len(links.users)), decisions=False)
        return found[1:] if isinstance(node, InstNode) else found

    def depends_on(self, node: Node, *, orders: bool = False) -> tuple[Node, ...]:
        """Every node that a node depends on, without that node itself.

        Law: `a in depends_on(b, orders=o)` exactly if `b in influences(a, orders=o)`.

        Args:
            node: a decision, a value or an instruction.
            orders: also follow what instructions change in the module.

        Raises:
            ValueError: the graph has no such node.
        """
        links, start = self._links, self._set(node)
        if isinstance(node, DecisionNode):
            return ()
        insts = past(links, start, orders=orders)
        used = {number for inst in elements(insts) for number in links.scope.used[inst]}
        found = listed(links, insts, used, decisions=True)
        return found[:-1] if isinstance(node, InstNode) else found

    def dead_values(self) -> tuple[ValueNode, ...]:
        """The random variables that no instruction uses.

        Their instructions may still have effects, or define others that are used: what can go
        is for `simplify` to say.
        """
        users = self._links.users
        return tuple(
            [value_node(self._links, number) for number, found in enumerate(users) if not found]
        )

    def slice(self, node: Node) -> Trace:
        """The part of the trace that leads to a node, as a trace, with its names and decisions.

        It ends with the instruction of the node, and has what that depends on, with `orders`,
        and nothing else. The mark of the post-processors is left out, unless it is the node.

        Law: the slice of a value defines it. On a module that takes the whole trace it is the
        same block, a loop of the same extent, or the same number.

        Raises:
            ValueError: the graph has no such node.
        """
        start = self._set(node)
        hidden = self._links.marks & ~start
        return subtrace(self.trace, elements(past(self._links, start, orders=True, hidden=hidden)))

    # Decisions that have nothing to do with each other.

    def independent(self, first: DecisionNode, second: DecisionNode) -> bool:
        """Whether neither decision can change what the other may be, nor what it is about.

        They do not if the sampling instruction of neither depends on the other decision, with
        `orders`: each samples for the same loop of the same extent, or for the same block,
        whatever the other decision is. So both may be altered at once, each as if it were
        alone. The limits of a target are another matter: they bind all decisions together.

        Raises:
            ValueError: the graph has no such node.
        """
        one, other = self._set(first), self._set(second)
        return not past(self._links, max(one, other), orders=True) & min(one, other)

    def independent_groups(self) -> tuple[tuple[DecisionNode, ...], ...]:
        """The decisions in groups, such that any two of different groups are independent.

        The groups are as small as can be; two of one group may be independent all the same. A
        decision that decides nothing is a group of its own.
        """
        decided = self._links.decided
        groups = [sorted(decided[index] for index in group) for group in groups_of(self._links)]
        idle = set(range(len(self.trace.decisions))).difference(decided.values())
        groups += [[number] for number in idle]
        return tuple([tuple(map(DecisionNode, group)) for group in sorted(groups)])

    # The order of instructions.

    def commute(self, first: int, second: int) -> bool:
        r"""Whether two instructions that stand next to each other could change places.

        Law: if so, the trace with the two the other way around makes the same module. The
        answer is careful: False where it is not known. It is given for any two instructions,
        as if they stood next to each other.

        Args:
            first: the position of an instruction.
            second: the position of another one, before it or behind it.

        Raises:
            ValueError: the trace has no such instruction.

        >>> from tracescript import loads
        >>> names = 'GetSBlock | "B" "main" -> b\nGetSBlock | "C" "main" -> b\n'
        >>> g = graph(loads("tracescript 1\n" + names + "ComputeInline b-2\n"))
        >>> g.commute(0, 1), g.commute(1, 2)
        (True, False)
        """
        self._set(InstNode(first))
        self._set(InstNode(second))
        return commute(self._links, min(first, second), max(first, second))

    def can_move(self, inst: int, before: int) -> bool:
        """Whether an instruction could be moved to stand right before another one.

        It could if it commutes with each instruction on the way.

        Args:
            inst: the position of the instruction.
            before: the position of the other one; the number of instructions is the end.

        Raises:
            ValueError: the trace has no such instruction.
        """
        self._set(InstNode(inst))
        count = len(self.trace.insts)
        if not 0 <= before <= count:
            raise ValueError(f"expected a position from 0 to {count}, found {before}")
        passed = range(before, inst) if before <= inst else range(inst + 1, before)
        return all(self.commute(inst, other) for other in passed)

    def _repr_html_(self) -> str:
        # Only notebooks need it, and pictures are made of graphs.
        from tracescript.pictures import graph_html

        return graph_html(self)

    def _set(self, node: Node) -> int:
        return set_of(self.trace, self._links, node)
