"""Candidates judged on several machines: a *station*, an actor of Ray, for each machine or GPU.

A station is the evaluator of `training.evaluate.evaluator`; nothing is judged differently. Each
machine has a checkout and the packages that evaluation needs, and its Ray was started so that
`training` can be imported: `PYTHONPATH=. ray start ...` from the root of the repository.

Workloads are dealt out to stations, because the references of one are prepared wherever it goes;
when none is left, stations help each other. A station that dies, or says nothing for too long, is
replaced. What it had gets a second try, each candidate by itself, on whichever station is ready; a
candidate that two stations were lost with is given up.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import msgspec

# Ray would hide the GPUs from a station for a CPU target, and warns that it will not for long.
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray
from ray.exceptions import RayError

from training.evaluate.evaluator import SECONDS_PER_BUILD, SECONDS_PER_RUN
from training.evaluate.results import Candidate, Result, Run, Task
from training.evaluate.station import Report, Station

SECONDS_TO_BEGIN = 300.0
"""How long a station may take to find a place and to import TVM."""

SECONDS_SILENT = 60.0
"""A station answers about once a second. One that says nothing for so long hangs."""

MAX_LOSSES = 3
"""A station that is lost so many times without a result in between is not replaced."""

MAX_TRIES = 2
"""So many stations may be lost with a candidate before it is given up."""


class ClusterError(RuntimeError):
    """No station is left, and candidates are. Mend the cluster; what has no result is as it was."""

    def __init__(self, left: int, reason: str) -> None:
        super().__init__(f"no station is left for {left} candidates; the last one: {reason}")


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Be connected to a cluster: `local` starts one on this machine, `auto` finds one here."""
    ray.init(
        address=address,
        log_to_driver=False,
        logging_level="error",
        **({"include_dashboard": False} if address == "local" else {}),
    )
    try:
        yield
    finally:
        ray.shutdown()


