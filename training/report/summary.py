"""The numbers of the report, from what was judged: `summary.json` as a dictionary.

Names follow what was aimed at; every rate has its count beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import msgspec

from training.measures import (
    best_of,
    fast_share,
    geometric_mean,
    share,
    solved_within,
    wins,
)
from training.report.board import Board, Judged, Tasks, TaskSet

__all__ = ["TRIALS", "aims", "best", "bests", "fast_curve", "summary", "trial_bests"]

TRIALS = (1, 8, 64, 256)
"""Trials of MetaSchedule that the models are compared with."""

SPEEDS = (0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 4.0)
"""Where fast_p is told."""

Numbers = dict[str, Any]


def summary(board: Board, first: str, second: str) -> Numbers:
    """All numbers.

    Args:
        board: what was judged.
        first: the label of the model that the report is about.
        second: the label of the one that it began from.
    """
    return {
        "models": {label: _model(board, label) for label in board.attempts},
        "correctness": {label: _correctness(sets) for label, sets in board.attempts.items()},
        "best": {label: _best(sets) for label, sets in board.attempts.items()},
        "refine": {label: _refine(board, sets) for label, sets in board.attempts.items()},
        "faster": _faster(board, first, second),
        "metaschedule": {label: _metaschedule(board, sets)
                         for label, sets in board.attempts.items()},
        "others": {label: _others(board, sets) for label, sets in board.attempts.items()},
        "roofline": {label: _roofline(board, sets) for label, sets in board.attempts.items()},
    }  # fmt: skip


def best(attempts: Iterable[Judged]) -> float | None:
    """The seconds of the fastest right kernel; None if none is right.

    >>> best([Judged(2.0, 9), Judged(None, 9), Judged(1.5, 9)])
    1.5
    """
    return min((each.seconds for each in attempts if each.seconds is not None), default=None)


def bests(tasks: Tasks) -> dict[str, float | None]:
    """The fastest right kernel of each task."""
    return {key: best(attempts) for key, attempts in tasks.items()}


def trial_bests(board: Board, name: str, trials: int) -> dict[str, float | None]:
    """What a baseline's first trials reached, for the workloads of which that is known.

    None where no kernel is right, also if a search has ended without a single trial.
    """
    return {
        key: min((each for each in own.seconds[:trials] if each is not None), default=None)
        for key, own in board.baselines.get(name, {}).items()
        if own.include(trials)
    }


def fast_curve(
    ours: dict[str, float | None], theirs: dict[str, float | None], speeds: Sequence[float] = SPEEDS
) -> list[float]:
    """fast_p at some speeds, over the tasks of which the baseline has a kernel."""
    speedups = [
        None if seconds is None else other / seconds
        for key, seconds in ours.items()
        if (other := theirs.get(key))
    ]
    return [fast_share(speedups, p) for p in speeds] if speedups else []


def _model(board: Board, label: str) -> Numbers:
    facts = next((run for run in board.runs.values() if run.get("label") == label), {})
    kept = ("parameters", "bytes", "masked", "temperature", "scripts_per_second", "rows")
    lengths = [
        each.tokens
        for tasks in board.attempts[label].values()
        for attempts in tasks.values()
        for each in attempts
    ]
    return {name: facts[name] for name in kept if name in facts} | {
        "tokens_median": median(lengths),
        "attempts": len(lengths),
        "command": facts.get("run", {}).get("command", ""),
        "card": facts.get("run", {}).get("card", ""),
    }


def _correctness(sets: dict[TaskSet, Tasks]) -> Numbers:
    """Per attempt, and the chance that some of k attempts is right."""
    found: Numbers = {}
    for each, tasks in sorted(sets.items()):
        right = [[judged.seconds is not None for judged in attempts] for attempts in tasks.values()]
        one = share(sum(map(sum, right)), sum(map(len, right)))
        found[each.name] = {
            **msgspec.to_builtins(one),
            "tasks": len(tasks),
            "solved_within": {
                k: sum(solved_within(marks, k) for marks in right) / len(right)
                for k in _powers(min(map(len, right)))
            },
        }
    return found


def _powers(most: int) -> list[int]:
    return [2**place for place in range(most.bit_length())]


def _best(sets: dict[TaskSet, Tasks]) -> Numbers:
    """How much faster the best of k is than one attempt, over tasks that have a right kernel."""
    found: Numbers = {}
    for each, tasks in sorted(sets.items()):
        times = [[judged.seconds for judged in attempts] for attempts in tasks.values()]
        solved = [one for one in times if any(seconds is not None for seconds in one)]
        found[each.name] = {
            k: geometric_mean(
                [
                    one / best
                    for attempts in solved
                    if (one := best_of(attempts, 1)) and (best := best_of(attempts, k))
                ]
            )
            for k in (_powers(min(map(len, times))) if solved else [])
        }
    return found


def _refine(board: Board, sets: dict[TaskSet, Tasks]) -> Numbers:
    """How often the best attempt is faster than the given script, and by how much."""
    found: Numbers = {}
    for each, tasks in sorted(sets.items()):
        if each.kind != "refine":
            continue
        ours = bests(tasks)
        given = {key: board.given[key] for key in ours}
        ratios = [given[key] / seconds for key, seconds in ours.items() if seconds is not None]
        improved = sum(ratio > 1 for ratio in ratios)
        found[each.name] = {
            "improved": msgspec.to_builtins(share(improved, len(ours))),
            "speedup": geometric_mean(ratios) if ratios else None,
            "with_given": geometric_mean([max(ratio, 1.0) for ratio in ratios]) if ratios else None,
        }
    return found


def _faster(board: Board, first: str, second: str) -> Numbers:
    """On how many tasks the first model's best kernel is faster than the second's."""
    if first not in board.attempts or second not in board.attempts:
        return {}
    found: Numbers = {"of": first, "than": second}
    for each, tasks in sorted(board.attempts[first].items()):
        others = board.attempts[second].get(each)
        if others is None:
            continue
        ours, theirs = bests(tasks), bests(others)
        ratios = _ratios(theirs, ours)
        found[each.name] = {
            **msgspec.to_builtins(wins(ours, theirs)),
            "speedup": geometric_mean(ratios) if ratios else None,
        }
    return found


def _ratios(slow: dict[str, float | None], fast: dict[str, float | None]) -> list[float]:
    """Slow over fast, where both have a kernel."""
    return [
        other / seconds
        for key, seconds in fast.items()
        if seconds is not None and (other := slow.get(key)) is not None
    ]


def _against(ours: dict[str, float | None], theirs: dict[str, float | None]) -> Numbers:
    """How our best kernels compare with a baseline's, over the tasks that it has tried.

    A task without a right kernel of the baseline is a win if there is one of ours. The speedup is
    that of the tasks with both.
    """
    tried = {key: seconds for key, seconds in ours.items() if key in theirs}
    ratios = _ratios(theirs, tried)
    return {
        "tasks": len(tried),
        "untried": len(ours) - len(tried),
        "both_right": len(ratios),
        "ours_wrong": sum(seconds is None for seconds in tried.values()),
        "theirs_wrong": sum(theirs[key] is None for key in tried),
        "speedup": geometric_mean(ratios) if ratios else None,
        **msgspec.to_builtins(wins(tried, theirs)),
    }


def _metaschedule(board: Board, sets: dict[TaskSet, Tasks]) -> Numbers:
    """Our best attempts against MetaSchedule's best trials."""
    return {
        each.name: {
            trials: _against(bests(tasks), theirs)
            for trials in TRIALS
            if (theirs := trial_bests(board, "metaschedule", trials)).keys() & tasks.keys()
        }
        for each, tasks in sorted(sets.items())
    }


