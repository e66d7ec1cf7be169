"""The file that a run appends to, a workload a line, and the corpus that is made of it."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from tracescript import encode_file
from training.workloads.workload import Workload

Part = dict[str, Any]
"""What became of one workload."""

SPLITS = ("train", "heldout")


def positions(file: IO[bytes], wanted: Sequence[Workload]) -> dict[int, int]:
    """Return where in the file the part of each workload is, by its index in the list.

    What an interrupted run has left of a last line is cut off.
    """
    found: dict[int, int] = {}
    position = 0
    for line in file:
        if not line.endswith(b"\n"):
            file.truncate(position)
            break
        part = json.loads(line)
        if part["index"] < len(wanted):
            _require_same(part, wanted[part["index"]])
            found[part["index"]] = position
        position += len(line)
    return found


def _require_same(part: Part, workload: Workload) -> None:
    if json.dumps([part[name] for name in workload._fields]) != json.dumps(workload):
        raise SystemExit(f"part {part['index']} is of another seed or another table of workloads")


def write_corpus(out: Path, file: IO[bytes], wanted: Sequence[Workload]) -> None:
    """Write both splits and the table of workloads, in the order of the workloads."""
    where = positions(file, wanted)
    seen: set[bytes] = set()
    table: list[str] = []
    for split in SPLITS:
        with tempfile.NamedTemporaryFile(dir=out, suffix=".jsonl") as log:
            for index in sorted(where):
                if wanted[index].split() == split:
                    file.seek(where[index])
                    table.append(_write_traces(log, json.loads(file.readline()), seen))
            log.flush()
            _encode(Path(log.name), out / f"{split}.trace.xz")
    _replace(out / "workloads.jsonl.xz", "".join(table).encode())


def _write_traces(log: IO[bytes], part: Part, seen: set[bytes]) -> str:
    """Write the traces that are not in the corpus yet, and return the row of the table.

    So no trace is in both splits, whatever workload it is of.
    """
    counts: Counter[bool] = Counter()
    for sample in part["samples"]:
        line = json.dumps(sample["trace"])
        digest = hashlib.sha256(_same_in_both_forms(line).encode()).digest()
        if digest not in seen:
            seen.add(digest)
            counts[sample["passed"]] += 1
            log.write(line.encode() + b"\n")
    names = ("split", "family", "arguments", "target", "rules", "layout_free")
    row = {name: part[name] for name in names}
    return json.dumps({**row, "passed": counts[True], "raw": counts[False]}) + "\n"


def _same_in_both_forms(line: str) -> str:
    """Write True and 1.0 as 1, as TVM's files have them."""
    return re.sub(r"(?<=\d)\.0\b", "", line).replace("true", "1").replace("false", "0")


def _encode(log: Path, target: Path) -> None:
    text = io.BytesIO()
    summary = encode_file(log, text, strict=True)
    _replace(target, text.getvalue())
    print(f"{target}: {summary.traces} traces, {target.stat().st_size} bytes", file=sys.stderr)


def _replace(target: Path, content: bytes) -> None:
    """Put the whole content at the target, compressed, or leave what is there."""
    scratch = target.with_name(f".{target.name}.new")
    scratch.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    os.replace(scratch, target)
