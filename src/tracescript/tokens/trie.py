"""The longest phrase at each place of a list of symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from tracescript.tokens.symbols import PAD, SYMBOL_COUNT

__all__ = ["TOKEN", "Node", "insert", "merge", "new_trie"]

Node: TypeAlias = dict[int, Any]
"""From symbol to the next node; under `TOKEN` the id of the phrase that ends here."""

TOKEN = -1


def new_trie(phrases: Iterable[tuple[int, Sequence[int]]] = ()) -> list[Node]:
    """For each symbol the node of the phrases, given with their ids, that begin with it."""
    roots: list[Node] = [{} for _ in range(SYMBOL_COUNT)]
    for token, phrase in phrases:
        insert(roots, token, phrase)
    return roots


def insert(roots: list[Node], token: int, phrase: Sequence[int]) -> Node:
    """Add a phrase; give the node where it ends."""
    node = roots[phrase[0]]
    for symbol in phrase[1:]:
        node = node.setdefault(symbol, {})
    node[TOKEN] = token
    return node


def merge(symbols: list[int], roots: list[Node]) -> list[int]:
    """Cut symbols into the longest phrase at each place, or else the one symbol there."""
    tokens: list[int] = []
    append = tokens.append
    length = len(symbols)
    symbols.append(PAD)  # No phrase holds it.
    start = 0
    while start < length:
        token = symbols[start]
        node = roots[token]
        end = place = start + 1
        while node:
            node = node.get(symbols[place])
            if node is None:
                break
            place += 1
            if TOKEN in node:
                token = node[TOKEN]
                end = place
        append(token)
        start = end
    symbols.pop()
    return tokens