def _others(board: Board, sets: dict[TaskSet, Tasks]) -> Numbers:
    """Our best attempts against the other baselines, and fast_p."""
    found: Numbers = {}
    for each, tasks in sorted(sets.items()):
        ours = bests(tasks)
        found[each.name] = {
            name: _against(ours, theirs)
            | {"fast": dict(zip(SPEEDS, fast_curve(ours, theirs), strict=False))}
            for name in board.baselines
            if name != "metaschedule"
            and (theirs := trial_bests(board, name, 1)).keys() & tasks.keys()
        }
    return found


def _roofline(board: Board, sets: dict[TaskSet, Tasks]) -> Numbers:
    """The share of the card's ceilings that our best kernels reach."""
    found: Numbers = {}
    for each, tasks in sorted(sets.items()):
        shares = [
            board.bounds[key] / seconds
            for key, seconds in bests(tasks).items()
            if seconds is not None and key in board.bounds
        ]
        if shares:
            found[each.name] = {"tasks": len(shares), "median": median(shares)}
    return found


def aims(numbers: Numbers, first: str, unmasked: str) -> list[Numbers]:
    """What was aimed at, and what was reached; what was not measured is None.

    Args:
        numbers: those of `summary`.
        first: the label of the model that the report is about.
        unmasked: the label of its attempts without masks.
    """

    def at(*path: Any) -> Any:
        value: Any = numbers
        for each in path:
            value = value.get(each) if isinstance(value, dict) else None
        return value

    def aim(name: str, least: float, reached: float | None) -> Numbers:
        return {"name": name, "aim": least, "reached": reached, "unit": "at least",
                "met": None if reached is None else reached >= least}  # fmt: skip

    tokens = at("models", first, "tokens_median")
    construct, refine = (at("correctness", first, name, "rate") for name in ("construct", "refine"))
    found = [
        aim("construct: right per attempt, masks on", 0.97, construct),
        aim("refine: right per attempt, masks on", 0.97, refine),
        *(
            aim(f"{name}: right per attempt, no masks", 0.93,
                at("correctness", unmasked, name, "rate"))
            for name in ("construct", "refine")
        ),
        aim("construct tasks on which RL is faster", 90, at("faster", "construct", "wins")),
        aim("refine tasks on which RL is faster", 150, at("faster", "refine", "wins")),
        aim("best of 8 against MetaSchedule after 64 trials", 1.0,
            at("metaschedule", first, "construct", 64, "speedup")),
        aim("best of 8 against MetaSchedule after 256 trials", 1.0,
            at("metaschedule", first, "construct", 256, "speedup")),
        aim("refine tasks whose script is improved", 0.6,
            at("refine", first, "refine", "improved", "rate")),
        aim("scripts sampled a second, with masks", 1000,
            at("models", first, "scripts_per_second")),
    ]  # fmt: skip
    most = {"name": "tokens of a script, median", "aim": 40, "reached": tokens, "unit": "at most"}
    return [*found, most | {"met": None if tokens is None else tokens <= 40}]
