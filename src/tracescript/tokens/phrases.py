"""Which texts may be phrases, and the file that holds them.

A phrase is two or more symbols that are one token. So that the longest match needs no context,
a text may be a phrase only if

- it is ASCII, of at most 1,000 characters, and not a symbol;
- it is **closed**: wherever it stands, its symbols are the same. ` | "` is not, because its
  blank and quote are one symbol with the rest of ` | "main"`;
- it **keeps decisions apart**: it neither holds nor can begin within a decision value, so that
  each integer of a decision is a token of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from tracescript.errors import TokenizerError
from tracescript.files.output import File, name_of, reading, writing
from tracescript.tokens.pattern import WORD
from tracescript.tokens.symbols import SYMBOL_COUNT, SYMBOLS, VOCABULARY_VERSION, split_symbols

__all__ = [
    "MAX_PHRASE",
    "MAX_VOCABULARY",
    "check_phrases",
    "fault_of",
    "read_phrases",
    "write_phrases",
]

MAX_VOCABULARY = 1 << 17
"""The most ids of a tokenizer."""

MAX_PHRASE = 1000
"""In characters; the tokens of llguidance end at 1,023 bytes."""

_MAX_FILE = 1 << 26
_FORMAT = "tracescript tokens"
_VERSION = 1

_EQUALS = split_symbols(b" =")
_AFTER_EQUALS: tuple[list[int], ...] = ([], split_symbols(b" ["))

# Where a phrase would take over the rest of a decision, or some of its integers.
_in_decision = re.compile(r" ?\[*[-0-9 ]*[0-9][-0-9 ]*(?:[\]\n]|\Z)").match


def check_phrases(texts: Sequence[str], place: str) -> tuple[tuple[int, ...], ...]:
    """Give the symbols of each phrase.

    Raises:
        TokenizerError: a text is no phrase, or there are too many; `place` says of what.
    """
    most = MAX_VOCABULARY - SYMBOL_COUNT
    if len(texts) > most:
        raise TokenizerError(place, f"at most {most} phrases", str(len(texts)))
    known: dict[str, int] = {}
    parts: list[tuple[int, ...]] = []
    for number, text in enumerate(texts):
        symbols: list[int] = []
        fault = fault_of(text, symbols)
        if fault is None and known.setdefault(text, number) != number:
            fault = f"a phrase that is not yet phrases[{known[text]}]"
        if fault is not None:
            raise TokenizerError(f"{place}[{number}]", fault, _shown(text))
        parts.append(tuple(symbols))
    return tuple(parts)


def fault_of(text: object, symbols: list[int]) -> str | None:
    """What a text would have to be to be a phrase; None if it can be one.

    Args:
        text: the text.
        symbols: an empty list that takes the symbols of the text.
    """
    if not isinstance(text, str) or not text.isascii():
        return "a text of ASCII characters"
    if len(text) > MAX_PHRASE:
        return f"at most {MAX_PHRASE} characters"
    parts = split_symbols(text.encode())
    if len(parts) < 2:
        return "a text of two symbols or more"
    if not _keeps_decisions_apart(text, parts):
        return "a text without a decision value"
    if not _is_closed(text, parts):
        return "a text that has the same symbols wherever it stands"
    symbols += parts
    return None


def _keeps_decisions_apart(text: str, parts: list[int]) -> bool:
    (equals,) = _EQUALS
    if equals in parts and parts[parts.index(equals) + 1 :] not in _AFTER_EQUALS:
        return False
    return not _in_decision(text)


def _is_closed(text: str, parts: list[int]) -> bool:
    """Whether no symbol can begin within the text and go on after it."""
    guarded = len(SYMBOLS[parts[-1]]) > 1 and text[-1] in WORD
    place = len(text)
    for symbol in reversed(parts):
        place -= len(SYMBOLS[symbol])
        if len(text) - place >= _LONGEST:
            break
        after_word = place > 0 and text[place - 1] in WORD
        for before, goes_on_as_word in _OPEN.get(text[place:], ()):
            if not (guarded and goes_on_as_word) and not (before and after_word):
                return False
    return True


def _open_starts() -> dict[str, set[tuple[bool, bool]]]:
    """The starts of symbols: is there a guard before them, does a word character come next."""
    starts: dict[str, set[tuple[bool, bool]]] = {}
    for symbol in SYMBOLS:
        text = symbol.decode("latin-1")
        for end in range(1, len(text)):
            ways = starts.setdefault(text[:end], set())
            ways.add((text[0] in WORD, text[end] in WORD))
    return starts


_OPEN = _open_starts()
_LONGEST = max(map(len, SYMBOLS))


def read_phrases(source: File) -> list[str]:
    """Read what `write_phrases` has written; the phrases themselves are not checked.

    Raises:
        TokenizerError: the file is no such file, or is one of another version.
    """
    name = name_of(source)
    with reading(source) as stream:
        data = stream.read(_MAX_FILE + 1)
    if len(data) > _MAX_FILE:
        raise TokenizerError(name, f"at most {_MAX_FILE} bytes", "more")
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise TokenizerError(name, "JSON", "something else") from None
    if not isinstance(value, dict):
        raise TokenizerError(name, "a JSON object", type(value).__name__)
    content = cast("dict[str, Any]", value)
    for key, expected in _head().items():
        found = content.get(key)
        if type(found) is not type(expected) or found != expected:
            raise TokenizerError(f"{name}: {key}", repr(expected), _shown(found))
    phrases: Any = content.get("phrases")
    if not isinstance(phrases, list):
        raise TokenizerError(f"{name}: phrases", "a list", _shown(phrases))
    return cast("list[str]", phrases)


def write_phrases(target: File, phrases: Sequence[str]) -> None:
    """Write a vocabulary, one phrase a line; all of the file or none."""
    text = json.dumps({**_head(), "phrases": list(phrases)}, indent=0)
    with writing(target) as stream:
        stream.write(text.encode() + b"\n")


def _head() -> dict[str, Any]:
    return {"format": _FORMAT, "version": _VERSION, "vocabulary": VOCABULARY_VERSION}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
