"""What a script is worth: nothing unless its kernel is right, then more the faster it is.

Law: any kernel that was measured, however slow, is worth more than any that was not. All functions
are pure; `training.rl` and the report use them.
"""

from __future__ import annotations

import math

from training.evaluate.results import STAGES, Result

__all__ = ["BASE", "OCTAVES", "WEIGHT", "reward", "reward_unmeasured", "speed"]

BASE = 1.0
"""Of a kernel that is right and as fast as the reference."""

WEIGHT = 0.25
"""Of each doubling of the speed."""

OCTAVES = 3.0
"""Beyond so many doublings or halvings, more speed changes nothing."""


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


def reward_unmeasured(result: Result, _reference: float = math.nan) -> float:
    """The reward of a script where nothing is measured: whether the post-processors accept it.

    Takes what `reward` takes, so that either can stand for the other.

    Args:
        result: what became of it.

    Returns:
        0 or `BASE`.
    """
    return BASE * (STAGES.index(result.stage) >= STAGES.index("passes"))


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
