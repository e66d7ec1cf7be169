"""What a machine of a cluster runs: the evaluator, asked for its results again and again."""

from __future__ import annotations

import os
import platform
from multiprocessing import get_context
from typing import NamedTuple

from training.evaluate.card import run_facts
from training.evaluate.evaluator import Evaluator
from training.evaluate.results import Candidate, Result, Run, Task
from training.pool import wait


class Report(NamedTuple):
    """What a station has to say."""

    results: list[Result]
    room: int
    """How many candidates it wants."""
    run: Run | None = None


class Station:
    """An evaluator in a process of its own, wherever Ray puts it."""

    def __init__(
        self, target: str, device: str, builders: int, seconds_per_build: float, seconds: float
    ) -> None:
        self._device = device
        self._evaluator = Evaluator(
            target,
            device,
            builders=builders,
            seconds_per_build=seconds_per_build,
            seconds_per_run=seconds,
        )

    def begin(self, command: str) -> Report:
        """Say where it is, when all is imported that its processes are forked from."""
        first = get_context("forkserver").Process()
        first.start()
        first.join()
        facts = {"host": platform.node(), "pid": os.getpid()}
        return Report([], self._evaluator.room, run_facts(self._device, command, facts))

    def step(self, given: list[tuple[Task, Candidate]]) -> Report:
        """Take candidates, and return the results that come within about a second."""
        for task, candidate in given:
            self._evaluator.submit(task, candidate)
        if self._evaluator.unfinished:
            wait(self._evaluator.pools)
        return Report(self._evaluator.ready(), self._evaluator.room)

    def close(self) -> None:
        """End its processes and remove its files."""
        self._evaluator.close()
