"""The lines of a `.trace` file: entries to lines, and lines to entries.

The form is the rule `log` of the grammar. It is read here line by line, so that a
file of any size can be streamed; scripts and values are left as text for others
to read.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Protocol

from msgspec.structs import replace

from tracescript.encode import HEADER
from tracescript.errors import (
    TraceFileError,
    TraceScriptError,
    TraceSyntaxError,
    TraceVersionError,
)
from tracescript.files.entries import Entry, Settings
from tracescript.files.json_writers import WRITERS
from tracescript.literals import is_string, quote

__all__ = ["MAX_LINE", "entry_text", "is_trace_file", "located", "read_entries"]

MAX_LINE = 1 << 26
"""A line may have this many bytes; the bound keeps a file without line ends out of memory."""

_KEYS = {"record": ("run_secs", "args_info"), "trace": (), "text": ()}
_ENDS = {quote(ends): ends for ends in ("\n", "\r\n", "")}

_key_line = re.compile(r"# ([a-z_]+)(?: (.+))?").fullmatch


is_trace_file = re.compile(rb"tracescript [0-9]+\r?\n").match
"""Whether a file, by its first bytes, is a `.trace` file of this or another version."""


def entry_text(entry: Entry, before: Settings) -> str:
    """Write an entry, after the settings that differ from those of the entry before it."""
    settings = entry.settings.after(before)
    lines: list[str] = []
    if settings.writer != before.writer:
        lines.append(f"# writer {settings.writer}\n")
    if settings.ends != before.ends:
        lines.append(f"# ends {quote(settings.ends)}\n")
    if settings.target != before.target:
        lines.append(f"# target {settings.target}\n")
    for key, value in entry.keys:
        lines.append(f"# {key} {value}\n" if value else f"# {key}\n")
    lines.append(entry.body)
    if not entry.is_verbatim:
        lines.append("\n")
    return "".join(lines)


def located(error: TraceScriptError, entry: Entry, name: str) -> TraceFileError:
    """Say where in a `.trace` file an error about an entry stands."""
    if not isinstance(error, TraceSyntaxError):
        return TraceFileError(str(error), file=name, line=entry.line)
    # A value stands on the first line of its text, a script below the header.
    below = len(entry.keys) + error.line - 2 if error.line > 1 else 0
    message = f"column {error.column}: {error.explanation}"
    return TraceFileError(message, file=name, line=entry.line + below)


class Lines(Protocol):
    """What `read_entries` needs of a file."""

    def readline(self, limit: int, /) -> bytes:
        """The next line, or its first `limit` bytes."""
        ...


def read_entries(stream: Lines, name: str) -> Iterator[Entry]:
    """Read the entries of a `.trace` file as they come; a plain script is one bare trace.

    Args:
        stream: the file, at its start.
        name: what to call it in errors.

    Raises:
        TraceVersionError: the header names a format version that this release cannot read.
        TraceFileError: the file is not a `.trace` file, or ends inside an entry.
    """
    return _Reader(stream, name).entries()


class _Reader:
    """Reads lines, and knows the number of the last one."""

    def __init__(self, stream: Lines, name: str) -> None:
        self._stream = stream
        self._name = name
        self._number = 0
        self._settings = Settings()

    def entries(self) -> Iterator[Entry]:
        self._read_header()
        first = self._line()
        if first and not first.startswith(b"#"):
            script = first + b"".join(iter(self._line, b""))
            yield Entry(self._settings, (("trace", ""),), self._decoded(script, 2), 1)
            return
        for line in itertools.chain([first], iter(self._line, b"")):
            if line:
                yield from self._keyed(line)

    def _read_header(self) -> None:
        header = self._line()
        if header == HEADER.encode():
            return
        version = re.fullmatch(rb"tracescript ([0-9]{1,18})\r?\n?", header)
        if version and version[1] != b"1":
            text = header.decode().strip()
            raise TraceVersionError(version[1].decode(), supported=1, source_line=text)
        raise self._error(
            "the file does not start with 'tracescript 1'; if it is a JSON log, encode it"
        )

    def _keyed(self, line: bytes) -> Iterator[Entry]:
        """Read on from a line `# key value`: a setting, or an entry with its further lines."""
        start = self._number
        key, value = self._key(line)
        if key in _KEYS and (key == "trace") == (value == ""):
            yield self._entry(key, value, start)
        elif key == "target" and value:
            self._settings = replace(self._settings, target=value)
        elif key == "writer" and value in WRITERS:
            self._settings = replace(self._settings, writer=value)
        elif key == "ends" and value in _ENDS:
            self._settings = replace(self._settings, ends=_ENDS[value])
        else:
            text = f"# {key} {value}".rstrip()
            raise self._error(f"cannot read '{text}'; expected {_EXPECTED}")

    def _entry(self, key: str, value: str, start: int) -> Entry:
        keys = [(key, value)]
        for expected in _KEYS[key]:
            keys.append(self._key(self._line_of_entry()))
            if keys[-1][0] != expected:
                raise self._error(f"expected '# {expected}' after '# {keys[-2][0]}'")
        if key == "text":
            if not is_string(value):
                raise self._error("expected a string after '# text'")
            return Entry(self._settings, tuple(keys), "", start)
        if key == "record" and self._settings.target is None:
            raise self._error("expected '# target' before the first record")
        body = b"".join(iter(self._line_of_entry, b"\n"))
        return Entry(self._settings, tuple(keys), self._decoded(body, start + len(keys)), start)

    def _key(self, line: bytes) -> tuple[str, str]:
        match = _key_line(self._decoded(line, self._number).removesuffix("\n"))
        if match is None:
            raise self._error(f"expected {_EXPECTED}")
        return match[1], match[2] or ""

    def _line_of_entry(self) -> bytes:
        line = self._line()
        if not line:
            raise self._error("the file ends inside an entry: it was cut off")
        return line

    def _line(self) -> bytes:
        """The next line with its newline, or nothing at the end of the file."""
        line = self._stream.readline(MAX_LINE)
        if line:
            self._number += 1
            if not line.endswith(b"\n"):
                cause = "too long" if len(line) == MAX_LINE else "cut off: it has no newline"
                raise self._error(f"the line is {cause}")
        return line

    def _decoded(self, text: bytes, number: int) -> str:
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError as error:
            number += text.count(b"\n", 0, error.start)
            raise TraceFileError("this is not UTF-8", file=self._name, line=number) from None

    def _error(self, message: str) -> TraceFileError:
        return TraceFileError(message, file=self._name, line=self._number)


_EXPECTED = "'# record', '# trace', '# text', '# target', '# writer' or '# ends'"
