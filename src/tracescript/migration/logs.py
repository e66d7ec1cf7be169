"""Whole logs on their way to a later release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import IO, BinaryIO, NamedTuple

from msgspec.structs import replace

from tracescript.encode import HEADER
from tracescript.errors import MigrationError, TraceFileError, TraceScriptError
from tracescript.files.entries import Entry, Settings, read_line, read_record, write_line
from tracescript.files.framing import MAX_LINE, entry_text, is_trace_file, located, read_entries
from tracescript.files.json_writers import DEFAULT_WRITER, WRITERS
from tracescript.files.output import File, name_of, reading
from tracescript.files.records import Record, record_from_json, record_to_json
from tracescript.migration.run import Migration, migrate

__all__ = ["MigratedLine", "iter_migrated", "write_lines"]


class MigratedLine(NamedTuple):
    """A line of a log after migration, or why there is none.

    Attributes:
        line: the line of the file where it starts, counted from 1.
        entry: what to write: the migrated record, or an empty line as it was.
        migration: what was done to the record; None for an empty line.
        errors: why it cannot be migrated, one for each place; the line is left out then.
    """

    line: int
    entry: Entry | None = None
    migration: Migration | None = None
    errors: tuple[TraceFileError, ...] = ()


def iter_migrated(source: File, to: str, recorded_by: str | None) -> Iterator[MigratedLine]:
    """Migrate a JSON log or a `.trace` file, one line at a time.

    Law: a record that needs no step keeps its bytes. One that does is written by the program
    that wrote it before, as far as floats and blanks tell.

    Args:
        source: a path, `-` for standard input, or an open binary file.
        to: the release to migrate to.
        recorded_by: the release that recorded the log, if that is known.

    Raises:
        TraceFileError: a `.trace` file cannot be read on.
        TraceVersionError: the file has a format version that this release cannot read.
    """
    name = name_of(source)
    with reading(source) as stream:
        for line, entry in _entries(stream, name):
            yield _migrated(line, entry, name, to, recorded_by)


def _migrated(line: int, entry: Entry, name: str, to: str, recorded_by: str | None) -> MigratedLine:
    if entry.is_blank:
        return MigratedLine(line, entry)
    try:
        record = _record(line, entry, name)
        migration = migrate(record.trace, to, recorded_by=recorded_by)
    except TraceFileError as error:
        return MigratedLine(line, errors=(error,))
    except MigrationError as error:
        refusals = [TraceFileError(str(one), file=name, line=line) for one in error.refusals]
        return MigratedLine(line, errors=tuple(refusals))
    if not migration.steps:
        return MigratedLine(line, entry, migration)
    after = _entry(replace(record, trace=migration.trace), entry.settings)
    return MigratedLine(line, after, migration)


def _record(line: int, entry: Entry, name: str) -> Record:
    if not entry.is_verbatim:
        try:
            return read_record(entry)
        except TraceScriptError as error:
            raise located(error, entry, name) from error
    # A record in a layout that no known writer has is carried verbatim, too.
    try:
        return record_from_json(json.loads(write_line(entry)))
    except TraceScriptError as error:
        raise TraceFileError(str(error), file=name, line=line) from None
    except (ValueError, RecursionError):
        message = "this line is no record: it is not JSON"
        raise TraceFileError(message, file=name, line=line) from None


def _entry(record: Record, settings: Settings) -> Entry:
    writer = settings.writer or DEFAULT_WRITER
    text = WRITERS[writer](record_to_json(record)) + settings.ends
    return read_line(text.encode("utf-8", "surrogatepass"), writer)


def write_lines(entries: Iterator[Entry], target: IO[bytes], *, as_script: bool) -> None:
    """Write entries as a `.trace` file, or as the JSON log that it stands for."""
    if not as_script:
        target.writelines(map(write_line, entries))
        return
    before = Settings()
    target.write(HEADER.encode())
    for entry in entries:
        target.write(entry_text(entry, before).encode())
        before = entry.settings.after(before)


def _entries(stream: BinaryIO, name: str) -> Iterator[tuple[int, Entry]]:
    """The lines of a log of either form, as entries that know who wrote them."""
    first = stream.readline(MAX_LINE)
    lines = _Continued(first, stream)
    if is_trace_file(first):
        yield from ((entry.line, entry) for entry in read_entries(lines, name))
        return
    writer = DEFAULT_WRITER
    for number, line in enumerate(iter(partial(lines.readline, MAX_LINE), b""), 1):
        entry = read_line(line, writer)
        writer = entry.settings.writer or writer
        yield number, entry


class _Continued:
    """A file whose first line was read already."""

    def __init__(self, first: bytes, stream: BinaryIO) -> None:
        self._first = first
        self._stream = stream

    def readline(self, limit: int) -> bytes:
        first, self._first = self._first, b""
        return first or self._stream.readline(limit)
