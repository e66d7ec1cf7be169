"""Write valid scripts of many workloads, which nobody measures: what a first training needs.

    python -m training.data.pretrain

Needs TVM, no GPU. Of each workload for training there are a few of MetaSchedule's sketches with
random decisions (`draws.py`) that its post-processors accept. A script ends before the part that
the post-processors write; it is applied to a fresh module once more, and a flag says whether they
write the very same part again. A workload that TVM dies of costs itself only. An interrupted run
goes on from what it has found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tvm.s_tir import Schedule, ScheduleError
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.schedule import Trace as LiveTrace

from tracescript import Trace, dumps, loads
from tracescript.proposals import sampled_part
from tracescript.tvm import from_tvm, import_intrinsics, to_tvm
from training import pool
from training.data import files, tables
from training.data.draws import Sketch
from training.data.splits import shape
from training.workloads import spaces
from training.workloads.workload import Workload

PASSING = 8
"""Scripts of a workload."""

TRIES_PER_SCRIPT = 6
VALIDATION_SHARE = 0.02
"""Of the shapes; by which a training sees whether it overfits."""


class Job(NamedTuple):
    """A workload and how much to sample of it."""

    name: str
    workload: Workload


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=Path, default=files.DATASETS, help="%(default)s")
    parser.add_argument("--parts", type=Path, default=files.PARTS / "pretrain.jsonl")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument("--write", action="store_true", help="only write what was found so far")
    args = parser.parse_args()
    lists = [args.datasets / file.name for file in (files.FURTHER, files.WORKLOADS)]
    rows = [row for file in lists for row in files.workloads(file) if row["split"] == "train"]
    with files.Parts(args.parts) as parts:
        if not args.write:
            _sample(rows, parts, args.jobs)
        found = [(row, parts.read(name(row))) for row in rows if name(row) in parts]
    for split, examples in split_up(found).items():
        tables.write(args.datasets / "pretrain" / f"{split}.parquet", examples, tables.PRETRAIN)
        with_script = len({each["key"] for each in examples})
        print(f"{split}: {len(examples)} scripts of {with_script} workloads", file=sys.stderr)


def name(row: files.Row) -> str:
    """Return what tells a workload from others, whatever its prompt looks like."""
    return json.dumps([row["family"], row["arguments"]])


def split_up(found: Iterable[tuple[files.Row, files.Row]]) -> dict[str, list[files.Row]]:
    """Return the examples of each split; all workloads of a shape are in one of them."""
    examples: dict[str, list[files.Row]] = {"train": [], "validation": []}
    for row, part in found:
        split = "validation" if _is_for_validation(row) else "train"
        examples[split] += [
            {**{field: row[field] for field in ("key", "family", "target", "prompt")}, **each}
            for each in part["scripts"]
        ]
    return examples


def _is_for_validation(row: files.Row) -> bool:
    text = json.dumps(["validation", row["family"], shape(row["arguments"])])
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:4], "big") < VALIDATION_SHARE * 2**32


def _sample(rows: Sequence[files.Row], parts: files.Parts, jobs: int) -> None:
    """Append what is found of each workload that is not there yet."""
    names = ("family", "arguments", "target", "rules", "seed")
    left: list[Job] = []
    for row in rows:
        if name(row) not in parts:
            family, arguments, target, rules, seed = (row[each] for each in names)
            workload = Workload(family, tuple(arguments), target, rules, False, seed)
            left.append(Job(name(row), workload))
    if not left:
        return
    import_intrinsics()
    start = said = time.monotonic()
    counts: Counter[str] = Counter()
    for count, (job, answer, *_) in enumerate(pool.results(left, _serve, jobs), 1):
        part = json.loads(answer) if answer else {"error": "died or too slow", "scripts": []}
        parts.add(job.name, part)
        counts["scripts"] += len(part["scripts"])
        counts["workloads"] += bool(part["scripts"])
        if time.monotonic() - said > 20 or count == len(left):
            said = time.monotonic()
            print(f"{count}/{len(left)} {dict(counts)}, {said - start:.0f} s", file=sys.stderr)


def _serve(pipe: Connection) -> None:
    """Answer jobs in a process of its own."""
    while True:
        job: Job = pipe.recv()
        scripts: list[dict[str, Any]] = []
        error = ""
        try:
            # What was yielded before an error stays.
            scripts.extend(examples_of(job.workload))
        except Exception as caught:
            error = f"{type(caught).__name__}: {str(caught)[-200:]}"
        pipe.send_bytes(json.dumps({"error": error, "scripts": scripts}).encode())


def examples_of(workload: Workload) -> Iterator[dict[str, Any]]:
    """Yield different scripts of a workload that pass the post-processors."""
    seen: set[str] = set()
    context = _context(workload)
    sketches = [Sketch(sketch.trace) for sketch in context.generate_design_space()]
    rng = Random(workload.seed)
    for attempt in range(PASSING * TRIES_PER_SCRIPT):
        trace = sketches[attempt % len(sketches)].draw(rng)
        whole = _finished(trace, workload, context, rng.randrange(1, 2**31))
        script = dumps(sampled_part(whole)) if whole else ""
        if whole is None or script in seen:
            continue
        seen.add(script)
        again = _finished(to_tvm(loads(script)), workload, context, seed=1)
        if again is not None and sampled_part(again) == loads(script):
            yield {"script": script, "reproduced": again == whole}
        if len(seen) == PASSING:
            return


def _finished(
    trace: LiveTrace, workload: Workload, context: ms.TuneContext, seed: int
) -> Trace | None:
    """Apply a trace to a fresh module and return it with the part of the post-processors.

    None if TVM or one of the post-processors refuses it.
    """
    module = spaces.module(workload)
    schedule = Schedule(module, seed=seed, debug_mask="none", error_render_level="none")
    try:
        trace.apply_to_schedule(schedule, remove_postproc=True)
        schedule.enter_postproc()
        accepted = all(step.apply(schedule) for step in context.space_generator.postprocs)
    except ScheduleError:
        return None
    return from_tvm(schedule.trace) if accepted else None


def _context(workload: Workload) -> ms.TuneContext:
    import_intrinsics()  # else the context does it, in half a minute
    generator = ms.space_generator.PostOrderApply(
        sch_rules=workload.rules, postprocs=workload.rules, mutator_probs={}
    )
    return ms.TuneContext(
        spaces.module(workload),
        target=spaces.target(workload.target),
        space_generator=generator,
        num_threads=1,
    )


if __name__ == "__main__":
    main()
