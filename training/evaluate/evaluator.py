"""Judge candidates: builders in parallel, one process for each device, results as they come.

    with Evaluator(target, "cuda") as evaluator:
        for result in evaluator.evaluate(tasks, candidates):
            ...

A candidate goes to a builder; once its library and those of its workload's reference are there, to
the process that has the device. Kernels of one workload follow each other there, so that inputs and
references stay on the device. Whatever hangs, faults or dies costs its own result.
"""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import msgspec

from training.evaluate.bench import Bench, Judged
from training.evaluate.build import (
    BuildJob,
    Built,
    build,
    plain_library,
    target_of,
    workload_of_prompt,
)
from training.evaluate.ends import End, TorchEnd
from training.evaluate.results import Candidate, Result, Task
from training.evaluate.screen import Screen
from training.pool import BROKEN, Outcome, Pool, wait

SECONDS_PER_BUILD = 30.0
SECONDS_PER_RUN = 30.0
"""Limits of one job; the first run of a workload prepares its references too."""


PRELOAD = ("training.evaluate.preload", "training.evaluate.evaluator")
"""What the processes have imported when they begin."""

MAX_DEATHS = 3
"""A workload of which so many kernels in a row end the device's process is given up."""


class RunJob(msgspec.Struct, frozen=True):
    """A library to judge on a device."""

    key: str
    prompt: str
    reference: str
    """The exact library; the plain one is beside it."""
    library: str


class _Waiting(NamedTuple):
    candidate: Candidate
    library: str
    built: float
    """Seconds of the build."""


class _Workload:
    """What the evaluator knows about a workload while it judges candidates of it."""

    def __init__(self, task: Task, reference: str) -> None:
        self.task = task
        self.reference = reference
        self.is_ready = False
        self.unfit = ""
        """Why it cannot be judged."""
        self.deaths = 0
        """How many of its kernels in a row ended the device's process."""
        self.waiting: deque[_Waiting] = deque()
        """Built candidates that have not been run."""


class Evaluator:
    """Judges candidates on this machine.

    Args:
        target: what the scripts are compiled for, see `build.target_of`.
        device: `cpu`, `cuda`, or a picklable function that makes an `End` in the process that has
            it.
        builders: processes that build; as many as there are cores but one by default.
        seconds_per_build: time limit of a build.
        seconds_per_run: time limit of a run with its timing.
        build: answers a build in a process of its own; another one builds what is no script, such
            as a baseline.
    """

    def __init__(
        self,
        target: str,
        device: str | Callable[[], End] = "cpu",
        *,
        builders: int | None = None,
        seconds_per_build: float = SECONDS_PER_BUILD,
        seconds_per_run: float = SECONDS_PER_RUN,
        build: Callable[[BuildJob], Built] = build,
    ) -> None:
        self._target = target
        self._folder = tempfile.TemporaryDirectory(prefix="kernels-", dir=_fast_folder())
        count = builders or default_builders()
        make_end = partial(TorchEnd, device) if isinstance(device, str) else device
        uses_cuda = target_of(target).kind.name == "cuda"
        architecture = str(target_of(target).attrs["arch"]) if uses_cuda else ""
        self._builders = Pool(
            partial(serve_builds, build),
            count,
            seconds_per_build,
            PRELOAD,
            partial(prepare_builds, architecture),
        )
        self._device = Pool(partial(serve_runs, make_end), 1, seconds_per_run, PRELOAD)
        self._workloads: OrderedDict[str, _Workload] = OrderedDict()
        self._last = ""
        self._files = 0

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes and remove what was built."""
        self._builders.close()
        self._device.close()
        self._folder.cleanup()

    def evaluate(self, tasks: Iterable[Task], candidates: Iterable[Candidate]) -> Iterator[Result]:
        """Judge candidates of some tasks; yields their results in the order in which they end.

        Candidates are taken from the iterable only as fast as they are built.
        """
        prompts = {task.key: task for task in tasks}
        left = iter(candidates)
        while True:
            for _, candidate in zip(range(self.room), left, strict=False):
                self.submit(prompts[candidate.workload], candidate)
            if not self.unfinished:
                return
            wait(self.pools)
            yield from self.ready()

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The pools to wait for."""
        return (self._builders, self._device)

    @property
    def unfinished(self) -> int:
        """How many candidates were submitted and have no result yet."""
        waiting = sum(len(each.waiting) for each in self._workloads.values())
        return self._builders.unfinished + self._device.unfinished + waiting

    @property
    def room(self) -> int:
        """How many candidates to submit now, so that no builder idles and no queue grows long."""
        return max(2 * self._builders.processes - self.unfinished, 0)

    def submit(self, task: Task, candidate: Candidate) -> None:
        """Begin to judge a candidate."""
        workload = self._workloads.get(task.key)
        if workload is None:
            workload = self._workloads[task.key] = _Workload(task, self._file())
            self._build(task, workload.reference, None)
        self._build(task, self._file(), candidate)

    def ready(self) -> list[Result]:
        """Return the results that have come since the last call, without waiting."""
        found: list[Result] = []
        for outcome in self._builders.ready():
            found.extend(self._after_build(outcome))
        for outcome in self._device.ready():
            found.extend(self._after_run(outcome))
        self._run_next()
        return found

    # Building.

    def _file(self) -> str:
        self._files += 1
        return f"{self._folder.name}/{self._files}.so"

    def _build(self, task: Task, library: str, candidate: Candidate | None) -> None:
        script = candidate.script if candidate else None
        job = BuildJob(task.key, task.prompt, self._target, library, script)
        self._builders.submit(job, candidate)

    def _after_build(self, outcome: Outcome) -> list[Result]:
        job: BuildJob = outcome.job
        workload = self._workloads[job.key]
        built = (
            msgspec.json.decode(outcome.answer, type=Built)
            if outcome.answer
            else Built("passes", f"compiler: {outcome.reason}")
        )
        if outcome.tag is None:
            workload.is_ready = True
            if built.stage != "compiles":
                workload.unfit = f"its reference does not build: {built.reason}"
            return self._give_up(workload) if workload.unfit else []
        waiting = _Waiting(outcome.tag, job.library, outcome.seconds)
        if built.stage != "compiles":
            Path(waiting.library).unlink(missing_ok=True)
            return [_result(waiting, Judged(built.stage, built.reason), 0.0)]
        workload.waiting.append(waiting)
        return self._give_up(workload) if workload.unfit else []

    def _give_up(self, workload: _Workload) -> list[Result]:
        """The results of candidates of a workload that cannot be judged."""
        reason = f"the workload cannot be judged: {workload.unfit}"
        found = [_result(each, Judged("compiles", reason), 0.0) for each in workload.waiting]
        workload.waiting.clear()
        return found

    # Running.

    def _run_next(self) -> None:
        """Give the device a kernel, of the same workload as the last one if there is one."""
        while self._device.free:
            ready = {
                key: workload
                for key, workload in self._workloads.items()
                if workload.is_ready and workload.waiting
            }
            if not ready:
                return
            if self._last not in ready:
                self._last = max(ready, key=lambda key: len(ready[key].waiting))
            workload = ready[self._last]
            waiting = workload.waiting.popleft()
            task = workload.task
            job = RunJob(task.key, task.prompt, workload.reference, waiting.library)
            self._device.submit(job, waiting)

    def _after_run(self, outcome: Outcome) -> list[Result]:
        Path(outcome.job.library).unlink(missing_ok=True)
        workload = self._workloads[outcome.job.key]
        if outcome.answer:
            workload.deaths = 0
            judged = msgspec.json.decode(outcome.answer, type=Judged)
            return [_result(outcome.tag, judged, outcome.seconds)]
        found = [_result(outcome.tag, Judged("compiles", outcome.reason), outcome.seconds)]
        workload.deaths += 1
        if workload.deaths >= MAX_DEATHS:
            # Not each of its kernels is to blame: its references are.
            workload.unfit = f"nothing of it could be run: {outcome.reason}"
            found += self._give_up(workload)
        return found


