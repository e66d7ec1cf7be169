"""The spelling of words: what each looks like, and strings and numbers in both directions.

Laws: `unquote(quote(s)) == s` for every `str`, `parse_int(format_int(n)) == n`
for every `int`, and `parse_float(format_float(x))` is `x` for every `float`.
"""

from __future__ import annotations

import decimal
import math
import re

__all__ = [
    "STRING_START",
    "format_float",
    "format_int",
    "is_float",
    "is_int",
    "is_name",
    "is_reference",
    "is_string",
    "match_run",
    "match_string",
    "parse_float",
    "parse_int",
    "quote",
    "unquote",
]

# Escaped: what a line cannot hold (controls, line separators), what UTF-8 cannot
# hold (lone surrogates), and what could make a line look different from what it
# is (directional marks). The set is fixed, so that canonical text does not
# depend on the Unicode tables of one Python version.
_SPECIAL = re.compile(
    '["\\\\\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]'
)
STRING_START = (
    r'"[^"\\\x00-\x1f\x7f]*'
    r'(?:\\(?:["\\nrt]|u\{(?:10|[0-9a-f])?[0-9a-f]{1,4}\})[^"\\\x00-\x1f\x7f]*)*'
)
"""A regular expression for a STRING of the grammar up to its end, or to what is bad in it."""

_STRING = re.compile(STRING_START + '"')
_ESCAPE = re.compile(r'\\(?:(["\\nrt])|u\{([0-9a-f]+)\})')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LONG = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}

# Python converts decimal text of at most this many digits without complaint.
_DIRECT_DIGITS = 4000
_DIRECT_BITS = 13_000


def quote(text: str) -> str:
    r"""Write a string: in double quotes, on one line, in characters that UTF-8 can hold.

    >>> print(quote('say "hi"'), quote("a\nb"), quote("\ud800"))
    "say \"hi\"" "a\nb" "\u{d800}"
    """
    return '"' + _SPECIAL.sub(_escape, text) + '"'


is_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
"""Whether a whole text is one NAME of the grammar."""

is_reference = re.compile(r"[blv]-[1-9][0-9]*").fullmatch
"""Whether a whole text is one REF of the grammar."""

match_run = re.compile(r"[blv](?:[1-9][0-9]+|[2-9])?").match
"""Match a RUN of the grammar at a position of a text: `match_run(text, position)`."""

is_int = re.compile(r"0|-?[1-9][0-9]*").fullmatch
"""Whether a whole text is one INT of the grammar."""

is_float = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:e[+-]?[0-9]+)?|e[+-]?[0-9]+)|-?inf|nan"
).fullmatch
"""Whether a whole text is one FLOAT of the grammar."""

match_string = _STRING.match
"""Match a STRING of the grammar at a position of a text: `match_string(text, position)`."""

is_string = _STRING.fullmatch
"""Whether a whole text is one STRING of the grammar."""


def unquote(token: str) -> str:
    """Read a STRING of the grammar; `unquote(quote(text)) == text`."""
    body = token[1:-1]
    return _ESCAPE.sub(_unescape, body) if "\\" in body else body


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return _SHORT.get(char) or f"\\u{{{ord(char):x}}}"


def _unescape(match: re.Match[str]) -> str:
    return _LONG[match[1]] if match[1] else chr(int(match[2], 16))


format_float = float.__repr__
"""Write the shortest decimal that reads back as the same double: `0.2`, `1e-05`, `-inf`."""


def parse_float(token: str) -> float:
    """Read a FLOAT of the grammar.

    Raises:
        ValueError: the decimal is beyond the range of a double.
    """
    number = float(token)
    if math.isinf(number) and "inf" not in token:
        raise ValueError("this number is beyond the range of a double; infinity is inf or -inf")
    return number


def format_int(number: int) -> str:
    """Write an integer of any size, in nearly linear time.

    >>> format_int(-7)
    '-7'
    """
    if number.bit_length() <= _DIRECT_BITS:
        return str(number)
    # Python refuses, and takes quadratic time, where decimal's arithmetic does not.
    with decimal.localcontext() as context:
        context.prec = decimal.MAX_PREC
        context.Emax = decimal.MAX_EMAX
        context.Emin = decimal.MIN_EMIN
        context.traps[decimal.Inexact] = True
        digits = format(_to_decimal(abs(number)), "f")
    return "-" + digits if number < 0 else digits


def _to_decimal(number: int) -> decimal.Decimal:
    bits = number.bit_length()
    if bits <= _DIRECT_BITS:
        return decimal.Decimal(number)
    half = bits // 2
    high, low = number >> half, number & ((1 << half) - 1)
    return _to_decimal(high) * decimal.Decimal(2) ** half + _to_decimal(low)


def parse_int(token: str) -> int:
    """Read an INT of the grammar, of any length."""
    if len(token) <= _DIRECT_DIGITS:
        return int(token)
    if token[0] == "-":
        return -parse_int(token[1:])
    half = len(token) // 2
    high, low = parse_int(token[:half]), parse_int(token[half:])
    return high * 10 ** (len(token) - half) + low
