"""What the baselines with one kernel a workload share: the command line, and the evaluator."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from training.baselines.tasks import Listed, add_workloads
from training.evaluate.build import BuildJob, Built
from training.evaluate.card import command_of, run_facts
from training.evaluate.ends import End
from training.evaluate.evaluator import Evaluator
from training.evaluate.funnel import by_source, funnel, table
from training.evaluate.recording import add_limits, judged, limits, record
from training.evaluate.results import Candidate, Result, ResultFile, read, resumable

SECONDS_PER_BUILD = SECONDS_PER_RUN = 60.0
"""Limits of one kernel; a function of torch may be compiled while it runs."""


class Method(NamedTuple):
    """How candidates of a baseline are judged."""

    build: Callable[[BuildJob], Built]
    """Builds what stands in place of a script."""
    make_end: Callable[[str], End]
    """Makes the end of a device, `cpu` or `cuda`."""


def parser(program: str, about: str | None) -> argparse.ArgumentParser:
    """Return the command line of a baseline."""
    found = argparse.ArgumentParser(
        prog=f"python -m training.baselines.{program}", description=(about or "").splitlines()[0]
    )
    add_workloads(found)
    found.add_argument("--out", type=Path, required=True, help="JSONL to append results to")
    found.add_argument("--target", required=True, help="a tag or JSON of TVM")
    found.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="(%(default)s)")
    add_limits(found, SECONDS_PER_BUILD, SECONDS_PER_RUN)
    return found


def judge(
    program: str,
    options: argparse.Namespace,
    workloads: Sequence[Listed],
    candidates: Sequence[Candidate],
    file: ResultFile,
    method: Method,
) -> None:
    """Judge candidates, append their results, and print how far all of the file came."""
    with resumable(), closing(file):
        if candidates:
            run = run_facts(options.device, command_of(f"training.baselines.{program}"))
            make_end = partial(method.make_end, options.device)
            evaluator = Evaluator(options.target, make_end, build=method.build, **limits(options))
            made = judged(evaluator, workloads, candidates, run, file.begin)
            record(made, file, len(candidates))
    found = by_source(read(options.out, Result))
    print(table({source: funnel(results) for source, results in found.items()}), end="")
