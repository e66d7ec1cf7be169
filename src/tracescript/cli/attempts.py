"""What the commands that try scripts say of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tracescript.proposals import Attempt, Trial

__all__ = ["listed", "summary"]


def listed(attempts: Sequence[Attempt]) -> Iterator[str]:
    """A line for each script: how likely it is, how often it was drawn, and its verdict."""
    width = max([len(each.trial.verdict) for each in attempts], default=0)
    for attempt in attempts:
        trial = attempt.trial
        if attempt.logprob is None:
            source = f"{'given':>15}"
        else:
            source = f"{attempt.logprob:>9.2f}  {attempt.count:>3}x"
        yield f"{source}  {trial.verdict:<{width}}  {_detail(trial)}".rstrip()


def summary(attempts: Sequence[Attempt], chosen: Attempt | None) -> str:
    """One sentence: which script is written, and why; the given one comes first, if there is one.

    Args:
        attempts: all that were tried.
        chosen: what `best` makes of them.
    """
    given = next((each for each in attempts if each.logprob is None), None)
    tried = [each for each in attempts if each is not given]
    counts = Counter(each.trial.verdict for each in tried)
    of = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    if chosen is None:
        return f"no script is right: {of}; --all says why"
    time = chosen.trial.seconds
    if time is None:
        reason = chosen.trial.reason
        why = f"not measured ({reason})" if reason else "not measured"
        what = "the given script, as no other passes" if chosen is given else "the likeliest script"
        return f"{what}; {why}: {of}"
    if chosen is given:
        return f"no script is faster than the given one, {_us(time)}: {of}"
    before = None if given is None else given.trial
    if before is None:
        return f"the fastest script, {_us(time)}: {of}"
    if before.seconds is None:
        return f"the fastest script, {_us(time)}: {of}; the given one is not right: {_said(before)}"
    ratio = before.seconds / time
    return f"{ratio:.2f} times as fast as the given script, {_us(time)}: {of}"


def _said(trial: Trial) -> str:
    return f"{trial.verdict}, {_detail(trial)}"


def _detail(trial: Trial) -> str:
    return trial.reason if trial.seconds is None else _us(trial.seconds)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us"
