"""How large a TraceDatabase is, and how fast, compared with TVM's JSONDatabase.

    python benchmarks/bench_database.py

Both get the workloads and records of `tests/corpus/llvm.tuning_record.json` and of
`tests/corpus/cuda.tuning_record.json`, in the same order. The subjects take turns; the times are
medians. Needs the `tvm` extra. `pytest benchmarks` finds nothing to run here.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tvm
from tvm.s_tir.meta_schedule.database import JSONDatabase, TuningRecord
from workloads import OWN

from tracescript.tvm.database import TraceDatabase, encode_database
from tracescript.tvm.intrinsics import import_intrinsics

TURNS = 7
FILES = {
    "JSONDatabase": ("database_workload.json", "database_tuning_record.json"),
    "TraceDatabase": ("database_workload.b85", "database_tuning_record.trace"),
}
Opening = Callable[[Path], Any]
Question = Callable[[Any, list[tvm.IRModule]], object]

SUBJECTS: dict[str, Opening] = {
    "JSONDatabase": lambda folder: JSONDatabase(work_dir=str(folder)),
    "TraceDatabase": lambda folder: TraceDatabase(work_dir=folder),
}
QUESTIONS: dict[str, Question] = {
    "open": lambda _database, _modules: None,
    "open, best record of each workload": lambda database, modules: [
        database.get_top_k(database.commit_workload(module), 1) for module in modules
    ],
    "open, all records": lambda database, _modules: database.get_all_tuning_records(),
}


def main() -> None:
    """Print a table for each log."""
    # A JSONDatabase replays its records when it is opened, and some of them need the intrinsics.
    import_intrinsics()
    sys.path.insert(0, str(OWN))
    import _cuda
    import _llvm

    logs = {
        "llvm": [task.module() for task in _llvm.TASKS],
        "cuda": [space.module() for space in _cuda.SPACES],
    }
    for name, modules in logs.items():
        with tempfile.TemporaryDirectory() as folder:
            records = recorded(name, modules, Path(folder))
            sys.stdout.write(f"\n{name}: {len(modules)} workloads, {len(records)} records\n\n")
            sys.stdout.write("| | JSONDatabase | TraceDatabase | ratio |\n|---|---|---|---|\n")
            for label, theirs, ours, unit in rows(records, modules, Path(folder)):
                line = f"| {label} | {theirs:,.{unit}f} | {ours:,.{unit}f} | {ours / theirs:.2f} |"
                sys.stdout.write(line + "\n")


def recorded(name: str, modules: list[tvm.IRModule], folder: Path) -> list[TuningRecord]:
    """Read the records of a log of ours, in their order there."""
    source = folder / "recorded"
    source.mkdir()
    database = JSONDatabase(work_dir=str(source))
    for module in modules:
        database.commit_workload(module)
    shutil.copy(OWN / f"{name}.tuning_record.json", source / FILES["JSONDatabase"][1])
    encode_database(source, source)
    return TraceDatabase(work_dir=source).get_all_tuning_records()


def rows(
    records: list[TuningRecord], modules: list[tvm.IRModule], folder: Path
) -> Iterator[tuple[str, float, float, int]]:
    """Give what is measured, the two numbers, and how many decimals they need."""
    commits: dict[str, list[float]] = {subject: [] for subject in SUBJECTS}
    for turn in range(TURNS):
        for subject, opening in SUBJECTS.items():
            place = folder / f"{subject}{turn}"
            place.mkdir()
            commits[subject].append(timed(fill, opening(place), records))
    sizes = {
        subject: [(folder / f"{subject}0" / name).stat().st_size for name in names]
        for subject, names in FILES.items()
    }
    theirs, ours = sizes["JSONDatabase"], sizes["TraceDatabase"]
    yield "workloads, bytes", theirs[0], ours[0], 0
    yield "records, bytes", theirs[1], ours[1], 0
    yield "together, bytes", sum(theirs), sum(ours), 0
    theirs, ours = (statistics.median(times) / len(records) for times in commits.values())
    yield "commit a record, ms", theirs, ours, 2
    for label, ask in QUESTIONS.items():
        theirs, ours = opened_and_asked(ask, modules, folder)
        yield f"{label}, ms", theirs, ours, 1


def fill(database: Any, records: list[TuningRecord]) -> None:
    """Commit all records, and their workloads on the way."""
    for record in records:
        workload = database.commit_workload(record.workload.mod)
        database.commit_tuning_record(
            TuningRecord(record.trace, workload, record.run_secs, record.target, record.args_info)
        )


def opened_and_asked(ask: Question, modules: list[tvm.IRModule], folder: Path) -> list[float]:
    """Measure opening a database and asking it something, for each subject."""
    times: dict[str, list[float]] = {subject: [] for subject in SUBJECTS}
    for turn in range(TURNS):
        for subject, opening in SUBJECTS.items():
            place = folder / f"{subject}{turn}"
            times[subject].append(timed(open_and_ask, opening, place, ask, modules))
    return [statistics.median(each) for each in times.values()]


def open_and_ask(
    opening: Opening, folder: Path, ask: Question, modules: list[tvm.IRModule]
) -> None:
    """Open a database and ask it something."""
    ask(opening(folder), modules)


def timed(run: Callable[..., object], *arguments: object) -> float:
    """Give the milliseconds that a call takes."""
    start = time.perf_counter()
    run(*arguments)
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    main()
