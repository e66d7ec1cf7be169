r"""Judge schedule scripts: build them, run them, compare with float64, time them.

    python -m training.evaluate CANDIDATES.jsonl --tasks TASKS.jsonl --out results.jsonl

A line of TASKS is `{"key": ..., "prompt": ...}` (see docs/workloads.md), one of CANDIDATES
`{"workload": KEY, "script": ...}`; both may be compressed (`.xz`). There may be several files of
candidates: a script that comes twice is judged once, and those of a workload one after another.
Results are appended, a line each, and so is what the files say of searches that have ended:
interrupt it at any time, the same command goes on from there. At the end the funnel is printed. The
CPU works everywhere; `--target nvidia/nvidia-h100 --device cuda` needs a GPU; `--device none` stops
after the post-processors. `--ray` spreads the work over a cluster, `--rpc` measures on a device
behind TVM's RPC.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import msgspec

from training.evaluate.card import command_of, run_facts
from training.evaluate.evaluator import evaluator_for
from training.evaluate.funnel import funnel, table
from training.evaluate.recording import Begin, Results, add_limits, judged, left, limits, record
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

PROGRAM = "training.evaluate"

CPU = '{"kind": "llvm", "num-cores": 2}'


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.device == "none" and (options.ray or options.rpc):
        parser.error("--device none is for this machine alone: expected no --ray and no --rpc")
    with files_or_exit("evaluate"):
        tasks = read(options.tasks, Task)
        candidates = [each for path in options.candidates for each in read(path, Candidate)]
        exhausted = [each for path in options.candidates for each in read(path, Exhausted)]
        _require_known(tasks, candidates)
        file = ResultFile(options.out, options.device)
    unjudged = left(candidates, file.results)
    with resumable(), closing(file):
        file.add(each for each in exhausted if each not in file.exhausted)
        if unjudged:
            record(_judged(options, tasks, unjudged, file.begin), file, len(unjudged))
    results = read(options.out, Result)
    print(table({" ".join(path.stem for path in options.candidates): funnel(results)}), end="")
    for row in funnel(results)["reasons"]:
        print(f"{row['count']:6} after {row['after']}: {row['reason']}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluate", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "candidates", type=Path, nargs="+", help="JSONL of scripts and their workloads"
    )
    parser.add_argument("--tasks", type=Path, required=True, help="JSONL of the workloads")
    parser.add_argument("--out", type=Path, required=True, help="JSONL to append results to")
    parser.add_argument("--target", default=CPU, help="a tag or JSON of TVM (%(default)s)")
    parser.add_argument(
        "--device",
        default="cpu",
        choices=("cpu", "cuda", "none"),
        help="`none` compiles and runs nothing (%(default)s)",
    )
    add_limits(parser)
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--ray", metavar="ADDRESS", help="a Ray cluster; `local` starts one here")
    place.add_argument("--rpc", metavar="HOST:PORT", help="a server of TVM's RPC with the device")
    parser.add_argument("--stations", type=int, help="of the cluster (one a machine or GPU)")
    parser.add_argument("--rpc-key", default="", help="the address is a tracker's, this the key")
    return parser


def _require_known(tasks: list[Task], candidates: list[Candidate]) -> None:
    keys = {task.key for task in tasks}
    for number, candidate in enumerate(candidates, 1):
        if candidate.workload not in keys:
            sys.exit(f"evaluate: candidate {number} is of {candidate.workload!r}, which is no task")


def _judged(
    options: argparse.Namespace, tasks: list[Task], candidates: list[Candidate], begin: Begin
) -> Results:
    made = _on_cluster if options.ray else _behind_rpc if options.rpc else _here
    return made(options, tasks, candidates, begin)


def _here(
    options: argparse.Namespace, tasks: list[Task], candidates: list[Candidate], begin: Begin
) -> Results:
    run = run_facts(options.device, command_of(PROGRAM))
    evaluator = evaluator_for(options.target, options.device, **limits(options))
    return judged(evaluator, tasks, candidates, run, begin)


def _on_cluster(
    options: argparse.Namespace, tasks: list[Task], candidates: list[Candidate], begin: Begin
) -> Results:
    # Ray is optional.
    from training.evaluate import cluster

    place = {"target": options.target, "device": options.device, "stations": options.stations}
    about = {"command": command_of(PROGRAM), "begin": begin}
    try:
        with cluster.connected(options.ray):
            yield from cluster.evaluate(tasks, candidates, **place, **limits(options), **about)
    except (ConnectionError, cluster.ClusterError) as error:
        _stop(error)


def _behind_rpc(
    options: argparse.Namespace, tasks: list[Task], candidates: list[Candidate], begin: Begin
) -> Results:
    # What TVM's RPC needs is optional.
    from training.evaluate import rpc

    try:
        server = rpc.Server.parse(options.rpc, options.rpc_key)
    except ValueError as error:
        sys.exit(f"evaluate: {error}")
    try:
        card = rpc.card(server, options.device)
        run = msgspec.structs.replace(run_facts("cpu", command_of(PROGRAM)), card=card)
        evaluator = rpc.evaluator(server, options.device, options.target, **limits(options))
        with closing(judged(evaluator, tasks, candidates, run, begin)) as found:
            yield from rpc.until_lost(found)
    except rpc.NoServerError as error:
        _stop(error)


def _stop(error: Exception) -> NoReturn:
    sys.exit(f"evaluate: {error}; the same command goes on from here")


if __name__ == "__main__":
    main()
