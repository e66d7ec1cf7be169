"""From syntax trees of expressions to expressions: names are looked up, numbers get dtypes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

from lark import Token, Tree

from tracescript.literals import unquote
from tracescript.workloads.inference import Dtypes
from tracescript.workloads.model import (
    MAX_NODES,
    MAX_TREE_DEPTH,
    Cast,
    Const,
    Expr,
    Load,
    Op,
    Reinterpret,
    Var,
)
from tracescript.workloads.names import AXES, BUFFERS, SHARED, letter, position
from tracescript.workloads.numbers import read_number
from tracescript.workloads.operators import OPERATORS
from tracescript.workloads.sharing import children
from tracescript.workloads.syntax import Node, Source

__all__ = ["Terms"]


class _Number(NamedTuple):
    """A number, in the place of the `Const` that it is once its dtype is known."""

    node: Tree[Token]
    dtype: None = None


class _Size(NamedTuple):
    """How large an expression is, with its shared parts counted each time."""

    expr: Expr
    depth: int
    nodes: int


class Terms:
    """Reads the expressions of one block, in two steps: what is there, then the dtypes.

    Args:
        source: the text.
        dtypes: the dtypes of the buffers up to those of the block, and of iteration variables.
        axes: how many iteration variables there are.
        place: the indices of the element that is written.

    Attributes:
        place: the indices of the element that is written.
        nodes: how many nodes the expressions have so far.
    """

    def __init__(self, source: Source, dtypes: Dtypes, axes: int, place: tuple[Expr, ...]) -> None:
        self.nodes = 0
        self._source = source
        self._dtypes = dtypes
        self._axes = axes
        self.place = place
        self._shared: list[Expr] = []
        # By the identity of an expression, which the entry keeps alive.
        self._sizes: dict[int, _Size] = {}
        self._finished: set[int] = set()
        self._readers: dict[str, Callable[..., Expr]] = {
            "both": self._both,
            "between": self._between,
            "binary": self._binary,
            "call": self._call,
            "cast": self._cast,
            "either": partial(self._op, "|"),
            "group": self._untyped,
            "if_then_else": partial(self._op, "?"),
            "load": self._load,
            "negation": partial(self._op, "!"),
            "reinterpret": self._reinterpret,
            "shared": self._shared_part,
            "variable": self._variable,
        }

    def define(self, name: Token, node: Node) -> None:
        """Read a shared part."""
        if position(SHARED, name) != len(self._shared):
            raise self._source.error(name, f"expected {letter(SHARED, len(self._shared))}")
        expr = self._typed(self._untyped(cast("Tree[Token]", node)), None)
        self._finished.add(id(expr))
        self._shared.append(expr)

    def expr(self, node: Node, wanted: str | None) -> Expr:
        """Read an expression whose place gives it a dtype, or None.

        Raises:
            TraceSyntaxError: it uses what is not there, or is too large.
        """
        expr = self._typed(self._untyped(cast("Tree[Token]", node)), wanted)
        self.nodes += self._size(expr).nodes
        return expr

    def reduction(self, name: str, buffer: int, node: Node, dtype: str) -> Expr:
        """Read what a buffer is reduced with by an operator."""
        tree = cast("Tree[Token]", node)
        expr = Op(name, (Load(buffer, self.place), self.expr(tree, dtype)))
        return self._checked(tree, expr)

    def index(self, tree: Tree[Token]) -> tuple[Expr, ...]:
        """Read an index."""
        return tuple([self.expr(node, self._dtypes.axes) for node in tree.children])

    # What is there.

    def _untyped(self, tree: Tree[Token]) -> Expr:
        return self._checked(tree, self._found(tree))

    def _checked(self, tree: Tree[Token], expr: Expr) -> Expr:
        size = self._size(expr)
        if size.depth > MAX_TREE_DEPTH:
            raise self._source.error(tree, f"more than {MAX_TREE_DEPTH} levels of an expression")
        if size.nodes > MAX_NODES:
            raise self._source.error(tree, f"more than {MAX_NODES} parts of an expression")
        return expr

    def _size(self, expr: Expr) -> _Size:
        size = self._sizes.get(id(expr))
        if size is None:
            inside = [self._size(child) for child in children(expr)]
            depth = 1 + max([each.depth for each in inside], default=0)
            size = _Size(expr, depth, 1 + sum([each.nodes for each in inside]))
            self._sizes[id(expr)] = size
        return size

    def _found(self, tree: Tree[Token]) -> Expr:
        if tree.data == "number":
            return cast("Expr", _Number(tree))
        return self._readers[str(tree.data)](*tree.children)

    def _op(self, name: str, *operands: Tree[Token]) -> Op:
        return Op(name, tuple(map(self._untyped, operands)))

    def _binary(self, left: Tree[Token], name: Token, right: Tree[Token]) -> Op:
        return self._op(str(name), left, right)

    def _variable(self, name: Token) -> Expr:
        axis = position(AXES, name)
        if axis >= self._axes:
            raise self._source.error(name, f"the block has {self._axes} iteration variables")
        return Var(axis)

    def _shared_part(self, name: Token) -> Expr:
        place = position(SHARED, name)
        if place >= len(self._shared):
            raise self._source.error(name, f"no part {name} is defined before this")
        return self._shared[place]

    def _load(self, name: Token, index: Tree[Token] | None = None) -> Expr:
        buffer = position(BUFFERS, name)
        if buffer >= len(self._dtypes.buffers):
            raise self._source.error(name, f"no buffer {name} is defined up to this line")
        if index is None:
            return Load(buffer, self.place)
        inside = cast("list[Tree[Token]]", index.children)
        return Load(buffer, tuple([self._untyped(node) for node in inside]))

    def _call(self, function: Token, *operands: Tree[Token]) -> Expr:
        name = function[:-1]
        if name not in OPERATORS:
            raise self._source.error(function, f"there is no function {name}")
        arity = OPERATORS[name].arity
        if len(operands) != arity:
            raise self._source.error(function, f"{name} has {arity} operands")
        return self._op(name, *operands)

    def _between(self, *parts: Any) -> Expr:
        """Two bounds of one value, that are two conditions."""
        low, first, value, second, high = parts
        middle = self._untyped(value)
        below = Op(str(first), (self._untyped(low), middle))
        return Op("&", (below, Op(str(second), (middle, self._untyped(high)))))

    def _both(self, left: Tree[Token], right: Tree[Token]) -> Expr:
        """Conditions join from the left on, those of two bounds one by one."""
        before, after = self._untyped(left), self._untyped(right)
        if right.data == "between":
            below, above = cast("Op", after).args
            return Op("&", (Op("&", (before, below)), above))
        return Op("&", (before, after))

    def _cast(self, value: Tree[Token], dtype: Token) -> Expr:
        return Cast(unquote(dtype), self._untyped(value))

    def _reinterpret(self, value: Tree[Token], dtype: Token) -> Expr:
        return Reinterpret(unquote(dtype), self._untyped(value))

    # The dtypes.

    def _typed(self, expr: Expr, wanted: str | None) -> Expr:
        if isinstance(expr, _Number):
            return self._number(cast("_Number", expr), wanted)
        if id(expr) in self._finished:
            return expr
        match expr:
            case Op(name, args):
                dtypes = self._dtypes.of_operands(expr, wanted)
                return Op(name, tuple(map(self._typed, args, dtypes)))
            case Load(buffer, indices):
                index = self._dtypes.axes
                return Load(buffer, tuple([self._typed(each, index) for each in indices]))
            case Cast(dtype, value):
                return Cast(dtype, self._typed(value, None))
            case Reinterpret(dtype, value):
                return Reinterpret(dtype, self._typed(value, None))
            case _:
                return expr

    def _number(self, number: _Number, wanted: str | None) -> Const:
        tokens = cast("list[Token]", number.node.children)
        if tokens[-1].type == "STRING":
            wanted = unquote(tokens[-1])
            tokens = tokens[:-1]
        if wanted is None:
            message = 'this number needs a dtype, such as 1 "int32"'
            raise self._source.error(number.node, message)
        try:
            return read_number("".join(tokens), wanted)
        except ValueError as error:
            raise self._source.error(number.node, str(error)) from None
