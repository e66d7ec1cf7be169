"""Judge scripts as far as no device is needed: up to the post-processors.

A `Screen` answers as an `Evaluator` does, but nothing is compiled or run: the best stage that a
script can reach is `passes`. A core judges some fifty scripts in a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from multiprocessing.connection import Connection

import msgspec

from training.evaluate.build import Built, screened
from training.evaluate.results import Candidate, Result, Task
from training.pool import Pool, wait

SECONDS_PER_SCRIPT = 60.0
"""A script that takes longer is given up; the first ones wait for the processes' imports, too."""

PRELOAD = ("training.evaluate.preload", "training.evaluate.screen")
"""What the processes have imported when they begin."""


class Screen:
    """Judges candidates on this machine, without a device.

    Args:
        target: whose post-processors have to accept them, see `build.target_of`.
        processes: that apply scripts.
    """

    def __init__(self, target: str, processes: int) -> None:
        self._pool = Pool(partial(serve, target), processes, SECONDS_PER_SCRIPT, PRELOAD)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def evaluate(self, tasks: Iterable[Task], candidates: Iterable[Candidate]) -> Iterator[Result]:
        """Judge candidates of some tasks; yields their results in the order in which they end."""
        prompts = {task.key: task.prompt for task in tasks}
        for candidate in candidates:
            self._pool.submit((prompts[candidate.workload], candidate.script), candidate)
        while self._pool.unfinished:
            wait([self._pool])
            for outcome in self._pool.ready():
                # Of one that took too long, or ended its process, it is not known how far it came.
                built = (
                    msgspec.json.decode(outcome.answer, type=Built)
                    if outcome.answer
                    else Built("given", outcome.reason)
                )
                candidate: Candidate = outcome.tag
                yield msgspec.structs.replace(
                    candidate.result(built.stage, built.reason),
                    seconds=(round(outcome.seconds, 3), 0.0),
                )


def serve(target: str, pipe: Connection) -> None:
    """Answer prompts with scripts."""
    while True:
        prompt, script = pipe.recv()
        pipe.send_bytes(msgspec.json.encode(screened(script, prompt, target)))
