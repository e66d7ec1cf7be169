"""The parts of expressions: equal ones as one, and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tracescript.workloads.model import (
    MAX_TREE_DEPTH,
    Block,
    Cast,
    Const,
    Expr,
    Load,
    Op,
    Reinterpret,
    Var,
)

__all__ = ["Parts", "children", "expressions"]

_Key: TypeAlias = "tuple[object, ...]"


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside one."""
    if isinstance(expr, Op):
        return expr.args
    if isinstance(expr, Load):
        return expr.indices
    return (expr.value,) if isinstance(expr, (Cast, Reinterpret)) else ()


def expressions(block: Block) -> list[Expr]:
    """All expressions of a block."""
    exprs = [axis.extent for axis in block.axes if not isinstance(axis.extent, int)]
    for output in block.outputs:
        exprs += [*output.indices, output.value]
        exprs += [] if output.init is None else [output.init]
    return exprs


class Parts:
    """All parts of some expressions, equal ones as one, each after the parts inside it.

    Attributes:
        exprs: the parts.
        uses: how many different places use each: a place of another part, or an expression.
        nodes: how many nodes the expressions have, those of equal parts counted each time.

    Raises:
        OverflowError: an expression is too deep.
    """

    def __init__(self, exprs: Sequence[Expr]) -> None:
        self.exprs: list[Expr] = []
        self.uses: list[int] = []
        self._heights: list[int] = []
        self._sizes: list[int] = []
        self._numbers: dict[_Key, int] = {}
        self._seen: dict[int, int] = {}
        roots = [self._add(expr, 1) for expr in exprs]
        for number in roots:
            self.uses[number] += 1
        self.nodes = sum([self._sizes[number] for number in roots])

    def _add(self, expr: Expr, depth: int) -> int:
        # Equality is that of keys, as comparing whole trees takes too long.
        number = self._seen.get(id(expr))
        if number is None:
            _require_shallow(depth)
            inside = [self._add(child, depth + 1) for child in children(expr)]
            key = _key(expr, inside)
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = self._new(expr, inside)
            self._seen[id(expr)] = number
        return number

    def _new(self, expr: Expr, inside: Sequence[int]) -> int:
        height = 1 + max([self._heights[child] for child in inside], default=0)
        _require_shallow(height)
        self.exprs.append(expr)
        self.uses.append(0)
        self._heights.append(height)
        self._sizes.append(1 + sum([self._sizes[child] for child in inside]))
        for child in inside:
            self.uses[child] += 1
        return len(self.exprs) - 1


def _require_shallow(depth: int) -> None:
    if depth > MAX_TREE_DEPTH:
        raise OverflowError(f"an expression of more than {MAX_TREE_DEPTH} levels")


def _key(expr: Expr, inside: Sequence[int]) -> _Key:
    """What an expression is equal by, once the parts inside it have numbers."""
    if isinstance(expr, (Var, Const)):
        return (expr,)
    if isinstance(expr, Load):
        own: object = expr.buffer
    else:
        own = expr.name if isinstance(expr, Op) else expr.dtype
    return type(expr), own, *inside
