"""Candidates, what became of them, and the file of results that an interrupted run goes on from."""

from __future__ import annotations

import lzma
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec

Stage = Literal[
    "given", "parses", "checks", "replays", "passes", "compiles", "runs", "correct", "measured"
]

STAGES: tuple[Stage, ...] = get_args(Stage)
"""The stages of the funnel in order; a result names the last one that was reached.

`parses`: the text is a script. `checks`: `tracescript.check` finds no error, and all kinds and
annotations are on the allow-list. `replays`: it applies to the workload. `passes`: MetaSchedule's
post-processors of the target accept it. `compiles`: there is a library. `runs`: it ran on every
input set without a fault. `correct`: all outputs are right. `measured`: the outputs of the timed
runs are right too, so it has a latency.
"""

UNCOMPILED = "without a device nothing is compiled"
"""The reason of a result that passes and was not to be compiled."""

Row = TypeVar("Row")

_BEGINNING = re.compile(rb'\{("(w|r|e)|"?$)')
"""How a line of a file of results begins, however little of it is there."""


class Task(msgspec.Struct, frozen=True):
    """A workload that scripts are written for."""

    key: str
    """A short name that is the same wherever the workload occurs."""
    prompt: str
    """The workload as `tracescript.workloads.dumps` writes it."""


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A script to judge."""

    workload: str
    """The key of its task."""
    script: str
    source: str = ""
    """Who wrote it; carried along."""
    trial: int = 0
    """Its place among those of its source for the workload, from 1; 0 if there is no order."""

    def result(self, stage: Stage, reason: str = "") -> Result:
        """What became of it, with what is carried along."""
        return Result(
            self.workload, self.script, stage, reason, source=self.source, trial=self.trial
        )


class Latency(msgspec.Struct, frozen=True):
    """Seconds that a kernel takes, L2 flushed before each run, over several input sets."""

    median: float
    low: float
    """The lower quartile."""
    high: float
    """The upper quartile."""
    samples: int
    clock: float
    """Time of a fixed kernel now over its time when the run began: the drift of the clock."""


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a candidate."""

    workload: str
    script: str
    stage: Stage
    """The last stage that was reached."""
    reason: str = ""
    """What stopped it there; empty if it was measured."""
    source: str = ""
    error: float | None = None
    """The largest relative error of an output over all input sets, if it ran."""
    latency: Latency | None = None
    seconds: tuple[float, float] = (0.0, 0.0)
    """What building and running took."""
    run: str = ""
    """The run that measured it, a key of the file's `Run` lines."""
    trial: int = 0
    """That of the candidate: results stand in the order in which they ended."""


class Run(msgspec.Struct, frozen=True):
    """Where and with what results were made; stands in the file before them."""

    run: str
    command: str
    card: str
    versions: dict[str, str]
    facts: dict[str, Any] = {}
    """What was found about the machine in that run: ceilings, the time of the fixed kernel."""


class Exhausted(msgspec.Struct, frozen=True, rename={"workload": "exhausted"}):
    """A search that has ended by itself before it had its trials: it finds nothing new.

    Stands among its candidates or its results. The best of what it has is the best of as many
    trials as it was asked for. A search that was cut off, or stopped by an error, has no such line.
    """

    workload: str
    """The key of its task."""
    source: str
    """Who searched."""
    asked: int
    """How many trials it was to make in all."""


_MARKS: dict[type[Any], bytes] = {Run: b'{"run":', Exhausted: b'{"exhausted":'}
"""How lines begin that stand among those of another kind."""

_BESIDE: dict[type[Any], tuple[bytes, ...]] = {
    Candidate: (_MARKS[Exhausted],),
    Result: tuple(_MARKS.values()),
}
"""The lines that files of a kind may have besides."""


def read(path: Path, kind: type[Row]) -> list[Row]:
    """Read the lines of a JSONL file, compressed or not, that are of one kind.

    Raises:
        OSError: there is no such file, or it cannot be read.
        ValueError: a line is of the kind but not well-formed, or the file is cut off; the message
            names file and line.
    """
    opened: Any = lzma.open if path.suffix == ".xz" else open
    try:
        with opened(path, "rb") as file:
            return list(_rows(file, kind, path))
    except (EOFError, lzma.LZMAError) as error:
        raise ValueError(f"{path}: {error}") from None


def require_compiled(results: Iterable[Result], path: Path, device: str) -> None:
    """Keep results that were made without a device from being taken for those of one.

    Args:
        results: those to go on from.
        path: the file that they are from.
        device: what judges from now on; `none` can go on from all results.

    Raises:
        ValueError: a script that passes was not compiled.
    """
    if device == "none":
        return
    for number, result in enumerate(results, 1):
        if result.reason == UNCOMPILED:
            raise ValueError(
                f"{path}: result {number} was made with --device none; expected another file"
            )


@contextmanager
def files_or_exit(program: str) -> Iterator[None]:
    """End the program with one line if a file that it was given is missing or is none of ours."""
    try:
        yield
    except (OSError, ValueError) as error:
        sys.exit(f"{program}: {error}")


@contextmanager
def resumable() -> Iterator[None]:
    """End the program with one line at Ctrl-C, if what it has done is kept in a file."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on from here")


def _rows(file: Iterable[bytes], kind: type[Row], path: Path) -> Iterator[Row]:
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(file, 1):
        if line.startswith(_BESIDE.get(kind, ())) or not line.startswith(_MARKS.get(kind, b"")):
            continue
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None


class ResultFile:
    """A JSONL file of results, to which an interrupted run can be added.

    What an interrupted run has left of a last line is cut off, once all before it was read.

    Args:
        path: the file.
        device: what judges from now on.

    Raises:
        ValueError: the file holds something else, or what `require_compiled` refuses; it stays as
            it is.
    """

    def __init__(self, path: Path, device: str = "cpu") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._file = path.open("r+b")
        try:
            lines = self._file.readlines()
            torn = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
            if torn and not _BEGINNING.match(torn):
                raise ValueError(f"{path}: its last line is no result that was cut off")
            self.results = list(_rows(lines, Result, path))
            """Those that were there before."""
            self.exhausted = list(_rows(lines, Exhausted, path))
            """The searches that had ended by themselves before."""
            require_compiled(self.results, path, device)
        except ValueError:
            self._file.close()
            raise
        self._file.seek(-len(torn), os.SEEK_END)
        self._file.truncate()

    def begin(self, run: Run) -> None:
        """Say where the results that follow are made."""
        self._write(run)

    def add(self, rows: Iterable[Result | Exhausted]) -> None:
        """Append results, or what else stands among them, whole lines at a time."""
        for row in rows:
            self._write(row)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, row: msgspec.Struct) -> None:
        self._file.write(msgspec.json.encode(row) + b"\n")
        self._file.flush()
