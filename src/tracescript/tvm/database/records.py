"""The tuning records of a database: a `.trace` file that is read on and appended to."""

from __future__ import annotations

import io
from bisect import insort
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from tracescript.decode import read_value
from tracescript.encode import HEADER, write_body, write_value
from tracescript.errors import TraceFileError, TraceScriptError, TraceShapeError
from tracescript.files.entries import Entry, Settings, read_record, write_line
from tracescript.files.framing import entry_text, located, read_entries
from tracescript.files.read import iter_records
from tracescript.files.records import Record
from tracescript.model import Value
from tracescript.tvm.database.files import AppendFile, Rest

__all__ = ["LoggedRecord", "Ranking", "RecordFile", "seconds"]

_WRITER = "compact_utf8"
"""The writer of new entries: its JSON, unlike TVM's own, keeps 1.0, true and any text, and
TVM reads it."""

_NO_TIME = 1e10
"""The run time that TVM uses for "not measured". Source: `kMaxMeanTime` of
`s_tir/meta_schedule/utils.h` in TVM 0.27."""


class LoggedRecord(msgspec.Struct, frozen=True):
    """A record in its file. Its trace is text until `record` is called.

    Attributes:
        workload: the index of its workload.
        run_secs: the run times; None if there are none.
        entry: the rest of it.
        file: the name of the file, for errors.
    """

    workload: int
    run_secs: tuple[float, ...] | None
    entry: Entry
    file: str

    @classmethod
    def read(cls, entry: Entry, file: str) -> LoggedRecord:
        """Read what has to be known of an entry at once.

        Raises:
            TraceFileError: it is no tuning record, or its run times are no numbers.
        """
        try:
            workload, run_secs = _head(entry)
            if type(workload) is not int:
                found = type(workload).__name__
                raise TraceShapeError("$[0]", "the index of a workload", found)
            return cls(workload, seconds(run_secs), entry, file)
        except TraceScriptError as error:
            raise _placed(error, entry, file) from None

    def record(self) -> Record:
        """Read all of it.

        Raises:
            TraceFileError: the script or a value cannot be read; the error has the line.
        """
        try:
            return _whole(self.entry)
        except TraceScriptError as error:
            raise _placed(error, self.entry, self.file) from None

    def error(self, message: str) -> TraceFileError:
        """An error at the first line of the record."""
        return TraceFileError(message, file=self.file, line=self.entry.line)


class RecordFile:
    """The `.trace` file of a database. The lock is the business of the caller."""

    def __init__(self, path: str) -> None:
        self.file = AppendFile(path, HEADER.encode())
        self._settings = Settings()

    def read(self) -> Iterator[LoggedRecord]:
        """Give the records that were appended since the last call. Blank lines are passed over.

        What is torn at the end of the file is no record. It is not an error either: the next
        `append` overwrites it.

        Raises:
            TraceFileError: an entry is no tuning record; the error has the line.
        """
        with self.file.rest() as rest:
            for entry in self._entries(rest):
                if not entry.is_blank:
                    yield LoggedRecord.read(entry, self.file.path)
                self._settings = entry.settings
                self.file.keep(rest)

    def append(self, record: Record) -> None:
        """Append a record, and wait for the disk."""
        keys = (
            ("record", write_value(record.workload)),
            ("run_secs", write_value(record.run_secs)),
            ("args_info", write_value(record.args_info)),
        )
        settings = Settings(_WRITER, target=write_value(record.target))
        entry = Entry(settings, keys, write_body(record.trace))
        text = entry_text(entry, self._settings)
        if self._settings.ends == "":
            # The log that the file was made of has no newline at its end. An empty line is one.
            text = '# ends "\\n"\n# text ""\n' + entry_text(
                entry, replace(self._settings, ends="\n")
            )
        self.file.append(text.encode())
        self._settings = settings

    def _entries(self, rest: Rest) -> Iterator[Entry]:
        """The whole entries of the rest, with their true line numbers."""
        lines = _Lines(self._settings, rest)
        try:
            for entry in read_entries(lines, self.file.path):
                yield replace(entry, line=entry.line + lines.shift)
        except TraceFileError as error:
            if not rest.ended:
                raise self.file.error(error.message, error.line + lines.shift) from None


class _Lines:
    """The rest of a `.trace` file, after the lines that a reader wants to see before."""

    def __init__(self, settings: Settings, rest: Rest) -> None:
        blank = Entry(settings, (("text", '""'),))
        text = HEADER + entry_text(blank, Settings()).removesuffix('# text ""\n')
        self._head = io.BytesIO(text.encode())
        self._rest = rest
        self.shift = rest.line - text.count("\n")

    def readline(self, limit: int, /) -> bytes:
        return self._head.readline(limit) or self._rest.readline(limit)


class Ranking:
    """Records by their run time, in the order of TVM's databases.

    The order is that of the mean; records of the same mean, or of none, stay as they came.
    """

    def __init__(self) -> None:
        self._means: list[float] = []
        self._measured: dict[int, list[tuple[float, int]]] = {}

    def add(self, group: int, run_secs: tuple[float, ...] | None) -> None:
        """Add the next record of a group of equal workloads."""
        mean = _mean(run_secs or ())
        if any(seconds != _NO_TIME for seconds in run_secs or ()):
            insort(self._measured.setdefault(group, []), (mean, len(self._means)))
        self._means.append(mean)

    def measured(self, group: int) -> Iterator[int]:
        """The measured records of a group, the fastest first, by their numbers."""
        return (number for _, number in self._measured.get(group, ()))

    def all(self) -> list[int]:
        """All records, by their numbers."""
        return sorted(range(len(self._means)), key=self._means.__getitem__)


def _mean(run_secs: tuple[float, ...]) -> float:
    if not run_secs:
        return _NO_TIME
    total = 0.0
    # As TVM adds: `sum` is more exact in newer Pythons, and so would break other ties.
    for seconds in run_secs:
        total += seconds
    mean = total / len(run_secs)
    # TVM's order is undefined where there is a nan.
    return mean if mean == mean else float("inf")


def _head(entry: Entry) -> tuple[Value, Value]:
    """The index of the workload and the run times of an entry."""
    (kind, workload), *values = entry.keys
    if kind == "record":
        return read_value(workload), read_value(values[0][1])
    record = _whole(entry)
    return record.workload, record.run_secs


def _whole(entry: Entry) -> Record:
    if not entry.is_verbatim:
        return read_record(entry)
    # A line that is carried verbatim may still be the JSON of a record.
    record = next(iter_records(io.BytesIO(write_line(entry))), None)
    if record is None:
        raise TraceShapeError("$", "a tuning record", "another line")
    return record


def _placed(error: TraceScriptError, entry: Entry, file: str) -> TraceFileError:
    if isinstance(error, TraceFileError):
        return TraceFileError(error.message, file=file, line=entry.line)
    return located(error, entry, file)


def seconds(value: Value) -> tuple[float, ...] | None:
    """Read run times.

    Raises:
        TraceShapeError: they are neither null nor a list of numbers that TVM can hold.
    """
    if value is None:
        return None
    if isinstance(value, tuple):
        try:
            return tuple(map(_number, value))
        except (TypeError, OverflowError):
            pass
    raise TraceShapeError("$[1][1]", "null or a list of run times", "something else")


def _number(value: Value) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise TypeError
