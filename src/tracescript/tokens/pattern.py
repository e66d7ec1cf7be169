"""One regular expression for the longest of many texts, with guards at words.

Law: at each place the expression matches the longest of the texts that stands there and
respects its guards, or nothing. Python's `re` (on `str` and on `bytes`) and Oniguruma, the
engine of Hugging Face tokenizers, read it alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import ascii_letters, digits
from typing import Any

__all__ = ["WORD", "Entry", "trie_pattern"]

WORD = frozenset(ascii_letters + digits + "_.+-")
"""Two of these characters next to each other belong to one word."""

Entry = tuple[str, bool, bool]
"""A text; whether a word character must not stand before it; the same after it."""

_CLASS = r"[A-Za-z0-9_.+\-]"
_BEFORE = f"(?<!{_CLASS})"
_AFTER = f"(?!{_CLASS})"

# From character to node; under "" what to match where a text ends.
_Node = dict[str, Any]


def trie_pattern(entries: Iterable[Entry]) -> str:
    r"""The expression for some texts, each of ASCII characters and not empty.

    >>> trie_pattern([("ab", False, False), ("abc", False, True)])
    '(?:ab(?:c(?![A-Za-z0-9_.+\\-])|))'
    """
    free: _Node = {}
    word: _Node = {}
    anywhere: _Node = {}
    for text, before, after in entries:
        end = _AFTER if after else ""
        if text[0] not in WORD:
            _insert(anywhere, text, end)
            continue
        # After a word character, only those that may stand there.
        _insert(word, text, end)
        if not before:
            _insert(free, text, end)
    groups = [("", anywhere), (_BEFORE, word), ("", free)]
    if word == free:
        del groups[1]
    return "|".join([guard + _alternatives(node) for guard, node in groups if node])


def _insert(node: _Node, text: str, end: str) -> None:
    for char in text:
        node = node.setdefault(char, {})
    node[""] = end


def _alternatives(node: _Node) -> str:
    """A group for all ways on from a node, longer ones first."""
    ways = [_way(char, child) for char, child in node.items() if char]
    if "" in node:
        ways.append(node[""])
    return "(?:" + "|".join(ways) + ")"


def _way(char: str, node: _Node) -> str:
    """A character and all that may follow it, without a group where there is one way only."""
    text = char
    while len(node) == 1 and "" not in node:
        ((char, node),) = node.items()
        text += char
    escaped = "".join(_escape(char) for char in text)
    if list(node) == [""]:
        return escaped + node[""]
    return escaped + _alternatives(node)


def _escape(char: str) -> str:
    """Spell a character so that every engine reads it alike."""
    if char == "\n":
        return "\\n"
    return re.escape(char) if char != " " else char
