"""Iterate over the records of a log, whichever of the two forms it has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, NamedTuple

from tracescript.errors import TraceFileError, TraceScriptError
from tracescript.files.entries import Entry, read_record, write_line
from tracescript.files.framing import MAX_LINE, is_trace_file, located, read_entries
from tracescript.files.output import File, name_of, reading
from tracescript.files.records import Record, record_from_json

__all__ = ["Item", "iter_items", "iter_records"]


class Item(NamedTuple):
    """What stands at one place of a log: a record, or why there is none.

    Attributes:
        line: the line of the file where it starts, counted from 1.
        record: the record; None if there is none.
        error: why there is none; None for an empty line.
        script: the line of the first instruction, in a `.trace` file.
    """

    line: int
    record: Record | None = None
    error: TraceFileError | None = None
    script: int | None = None


def iter_records(source: File, *, strict: bool = True) -> Iterator[Record]:
    """Read the records of a JSON log or a `.trace` file, one at a time.

    Blank lines are passed over. Bare traces come as records without a workload.

    Args:
        source: a path, `-` for standard input, or an open binary file.
        strict: whether a line that is no record is an error; if not, it is passed over.

    Raises:
        TraceFileError: a line or an entry is no record; the error has its place. Not strict,
            only a `.trace` file that cannot be read on, such as one that was cut off.
        TraceVersionError: the file has a format version that this release cannot read.
    """
    for item in iter_items(source):
        if item.record is not None:
            yield item.record
        elif item.error is not None and strict:
            raise item.error


def iter_items(source: File) -> Iterator[Item]:
    """Read whatever stands in a JSON log or a `.trace` file, faults included."""
    name = name_of(source)
    with reading(source) as stream:
        lines = _Peekable(stream)
        if is_trace_file(lines.first):
            for entry in read_entries(lines, name):
                yield _entry_item(entry, name)
        else:
            for number, line in enumerate(iter(partial(lines.readline, MAX_LINE), b""), 1):
                yield _line_item(line, name, number)


class _Peekable:
    """A file whose first line was looked at."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting = self.first = stream.readline(MAX_LINE)

    def readline(self, limit: int) -> bytes:
        if self._waiting:
            line, self._waiting = self._waiting, b""
            return line
        return self._stream.readline(limit)


def _entry_item(entry: Entry, name: str) -> Item:
    try:
        if entry.is_verbatim:
            return _line_item(write_line(entry), name, entry.line)
        return Item(entry.line, read_record(entry), script=entry.line + len(entry.keys))
    except TraceScriptError as error:
        fault = located(error, entry, name)
        return Item(fault.line, error=fault)


def _line_item(line: bytes, name: str, number: int) -> Item:
    if not line.strip():
        return Item(number)
    try:
        return Item(number, record_from_json(json.loads(line.decode("utf-8"))))
    except TraceScriptError as error:
        return Item(number, error=TraceFileError(str(error), file=name, line=number))
    except (ValueError, RecursionError):
        message = "this line is no record: it is not JSON"
        return Item(number, error=TraceFileError(message, file=name, line=number))
