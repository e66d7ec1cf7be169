r"""Find and measure schedules: random sketches first, then MetaSchedule's evolutionary search.

    python -m training.data.search --tasks training/datasets/workloads.jsonl.xz \
        --out results.jsonl --target nvidia/nvidia-h100 --device cuda --seconds 570

For each workload a few random sketches that pass the post-processors are measured, then as many
rounds of the search as asked for, with its cost model taught by what was measured. Everything is
measured by `training.evaluate`. Results are appended; interrupt it at any time, the same command
goes on from there. A workload that has its candidates is not looked at again.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections import Counter, deque
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
from tqdm import tqdm

from training.data.search_step import StepJob, step
from training.evaluate.card import run_facts
from training.evaluate.evaluator import PRELOAD, Evaluator, default_builders
from training.evaluate.results import Candidate, Result, ResultFile, Task, files_or_exit, read
from training.pool import Outcome, Pool, wait

SECONDS_PER_STEP = 60.0
TRIES_PER_SCRIPT = 24
"""Random sketches that are drawn for one that passes; most workloads need fewer."""

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
    passing: bool
    """Whether random sketches must pass the post-processors before they are proposed."""


class Proposal(msgspec.Struct, frozen=True):
    """What came of a step."""

    scripts: list[str]
    error: str = ""


class Hunt:
    """The search on one workload; its state is what was measured."""

    def __init__(self, task: Task, effort: Effort) -> None:
        self.task = task
        self._effort = effort
        self._results: dict[str, Result] = {}
        self.pending = 0
        """Candidates that are being judged."""
        self.rounds = 0
        """Steps that were asked for."""

    def add(self, result: Result) -> None:
        """Learn what became of a candidate."""
        self._results[result.script] = result

    def resume(self, results: list[Result]) -> None:
        """Learn what an earlier run found, and do not do those rounds again."""
        for result in results:
            self.add(result)
        searched = sum(result.source == SEARCH for result in results)
        drawn = bool(results)
        self.rounds = drawn + -(-searched // self._effort.count)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.rounds > self._effort.rounds and not self.pending

    @property
    def wants_step(self) -> bool:
        """Whether the next step can be asked for."""
        return self.rounds <= self._effort.rounds and not self.pending

    def next_step(self, target: str) -> StepJob:
        """What to ask for next: random sketches, then rounds of the search."""
        self.rounds += 1
        is_first = self.rounds == 1
        measured = [
            (each.script, each.latency.median)
            for each in self._results.values()
            if each.latency is not None
        ]
        count = self._effort.random if is_first else self._effort.count
        return StepJob(
            self.task.key,
            self.task.prompt,
            target,
            count,
            seed=int(self.task.key[:6], 16) % 1_000_000 + self.rounds,
            tries=count * TRIES_PER_SCRIPT if is_first else 0,
            passing=self._effort.passing,
            measured=tuple(measured),
        )

    @property
    def source(self) -> str:
        """Where the candidates of the last step come from."""
        first = RANDOM if self._effort.passing else SKETCH
        return first if self.rounds == 1 else SEARCH


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    options = _parser().parse_args(arguments)
    with files_or_exit("search"):
        tasks = _tasks(options)
        file = ResultFile(options.out)
    effort = Effort(options.random, options.rounds, options.count, not options.unfiltered)
    hunts = _hunts(tasks, effort, file.results)
    run = run_facts(
        options.device, shlex.join(["python", "-m", "training.data.search", *sys.argv[1:]])
    )
    file.begin(run)
    try:
        _run(options, hunts, file, run.run)
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on from here")
    finally:
        file.close()
    over = sum(hunt.is_over for hunt in hunts)
    print(f"{over} of {len(hunts)} workloads have all their candidates", file=sys.stderr)


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
    parser.add_argument("--first", type=int, help="only so many workloads")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing later")
    parser.add_argument("--builders", type=int, help="processes that build (cores less one)")
    parser.add_argument("--searchers", type=int, help="processes that search (half as many)")
    parser.add_argument("--build-seconds", type=float, default=10.0, help="(%(default)s)")
    parser.add_argument("--run-seconds", type=float, default=20.0, help="(%(default)s)")
    return parser


def _tasks(options: argparse.Namespace) -> list[Task]:
    tasks = read(options.tasks, Task)
    if options.keys:
        wanted = {key: place for place, key in enumerate(options.keys.read_text().split())}
        tasks = sorted((each for each in tasks if each.key in wanted), key=lambda t: wanted[t.key])
    return tasks[: options.first]


def _hunts(tasks: list[Task], effort: Effort, results: list[Result]) -> list[Hunt]:
    known: dict[str, list[Result]] = {}
    for result in results:
        known.setdefault(result.workload, []).append(result)
    hunts = [Hunt(task, effort) for task in tasks]
    for hunt in hunts:
        hunt.resume(known.get(hunt.task.key, []))
    return hunts


def _run(options: argparse.Namespace, hunts: list[Hunt], file: ResultFile, run: str) -> None:
    """Keep searchers, builders and the device busy until all is done or time is up."""
    end = time.monotonic() + options.seconds
    builders = options.builders or default_builders()
    searchers = Pool(
        serve_steps,
        options.searchers or max(builders // 2, 1),
        SECONDS_PER_STEP,
        [*PRELOAD, "training.data.search_step"],
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
                    scripts = _scripts(outcome, counts)
                    hunt.pending = len(scripts)
                    proposed.extend(Candidate(outcome.job.key, s, hunt.source) for s in scripts)
                    if not scripts and not hunt.is_over:
                        waiting.append(hunt)
                for result in evaluator.ready():
                    hunt = by_key[result.workload]
                    hunt.add(result)
                    hunt.pending -= 1
                    if hunt.wants_step:
                        waiting.appendleft(hunt)
                    file.add([msgspec.structs.replace(result, run=run)])
                    counts[result.stage] += 1
                    bar.update(result.stage == "measured")
                    bar.set_postfix_str(_said(counts), refresh=False)
        finally:
            searchers.close()


def _scripts(outcome: Outcome, counts: Counter[str]) -> list[str]:
    """What a step proposes; why there is nothing goes to the terminal."""
    proposal = (
        msgspec.json.decode(outcome.answer, type=Proposal)
        if outcome.answer
        else Proposal([], outcome.reason)
    )
    if not proposal.scripts:
        counts["without"] += 1
        reason = proposal.error or "nothing passes the post-processors"
        tqdm.write(f"{outcome.job.key}: no candidates: {reason}", file=sys.stderr)
    return proposal.scripts


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


def serve_steps(pipe: Connection) -> None:
    """Answer `StepJob`s."""
    os.nice(5)
    while True:
        job: StepJob = pipe.recv()
        try:
            answer = Proposal(step(job))
        except Exception as error:
            # TVM's rules raise on some workloads.
            answer = Proposal([], " ".join(str(error).split())[-200:])
        pipe.send_bytes(msgspec.json.encode(answer))


if __name__ == "__main__":
    main()
