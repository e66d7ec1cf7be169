"""Which tokens may stand at a position, all at once.

From a position the tree of all tokens is walked once. After that, a mask is a comparison of
small arrays: what has to be in scope for each token, and what is.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracescript.masks.bitmask import Bitmask, bitmask
from tracescript.masks.outcomes import Counts, Demand, Outcome, Trail, Walker
from tracescript.masks.positions import Position

__all__ = ["Table", "Tree"]


class Tree:
    """The tokens by their symbols: a node has the token that ends there, and its children."""

    __slots__ = ("children", "token")

    def __init__(self) -> None:
        self.token: int | None = None
        self.children: dict[int, Tree] = {}

    def add(self, symbols: tuple[int, ...], token: int) -> None:
        """Add a token."""
        node = self
        for symbol in symbols:
            node = node.children.setdefault(symbol, Tree())
        node.token = token


_MANY = 64
"""Of so many symbols, those that a position may take are singled out first."""

_MASKS = 1_024
"""Masks of a table that are kept."""


class Table:
    """The tokens that may stand at one position.

    Attributes:
        outcomes: where each token leads.
        longest: how many symbols it takes at most to finish the line after a token.
        demands: the tokens that take something for granted about a task, by what that is.
    """

    def __init__(self, walker: Walker, position: Position, tree: Tree, size: int) -> None:
        self.outcomes: dict[int, Outcome] = {}
        self._size = size
        self._walker = walker
        self._walk(position, tree)
        ways = [(token, way) for token, outcome in self.outcomes.items() for way in outcome.ways]
        self._tokens = np.array([token for token, _ in ways], dtype=np.intp)
        self._needed = np.array([way.needed for _, way in ways])
        self._symbols = np.array([way.symbols for _, way in ways])
        self._most = [max(column) for column in zip(*(way.needed for _, way in ways), strict=True)]
        self.longest = int(self._symbols.max())
        self._masks: dict[Counts, Bitmask] = {}
        self.demands: dict[Demand, Bitmask] = {}
        for demand in {d for outcome in self.outcomes.values() for d in outcome.demands}:
            tokens = [t for t, outcome in self.outcomes.items() if demand in outcome.demands]
            self.demands[demand] = bitmask(tokens, size)

    def mask(self, counts: Counts) -> Bitmask:
        """The tokens that may stand here with so many values in scope. Nobody may write to it."""
        b, l, v = counts  # noqa: E741 (the letters of the references)
        most_b, most_l, most_v = self._most
        key = (min(most_b, b), min(most_l, l), min(most_v, v))
        mask = self._masks.get(key)
        if mask is None:
            if len(self._masks) >= _MASKS:
                self._masks.clear()
            enough = (self._needed <= np.array(key)).all(axis=1)
            mask = self._masks[key] = bitmask(self._tokens[enough], self._size)
        return mask

    def mask_within(self, counts: Counts, symbols: int) -> Bitmask:
        """Those of them after which so many symbols are enough to finish the line."""
        enough = (self._needed <= np.array(counts)).all(axis=1) & (self._symbols <= symbols)
        return bitmask(self._tokens[enough], self._size)

    def _walk(self, start: Position, tree: Tree) -> None:
        # A phrase can have more symbols than Python lets calls be nested.
        ahead = [(start, Trail(), tree)]
        while ahead:
            position, trail, node = ahead.pop()
            for symbol in self._candidates(position, node):
                step = self._walker.over(position, trail, symbol)
                if step is None:
                    continue
                child = node.children[symbol]
                if child.token is not None:
                    self.outcomes[child.token] = self._walker.outcome(*step)
                if child.children:
                    ahead.append((*step, child))

    def _candidates(self, position: Position, tree: Tree) -> Iterable[int]:
        if len(tree.children) < _MANY:
            return tree.children
        return tree.children.keys() & self._walker.machine.candidates(position)
