r"""Propose the first trials of MetaSchedule's search, which need no measurement and so no device.

    python -m training.baselines.metaschedule --target nvidia/nvidia-h100 --out first.jsonl
    python -m training.evaluate first.jsonl --tasks training/datasets/workloads.jsonl.xz \
        --out metaschedule.jsonl --target nvidia/nvidia-h100 --device cuda

Each candidate has its trial number, by which "the best of 8 trials" is found; `--trials 8` writes
only those, and a later file with all of them is measured without repeating any. Of a workload for
which there is no candidate the file says so. Later rounds are taught by what was measured.
`training.data.search` goes on from those results:

    python -m training.data.search --tasks training/datasets/workloads.jsonl.xz --keys subset.txt \
        --source metaschedule --random 0 --rounds 4 --count 64 --population 128 --generations 4 \
        --failures 75 --step-seconds 1200 --out metaschedule.jsonl \
        --target nvidia/nvidia-h100 --device cuda

With `--rounds 1` and the keys of all, it fills up the first round where that has fewer than 64
candidates, until it finds nothing new. Before that it is not known whether there are more.

The search is TVM's `EvolutionarySearch` with its own numbers (64 trials a round, 4 generations, 5%
picked at random, a fifth of the population measured ones), but for two. The population is 128
instead of 512, see `POPULATION`, without giving up sooner, see `FAILURES`. And its cost model says
what it thinks from the second round on, where TVM's own is silent until 100 trials are measured. An
interrupted run goes on from what it has proposed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

import msgspec
from tqdm import tqdm

from training.baselines.tasks import Listed, add_workloads, chosen
from training.data import files
from training.data.search import NOTHING_NEW, STEP_PRELOAD, Effort, Hunt, scripts_of, serve_steps
from training.evaluate.evaluator import default_builders
from training.evaluate.results import Candidate, Exhausted, files_or_exit, resumable
from training.pool import results

SOURCE = "metaschedule"

TRIALS = 64
"""Those of a round, as TVM's tuner has them."""

POPULATION, GENERATIONS = 128, 4
"""TVM's own population is 512. A round takes as long as its population is large."""

FAILURES = 75
"""TVM's own is 5 batches of 512 random schedules without a valid one. It is reached if less than
0.34% of them are valid: of n in a batch with a share of p, 50 are found after 50/np batches, of
which exp(-np) have none. With batches of 128 the same share takes 75."""

SECONDS_PER_STEP = 1200.0


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    options = _parser().parse_args(arguments)
    effort = Effort(
        random=0,
        rounds=1,
        count=options.count,
        source=SOURCE,
        population=options.population,
        generations=options.generations,
        failures=options.failures,
    )
    with files_or_exit("metaschedule"):
        workloads = chosen(options)
        with files.Parts(options.parts) as parts:
            names = {each.key: _name(each, options.target, effort) for each in workloads}
            with resumable():
                _propose(options, effort, workloads, names, parts)
            found = {
                key: parts.read(name)["scripts"] for key, name in names.items() if name in parts
            }
    candidates = [
        each for key, scripts in found.items() for each in numbered(key, scripts[: options.trials])
    ]
    exhausted = [
        Exhausted(key, SOURCE, effort.asked) for key, scripts in found.items() if not scripts
    ]
    files.write(options.out, msgspec.json.Encoder().encode_lines([*candidates, *exhausted]))
    for each in exhausted:
        print(f"{each.workload}: no candidates: {NOTHING_NEW}", file=sys.stderr)
    some = len(found) - len(exhausted)
    print(f"{len(candidates)} candidates of {some} of {len(names)} workloads", file=sys.stderr)


def numbered(key: str, scripts: Iterable[str]) -> list[Candidate]:
    """Return the candidates of a workload with their trial numbers."""
    return [Candidate(key, script, SOURCE, trial) for trial, script in enumerate(scripts, 1)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.baselines.metaschedule",
        description=(__doc__ or "").splitlines()[0],
    )
    add_workloads(parser)
    parser.add_argument("--out", type=Path, required=True, help="JSONL of candidates to write")
    parser.add_argument("--target", required=True, help="a tag or JSON of TVM")
    parser.add_argument("--count", type=int, default=TRIALS, help="candidates (%(default)s)")
    parser.add_argument("--trials", type=int, help="write only the first ones of each (all)")
    parser.add_argument("--population", type=int, default=POPULATION, help="(%(default)s)")
    parser.add_argument("--generations", type=int, default=GENERATIONS, help="(%(default)s)")
    parser.add_argument("--failures", type=int, default=FAILURES, help="(%(default)s)")
    parser.add_argument(
        "--step-seconds", type=float, default=SECONDS_PER_STEP, help="(%(default)s)"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing later")
    parser.add_argument("--jobs", type=int, default=default_builders(), help="(%(default)s)")
    parser.add_argument(
        "--parts",
        type=Path,
        default=files.PARTS / "metaschedule.jsonl",
        help="what an interrupted run goes on from (%(default)s)",
    )
    return parser


def _name(workload: Listed, target: str, effort: Effort) -> str:
    """What a part is known by: all that its scripts depend on."""
    numbers = (effort.count, effort.population, effort.generations, effort.failures)
    return json.dumps([workload.key, target, *numbers])


def _propose(
    options: argparse.Namespace,
    effort: Effort,
    workloads: list[Listed],
    names: dict[str, str],
    parts: files.Parts,
) -> None:
    """Append what the search proposes for each workload that is not there yet.

    A step that took too long, died or raised leaves nothing: the same command tries again.
    """
    end = time.monotonic() + options.seconds
    left = [each for each in workloads if names[each.key] not in parts]
    jobs = (
        Hunt(each, effort).next_step(options.target)
        for each in takewhile(lambda _: time.monotonic() < end, left)
    )
    found = results(jobs, serve_steps, options.jobs, options.step_seconds, STEP_PRELOAD)
    for outcome in tqdm(found, total=len(left), unit="workload"):
        if outcome.answer is None:
            tqdm.write(f"{outcome.job.key}: {outcome.reason}", file=sys.stderr)
        else:
            parts.add(names[outcome.job.key], {"scripts": scripts_of(outcome.answer)})


if __name__ == "__main__":
    main()