def evaluate(
    tasks: Iterable[Task],
    candidates: Iterable[Candidate],
    *,
    target: str,
    device: str = "cpu",
    stations: int | None = None,
    builders: int | None = None,
    seconds_per_build: float = SECONDS_PER_BUILD,
    seconds_per_run: float = SECONDS_PER_RUN,
    seconds_silent: float = SECONDS_SILENT,
    command: str = "",
    begin: Callable[[Run], object] | None = None,
) -> Iterator[Result]:
    """Judge candidates on the cluster that Ray is connected to.

    Args:
        tasks: the workloads of the candidates.
        candidates: what to judge.
        target: what the scripts are compiled for, see `build.target_of`.
        device: `cpu` or `cuda`; each station has a GPU of its own then.
        stations: how many; one for each GPU, or for each machine, by default.
        builders: processes of a station that build, and so many CPUs are reserved for it; by
            default the cluster's CPUs are shared out, less one for each station.
        seconds_per_build: time limit of a build.
        seconds_per_run: time limit of a run with its timing.
        seconds_silent: time limit of a station.
        command: for the descriptions of the runs.
        begin: is told of the run of each station, with its card, before its first result.

    Yields:
        The results in the order in which they end.

    Raises:
        ClusterError: no station is left.
    """
    count = stations or _places(device)
    cpus = builders or max(int(ray.cluster_resources().get("CPU", 1)) // count - 1, 1)
    start = partial(
        ray.remote(Station)
        .options(num_cpus=cpus, num_gpus=int(device == "cuda"), scheduling_strategy="SPREAD")
        .remote,
        *(target, device, cpus, seconds_per_build, seconds_per_run),
    )
    known = {task.key: task for task in tasks}
    queue = _Queue([_Job(known[each.workload], each) for each in candidates])
    crew = [_Link(number, start, command, seconds_silent, begin) for number in range(count)]
    try:
        while queue or any(link.jobs for link in crew):
            for link in crew:
                link.work(queue, {each.key for each in crew if each is not link})
            yield from _reports(crew, queue)
            if all(link.is_given_up for link in crew):
                raise ClusterError(len(queue), crew[0].reason)
    finally:
        _close(crew)


class _Job(NamedTuple):
    task: Task
    candidate: Candidate
    tries: int = 1

    @property
    def is_suspect(self) -> bool:
        """Whether a station was lost with it."""
        return self.tries > 1


class _Queue:
    """Candidates that no station has, workload by workload."""

    def __init__(self, jobs: list[_Job]) -> None:
        self._left: dict[str, deque[_Job]] = {}
        for job in jobs:
            self._left.setdefault(job.task.key, deque()).append(job)

    def __len__(self) -> int:
        return sum(map(len, self._left.values()))

    def __bool__(self) -> bool:
        return bool(self._left)

    def put_back(self, job: _Job) -> None:
        self._left.setdefault(job.task.key, deque()).appendleft(job)

    def take(self, count: int, key: str, others: set[str], *, alone: bool) -> list[_Job]:
        """Take jobs of a workload first, then of one that no other has, then of the longest.

        What a station was lost with is taken by itself, and only `alone`: if it is to blame, no
        other candidate is lost with it again.
        """
        taken: list[_Job] = []
        while self._left and len(taken) < count:
            if key not in self._left:
                free = (each for each in self._left if each not in others)
                key = next(free, max(self._left, key=lambda each: len(self._left[each])))
            if not self._left[key][0].is_suspect:
                taken.append(self._pop(key))
            elif alone and not taken:
                return [self._pop(key)]
            else:
                break
        return taken

    def _pop(self, key: str) -> _Job:
        job = self._left[key].popleft()
        if not self._left[key]:
            del self._left[key]
        return job


class _Link:
    """A station as it is seen from here: what it has, and the call that it has not answered."""

    def __init__(
        self,
        number: int,
        start: Callable[[], Any],
        command: str,
        silent: float,
        begin: Callable[[Run], object] | None,
    ) -> None:
        self._number, self._start, self._command = number, start, command
        self._silent, self._begin = silent, begin
        self.jobs: list[_Job] = []
        self.key = ""
        """The workload of its newest job."""
        self.reason = ""
        """Why it was lost the last time."""
        self._losses = 0
        self._run = ""
        self._open()

    def _open(self) -> None:
        self._room = 0
        self.actor = self._start()
        self.call: Any = self.actor.begin.remote(self._command)
        self._asked, self._limit = time.monotonic(), SECONDS_TO_BEGIN

    @property
    def is_late(self) -> bool:
        return self.call is not None and time.monotonic() > self._asked + self._limit

    @property
    def is_given_up(self) -> bool:
        return self._losses >= MAX_LOSSES

    def work(self, queue: _Queue, others: set[str]) -> None:
        """Ask for results, and give new candidates along, if it is not at it already."""
        if self.call is not None or self.is_given_up:
            return
        taken: list[_Job] = []
        if not any(job.is_suspect for job in self.jobs):
            taken = queue.take(self._room, self.key, others, alone=not self.jobs)
        self.jobs += taken
        if not self.jobs:
            return
        self.key = self.jobs[-1].task.key
        self.call = self.actor.step.remote([job[:2] for job in taken])
        self._asked, self._limit = time.monotonic(), self._silent

    def report(self, queue: _Queue) -> list[Result]:
        """Return the results of the call that is answered or late."""
        try:
            report: Report = ray.get(self.call, timeout=0)
        except RayError as error:
            late = f"it said nothing for {self._limit:g} s" if self.is_late else ""
            return self._lost(queue, late or str(error).strip().splitlines()[-1])
        self.call, self._room = None, report.room
        if report.run is not None:
            self._run = f"{report.run.run}/{self._number}"
            if self._begin is not None:
                self._begin(msgspec.structs.replace(report.run, run=self._run))
        for result in report.results:
            self._losses = 0
            self._remove(result)
        return [msgspec.structs.replace(each, run=self._run) for each in report.results]

    def _remove(self, result: Result) -> None:
        for place, (_, candidate, _) in enumerate(self.jobs):
            if (candidate.workload, candidate.script) == (result.workload, result.script):
                del self.jobs[place]
                return

    def _lost(self, queue: _Queue, reason: str) -> list[Result]:
        """Replace the station; the results of candidates that are given up with it."""
        ray.kill(self.actor)
        self.call, self.reason = None, reason
        self._losses += 1
        results: list[Result] = []
        for job in reversed(self.jobs):
            if job.tries < MAX_TRIES:
                queue.put_back(job._replace(tries=job.tries + 1))
            else:
                results.append(_given_up(job.candidate, reason))
        self.jobs = []
        if not self.is_given_up:
            self._open()
        return results


def _reports(crew: list[_Link], queue: _Queue) -> Iterator[Result]:
    """Wait for an answer, but not for long, and yield the results of all that have answered."""
    calls = [link.call for link in crew if link.call is not None]
    answered, _ = ray.wait(calls, timeout=1.0)
    for link in crew:
        if link.call in answered or link.is_late:
            yield from link.report(queue)


def _given_up(candidate: Candidate, reason: str) -> Result:
    """It is not known how far it came."""
    said = f"{MAX_TRIES} stations were lost with it: {reason}"
    return candidate.result("given", said)


def _places(device: str) -> int:
    """How many stations the cluster has room for."""
    if device == "cuda":
        return max(int(ray.cluster_resources().get("GPU", 0)), 1)
    return sum(node["Alive"] for node in ray.nodes())


def _close(crew: list[_Link]) -> None:
    ended = [link.actor.close.remote() for link in crew if not link.is_given_up]
    if ended:
        ray.wait(ended, num_returns=len(ended), timeout=5.0)
    for link in crew:
        ray.kill(link.actor)
