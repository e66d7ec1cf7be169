"""Record the real traces that the tests run over.

    python tests/corpus/record.py --out tests/corpus

Needs `apache-tvm==0.27.0.post1` with `apache-tvm-ffi>=0.1.14,<0.1.15` and takes about two
minutes on two CPU cores; no GPU is used. With `--only primitives`, `--only llvm` or
`--only cuda` the other files stay as they are.

A second run with the same seed gives the same `primitives.*`, `unloadable.*` and `cuda.*` files,
byte for byte. `llvm.tuning_record.json` differs in each run: its run times are measured.

Each file is written whole under another name first, so an interrupted run leaves the old ones.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi
from _example import Example
from tvm.s_tir.meta_schedule.database import JSONDatabase, TuningRecord
from tvm.s_tir.schedule import InstructionKind, Trace

from tracescript import to_json
from tracescript.tvm import from_tvm

SCHEDULE_FUNCTION = "s_tir.schedule.Schedule"
"""The FFI functions with this prefix are the primitives; one instruction kind each, or none."""

Recorder = Callable[[Path, int], dict[str, bytes]]
Made = tuple[tvm.IRModule, Trace]


def main() -> None:
    """Record what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the recorded files")
    parser.add_argument("--only", choices=sorted(RECORDERS), help="record this part alone")
    parser.add_argument("--seed", type=int, default=2027, help="seed of all sampling")
    args = parser.parse_args()
    for part in [args.only] if args.only else RECORDERS:
        print(f"{part}:", file=sys.stderr)
        with tempfile.TemporaryDirectory() as work_dir:
            files = RECORDERS[part](Path(work_dir), args.seed)
        for name, content in files.items():
            replace_file(args.out / name, content)
            report(name, content)


def record_primitives(work_dir: Path, seed: int) -> dict[str, bytes]:
    """Record one trace an example, in Python's form and in the form of TVM's files."""
    import _annotations
    import _primitives

    good = made(_primitives.EXAMPLES + _annotations.EXAMPLES, seed)
    bad = made(_annotations.UNLOADABLE, seed)
    require_every_kind(trace for _, trace in good)
    return {
        "primitives.traces.jsonl": python_file(good),
        "primitives.tuning_record.json": database_file(work_dir / "good", good),
        "unloadable.traces.jsonl": python_file(bad),
        "unloadable.tuning_record.json": database_file(work_dir / "bad", bad),
    }


def record_llvm(work_dir: Path, seed: int) -> dict[str, bytes]:
    """Tune a few workloads on this CPU and keep the file that TVM wrote."""
    import _llvm

    return {"llvm.tuning_record.json": _llvm.record(work_dir, seed).read_bytes()}


def record_cuda(work_dir: Path, seed: int) -> dict[str, bytes]:
    """Sample CUDA design spaces, unmeasured, and keep the file that TVM wrote."""
    import _cuda

    return {"cuda.tuning_record.json": _cuda.record(work_dir, seed).read_bytes()}


RECORDERS: dict[str, Recorder] = {
    "primitives": record_primitives,
    "llvm": record_llvm,
    "cuda": record_cuda,
}


def made(examples: Iterable[Example], seed: int) -> list[Made]:
    """Run the examples, in order."""
    return [(example.module, example.schedule(seed).trace) for example in examples]


def python_file(traces: Iterable[Made]) -> bytes:
    """Return the bare traces as Python's `json.dumps` writes them, one a line."""
    return "".join(json.dumps(to_json(from_tvm(trace))) + "\n" for _, trace in traces).encode()


def database_file(work_dir: Path, traces: Iterable[Made]) -> bytes:
    """Let TVM write the traces as unmeasured records, in order, and return its file."""
    work_dir.mkdir()
    database = JSONDatabase(work_dir=str(work_dir))
    for module, trace in traces:
        database.commit_tuning_record(TuningRecord(trace, database.commit_workload(module)))
    return (work_dir / "database_tuning_record.json").read_bytes()


def registered_kinds() -> set[str]:
    """Return the names of the instruction kinds that this TVM knows."""
    names = tvm_ffi.registry.list_global_func_names()
    suffixes = {
        name.removeprefix(SCHEDULE_FUNCTION) for name in names if name.startswith(SCHEDULE_FUNCTION)
    }
    return {suffix for suffix in suffixes if is_kind(suffix)}


def is_kind(name: str) -> bool:
    """Tell whether TVM has an instruction kind of this name."""
    try:
        InstructionKind.get(name)
    except AttributeError:
        return False
    return True


def require_every_kind(traces: Iterable[Trace]) -> None:
    """Raise unless every registered instruction kind occurs in the traces."""
    seen = {inst.kind.name for trace in traces for inst in trace.insts}
    missing = sorted(registered_kinds() - seen)
    if missing:
        raise AssertionError(f"no example makes these instruction kinds: {', '.join(missing)}")


def replace_file(path: Path, content: bytes) -> None:
    """Put the whole content at `path`, or leave what is there."""
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_bytes(content)
    os.replace(scratch, path)


def report(name: str, content: bytes) -> None:
    """Print how many records and instructions of which kinds the file has."""
    lines = content.decode().splitlines()
    kinds: Counter[str] = Counter()
    for line in lines:
        try:
            kinds.update(inst[0] for inst in trace_of(json.loads(line))[0])
        except json.JSONDecodeError:
            kinds["(line is not JSON)"] += 1
    print(f"  {name}: {len(lines)} records, {len(content)} bytes", file=sys.stderr)
    print(f"  {len(kinds)} kinds: {dict(kinds.most_common())}", file=sys.stderr)


def trace_of(line: Any) -> Any:
    """Return the trace in a line of either form: a bare trace, or a tuning record."""
    return line if isinstance(line[0], list) else line[1][0]


if __name__ == "__main__":
    main()
