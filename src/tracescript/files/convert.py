"""Whole files: a JSON log to a `.trace` file and back, streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO

import msgspec

from tracescript.encode import HEADER
from tracescript.errors import TraceFileError, TraceScriptError
from tracescript.files.entries import Entry, Settings, read_line, write_line
from tracescript.files.framing import entry_text, is_trace_file, located, read_entries
from tracescript.files.output import File, name_of, reading, writing
from tracescript.files.parallel import batches, ordered_map

__all__ = ["Summary", "decode_file", "encode_file"]

_BATCH = 1 << 18
"""About this many bytes are worked on at a time."""

_MAX_LINE = 1 << 22
"""A longer line is carried in pieces of this many bytes, verbatim."""

_NAMED = 10
"""So many lines that were carried verbatim are named in a summary."""


class Summary(msgspec.Struct):
    """What a conversion did.

    Attributes:
        records: tuning records that were converted.
        traces: bare traces that were converted.
        blank: empty lines, carried as they are.
        verbatim: other lines that are no records, carried as they are.
        verbatim_lines: the numbers of the first few of these, in the log.
        bytes_in: bytes read.
        bytes_out: bytes written.
    """

    records: int = 0
    traces: int = 0
    blank: int = 0
    verbatim: int = 0
    verbatim_lines: list[int] = []
    bytes_in: int = 0
    bytes_out: int = 0

    @property
    def lines(self) -> int:
        """Lines of the log so far."""
        return self.records + self.traces + self.blank + self.verbatim


def _count(summary: Summary, entry: Entry) -> None:
    if entry.is_blank:
        summary.blank += 1
    elif entry.is_verbatim:
        summary.verbatim += 1
        if len(summary.verbatim_lines) < _NAMED:
            summary.verbatim_lines.append(summary.lines)
    elif entry.keys[0][0] == "record":
        summary.records += 1
    else:
        summary.traces += 1


Progress = Callable[[int], object]
"""Called now and then with the number of bytes read since the last call."""


def encode_file(
    source: File,
    target: File,
    *,
    strict: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Summary:
    """Write a JSON log as a `.trace` file.

    Law: `decode_file` of the result gives the bytes of the source, whatever they are. Only a
    `.trace` file is refused.

    Args:
        source: a `database_tuning_record.json` of any TVM release, or bare traces, one a
            line. A path, `-` for standard input, or an open binary file.
        target: where to write, likewise. A file is written whole or not at all.
        strict: refuse lines that are no records (blank lines are fine) instead of carrying
            them verbatim.
        jobs: how many processes to use.
        progress: called with the number of bytes read since the last call.

    Raises:
        TraceFileError: with `strict`, some lines are no records; or the source is a `.trace`
            file already.
    """
    name = name_of(source)
    summary = Summary()
    before = Settings()
    with reading(source) as stream, writing(target) as out:
        summary.bytes_out += out.write(HEADER.encode())
        lines = _lines(_Counted(stream, summary, progress), name)
        for entries in ordered_map(_read_lines, batches(lines, len, _BATCH), jobs):
            for entry in entries:
                _count(summary, entry)
                if strict and entry.is_verbatim and not entry.is_blank:
                    raise TraceFileError(
                        "this line is no record and no trace", file=name, line=summary.lines
                    )
                summary.bytes_out += out.write(entry_text(entry, before).encode())
                before = entry.settings.after(before)
    return summary


def decode_file(
    source: File,
    target: File,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Summary:
    """Write the JSON log that a `.trace` file stands for.

    Law: the result of `encode_file` gives back the bytes of its source.

    Args:
        source: a `.trace` file: a path, `-` for standard input, or an open binary file.
        target: where to write, likewise. A file is written whole or not at all.
        jobs: how many processes to use.
        progress: called with the number of bytes read since the last call.

    Raises:
        TraceVersionError: the file has a format version that this release cannot read.
        TraceFileError: the file is not a `.trace` file, was cut off, or an entry of it cannot
            be read; the error has the line.
    """
    name = name_of(source)
    summary = Summary()
    with reading(source) as stream, writing(target) as out:
        entries = read_entries(_Counted(stream, summary, progress), name)
        work = batches(entries, _entry_size, _BATCH)
        for batch, text in ordered_map(partial(_write_lines, name=name), work, jobs):
            for entry in batch:
                _count(summary, entry)
            summary.bytes_out += out.write(text)
    return summary


class _Counted:
    """A file that counts what is read from it."""

    def __init__(self, stream: BinaryIO, summary: Summary, progress: Progress | None) -> None:
        self._stream = stream
        self._summary = summary
        self._progress = progress

    def readline(self, limit: int) -> bytes:
        line = self._stream.readline(limit)
        self._summary.bytes_in += len(line)
        if self._progress is not None:
            self._progress(len(line))
        return line


def _lines(stream: _Counted, name: str) -> Iterator[bytes]:
    first = stream.readline(_MAX_LINE)
    if is_trace_file(first):
        raise TraceFileError("this is a .trace file already; decode reads it", file=name, line=1)
    if first:
        yield first
        yield from iter(partial(stream.readline, _MAX_LINE), b"")


def _read_lines(lines: list[bytes]) -> list[Entry]:
    entries: list[Entry] = []
    writer = "tvm"
    for line in lines:
        entries.append(read_line(line, writer))
        writer = entries[-1].settings.writer or writer
    return entries


def _entry_size(entry: Entry) -> int:
    return len(entry.body) + sum(len(value) for _, value in entry.keys)


def _write_lines(entries: list[Entry], name: str) -> tuple[list[Entry], bytes]:
    lines: list[bytes] = []
    for entry in entries:
        try:
            lines.append(write_line(entry))
        except TraceScriptError as error:
            raise located(error, entry, name) from error
    return entries, b"".join(lines)
