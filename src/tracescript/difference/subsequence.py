"""The longest common subsequence of two sequences of keys.

The algorithm is bit-parallel: a row of the table of dynamic programming is one integer, and a
row follows from the one before by an addition and a few logical operations. It is that of
Crochemore, Iliopoulos, Pinzon and Reid, "A fast and practical bit-vector algorithm for the
longest common subsequence problem" (2001), in the form of Hyyro, "Bit-parallel LCS-length
computation revisited" (2004).

A table that is too large is not made. Then keys that both sequences have once are matched,
as in Bram Cohen's patience diff: the longest run of them that ascends in both, which takes
time n log n (Fredman, "On computing the length of longest increasing subsequences", 1975).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence

from tracescript.difference.parts import Pair

__all__ = ["MAX_TABLE", "common_subsequence"]

MAX_TABLE = 1 << 28
"""A table may have this many bits: 32 MiB, for two sequences of 16,384 keys."""


def common_subsequence(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Match two sequences: positions in both that ascend, with equal keys.

    Law: there is no longer list of such pairs, unless the table would be too large.

    >>> common_subsequence("GATTACA", "TACTA")
    [(2, 0), (4, 1), (5, 2), (6, 4)]
    """
    start, end = 0, min(len(a), len(b))
    while start < end and a[start] == b[start]:
        start += 1
    tail = 0
    while tail < end - start and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    ends = len(a) - tail, len(b) - tail
    # What only one of them has is in no pair.
    common = set(a[start : ends[0]]).intersection(b[start : ends[1]])
    lefts = [i for i in range(start, ends[0]) if a[i] in common]
    rights = [j for j in range(start, ends[1]) if b[j] in common]
    small = len(lefts) * len(rights) <= MAX_TABLE
    found = (_longest if small else _patient)([a[i] for i in lefts], [b[j] for j in rights])
    return [
        *((both, both) for both in range(start)),
        *((lefts[i], rights[j]) for i, j in found),
        *zip(range(ends[0], len(a)), range(ends[1], len(b)), strict=True),
    ]


def _longest(a: list[Hashable], b: list[Hashable]) -> list[Pair]:
    places: dict[Hashable, int] = {}
    for position, key in enumerate(a):
        places[key] = places.get(key, 0) | 1 << position
    full = (1 << len(a)) - 1
    # Bit i of a row is 0 where the subsequence grows if `a` goes on from i to i + 1.
    row = full
    rows = [row]
    for key in b:
        found = row & places[key]
        row = (row + found | row - found) & full
        rows.append(row)
    return _walk_back(rows, len(a))


def _walk_back(rows: list[int], i: int) -> list[Pair]:
    found: list[Pair] = []
    j = len(rows) - 1
    while i and j:
        if rows[j] >> i - 1 & 1:
            i -= 1
        elif not rows[j - 1] >> i - 1 & 1:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((i, j))
    return found[::-1]


def _patient(a: list[Hashable], b: list[Hashable]) -> list[Pair]:
    once = {key for key, count in Counter(a).items() if count == 1}
    once &= {key for key, count in Counter(b).items() if count == 1}
    places = {key: j for j, key in enumerate(b) if key in once}
    pairs = [(i, places[key]) for i, key in enumerate(a) if key in once]
    ends: list[int] = []  # the least last `b` of an ascending run of each length
    last: list[int] = []  # the pair that it belongs to
    before: list[int] = []  # for each pair the one before it in its run
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        last[length : length + 1] = [number]
    run: list[Pair] = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]
