"""What a script is worth: nothing unless its kernel is right, then more the faster it is.

Law: any kernel that was measured, however slow, is worth more than any that was not. All functions
are pure; `training.rl` and the report use them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from training.evaluate.results import Result

__all__ = ["BASE", "OCTAVES", "WEIGHT", "once", "reward", "speed"]

BASE = 1.0
"""Of a kernel that is right and as fast as the reference."""

WEIGHT = 0.25
"""Of each doubling of the speed."""

OCTAVES = 3.0
"""Beyond so many doublings or halvings, more speed changes nothing."""

Job = TypeVar("Job", bound=Hashable)
Answer = TypeVar("Answer")


def reward(result: Result, reference: float) -> float:
    """The reward of a script.

    Args:
        result: what became of it.
        reference: seconds to compare with: for a constructed script those of the workload's
            reference, for a refined one those of the script that was given.

    Returns:
        0, or from `BASE - OCTAVES * WEIGHT` to `BASE + OCTAVES * WEIGHT`.

    Raises:
        ValueError: the reference is not a positive time.
    """
    if result.stage != "measured" or result.latency is None:
        return 0.0
    return BASE + WEIGHT * speed(result.latency.median, reference)


def speed(seconds: float, reference: float) -> float:
    """How many times a kernel is twice as fast as a reference, within `OCTAVES` either way.

    >>> speed(0.5, 2.0), speed(3.0, 3.0), speed(9.0, 0.001)
    (2.0, 0.0, -3.0)
    """
    if not 0 < reference < math.inf:
        raise ValueError(f"reference: expected a positive time, found {reference}")
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds: expected a positive time, found {seconds}")
    return max(-OCTAVES, min(OCTAVES, math.log2(reference / seconds)))


def once(jobs: Iterable[Job], answer: Callable[[list[Job]], Iterable[Answer]]) -> list[Answer]:
    """Answer jobs in their order, those that are equal once.

    >>> asked = []
    >>> def double(numbers):
    ...     asked.extend(numbers)
    ...     return [2 * number for number in numbers]
    >>> once([3, 1, 3], double), asked
    ([6, 2, 6], [3, 1])

    Args:
        jobs: some may be equal.
        answer: gives the answers to jobs that all differ, in their order.
    """
    all_jobs = list(jobs)
    different = list(dict.fromkeys(all_jobs))
    answers = dict(zip(different, answer(different), strict=True))
    return [answers[job] for job in all_jobs]
