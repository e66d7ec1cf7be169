"""A bounded memo for pure functions of short texts, as cheap to ask as a dict."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["Memo"]

T = TypeVar("T")

_ENTRIES = 4096
_LENGTH = 64


class Memo(dict[str, T]):
    """`memo[text] == function(text)`; remembers at most 4096 texts of at most 64 characters.

    A log says the same few hundred things over and over, and looking one up is
    several times faster than reading it again. What the function raises is not
    remembered. The results must be immutable, since all callers share them.
    """

    def __init__(self, function: Callable[[str], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, text: str) -> T:
        value = self._function(text)
        if len(text) <= _LENGTH and len(self) < _ENTRIES:
            self[text] = value
        return value
