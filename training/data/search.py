r"""Find and measure schedules: random sketches first, then MetaSchedule's evolutionary search.

    python -m training.data.search --tasks training/datasets/workloads.jsonl.xz \
        --out results.jsonl --target nvidia/nvidia-h100 --device cuda --seconds 570

For each workload a few random sketches that pass the post-processors are measured, then as many
rounds of the search as asked for, with its cost model taught by what was measured; `--random 0`
leaves the sketches out. A round that was interrupted, or found less than it should, is filled up
until the search finds nothing new: it has ended by itself then, and the file says so. Everything is
measured by `training.evaluate`. Results are appended; interrupt it at any time, the same command
goes on from there. A workload of which there are all candidates, or no more, is not looked at
again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
from tqdm import tqdm

from training.data.search_step import FAILURES, GENERATIONS, POPULATION, StepJob, step
from training.evaluate.card import command_of, run_facts
from training.evaluate.evaluator import PRELOAD, Evaluator, default_builders
from training.evaluate.recording import add_limits
from training.evaluate.results import (
    Candidate,
    Exhausted,
    Result,
    ResultFile,
    Task,
    files_or_exit,
    read,
    resumable,
)
from training.pool import BROKEN, Outcome, Pool, wait

SECONDS_PER_STEP = 60.0
STEP_PRELOAD = (*PRELOAD, "training.data.search_step")
"""What the processes that search have imported when they begin."""

TRIES_PER_SCRIPT = 24
"""Random sketches that are drawn for one that passes; most workloads need fewer."""

NOTHING_NEW = "nothing new passes the post-processors"
"""Why a step proposes nothing, if it came to its end."""

SKETCH, RANDOM, SEARCH = "sketch", "random", "search"
"""Who proposes: sketches as they come, sketches that pass the post-processors, the search."""


class Effort(msgspec.Struct, frozen=True):
    """How much is done for each workload."""

    random: int
    """Random sketches."""
    rounds: int
    """Rounds of the search."""
    count: int
    """Candidates of a round."""
    passing: bool = True
    """Whether random sketches must pass the post-processors before they are proposed."""
    source: str = SEARCH
    """What the candidates of the search are called."""
    population: int = POPULATION
    generations: int = GENERATIONS
    failures: int = FAILURES

    @property
    def asked(self) -> int:
        """Candidates of all rounds."""
        return self.rounds * self.count


class Hunt:
    """The search on one workload; its state is what was measured."""

    def __init__(self, task: Task, effort: Effort) -> None:
        self.task = task
        self._effort = effort
        self._results: dict[str, Result] = {}
        self._pending = 0
        """Candidates that are being judged."""
        self._steps = 0 if effort.random else 1
        """Steps that were asked for; the first one is the random sketches."""
        self._is_cut_off = False
        """Whether a step of the search came to no end."""
        self.exhausted: Exhausted | None = None
        """What the file is told of the search if it has ended by itself."""

    def resume(self, results: Iterable[Result], exhausted: Iterable[Exhausted] = ()) -> None:
        """Learn what an earlier run found, and do not do that again."""
        self._results = {result.script: result for result in results}
        drawn = bool(self._results) or not self._effort.random
        self._steps = drawn + -(-len(self._searched) // self._effort.count)
        for each in exhausted:
            if each.source == self._effort.source:
                self.exhausted = self._exhausted()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do, in this run or another one."""
        has_all = bool(self._steps) and self._left <= 0
        return not self._pending and (has_all or self.exhausted is not None)

    @property
    def wants_step(self) -> bool:
        """Whether the next step can be asked for."""
        return not (self._pending or self._is_cut_off or self.is_over)

    def next_step(self, target: str) -> StepJob:
        """What to ask for next: random sketches, then rounds of the search."""
        self._steps += 1
        is_first = self._steps == 1
        effort = self._effort
        count = effort.random if is_first else min(effort.count, self._left)
        return StepJob(
            self.task.key,
            self.task.prompt,
            target,
            count,
            seed=int(self.task.key[:6], 16) % 1_000_000 + self._steps,
            tries=count * TRIES_PER_SCRIPT if is_first else 0,
            passing=effort.passing,
            measured=tuple(
                (each.script, each.latency.median if each.latency else None)
                for each in self._results.values()
            ),
            population=effort.population,
            generations=effort.generations,
            failures=effort.failures,
        )

    def propose(self, scripts: list[str]) -> list[Candidate]:
        """Return the scripts of the last step as candidates to judge, with their trial numbers.

        The search is over if there are none. Random sketches may all fail.
        """
        is_search = self._steps > 1
        first = RANDOM if self._effort.passing else SKETCH
        source = self._effort.source if is_search else first
        if is_search and not scripts:
            self.exhausted = self._exhausted()
        self._pending = len(scripts)
        last = max(
            (each.trial for each in self._results.values() if each.source == source), default=0
        )
        return [
            Candidate(self.task.key, script, source, trial)
            for trial, script in enumerate(scripts, last + 1)
        ]

    def cut_off(self) -> None:
        """Ask for no more in this run, since the last step came to no end."""
        self._is_cut_off = self._steps > 1

    def add(self, result: Result) -> None:
        """Learn what became of a candidate."""
        self._results[result.script] = result
        self._pending -= 1

    @property
    def _searched(self) -> list[Result]:
        return [each for each in self._results.values() if each.source == self._effort.source]

    @property
    def _left(self) -> int:
        """Candidates of the search that are still to be proposed."""
        return self._effort.asked - len(self._searched)

    def _exhausted(self) -> Exhausted:
        return Exhausted(self.task.key, self._effort.source, self._effort.asked)


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    options = _parser().parse_args(arguments)
    with files_or_exit("search"):
        tasks = _tasks(options)
        file = ResultFile(options.out)
    effort = Effort(
        random=options.random,
        rounds=options.rounds,
        count=options.count,
        passing=not options.unfiltered,
        source=options.source,
        population=options.population,
        generations=options.generations,
        failures=options.failures,
    )
    hunts = _hunts(tasks, effort, file)
    with resumable(), closing(file):
        run = run_facts(options.device, command_of("training.data.search"))
        file.begin(run)
        # A search that had ended before has ended for all that is asked of it now.
        ended = [hunt.exhausted for hunt in hunts if hunt.exhausted]
        file.add(each for each in ended if each not in file.exhausted)
        _run(options, hunts, file, run.run)
    over = sum(hunt.is_over for hunt in hunts)
    few = sum(hunt.exhausted is not None for hunt in hunts)
    print(
        f"{over} of {len(hunts)} workloads have their candidates; of {few} there are no more",
        file=sys.stderr,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.data.search", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--tasks", type=Path, required=True, help="JSONL of the workloads")
    parser.add_argument("--keys", type=Path, help="a file with the keys to search, in this order")
    parser.add_argument("--out", type=Path, required=True, help="JSONL to append results to")
    parser.add_argument("--target", required=True, help="a tag or JSON of TVM")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="(%(default)s)")
    parser.add_argument("--random", type=int, default=6, help="random sketches (%(default)s)")
    parser.add_argument(
        "--unfiltered", action="store_true", help="random sketches that need not pass anything"
    )
    parser.add_argument("--rounds", type=int, default=1, help="rounds of search (%(default)s)")
    parser.add_argument("--count", type=int, default=8, help="candidates a round (%(default)s)")
    parser.add_argument(
        "--population", type=int, default=POPULATION, help="of the search (%(default)s)"
    )
    parser.add_argument(
        "--generations", type=int, default=GENERATIONS, help="of a round (%(default)s)"
    )
    parser.add_argument(
        "--failures",
        type=int,
        default=FAILURES,
        help="batches of random schedules without a valid one that end a search (%(default)s)",
    )
    parser.add_argument(
        "--source", default=SEARCH, help="what the search's candidates are called (%(default)s)"
    )
    parser.add_argument("--first", type=int, help="only so many workloads")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing later")
    parser.add_argument("--searchers", type=int, help="processes that search (half as many)")
    parser.add_argument(
        "--step-seconds", type=float, default=SECONDS_PER_STEP, help="(%(default)s)"
    )
    add_limits(parser, seconds_per_build=10.0, seconds_per_run=20.0)
    return parser


