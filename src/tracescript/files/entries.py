"""One entry of a `.trace` file, and the line of the log that it stands for.

Law: `write_line(entry) == line` for the entry that `read_line(line)` makes of any
line, bytes that are not UTF-8 included. `read_line` holds itself to it: it undoes
what it did before it lets go of a line, and carries verbatim what does not come
back.
"""

from __future__ import annotations

import json

import msgspec
from msgspec.structs import replace

from tracescript.decode import loads, read_value
from tracescript.encode import HEADER, write_body, write_value
from tracescript.errors import TraceScriptError, TraceShapeError
from tracescript.files.json_writers import DEFAULT_WRITER, WRITERS
from tracescript.files.records import Record, record_from_json, record_to_json
from tracescript.literals import quote, unquote

__all__ = ["Entry", "Settings", "read_line", "read_record", "write_line"]


class Settings(msgspec.Struct, frozen=True, array_like=True):
    """What the lines above an entry say about it. None stands for what held before.

    Attributes:
        writer: the program that wrote the JSON, a key of `WRITERS`.
        ends: what ends the line in the log: a newline, CRLF, or nothing at the end of a file.
        target: the text of the target value.
    """

    writer: str | None = None
    ends: str = "\n"
    target: str | None = None

    def after(self, before: Settings) -> Settings:
        """These settings, completed by those of the entry before."""
        writer, target = self.writer or before.writer, self.target or before.target
        return Settings(writer, self.ends, target)


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """An entry as text.

    Attributes:
        settings: what holds for it.
        keys: its lines `# key value`, as pairs; the first says what kind of entry it is.
        body: the lines of its script.
        line: the number of its first line in the `.trace` file, for errors.
    """

    settings: Settings
    keys: tuple[tuple[str, str], ...]
    body: str = ""
    line: int = 0

    @property
    def is_verbatim(self) -> bool:
        """Whether the entry holds a line that is no record."""
        return self.keys[0][0] == "text"

    @property
    def is_blank(self) -> bool:
        """Whether the entry holds an empty line."""
        return self.is_verbatim and self.keys[0][1] == '""'


def read_line(line: bytes, writer: str) -> Entry:
    """Make an entry of one line of a log, its line end included.

    Args:
        line: the line.
        writer: the key of `WRITERS` to try first.
    """
    content, ends = _cut_end(line)
    try:
        text = content.decode("utf-8")
        record = record_from_json(json.loads(text))
        keys, target, body = _written(record)
        entry = Entry(Settings(writer, ends, target), keys, body)
        value = record_to_json(read_record(entry))
        for candidate in dict.fromkeys((writer, *WRITERS)):
            if WRITERS[candidate](value) == text:
                return replace(entry, settings=Settings(candidate, ends, target))
    except (ValueError, RecursionError, TraceScriptError):
        pass
    return _verbatim(content, ends)


def write_line(entry: Entry) -> bytes:
    """Give back the line of the log, its line end included.

    Raises:
        TraceScriptError: the texts of the entry cannot be read.
    """
    ends = entry.settings.ends.encode()
    if entry.is_verbatim:
        text = unquote(entry.keys[0][1])
        try:
            return text.encode("utf-8", "surrogateescape") + ends
        except UnicodeEncodeError:
            expected = "code points that stand for bytes"
            raise TraceShapeError("$", expected, quote(text)) from None
    value = record_to_json(read_record(entry))
    writer = entry.settings.writer or DEFAULT_WRITER
    try:
        return WRITERS[writer](value).encode("utf-8", "surrogatepass") + ends
    except ValueError as error:
        # Python's json does not write integers of more than 4300 digits.
        raise TraceShapeError("$", f"what the writer {writer} can write", str(error)) from None


def read_record(entry: Entry) -> Record:
    """Read the record or the bare trace of an entry that is not verbatim."""
    trace = loads(HEADER + entry.body)
    (kind, workload), *values = entry.keys
    if kind == "trace":
        return Record(trace)
    run_secs, args_info = [read_value(text) for _, text in values]
    target = read_value(entry.settings.target or "")
    index = read_value(workload)
    if type(index) is not int:
        raise TraceShapeError("$[0]", "a workload index, an integer", workload)
    return Record(trace, index, run_secs, target, args_info)


def _written(record: Record) -> tuple[tuple[tuple[str, str], ...], str | None, str]:
    """The keys, the target and the body of a record."""
    body = write_body(record.trace)
    if record.workload is None:
        return (("trace", ""),), None, body
    keys = (
        ("record", write_value(record.workload)),
        ("run_secs", write_value(record.run_secs)),
        ("args_info", write_value(record.args_info)),
    )
    return keys, write_value(record.target), body


def _verbatim(content: bytes, ends: str) -> Entry:
    text = content.decode("utf-8", "surrogateescape")
    return Entry(Settings(None, ends), (("text", quote(text)),))


def _cut_end(line: bytes) -> tuple[bytes, str]:
    if line.endswith(b"\r\n"):
        return line[:-2], "\r\n"
    return (line[:-1], "\n") if line.endswith(b"\n") else (line, "")
