"""The numbers of the report, as pure functions of what was measured.

Attempts are independent samples; what is said of k of them is unbiased over all choices of k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import msgspec

__all__ = [
    "Share",
    "Wins",
    "best_of",
    "fast_share",
    "geometric_mean",
    "share",
    "solved_within",
    "wins",
]


class Share(msgspec.Struct, frozen=True):
    """A share of attempts, with its confidence interval."""

    count: int
    of: int
    rate: float
    low: float
    high: float


class Wins(msgspec.Struct, frozen=True):
    """How often one is faster than another, workload by workload."""

    wins: int
    losses: int
    ties: int
    """Neither has a kernel, or they differ by less than the threshold."""


def share(count: int, of: int, confidence: float = 0.95) -> Share:
    """A share and its interval after Wilson (1927), which holds for shares near 1 too.

    >>> found = share(95, 100)
    >>> round(found.low, 4), round(found.high, 4)
    (0.8882, 0.9785)

    Raises:
        ValueError: there is nothing to have a share of, or the count is no part of it.
    """
    if not 0 <= count <= of or not of:
        raise ValueError(f"expected a count of 1 or more, and a part of it, found {count} of {of}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, weight = count / of, z * z / of
    middle = (rate + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(rate * (1 - rate) / of + weight / (4 * of))
    low = 0.0 if count == 0 else max(0.0, middle - half)
    high = 1.0 if count == of else min(1.0, middle + half)
    return Share(count, of, rate, low, high)


def solved_within(right: Sequence[bool], k: int) -> float:
    """The chance that some of k attempts, drawn from these, is right.

    The estimator of Chen et al. (arXiv:2107.03374).

    >>> solved_within([True, False, False, False], 2)
    0.5

    Raises:
        ValueError: there are fewer attempts than k.
    """
    _require(k, len(right))
    wrong = len(right) - sum(right)
    return 1.0 - math.comb(wrong, k) / math.comb(len(right), k)


def best_of(seconds: Sequence[float | None], k: int) -> float | None:
    """The geometric mean, over all choices of k attempts, of the fastest one's time.

    Choices of which none is right do not count: `solved_within` tells how many those are.

    >>> best_of([1.0, 4.0], 1), best_of([4.0, 1.0], 2), best_of([None, None], 1)
    (2.0, 1.0, None)

    Args:
        seconds: the times of attempts, None for one that was wrong.
        k: how many are drawn.

    Raises:
        ValueError: there are fewer attempts than k.
    """
    _require(k, len(seconds))
    right = sorted(each for each in seconds if each is not None)
    wrong = len(seconds) - len(right)
    # The one at this place is the fastest of those choices whose others are slower or wrong.
    weights = [math.comb(len(right) - place - 1 + wrong, k - 1) for place in range(len(right))]
    total = sum(weights)
    if not total:
        return None
    logs = sum(weight * math.log(each) for weight, each in zip(weights, right, strict=True))
    return math.exp(logs / total)


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean.

    Raises:
        ValueError: there are no ratios, or one is not positive.
    """
    if not ratios or min(ratios) <= 0:
        raise ValueError("expected positive ratios, at least one")
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def fast_share(speedups: Sequence[float | None], p: float) -> float:
    """The share of workloads that are right and more than p times as fast as the baseline.

    The measure fast_p of KernelBench (arXiv:2502.10517).

    >>> fast_share([0.5, 1.5, None, 3.0], 1.0)
    0.5
    """
    return sum(each is not None and each > p for each in speedups) / len(speedups)


def wins(
    ours: Mapping[str, float | None], theirs: Mapping[str, float | None], least: float = 1.0
) -> Wins:
    """Who is faster, on the workloads of the first.

    Args:
        ours: seconds by workload, None where there is no right kernel.
        theirs: those to compare with.
        least: the factor that makes a win or a loss; 1 counts every difference.
    """
    won = lost = 0
    for key, mine in ours.items():
        other = theirs.get(key)
        ratio = (other or math.inf) / mine if mine else (0.0 if other else 1.0)
        won += ratio > least
        lost += ratio * least < 1
    return Wins(won, lost, len(ours) - won - lost)


def _require(k: int, count: int) -> None:
    if not 1 <= k <= count:
        raise ValueError(f"k: expected a number from 1 to {count}, found {k}")
