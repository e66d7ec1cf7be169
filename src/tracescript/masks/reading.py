"""The words of a whole line, as far as the scope of a mask needs them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tracescript.literals import unquote

__all__ = ["Words", "defines", "distance", "first_distance", "read"]


class Words(NamedTuple):
    """A line, read loosely: it is known to fit the grammar.

    Attributes:
        inputs: the words of the inputs.
        attrs: those of the attributes.
        letter: that of its outputs, empty if there are none.
        outputs: how many outputs there are.
        decision: the text between the brackets of a decision that is a list; None for another.
        name: the first attribute if it is a string, as it is meant; else None.
    """

    inputs: tuple[str, ...]
    attrs: tuple[str, ...]
    letter: str
    outputs: int
    decision: str | None
    name: str | None


def read(line: str) -> Words:
    """The words of a whole line without its end."""
    return _read_again(line) if len(line) <= _LONGEST else _read(line)


def _read(line: str) -> Words:
    parts: dict[str, list[str]] = {"": [], "|": [], "->": []}
    words = parts[""]
    for word in _WORD.findall(line)[1:]:
        if word in ("|", "->"):
            words = parts[word]
        else:
            words.append(word)
    inputs, attrs, outputs = map(tuple, parts.values())
    name = unquote(attrs[0]) if attrs and attrs[0][0] == '"' else None
    return Words(inputs, attrs, *_outputs(outputs), name)


def _outputs(words: tuple[str, ...]) -> tuple[str, int, str | None]:
    run = next((word for word in words if word[0] in "blv"), None)
    decision = words[-1][1:-1] if words[-2:-1] == ("=",) and words[-1][0] == "[" else None
    return ("", 0, None) if run is None else (run[0], int(run[1:] or 1), decision)


_LONGEST = 1 << 14
"""Characters of a line that is remembered; that of an index map has some thousands."""

_read_again = lru_cache(1 << 12)(_read)
"""The scripts for a workload have many lines in common."""


def distance(reference: str) -> int:
    """How far back a reference goes."""
    return int(reference[2:])


def defines(line: str) -> bool:
    """Whether a line, or the beginning of one, has come to its outputs."""
    return _OUTPUTS.search(line) is not None


def first_distance(line: str) -> int:
    """The distance of the first input of a line, which is a reference."""
    match = _DISTANCE.search(line)
    assert match is not None
    return int(match[1])


_STRING = r'@?"(?:[^"\\]|\\.)*"'
# A list has no list in it where its words matter, nor is a dict one of these.
_WORD = re.compile(rf"{_STRING}|\[(?:{_STRING}|[^]\"])*\]|[^ \"]+")
_OUTPUTS = re.compile(r' -> (?:@"_" )?[blv][0-9]*(?: = [^"]*)?$')
_DISTANCE = re.compile(r" [blv]-([0-9]+)")
