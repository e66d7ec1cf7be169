"""Forked processes that each do one job at a time, and may die or hang without harm to the rest."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

SECONDS_PER_JOB = 60.0
"""Time enough for a job, unless something hangs."""

Serve = Callable[[Connection], None]
"""What a process runs: answers every job that it receives with bytes, until the pipe closes."""


class Outcome(NamedTuple):
    """What became of a job."""

    job: Any
    answer: bytes | None
    """None if the process died or took too long."""


class _Worker:
    def __init__(self, serve: Serve, seconds: float) -> None:
        context = get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_child, args=(serve, theirs, self.pipe), daemon=True)
        self.process.start()
        theirs.close()
        self.job: Any = None
        self.seconds = seconds
        self.deadline = 0.0

    def give(self, job: Any) -> None:
        self.job, self.deadline = job, time.monotonic() + self.seconds
        self.pipe.send(job)

    def answer(self) -> bytes | None:
        try:
            return self.pipe.recv_bytes()
        except EOFError:
            return None

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def results(
    jobs: Iterable[Any], serve: Serve, processes: int, seconds: float = SECONDS_PER_JOB
) -> Iterator[Outcome]:
    """Yield the outcome of every job, in the order in which they end.

    A job that takes longer than so many seconds is given up and its process ended.
    """
    left = iter(jobs)
    busy: list[_Worker] = []
    try:
        for job in _first(left, processes):
            busy.append(_Worker(serve, seconds))
            busy[-1].give(job)
        while busy:
            ready = connection.wait([worker.pipe for worker in busy], timeout=1)
            for worker in [worker for worker in busy if worker.pipe in ready or _late(worker)]:
                busy.remove(worker)
                job = worker.job
                answer = worker.answer() if worker.pipe in ready else None
                busy.extend(_next(worker, left, serve, reuse=answer is not None))
                yield Outcome(job, answer)
    finally:
        for worker in busy:
            worker.end()


def _first(left: Iterator[Any], count: int) -> list[Any]:
    return [job for _, job in zip(range(count), left, strict=False)]


def _next(worker: _Worker, left: Iterator[Any], serve: Serve, *, reuse: bool) -> list[_Worker]:
    """Give the next job to the worker, or to a fresh one, or end it if there is none."""
    jobs = _first(left, 1)
    if not reuse or not jobs:
        worker.end()
    if not jobs:
        return []
    if not reuse:
        worker = _Worker(serve, worker.seconds)
    worker.give(jobs[0])
    return [worker]


def _late(worker: _Worker) -> bool:
    return time.monotonic() > worker.deadline


def _child(serve: Serve, pipe: Connection, parents: Connection) -> None:
    """Leave Ctrl-C to the parent, and keep TVM's warnings and last words off the terminal.

    A fork has the parent's end of the pipe too. Unless it is closed here, the child would not
    notice that the parent is gone.
    """
    parents.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        serve(pipe)
    except EOFError:
        return
