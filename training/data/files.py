"""Where the data sets lie, and how their files are written: whole, or not at all."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
DATASETS = ROOT / "training" / "datasets"
WORKLOADS = DATASETS / "workloads.jsonl.xz"
"""Those that are measured; what is held out comes first."""
FURTHER = DATASETS / "workloads-pretrain.jsonl.xz"
"""Those of the pre-training alone."""
RESULTS = ROOT / "training" / "results"
PARTS = ROOT / "build" / "data"
"""What interrupted runs go on from; not in git."""

Row = dict[str, Any]


def write(path: Path, content: bytes) -> None:
    """Put the whole content at the path, or leave what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_bytes(content)
    os.replace(scratch, path)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, compressed."""
    content = "".join(f"{line}\n" for line in lines).encode()
    write(path, lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def workloads(path: Path = WORKLOADS) -> list[Row]:
    """Return a list of workloads."""
    with lzma.open(path) as file:
        return [json.loads(line) for line in file]


class Parts:
    """A file of named parts that a run appends to; the same command goes on from there.

    What an interrupted run has left of a last line is cut off.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._file = path.open("r+b")
        self._where: dict[str, int] = {}
        for position, line in _whole_lines(self._file):
            self._where[json.loads(line)["name"]] = position

    def __contains__(self, name: str) -> bool:
        return name in self._where

    def __len__(self) -> int:
        return len(self._where)

    def read(self, name: str) -> Row:
        """Return a part."""
        self._file.seek(self._where[name])
        return json.loads(self._file.readline())

    def add(self, name: str, part: Row) -> None:
        """Append a part."""
        self._where[name] = self._file.seek(0, os.SEEK_END)
        self._file.write(json.dumps({"name": name, **part}).encode() + b"\n")
        self._file.flush()

    def __enter__(self) -> Parts:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def _whole_lines(file: Any) -> Iterator[tuple[int, bytes]]:
    position = 0
    for line in file:
        if not line.endswith(b"\n"):
            file.truncate(position)
            return
        yield position, line
        position += len(line)
