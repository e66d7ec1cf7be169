"""What may come next inside a string, byte by byte: escapes and UTF-8.

A state is a short text: empty in the middle of the string, a backslash and what follows
it inside an escape, and the bytes so far, as Latin-1, inside a character of several bytes.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["CLOSED", "read_string", "rest_of_string"]

CLOSED = "closed"
"""The state after the closing quote."""

_ESCAPE_PREFIX = re.compile(r"\\(?:u(?:\{(?:[0-9a-f]{0,5}|10[0-9a-f]{4})?)?)?")
_ESCAPE = re.compile(r'\\(?:["\\nrt]|u\{(?:10|[0-9a-f])?[0-9a-f]{1,4}\})')
_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f-\xff]+')


@lru_cache(maxsize=1 << 16)
def read_string(state: str, data: bytes) -> str | None:
    """The state after some bytes; None if they cannot stand there.

    Bytes after the closing quote cannot.
    """
    for char in data.decode("latin-1"):
        after = _read(state, char)
        if after is None:
            return None
        state = after
    return state


def _read(state: str, char: str) -> str | None:
    if state == CLOSED:
        return None
    if state == "":
        return _begin(char)
    text = state + char
    if state[0] == "\\":
        if _ESCAPE.fullmatch(text):
            return ""
        return _shorten(text) if _ESCAPE_PREFIX.fullmatch(text) else None
    return _read_utf8(text)


def _shorten(escape: str) -> str:
    """One state for all escapes that go on alike: only a leading 10 makes a difference."""
    digits = escape[3:]
    if len(digits) < 2 and digits in ("", "1"):
        return escape
    return (
        escape[:3] + ("10" if digits[:2] == "10" else "22")[: len(digits)] + "0" * (len(digits) - 2)
    )


def _begin(char: str) -> str | None:
    if char == '"':
        return CLOSED
    if char == "\\" or "\xc2" <= char <= "\xf4":
        return char
    return "" if _PLAIN.fullmatch(char) else None


def _read_utf8(text: str) -> str | None:
    """The state inside a character of several bytes.

    The second byte excludes long forms, surrogates, and what is past the last code point
    (table 3-7 of the Unicode Standard).
    """
    low, high = _SECOND.get(text[0], ("\x80", "\xbf")) if len(text) == 2 else ("\x80", "\xbf")
    if not low <= text[-1] <= high:
        return None
    if len(text) == _length(text[0]):
        return ""
    return text[0] + "\x80" * (len(text) - 1)


_SECOND = {
    "\xe0": ("\xa0", "\xbf"),
    "\xed": ("\x80", "\x9f"),
    "\xf0": ("\x90", "\xbf"),
    "\xf4": ("\x80", "\x8f"),
}


def _length(first: str) -> int:
    return 2 if first < "\xe0" else 3 if first < "\xf0" else 4


def rest_of_string(state: str) -> bytes:
    """The shortest way from a state to the end of the string, the quote included.

    Law: `read_string(state, rest_of_string(state)) == CLOSED`.
    """
    if state == "":
        return b'"'
    if state[0] != "\\":
        low = _SECOND.get(state, ("\x80", ""))[0] if len(state) == 1 else "\x80"
        missing = _length(state[0]) - len(state) - 1
        return (low + "\x80" * missing).encode("latin-1") + b'"'
    return _ESCAPE_REST[min(len(state), 3)] + b'"' if len(state) < 4 else b'}"'


_ESCAPE_REST = {1: b"n", 2: b"{0}", 3: b"0}"}
