"""The words of a whole line, as far as the scope of a mask needs them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tracescript.literals import unquote

__all__ = ["Words", "defines", "first_distance", "read"]


class Words(NamedTuple):
    """A line, read loosely: it is known to fit the grammar.

    Attributes:
        inputs: the words of the inputs.
        attrs: those of the attributes.
        letter: that of its outputs, empty if there are none.
        outputs: how many outputs there are.
        decision: the text between the brackets of a decision that is a list; None for another.
    """

    inputs: tuple[str, ...]
    attrs: tuple[str, ...]
    letter: str
    outputs: int
    decision: str | None

    @property
    def name(self) -> str | None:
        """The first attribute, if it is a string."""
        return unquote(self.attrs[0]) if self.attrs and self.attrs[0][0] == '"' else None

    def distances(self, letter: str) -> list[int]:
        """How far back the references of this letter among the inputs are, those in lists not."""
        return [int(word[2:]) for word in self.inputs if word[:2] == f"{letter}-"]


def read(line: str) -> Words:
    """The words of a whole line without its end."""
    return _read_again(line) if len(line) <= _LONGEST else _read(line)


def _read(line: str) -> Words:
    inputs: list[str] = []
    attrs: list[str] = []
    words = inputs
    found = _WORD.findall(line)
    for place, word in enumerate(found[1:], 1):
        if word == "->":
            return Words(tuple(inputs), tuple(attrs), *_outputs(found[place + 1 :]))
        if word == "|":
            words = attrs
        else:
            words.append(word)
    return Words(tuple(inputs), tuple(attrs), "", 0, None)


def _outputs(words: list[str]) -> tuple[str, int, str | None]:
    run = next((word for word in words if word[0] in "blv"), None)
    last = words[-1]
    decision = last[1:-1] if words[-2:-1] == ["="] and last[0] == "[" else None
    return ("", 0, None) if run is None else (run[0], int(run[1:] or 1), decision)


_LONGEST = 1 << 14
"""Characters of a line that is kept; that of an index map has some thousands."""

_read_again = lru_cache(1 << 12)(_read)
"""The scripts for a workload have many lines in common."""


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
