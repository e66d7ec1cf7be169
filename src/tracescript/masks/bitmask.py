"""Sets of tokens as rows of bits, in the layout that llguidance and xgrammar use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bitmask", "bitmask", "tokens_in", "union", "without"]

Bitmask: TypeAlias = NDArray[np.int32]
"""Bit `i % 32` of word `i // 32`, counted from the lowest, is token i."""


def bitmask(tokens: Sequence[int] | NDArray[np.intp], size: int) -> Bitmask:
    """The set of some tokens of a vocabulary of that size.

    >>> bitmask([0, 2, 33], 40).tolist()
    [5, 2]
    """
    flags = np.zeros(-(-size // 32) * 32, dtype=np.bool_)
    flags[np.asarray(tokens, dtype=np.intp)] = True
    packed = np.packbits(flags, bitorder="little")
    return np.frombuffer(packed.tobytes(), dtype="<i4").astype(np.int32)


def tokens_in(mask: Bitmask) -> NDArray[np.int32]:
    """The tokens of a set, in ascending order.

    >>> tokens_in(bitmask([33, 2], 40)).tolist()
    [2, 33]
    """
    octets = np.frombuffer(mask.astype("<i4").tobytes(), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(octets, bitorder="little")).astype(np.int32)


def union(masks: Sequence[Bitmask]) -> Bitmask | None:
    """The tokens that are in any of the sets; None for no sets."""
    if not masks:
        return None
    result: Bitmask = np.array(masks[0])
    for mask in masks[1:]:
        result |= mask
    return result


def without(mask: Bitmask, refused: Bitmask | None) -> Bitmask:
    """The tokens of a set that are not in the other; None is the empty set."""
    return mask if refused is None else mask & ~refused
