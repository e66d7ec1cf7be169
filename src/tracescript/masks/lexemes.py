"""The words of a script: what one symbol, or a run of bytes that spells a word, says.

A word that follows a blank is written with it, as symbols are: ` l-3` and `l-3` are two
words, one spaced and one bare.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Literal, TypeAlias

import msgspec

from tracescript.literals import is_float, is_int, is_name, is_reference, match_run

__all__ = [
    "ANY_INT",
    "MOST_OUTPUTS",
    "IntDomain",
    "Lexeme",
    "LexemeType",
    "Want",
    "lexeme",
    "run_of",
]

LexemeType: TypeAlias = Literal[
    "header", "kind", "mark", "open", "ref", "run", "int", "float", "word", "string"
]


MOST_OUTPUTS = 999
"""More than `GetLoops` gives; the bound keeps a script below `MAX_OUTPUTS` for 1,000 lines."""


class Lexeme(msgspec.Struct, frozen=True):
    """One word.

    Attributes:
        type: `mark` is punctuation, `open` the beginning of a string, list or dict, `word`
            one of true, false, null, @null, inf, -inf and nan.
        spaced: whether a blank is part of it.
        text: the kind, the mark, the letter of a reference or run, or the string between
            its quotes as it is written.
        number: the distance of a reference, the length of a run, or the integer.
    """

    type: LexemeType
    spaced: bool
    text: str = ""
    number: int = 0

    def is_mark(self, text: str) -> bool:
        """Whether it is this punctuation."""
        return self.type == "mark" and self.text == text


def run_of(letter: str, length: int) -> str:
    """The word of a run, spaced.

    >>> run_of("l", 1), run_of("l", 12)
    (' l', ' l12')
    """
    return f" {letter}" if length == 1 else f" {letter}{length}"


_MARKS = frozenset({"\n", " |", " ->", " =", "]", "}", ": "})
_OPEN = frozenset({'"', '@"', "[", "{"})
_WORDS = ("true", "false", "null", "@null", "inf", "-inf", "nan")


def lexeme(text: str) -> Lexeme | None:
    """Read one whole word; None if the text is not one.

    >>> lexeme(" l-12")
    Lexeme(type='ref', spaced=True, text='l', number=12)
    """
    if text in _MARKS:
        return Lexeme("mark", False, text)
    if text.startswith("tracescript "):
        return Lexeme("header", False, text)
    spaced = text[:1] == " "
    return _word(text[spaced:], spaced)


def _word(text: str, spaced: bool) -> Lexeme | None:
    if text in _OPEN:
        return Lexeme("open", spaced, text)
    if text in _WORDS:
        return Lexeme("word", spaced, text)
    if text[:1] == '"' and text[-1] == '"' and len(text) > 1:
        return Lexeme("string", spaced, text[1:-1])
    if is_int(text):
        return Lexeme("int", spaced, "", int(text))
    if _is_readable(text):
        return Lexeme("float", spaced, text)
    if is_reference(text):
        return Lexeme("ref", spaced, text[0], int(text[2:]))
    run = match_run(text) if spaced else None
    if run is not None and run.end() == len(text):
        return Lexeme("run", spaced, text[0], int(text[1:] or 1))
    return Lexeme("kind", spaced, text) if is_name(text) and not spaced else None


class IntDomain(msgspec.Struct, frozen=True):
    """The integers that may stand somewhere.

    Attributes:
        low: the least; None if there is none.
        high: the greatest; None if there is none.
        multiple: all are multiples of this.
        values: if given, all of them; the rest then says nothing.
    """

    low: int | None = None
    high: int | None = None
    multiple: int = 1
    values: frozenset[int] | None = None

    def __contains__(self, number: int) -> bool:
        if self.values is not None:
            return number in self.values
        return (
            (self.low is None or number >= self.low)
            and (self.high is None or number <= self.high)
            and number % self.multiple == 0
        )

    def least(self) -> int:
        """The member that is nearest to zero from above; of given values the least.

        The domain must have one.
        """
        if self.values is not None:
            return min(self.values)
        low = max(self.low or 0, 0)
        return low + -low % self.multiple


ANY_INT = IntDomain()


class Want(msgspec.Struct, frozen=True):
    """Words that may stand at a place and that bytes can spell.

    Attributes:
        type: what they are.
        spaced: whether a blank is part of them.
        text: the letter of references and runs, or the word itself.
        domain: the integers, or the numbers of references and runs.
    """

    type: LexemeType
    spaced: bool
    text: str = ""
    domain: IntDomain = ANY_INT

    def completion(self, prefix: str, symbols: Collection[str]) -> str | None:
        """A short word that begins like this and is no symbol, so that only bytes can spell it.

        Law: if there is such a word at all, one is found.
        """
        blank = " " if self.spaced else ""
        if blank.startswith(prefix):
            return self._find(blank, "", symbols)
        return (
            self._find(blank, prefix[len(blank) :], symbols)
            if prefix[: len(blank)] == blank
            else None
        )

    def _find(self, blank: str, body: str, symbols: Collection[str]) -> str | None:
        if self.type == "int":
            return self._number(blank, body, symbols)
        if self.type == "float":
            candidates = [body + tail for tail in _FLOAT_TAILS]
            return _first(blank, filter(_is_readable, candidates), symbols)
        if self.type == "word":
            return _first(blank, [self.text] if self.text.startswith(body) else [], symbols)
        stem = self.text + ("-" if self.type == "ref" else "")
        if stem.startswith(body):
            return self._number(blank + stem, "", symbols)
        return (
            self._number(blank + stem, body[len(stem) :], symbols)
            if body.startswith(stem)
            else None
        )

    def _number(self, stem: str, digits: str, symbols: Collection[str]) -> str | None:
        numbers = _numbers(digits, self.domain)
        if self.type == "run":
            # A run of one is written without its length.
            numbers = (number for number in numbers if number != "1")
        return _first(stem, numbers, symbols)


_FLOAT_TAILS = (
    "",
    "0",
    "5",
    "7",
    "75",
    ".5",
    ".0",
    ".75",
    "0.5",
    "0.75",
    "1.75",
    "e-07",
    "07",
    "1.5e-07",
)
_DIGITS_SO_FAR = re.compile(r"0|-?(?:[1-9][0-9]*)?")
_DIGITS = 25
"""An integer of more digits is not offered, so that a number comes to an end."""

_TRIED = 2000
"""More numbers in a row than there are integers in the vocabulary."""


def _is_readable(text: str) -> bool:
    """Whether a text is a float, and within the range of a double."""
    return is_float(text) is not None and math.isfinite(float(text))


def _first(stem: str, texts: Iterable[str], symbols: Collection[str]) -> str | None:
    return next((stem + text for text in texts if stem + text not in symbols), None)


def _numbers(digits: str, domain: IntDomain) -> Iterator[str]:
    """Numbers of a domain whose decimal begins with these digits, small ones first."""
    if not _DIGITS_SO_FAR.fullmatch(digits):
        return iter(())
    if domain.values is not None:
        texts = map(str, sorted(domain.values))
        return (text for text in texts if text.startswith(digits))
    return (str(n) for numbers in _ranges(digits) for n in _members(numbers, domain))


def _ranges(digits: str) -> Iterator[range]:
    """The numbers that begin with the digits, those with the fewest digits first."""
    if digits in ("", "0"):
        yield range(1)
    if digits == "0":
        return
    # Without digits there are all that begin with 1 to 9.
    sign, body = (-1, digits[1:]) if digits[:1] == "-" else (1, digits)
    first, last = (int(body), int(body) + 1) if body else (1, 10)
    for more in range(_DIGITS - len(digits)):
        low, high = first * 10**more, last * 10**more
        yield range(low, high) if sign > 0 else range(1 - high, 1 - low)


def _members(numbers: range, domain: IntDomain) -> Iterable[int]:
    start, stop = numbers.start, numbers.stop
    if domain.low is not None:
        start = max(start, domain.low)
    if domain.high is not None:
        stop = min(stop, domain.high + 1)
    start += -start % domain.multiple
    return islice(range(start, stop, domain.multiple), _TRIED)
