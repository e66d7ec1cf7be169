"""The parts of a grammar, as its translators see them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = ["SIGNS", "Chars", "Choice", "Name", "Node", "Repeat", "Rules", "Sequence", "Text"]


class Text(msgspec.Struct, frozen=True, tag=True):
    """Exactly this text."""

    text: str


class Chars(msgspec.Struct, frozen=True, tag=True):
    """One character of some ranges, both ends included; negated, one of none of them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False


class Name(msgspec.Struct, frozen=True, tag=True):
    """A rule or a terminal."""

    name: str


class Sequence(msgspec.Struct, frozen=True, tag=True):
    """One after the other."""

    items: tuple[Node, ...]


class Choice(msgspec.Struct, frozen=True, tag=True):
    """One of them."""

    items: tuple[Node, ...]


class Repeat(msgspec.Struct, frozen=True, tag=True):
    """At least and at most so many of them; None is any number."""

    item: Node
    least: int
    most: int | None


Node: TypeAlias = Text | Chars | Name | Sequence | Choice | Repeat

Rules: TypeAlias = dict[str, Node]
"""The rules and terminals of a grammar by name, in the order of its text."""

SIGNS: dict[tuple[int, int | None], str] = {(0, 1): "?", (0, None): "*", (1, None): "+"}
"""What is written for some numbers of an item, at least and at most, in all forms of grammar."""
