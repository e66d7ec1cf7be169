"""The letters of buffers, iteration variables and shared parts, by their positions."""

from __future__ import annotations

__all__ = ["AXES", "BUFFERS", "SHARED", "letter", "position"]

BUFFERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
AXES = "ijklmnopqrstuvwxyz"
SHARED = "abcdefgh"


def letter(alphabet: str, position: int) -> str:
    """The letter at a position; those after the last one have a number.

    >>> [letter(BUFFERS, place) for place in (0, 25, 26)]
    ['A', 'Z', 'A1']
    """
    around, place = divmod(position, len(alphabet))
    return f"{alphabet[place]}{around or ''}"


def position(alphabet: str, letter: str) -> int:
    """The position of a letter; the other way round.

    >>> position(BUFFERS, "A1")
    26
    """
    return alphabet.index(letter[0]) + len(alphabet) * int(letter[1:] or "0")
