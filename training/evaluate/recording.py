"""What all programs share that judge candidates into a file: limits, what is left, progress."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import Any

import msgspec
from tqdm import tqdm

from training.evaluate.evaluator import SECONDS_PER_BUILD, SECONDS_PER_RUN, Evaluator
from training.evaluate.results import Candidate, Result, ResultFile, Run, Task
from training.evaluate.screen import Screen

Results = Generator[Result, None, None]
"""Results as they come; to close it ends the processes that make them."""

Begin = Callable[[Run], None]
"""What is told of a run before its results."""


def add_limits(
    parser: argparse.ArgumentParser,
    seconds_per_build: float = SECONDS_PER_BUILD,
    seconds_per_run: float = SECONDS_PER_RUN,
) -> None:
    """Add the options of an evaluator: how many processes build, and how long things may take."""
    parser.add_argument("--builders", type=int, help="processes that build (cores less one)")
    for name, seconds in (("build", seconds_per_build), ("run", seconds_per_run)):
        parser.add_argument(f"--{name}-seconds", type=float, default=seconds, help="(%(default)s)")


def limits(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the options of `add_limits` say, as arguments of an evaluator."""
    return {
        "builders": options.builders,
        "seconds_per_build": options.build_seconds,
        "seconds_per_run": options.run_seconds,
    }


def left(candidates: Iterable[Candidate], done: Iterable[Result]) -> list[Candidate]:
    """Return what is to be judged, each script once, workload by workload.

    >>> a, b, c = (Candidate(key, "...") for key in "abc")
    >>> [each.workload for each in left([a, b, c, a], [b.result("parses")])]
    ['a', 'c']
    """
    known = {(each.workload, each.script) for each in done}
    found: dict[str, dict[str, Candidate]] = {}
    for each in candidates:
        if (each.workload, each.script) not in known:
            found.setdefault(each.workload, {}).setdefault(each.script, each)
    return [each for scripts in found.values() for each in scripts.values()]


def judged(
    evaluator: Evaluator | Screen,
    tasks: Iterable[Task],
    candidates: Sequence[Candidate],
    run: Run,
    begin: Begin,
) -> Results:
    """Judge candidates on this machine, in a run that is told of first; closes the evaluator."""
    with evaluator:
        begin(run)
        for result in evaluator.evaluate(tasks, candidates):
            yield msgspec.structs.replace(result, run=run.run)


def record(results: Results, file: ResultFile, total: int) -> None:
    """Append results to a file as they come, with their progress; closes the results."""
    measured = 0
    with closing(results), tqdm(total=total, unit="candidate") as bar:
        for result in results:
            file.add([result])
            measured += result.stage == "measured"
            bar.set_postfix(measured=measured)
            bar.update()
