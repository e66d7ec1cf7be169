"""Read the regular expressions of the grammars: the part of the dialect that all engines share."""

from __future__ import annotations

import re

from tracescript.exports.nodes import SIGNS, Chars, Choice, Node, Repeat, Sequence, Text

__all__ = ["QUANTIFIERS", "read_pattern"]

QUANTIFIERS = {sign: bounds for bounds, sign in SIGNS.items()}
"""How many of its item each sign asks for, at least and at most."""

_BOUNDS = re.compile(r"\{([0-9]+)(?:,([0-9]+))?\}")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([nrt])|([^A-Za-z0-9]))")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


def read_pattern(pattern: str) -> Node:
    """Read alternatives, groups, classes, `? * + {n} {n,m}`, and escaped characters.

    Raises:
        ValueError: there is something else in the pattern.
    """
    reader = _Reader(pattern)
    node = reader.choice()
    if reader.rest:
        raise reader.error("the end")
    return node


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0

    @property
    def rest(self) -> str:
        return self.pattern[self.place :]

    def error(self, expected: str) -> ValueError:
        found = repr(self.rest[:8]) if self.rest else "the end"
        return ValueError(f"/{self.pattern}/[{self.place}]: expected {expected}, found {found}")

    def took(self, text: str) -> bool:
        found = self.rest.startswith(text)
        self.place += len(text) if found else 0
        return found

    def choice(self) -> Node:
        items = [self.sequence()]
        while self.took("|"):
            items.append(self.sequence())
        return items[0] if len(items) == 1 else Choice(tuple(items))

    def sequence(self) -> Node:
        items: list[Node] = []
        while self.rest and self.rest[0] not in "|)":
            item, last = self.item(), items[-1] if items else None
            if isinstance(item, Text) and isinstance(last, Text):
                items[-1] = Text(last.text + item.text)
            else:
                items.append(item)
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def item(self) -> Node:
        atom = self.atom()
        bounds = self.bounds()
        if bounds is None:
            return atom
        if self.bounds() is not None:
            raise self.error("one quantifier")
        return Repeat(atom, *bounds)

    def bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in QUANTIFIERS.items():
            if self.took(sign):
                return bounds
        match = _BOUNDS.match(self.pattern, self.place)
        if match is None:
            return None
        self.place = match.end()
        return int(match[1]), int(match[2] or match[1])

    def atom(self) -> Node:
        if self.took("("):
            if self.rest.startswith("?") and not self.took("?:"):
                raise self.error("a plain group")
            node = self.choice()
            if not self.took(")"):
                raise self.error("')'")
            return node
        if self.took("["):
            return self.chars()
        if self.rest[0] in ".^$?*+{":
            raise self.error("a character")
        return Text(self.char())

    def chars(self) -> Node:
        negated = self.took("^")
        ranges: list[tuple[str, str]] = []
        while not self.took("]"):
            low = self.char()
            is_range = self.rest[:1] == "-" and self.rest[1:2] != "]"
            ranges.append((low, self.char() if is_range and self.took("-") else low))
        return Chars(tuple(ranges), negated)

    def char(self) -> str:
        if not self.rest:
            raise self.error("a character")
        if self.rest[0] != "\\":
            self.place += 1
            return self.pattern[self.place - 1]
        match = _ESCAPE.match(self.pattern, self.place)
        if match is None:
            raise self.error(r"\n, \r, \t, \x and two digits, or an escaped sign")
        self.place = match.end()
        code, control, sign = match.groups()
        return chr(int(code, 16)) if code else _CONTROLS.get(control, sign)
