"""Candidates, what became of them, and the files that an interrupted run goes on from."""

from __future__ import annotations

import lzma
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

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

Row = TypeVar("Row", bound=msgspec.Struct)


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


_BESIDE: dict[type[Any], tuple[type[msgspec.Struct], ...]] = {
    Candidate: (Exhausted,),
    Result: (Run, Exhausted),
}
"""What else may stand in a file of a kind."""


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
    others = tuple([_beginning(each) for each in _BESIDE.get(kind, ())])
    mark = _beginning(kind) if kind in (Run, Exhausted) else b""
    for number, line in enumerate(file, 1):
        if line.startswith(others) or not line.startswith(mark):
            continue
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None


def _beginning(kind: type[msgspec.Struct]) -> bytes:
    """How each line of a kind begins: with its first field."""
    return f'{{"{kind.__struct_encode_fields__[0]}":'.encode()


class RowFile(Generic[Row]):
    """A JSONL file to which an interrupted run can be added.

    Law: a row is in the file when `add` returns. What a killed run has left of a last line is cut
    off, once all before it was read and accepted.

    Args:
        path: the file; it is made if there is none.
        kind: of the rows.
        accept: raises a ValueError if there is a row to which none may be added.

    Raises:
        OSError: the file cannot be read or written.
        ValueError: it holds something else, or what is not accepted; it stays as it is.
    """

    def __init__(
        self,
        path: Path,
        kind: type[Row],
        accept: Callable[[list[Row]], None],
    ) -> None:
        others = _BESIDE.get(kind, ())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._file = path.open("r+b")
        try:
            lines = self._file.readlines()
            torn = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
            if not any(_is_torn(torn, each) for each in (kind, *others)):
                what = kind.__name__.lower()
                raise ValueError(f"{path}: its last line is no {what} that was cut off")
            self.rows = list(_rows(lines, kind, path))
            """Those of the kind that were there before."""
            self.others: dict[type[Any], list[Any]] = {
                each: list(_rows(lines, each, path)) for each in others
            }
            """Those of the kinds that may stand beside them."""
            accept(self.rows)
        except ValueError:
            self._file.close()
            raise
        self._file.seek(-len(torn), os.SEEK_END)
        self._file.truncate()

    def add(self, row: msgspec.Struct) -> None:
        """Append a row."""
        self._file.write(msgspec.json.encode(row) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _is_torn(line: bytes, kind: type[msgspec.Struct]) -> bool:
    """Whether it can be what is left of a line of a kind, however little that is."""
    beginning = _beginning(kind)
    return line[: len(beginning)] == beginning[: len(line)]


class ResultFile:
    """A JSONL file of results, to which an interrupted run can be added.

    Args:
        path: the file.
        device: what judges from now on.

    Raises:
        ValueError: the file holds something else, or what `require_compiled` refuses; it stays as
            it is.
    """

    def __init__(self, path: Path, device: str = "cpu") -> None:
        accept = partial(require_compiled, path=path, device=device)
        self._file = RowFile(path, Result, accept)
        self.results = self._file.rows
        """Those that were there before."""
        self.exhausted = self._file.others[Exhausted]
        """The searches that had ended by themselves before."""

    def begin(self, run: Run) -> None:
        """Say where the results that follow are made."""
        self._file.add(run)

    def add(self, rows: Iterable[Result | Exhausted]) -> None:
        """Append results, or what else stands among them, whole lines at a time."""
        for row in rows:
            self._file.add(row)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
