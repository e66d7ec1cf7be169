"""Make the corpus on which the tokenizer of TraceScript is trained.

    python -m training.tokens.generate --out training/tokens/corpus

Needs `apache-tvm==0.27.0.post1` with `apache-tvm-ffi>=0.1.14,<0.1.15`; no GPU is used. Each
workload is handled in a forked process that has TVM imported, so one that TVM crashes on costs
itself only. Results are appended to `parts.jsonl`, a workload a line. Interrupt the run at any
time: the same command goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, NamedTuple

from tracescript.tvm import import_intrinsics
from training import pool
from training.evaluate.results import resumable
from training.tokens import live, parts
from training.workloads import spaces
from training.workloads.workload import Workload, draw


class Job(NamedTuple):
    """A workload and how much to sample of it."""

    index: int
    workload: Workload
    passing: int
    tries: int


def main() -> None:
    """Do what the command line asks for."""
    args = _arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    wanted = draw(args.workloads, args.seed)
    path = args.out / "parts.jsonl"
    path.touch()
    with path.open("r+b") as file:
        done = parts.positions(file, wanted)
        file.seek(0, os.SEEK_END)
        jobs = [
            Job(index, workload, args.passing, args.tries)
            for index, workload in enumerate(wanted)
            if index not in done
        ]
        with resumable():
            if jobs:
                _run(jobs, args.jobs, file)
        file.seek(0)
        parts.write_corpus(args.out, file, wanted)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--workloads", type=int, default=6000, help="how many (%(default)s)")
    parser.add_argument("--passing", type=int, default=3, help="samples that pass (%(default)s)")
    parser.add_argument("--tries", type=int, default=24, help="tries to find those (%(default)s)")
    parser.add_argument("--seed", type=int, default=2027, help="seed of it all (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (%(default)s)")
    return parser.parse_args()


def _run(jobs: list[Job], processes: int, file: IO[bytes]) -> None:
    """Append the part of every job to the file, and say how it goes every few seconds."""
    import_intrinsics()
    start = said = time.monotonic()
    counts: Counter[str] = Counter()
    for number, (job, answer) in enumerate(pool.results(jobs, _serve, processes), 1):
        line = answer or _line(job, [], "the process died or took too long")
        file.write(line)
        counts["traces"] += line.count(b'"passed"')
        counts["without"] += b'"samples": []' in line
        if time.monotonic() - said > 10 or number == len(jobs):
            said = time.monotonic()
            file.flush()
            _say(number, len(jobs), counts, said - start)


def _say(number: int, count: int, counts: Counter[str], seconds: float) -> None:
    print(
        f"{number}/{count} workloads, {counts['traces']} traces, {counts['without']} workloads"
        f" without any, {seconds:.0f} s",
        file=sys.stderr,
    )


def _serve(pipe: Connection) -> None:
    """Answer jobs in a process of its own."""
    file_form = live.FileForm()
    while True:
        job: Job = pipe.recv()
        form = file_form if job.workload.seed % 2 else live.python_form
        samples: list[dict[str, Any]] = []
        error = None
        try:
            module = spaces.module(job.workload)
            for sample in spaces.samples(job.workload, module, job.passing, job.tries):
                trace = form(sample.schedule.trace)
                samples.append({"passed": sample.passed, "trace": trace})
        except Exception as caught:
            error = f"{type(caught).__name__}: {str(caught)[-300:]}"
        pipe.send_bytes(_line(job, samples, error))


def _line(job: Job, samples: list[dict[str, Any]], error: str | None) -> bytes:
    workload = job.workload
    part = {
        "index": job.index,
        "split": workload.split(),
        **workload._asdict(),
        "error": error,
        "samples": samples,
    }
    return json.dumps(part).encode() + b"\n"


if __name__ == "__main__":
    main()
