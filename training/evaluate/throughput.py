r"""How many candidates a second? This evaluator and MetaSchedule's builder and runner, in one run.

    python -m training.evaluate.throughput training/results/search.jsonl.xz \
        --tasks training/datasets/workloads.jsonl.xz \
        --target nvidia/nvidia-h100 --device cuda --out training/results/throughput.json

Both get the same candidates, drawn from those that were measured before. Ours starts from scripts
and checks every output against float64 on several inputs. MetaSchedule's `LocalBuilder` and
`LocalRunner`, as they are by default, start from modules that were scheduled before the clock, and
check nothing; they get the first `--theirs`. Both clocks begin when all is imported, and stop with
the last result; time to start the workers is part of it.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from tvm.s_tir import meta_schedule as ms

from tracescript.tvm import import_intrinsics
from training.evaluate.build import scheduled_module, target_of
from training.evaluate.card import command_of, run_facts
from training.evaluate.evaluator import Evaluator, default_builders
from training.evaluate.results import Candidate, Result, Task, files_or_exit, read


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, help="JSONL of results; what was measured is drawn")
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--ours", type=int, default=400, help="candidates for us (%(default)s)")
    parser.add_argument("--theirs", type=int, default=64, help="for MetaSchedule (%(default)s)")
    parser.add_argument("--each", type=int, default=8, help="of one workload (%(default)s)")
    parser.add_argument("--builders", type=int, help="processes of both (cores less one)")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    import_intrinsics()
    with files_or_exit("throughput"):
        tasks = {task.key: task for task in read(options.tasks, Task)}
        candidates = drawn(read(options.results, Result), options.ours, options.each)
    builders = options.builders or default_builders()
    command = command_of("training.evaluate.throughput")
    report: dict[str, Any] = {
        "run": msgspec.to_builtins(run_facts(options.device, command)),
        "builders": builders,
        "ours": ours(options, tasks, candidates[: options.ours], builders),
        "metaschedule": theirs(options, tasks, candidates[: options.theirs], builders),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({key: report[key] for key in ("ours", "metaschedule")}, indent=1))
    print(table(report))


def drawn(results: list[Result], count: int, each: int) -> list[Candidate]:
    """Measured scripts of workloads in random order, the same at every call.

    Args:
        results: What was measured, and what was not, which is left out.
        count: How many scripts at most.
        each: How many scripts of one workload at most; workloads that have fewer are left out.

    Returns:
        The candidates, those of a workload side by side.
    """
    scripts: dict[str, list[Candidate]] = {}
    for result in results:
        if result.stage == "measured":
            candidate = Candidate(result.workload, result.script, result.source)
            scripts.setdefault(result.workload, []).append(candidate)
    full = sorted(key for key, found in scripts.items() if len(found) >= each)
    random.Random(0).shuffle(full)
    return [candidate for key in full for candidate in scripts[key][:each]][:count]


def table(report: dict[str, Any]) -> str:
    """A Markdown table of both rates."""
    rows = [
        f"| {name} | {part['candidates']} | {part['workloads']} | {part['measured']} "
        f"| {part['seconds']} | {part['measured_per_second']} |"
        for name, part in (("ours", report["ours"]), ("MetaSchedule", report["metaschedule"]))
    ]
    head = ["", "candidates", "workloads", "measured", "seconds", "measured a second"]
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows])


def ours(
    options: argparse.Namespace, tasks: dict[str, Task], candidates: list[Candidate], builders: int
) -> dict[str, Any]:
    """Judge candidates by this evaluator."""
    begin = time.monotonic()
    with Evaluator(options.target, options.device, builders=builders) as evaluator:
        results = list(evaluator.evaluate(tasks.values(), candidates))
        seconds = time.monotonic() - begin
    stages = Counter(result.stage for result in results)
    return _rates(len(results), stages["measured"], seconds) | {
        "workloads": _workloads(candidates),
        "stages": dict(stages),
        "building": _spread([each.seconds[0] for each in results]),
        "running": _spread([each.seconds[1] for each in results if each.seconds[1]]),
    }


def theirs(
    options: argparse.Namespace, tasks: dict[str, Task], candidates: list[Candidate], builders: int
) -> dict[str, Any]:
    """Build and run candidates by MetaSchedule's own means; nothing is checked."""
    target = target_of(options.target)
    modules: list[Any] = []
    for candidate in candidates:
        module = scheduled_module(
            candidate.script, tasks[candidate.workload].prompt, options.target
        )
        if module is not None:
            modules.append(module)
    begin = time.monotonic()
    inputs = [ms.builder.BuilderInput(module, target) for module in modules]
    built = ms.builder.LocalBuilder(max_workers=builders).build(inputs)
    building = time.monotonic() - begin
    errors = Counter(_short(each.error_msg) for each in built if each.error_msg)
    ready = [
        ms.runner.RunnerInput(
            each.artifact_path,
            target.kind.name,
            ms.arg_info.ArgInfo.from_entry_func(module, remove_preproc=True),
        )
        for each, module in zip(built, modules, strict=True)
        if each.artifact_path
    ]
    measured = 0
    if ready:
        for future in ms.runner.LocalRunner().run(ready):
            outcome = future.result()
            measured += outcome.run_secs is not None
            if outcome.error_msg:
                errors[_short(outcome.error_msg)] += 1
    seconds = time.monotonic() - begin
    return _rates(len(modules), measured, seconds) | {
        "workloads": _workloads(candidates),
        "seconds_building": round(building, 2),
        "errors": dict(errors.most_common(5)),
    }


def _workloads(candidates: list[Candidate]) -> int:
    return len({each.workload for each in candidates})


def _rates(given: int, measured: int, seconds: float) -> dict[str, Any]:
    return {
        "candidates": given,
        "measured": measured,
        "seconds": round(seconds, 2),
        "measured_per_second": round(measured / seconds, 2),
    }


def _spread(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    places = {"median": len(ordered) // 2, "p90": len(ordered) * 9 // 10, "max": -1}
    return {name: round(ordered[place], 3) for name, place in places.items()} if ordered else {}


def _short(message: Any) -> str:
    lines = str(message).strip().splitlines()
    return lines[-1][:120] if lines else ""


if __name__ == "__main__":
    main()