def _result(waiting: _Waiting, judged: Judged, seconds: float) -> Result:
    return msgspec.structs.replace(
        waiting.candidate.result(judged.stage, judged.reason),
        error=judged.error,
        latency=judged.latency,
        seconds=(round(waiting.built, 3), round(seconds, 3)),
    )


def evaluator_for(
    target: str,
    device: str,
    *,
    builders: int | None = None,
    seconds_per_build: float = SECONDS_PER_BUILD,
    seconds_per_run: float = SECONDS_PER_RUN,
) -> Evaluator | Screen:
    """An evaluator of this machine, or a screen if the device is `none`.

    Args:
        target: as for an `Evaluator`, with the others.
        device: `cpu`, `cuda` or `none`.
        builders: processes that build, or apply scripts.
        seconds_per_build: time limit of a build.
        seconds_per_run: time limit of a run; a screen has a limit of its own.
    """
    if device == "none":
        return Screen(target, builders or default_builders())
    return Evaluator(
        target,
        device,
        builders=builders,
        seconds_per_build=seconds_per_build,
        seconds_per_run=seconds_per_run,
    )


def default_builders() -> int:
    """As many processes that build as there are cores but one, which the device's process has."""
    return max((os.cpu_count() or 2) - 1, 1)


def _fast_folder() -> str | None:
    """Libraries live for a second, in memory where the system has such a folder."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108


# What the processes do.


def prepare_builds(architecture: str) -> None:
    """Make a process ready to build; the architecture is that of a CUDA target, or empty."""
    if architecture:
        # Optional, and only for CUDA targets.
        from training.evaluate import cuda_source

        cuda_source.install(architecture)
    # The process that times kernels shall not wait for a core.
    os.nice(5)


def serve_builds(build: Callable[[BuildJob], Built], pipe: Connection) -> None:
    """Answer `BuildJob`s."""
    while True:
        job: BuildJob = pipe.recv()
        pipe.send_bytes(msgspec.json.encode(build(job)))


def serve_runs(make_end: Callable[[], End], pipe: Connection) -> None:
    """Answer `RunJob`s on the end that is made here."""
    bench: Bench | None = None
    while True:
        job: RunJob = pipe.recv()
        try:
            bench = bench or Bench(make_end())
            judged = _measured(bench, job)
        except Exception as error:
            # After a fault no call to the device can be trusted.
            pipe.send_bytes(BROKEN + " ".join(str(error).split())[:300].encode())
            return
        pipe.send_bytes(msgspec.json.encode(judged))


def _measured(bench: Bench, job: RunJob) -> Judged:
    if not bench.knows(job.key):
        workload = workload_of_prompt(job.prompt)
        reference = Path(job.reference)
        bench.prepare(job.key, workload, reference, plain_library(reference))
    return bench.measure(job.key, Path(job.library))