def _tasks(options: argparse.Namespace) -> list[Task]:
    tasks = read(options.tasks, Task)
    if options.keys:
        wanted = {key: place for place, key in enumerate(options.keys.read_text().split())}
        tasks = sorted((each for each in tasks if each.key in wanted), key=lambda t: wanted[t.key])
    return tasks[: options.first]


def _hunts(tasks: list[Task], effort: Effort, file: ResultFile) -> list[Hunt]:
    known: dict[str, list[Result]] = {}
    for result in file.results:
        known.setdefault(result.workload, []).append(result)
    hunts = [Hunt(task, effort) for task in tasks]
    for hunt in hunts:
        exhausted = [each for each in file.exhausted if each.workload == hunt.task.key]
        hunt.resume(known.get(hunt.task.key, []), exhausted)
    return hunts


def _run(options: argparse.Namespace, hunts: list[Hunt], file: ResultFile, run: str) -> None:
    """Keep searchers, builders and the device busy until all is done or time is up."""
    end = time.monotonic() + options.seconds
    builders = options.builders or default_builders()
    searchers = Pool(
        serve_steps,
        options.searchers or max(builders // 2, 1),
        options.step_seconds,
        STEP_PRELOAD,
    )
    evaluator = Evaluator(
        options.target,
        options.device,
        builders=builders,
        seconds_per_build=options.build_seconds,
        seconds_per_run=options.run_seconds,
    )
    by_key = {hunt.task.key: hunt for hunt in hunts}
    waiting = deque(hunt for hunt in hunts if not hunt.is_over)
    proposed: deque[Candidate] = deque()
    counts: Counter[str] = Counter()
    with evaluator, tqdm(unit="script", desc="measured", smoothing=0.05) as bar:
        try:
            while waiting or searchers.unfinished or proposed or evaluator.unfinished:
                is_late = time.monotonic() > end
                if is_late and not evaluator.unfinished:
                    return
                _ask(options, waiting, searchers, proposed, is_late=is_late)
                while proposed and evaluator.room and not is_late:
                    candidate = proposed.popleft()
                    evaluator.submit(by_key[candidate.workload].task, candidate)
                wait([searchers, *evaluator.pools], timeout=0.5)
                for outcome in searchers.ready():
                    hunt = by_key[outcome.job.key]
                    counts["steps"] += 1
                    proposed.extend(_proposed(outcome, hunt, counts, file))
                    if hunt.wants_step:
                        waiting.append(hunt)
                for result in evaluator.ready():
                    hunt = by_key[result.workload]
                    hunt.add(result)
                    if hunt.wants_step:
                        waiting.appendleft(hunt)
                    file.add([msgspec.structs.replace(result, run=run)])
                    counts[result.stage] += 1
                    bar.update(result.stage == "measured")
                    bar.set_postfix_str(_said(counts), refresh=False)
        finally:
            searchers.close()


def _proposed(
    outcome: Outcome, hunt: Hunt, counts: Counter[str], file: ResultFile
) -> list[Candidate]:
    """What a step proposes; why there is nothing goes to the terminal.

    That a search has ended by itself goes to the file.
    """
    if outcome.answer is None:
        hunt.cut_off()
        return _without(outcome.job.key, outcome.reason, counts)
    candidates = hunt.propose(scripts_of(outcome.answer))
    if hunt.exhausted:
        file.add([hunt.exhausted])
    return candidates or _without(outcome.job.key, NOTHING_NEW, counts)


def _without(key: str, reason: str, counts: Counter[str]) -> list[Candidate]:
    counts["without"] += 1
    tqdm.write(f"{key}: no candidates: {reason}", file=sys.stderr)
    return []


def _ask(
    options: argparse.Namespace,
    waiting: deque[Hunt],
    searchers: Pool,
    proposed: deque[Candidate],
    *,
    is_late: bool,
) -> None:
    """Ask for steps, but not for more candidates than the builders can soon take."""
    while waiting and searchers.free and len(proposed) < 64 and not is_late:
        searchers.submit(waiting.popleft().next_step(options.target))


def _said(counts: Counter[str]) -> str:
    return " ".join(f"{key} {count}" for key, count in sorted(counts.items()))


def scripts_of(answer: bytes) -> list[str]:
    """Return what a process that serves steps proposes."""
    return msgspec.json.decode(answer, type=list[str])


def serve_steps(pipe: Connection) -> None:
    """Answer `StepJob`s, up to one that raises: TVM's rules do on some workloads."""
    os.nice(5)
    while True:
        job: StepJob = pipe.recv()
        try:
            scripts = step(job)
        except Exception as error:
            pipe.send_bytes(BROKEN + " ".join(str(error).split())[-200:].encode())
            return
        pipe.send_bytes(msgspec.json.encode(scripts))


if __name__ == "__main__":
    main()
