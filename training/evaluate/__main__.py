r"""Judge schedule scripts: build them, run them, compare with float64, time them.

    python -m training.evaluate CANDIDATES.jsonl --tasks TASKS.jsonl --out results.jsonl

A line of TASKS is `{"key": ..., "prompt": ...}` (see docs/workloads.md), one of CANDIDATES
`{"workload": KEY, "script": ...}`; both may be compressed (`.xz`). There may be several files of
candidates: a script that comes twice is judged once, and those of a workload one after another.
Results are appended, a line each: interrupt it at any time, the same command goes on from there. At
the end the funnel is printed. The CPU works everywhere; `--target nvidia/nvidia-h100 --device cuda`
needs a GPU; `--device none` stops after the post-processors. `--ray` spreads the work over a
cluster, `--rpc` measures on a device behind TVM's RPC.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from tqdm import tqdm

from training.evaluate.card import run_facts
from training.evaluate.evaluator import SECONDS_PER_BUILD, SECONDS_PER_RUN, evaluator_for
from training.evaluate.funnel import funnel, table
from training.evaluate.results import Candidate, Result, ResultFile, Run, Task, files_or_exit, read

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
        _require_known(tasks, candidates)
        file = ResultFile(options.out, options.device)
    left = _left(candidates, file.results)
    try:
        for result in _shown(_judged(options, tasks, left, file.begin), len(left)):
            file.add([result])
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on from here")
    finally:
        file.close()
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
    parser.add_argument("--builders", type=int, help="processes that build (cores less one)")
    parser.add_argument(
        "--build-seconds", type=float, default=SECONDS_PER_BUILD, help="(%(default)s)"
    )
    parser.add_argument("--run-seconds", type=float, default=SECONDS_PER_RUN, help="(%(default)s)")
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


def _left(candidates: list[Candidate], done: list[Result]) -> list[Candidate]:
    """What is to be judged, each script once, workload by workload."""
    known = {(each.workload, each.script) for each in done}
    left: dict[str, dict[str, Candidate]] = {}
    for each in candidates:
        if (each.workload, each.script) not in known:
            left.setdefault(each.workload, {}).setdefault(each.script, each)
    return [each for scripts in left.values() for each in scripts.values()]


Begin = Callable[[Run], None]
"""What is told of a run before its results."""


def _judged(
    options: argparse.Namespace, tasks: list[Task], candidates: list[Candidate], begin: Begin
) -> Iterator[Result]:
    if not candidates:
        return iter(())
    judged = _on_cluster if options.ray else _behind_rpc if options.rpc else _here
    return judged(options, tasks, candidates, begin)


def _here(
    options: argparse.Namespace, tasks: list[Task], candidates: list[Candidate], begin: Begin
) -> Iterator[Result]:
    run = run_facts(options.device, _command())
    begin(run)
    with evaluator_for(options.target, options.device, **_limits(options)) as evaluator:
        for result in evaluator.evaluate(tasks, candidates):
            yield msgspec.structs.replace(result, run=run.run)


def _on_cluster(
    options: argparse.Namespace, tasks: list[Task], candidates: list[Candidate], begin: Begin
) -> Iterator[Result]:
    # Ray is optional.
    from training.evaluate import cluster

    place = {"target": options.target, "device": options.device, "stations": options.stations}
    about = {"command": _command(), "begin": begin}
    try:
        with cluster.connected(options.ray):
            yield from cluster.evaluate(tasks, candidates, **place, **_limits(options), **about)
    except (ConnectionError, cluster.ClusterError) as error:
        _stop(error)


def _behind_rpc(
    options: argparse.Namespace, tasks: list[Task], candidates: list[Candidate], begin: Begin
) -> Iterator[Result]:
    # What TVM's RPC needs is optional.
    from training.evaluate import rpc

    try:
        server = rpc.Server.parse(options.rpc, options.rpc_key)
    except ValueError as error:
        sys.exit(f"evaluate: {error}")
    try:
        card = rpc.card(server, options.device)
        run = msgspec.structs.replace(run_facts("cpu", _command()), card=card)
        begin(run)
        with rpc.evaluator(server, options.device, options.target, **_limits(options)) as evaluator:
            for result in rpc.until_lost(evaluator.evaluate(tasks, candidates)):
                yield msgspec.structs.replace(result, run=run.run)
    except rpc.NoServerError as error:
        _stop(error)


def _limits(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "builders": options.builders,
        "seconds_per_build": options.build_seconds,
        "seconds_per_run": options.run_seconds,
    }


def _command() -> str:
    return shlex.join(["python", "-m", "training.evaluate", *sys.argv[1:]])


def _stop(error: Exception) -> NoReturn:
    sys.exit(f"evaluate: {error}; the same command goes on from here")


def _shown(results: Iterator[Result], total: int) -> Iterator[Result]:
    with tqdm(total=total, unit="script") as bar:
        measured = 0
        for result in results:
            measured += result.stage == "measured"
            bar.set_postfix(measured=measured)
            bar.update()
            yield result


if __name__ == "__main__":
    main()
