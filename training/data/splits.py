"""Which workloads are kept from training: a choice by family and shape that never changes.

A hash of the family and the shape decides, so a longer list of workloads moves none of them. The
types of the numbers are no part of the shape: float16 of what is held out is held out too.
"""

from __future__ import annotations

import hashlib
import json

from training.workloads.families import Arguments

HARD = frozenset({"conv2d_transpose", "conv2d_transpose_nhwc", "group_norm", "history_attention"})
"""Families that no training set has: a convolution, a norm, an attention of recommenders."""

CONSTRUCT = 102
"""Held-out tasks to write a schedule for."""

REFINE = 170
"""Held-out prompts with a schedule to make faster."""

CONSTRUCT_SHARE, REFINE_SHARE = 0.042, 0.068
"""Shares of the shapes; somewhat more than is needed, and what is left over is in no set."""

DTYPES = frozenset({"float16", "float32", "float64", "int8", "uint8", "int32", "uint32"})


def shape(arguments: Arguments) -> Arguments:
    """Return the arguments without the types of the numbers.

    >>> shape((128, 64, "NT", "float16 float32", "dense", "add relu", "float32"))
    (128, 64, 'NT', 'dense', 'add relu')
    """
    return tuple(each for each in arguments if not _is_dtype(each))


def split_of(family: str, arguments: Arguments) -> str:
    """Return `hard`, `construct`, `refine` or `train`.

    >>> split_of("group_norm", (1, 32, 7, 8, ""))
    'hard'
    """
    if family in HARD:
        return "hard"
    name = json.dumps([family, shape(arguments)])
    part = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
    if part < CONSTRUCT_SHARE:
        return "construct"
    return "refine" if part < CONSTRUCT_SHARE + REFINE_SHARE else "train"


def _is_dtype(value: object) -> bool:
    return isinstance(value, str) and bool(value) and DTYPES.issuperset(value.split())
