"""Which of some tried scripts is the best."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tracescript.proposals.trial import Trial

__all__ = ["Attempt", "best"]


class Attempt(msgspec.Struct, frozen=True):
    """A script that was tried.

    Attributes:
        trial: what became of it.
        logprob: that of its proposal; None if no model proposed it.
        count: how often it was drawn.
    """

    trial: Trial
    logprob: float | None = None
    count: int = 1


def best(attempts: Iterable[Attempt]) -> Attempt | None:
    """The fastest that is right; if none was measured, the likeliest of those that pass.

    None if there is neither. A script that was not proposed is less likely than any that was.

    >>> slow, fast = (Attempt(Trial(verdict="right", seconds=time), -1) for time in (2e-3, 1e-3))
    >>> best([slow, fast]) == fast
    True
    >>> best([Attempt(Trial(verdict="refused"), -1)])
    """
    found = list(attempts)
    timed = [(each.trial.seconds, place) for place, each in enumerate(found) if each.trial.seconds]
    if timed:
        return found[min(timed)[1]]
    passed = [each for each in found if each.trial.verdict == "not measured"]
    return max(passed, key=_likelihood, default=None)


def _likelihood(attempt: Attempt) -> float:
    return float("-inf") if attempt.logprob is None else attempt.logprob
