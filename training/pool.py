"""Processes that each do one job at a time, and may die or hang without harm to the rest."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from tracescript._interrupts import interrupts_after

SECONDS_PER_JOB = 60.0
"""Time enough for a job, unless something hangs."""

SECONDS_TO_PREPARE = 180.0
"""Time enough to prepare for jobs, even from a slow disk that all processes read at once."""

Serve = Callable[[Connection], None]
"""What a process runs: answers every job that it receives with bytes, until the pipe closes."""


BROKEN = b"\0"
"""An answer that begins with it says why there is none, and that the process cannot go on."""


class Outcome(NamedTuple):
    """What became of a job."""

    job: Any
    answer: bytes | None
    """None if the process died or took too long."""
    reason: str = ""
    """Why there is no answer."""
    seconds: float = 0.0
    """How long the process had it."""
    tag: Any = None
    """What was submitted with the job."""


class Pool:
    """So many processes that serve the jobs of one queue.

    A process is started when there is work for it, and does one job after the other. One that dies,
    or takes longer than so many seconds over a job, costs that job; the next job gets a fresh one.

    Args:
        serve: what a process runs.
        processes: how many there are at most.
        seconds: how long a job may take.
        preload: None forks this process with all that it has, which must not have used threads or
            a GPU. Otherwise the names of modules: processes are forked from a server that has
            imported them and done nothing else, and `serve` must be picklable.
        prepare: what a process does before its first job; the job's time begins after that.
    """

    def __init__(
        self,
        serve: Serve,
        processes: int,
        seconds: float = SECONDS_PER_JOB,
        preload: Sequence[str] | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._context: Any = get_context("fork" if preload is None else "forkserver")
        if preload is not None:
            self._context.set_forkserver_preload(list(preload))
        self.processes = processes
        self._serve = serve
        self._seconds = seconds
        self._prepare = prepare
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []
        self._queue: deque[Any] = deque()

    @property
    def unfinished(self) -> int:
        """How many jobs were submitted and have no outcome yet."""
        return len(self._queue) + len(self._busy)

    @property
    def free(self) -> int:
        """How many more jobs could be begun at once."""
        return max(self.processes - self.unfinished, 0)

    def submit(self, job: Any, tag: Any = None) -> None:
        """Queue a job; it is sent to a process as soon as one is free. The tag stays here."""
        self._queue.append((job, tag))
        self._begin()

    def ready(self) -> list[Outcome]:
        """Return the outcomes that have come since the last call, without waiting."""
        pipes = connection.wait([worker.pipe for worker in self._busy], timeout=0)
        found: list[Outcome] = []
        for worker in [each for each in self._busy if each.pipe in pipes or each.is_late()]:
            if worker.pipe in pipes and worker.begins():
                continue
            self._busy.remove(worker)
            outcome = worker.outcome(late=worker.pipe not in pipes)
            found.append(outcome)
            if outcome.answer is None:
                worker.end()
            else:
                self._idle.append(worker)
        self._begin()
        return found

    def pipes(self) -> list[Connection]:
        """What to wait for."""
        return [worker.pipe for worker in self._busy]

    def close(self) -> None:
        """End all processes; what they were doing is lost."""
        for worker in self._busy + self._idle:
            worker.end()
        self._busy, self._idle = [], []
        self._queue.clear()

    def _start(self) -> _Worker:
        return _Worker(self._context, self._prepare, self._serve, self._seconds)

    def _begin(self) -> None:
        while self._queue and len(self._busy) < self.processes:
            worker = self._idle.pop() if self._idle else self._start()
            if worker.give(*self._queue[0]):
                self._queue.popleft()
                self._busy.append(worker)
            else:
                worker.end()


def wait(pools: Iterable[Pool], timeout: float = 1.0) -> None:
    """Wait until a process of one of the pools has something to say, but not for long."""
    connection.wait([pipe for pool in pools for pipe in pool.pipes()], timeout)


def results(
    jobs: Iterable[Any],
    serve: Serve,
    processes: int,
    seconds: float = SECONDS_PER_JOB,
    preload: Sequence[str] | None = None,
) -> Iterator[Outcome]:
    """Yield the outcome of every job, in the order in which they end.

    A job that takes longer than so many seconds is given up and its process ended; the other
    arguments are those of a `Pool`.
    """
    left = iter(jobs)
    pool = Pool(serve, processes, seconds, preload)
    try:
        while True:
            for _, job in zip(range(pool.free), left, strict=False):
                pool.submit(job)
            if not pool.unfinished:
                return
            wait([pool])
            yield from pool.ready()
    finally:
        pool.close()


class _Worker:
    def __init__(
        self, context: Any, prepare: Callable[[], None] | None, serve: Serve, seconds: float
    ) -> None:
        self.pipe, theirs = context.Pipe()
        # A fork has the parent's end too. Unless it closes it, it would not notice that the
        # parent is gone.
        ours = self.pipe if context.get_start_method() == "fork" else None
        self.process = context.Process(
            target=_child, args=(prepare, serve, theirs, ours), daemon=True
        )
        with interrupts_after():
            self.process.start()
        theirs.close()
        self.job: Any = None
        self.tag: Any = None
        self.limit = seconds
        self.begun = 0.0
        self._is_preparing = prepare is not None

    def give(self, job: Any, tag: Any) -> bool:
        """Send a job; False if the process has died since its last one."""
        self.job, self.tag, self.begun = job, tag, time.monotonic()
        try:
            self.pipe.send(job)
        except OSError:
            return False
        return True

    def begins(self) -> bool:
        """Whether what there is to hear is that the process is prepared and begins with the job."""
        if not self._is_preparing:
            return False
        self._is_preparing = False
        try:
            self.pipe.recv_bytes()
        except (EOFError, OSError):
            # It has died; there is nothing else to hear.
            return False
        self.begun = time.monotonic()
        return True

    def is_late(self) -> bool:
        limit = SECONDS_TO_PREPARE if self._is_preparing else self.limit
        return time.monotonic() > self.begun + limit

    def outcome(self, *, late: bool) -> Outcome:
        answer, reason = (None, self._too_long()) if late else self._answer()
        return Outcome(self.job, answer, reason, time.monotonic() - self.begun, self.tag)

    def _too_long(self) -> str:
        if self._is_preparing:
            return f"took longer than {SECONDS_TO_PREPARE:g} s to prepare"
        return f"took longer than {self.limit:g} s"

    def _answer(self) -> tuple[bytes | None, str]:
        try:
            answer = self.pipe.recv_bytes()
        except (EOFError, OSError):
            self.process.join(1)
            return None, f"the process died, {_how(self.process.exitcode)}"
        if answer.startswith(BROKEN):
            return None, answer[len(BROKEN) :].decode(errors="replace")
        return answer, ""

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit status {code}"


def _child(
    prepare: Callable[[], None] | None, serve: Serve, pipe: Connection, parents: Connection | None
) -> None:
    """Leave Ctrl-C to the parent, and keep TVM's warnings and last words off the terminal."""
    if parents is not None:
        parents.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        if prepare is not None:
            prepare()
            pipe.send_bytes(b"prepared")
        serve(pipe)
    except EOFError:
        return
