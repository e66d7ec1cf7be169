"""A bounded memo for pure functions of short texts, as cheap to ask as a dict."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["Memo"]

T = TypeVar("T")

_ENTRIES = 4096


class Memo(dict[str, T]):
    """`memo[text] == function(text)`, for the texts that come again and again.

    A log says the same few hundred things over and over, and looking one up is several
    times faster than reading it again. At most 4096 texts of at most `longest` characters
    are remembered; when they are that many, all are forgotten. What the function raises is
    not remembered, nor is what it makes of a text with a `{`: that may be a dict, which
    could be changed, and all callers share what is remembered.
    """

    def __init__(self, function: Callable[[str], T], longest: int = 64) -> None:
        super().__init__()
        self._function = function
        self._longest = longest

    def __missing__(self, text: str) -> T:
        value = self._function(text)
        if len(text) <= self._longest and "{" not in text:
            if len(self) >= _ENTRIES:
                self.clear()
            self[text] = value
        return value
