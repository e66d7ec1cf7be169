"""The workloads of a database, one a line: what `database_workload.json` has, compressed.

The file begins with the line `tracescript workloads 1`. Each other line is the hash of a
module as TVM writes it, a blank, and the module: the bytes that TVM's JSON has in base 64,
compressed by zlib, in base 85. Line n + 2 is workload n.

Source: `WorkloadNode::AsJSON` of `s_tir/meta_schedule/database/database.cc` in TVM 0.27; base 85
is that of RFC 1924, as Python's `base64.b85encode` writes it.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from functools import partial

import msgspec

from tracescript.errors import TraceFileError, TraceShapeError
from tracescript.files.framing import MAX_LINE
from tracescript.files.output import File, name_of, reading, writing
from tracescript.tvm.database.files import AppendFile

__all__ = [
    "MAX_MODULE",
    "StoredModule",
    "WorkloadFile",
    "decode_workloads",
    "encode_workloads",
    "module_texts",
]

HEADER = b"tracescript workloads 1\n"

MAX_MODULE = 48 << 20
"""A module may have this many bytes of JSON; its line then is never longer than `MAX_LINE`."""

_LENGTH = 8
"""Bytes before the JSON of a module, which say how many it has."""

_line = re.compile(rb"([0-9]{1,20}) ([!-~]+)\n").fullmatch
_json_line = re.compile(rb'\["([0-9]{1,20})","([A-Za-z0-9+/]+={0,2})"\]\n').fullmatch


class StoredModule(msgspec.Struct, frozen=True):
    """A module as TVM writes it for its database.

    Attributes:
        hash: the structural hash, in decimal digits.
        data: what TVM puts into base 64: the length of the JSON in eight bytes, and the JSON.
    """

    hash: str
    data: bytes

    @classmethod
    def from_json(cls, value: list[str]) -> StoredModule:
        """Read the JSON value of a workload, `[hash, base 64]`."""
        return cls(value[0], base64.b64decode(value[1], validate=True))

    def to_json(self) -> list[str]:
        """Write the JSON value of a workload."""
        return [self.hash, base64.b64encode(self.data).decode()]

    def to_line(self) -> bytes:
        """Write a line of the file.

        Law: `StoredModule.from_line(module.to_line()) == module`.

        Raises:
            TraceShapeError: the module is larger than `MAX_MODULE`.
        """
        if len(self.data) > MAX_MODULE:
            raise TraceShapeError("$[1]", _EXPECTED, f"{len(self.data)} bytes")
        return b"%s %s\n" % (self.hash.encode(), base64.b85encode(zlib.compress(self.data, 9)))

    @classmethod
    def from_line(cls, line: bytes) -> StoredModule:
        """Read a line of the file.

        Raises:
            TraceShapeError: it is none, or its module is damaged or larger than `MAX_MODULE`.
        """
        match = _line(line)
        if match is None:
            raise TraceShapeError("$", "a hash, a blank and a module in base 85", "another line")
        unpack = zlib.decompressobj()
        try:
            data = unpack.decompress(base64.b85decode(match[2]), MAX_MODULE)
        except (ValueError, zlib.error):
            raise TraceShapeError("$[1]", _EXPECTED, "damaged data") from None
        if not unpack.eof or unpack.unused_data:
            raise TraceShapeError("$[1]", _EXPECTED, "more or less than one module")
        return cls(match[1].decode(), data)


class WorkloadFile:
    """The file of the workloads of a database. The lock is the business of the caller."""

    def __init__(self, path: str) -> None:
        self.file = AppendFile(path, HEADER)

    def read(self) -> Iterator[tuple[int, StoredModule]]:
        """Give the modules that were appended since the last call, each after its line number.

        Raises:
            TraceFileError: a line is none of this file; the error has its number.
        """
        with self.file.rest() as rest:
            for line in iter(partial(rest.readline, MAX_LINE), b""):
                if rest.ended:
                    return
                try:
                    module = StoredModule.from_line(line)
                except TraceShapeError as error:
                    raise self.file.error(str(error), rest.line) from None
                yield rest.line, module
                self.file.keep(rest)

    def append(self, module: StoredModule) -> None:
        """Append a module, and wait for the disk.

        Raises:
            TraceFileError: it is larger than `MAX_MODULE`.
        """
        try:
            line = module.to_line()
        except TraceShapeError as error:
            raise self.file.error(str(error)) from None
        self.file.append(line)


def encode_workloads(source: File, target: File) -> None:
    """Write TVM's `database_workload.json` as the workload file of a `TraceDatabase`.

    Law: `decode_workloads` of the result gives the bytes of the source.

    Raises:
        TraceFileError: a line is none that TVM writes; the error has its number.
    """
    with reading(source) as stream, writing(target) as out:
        out.write(HEADER)
        for number, line in enumerate(iter(partial(stream.readline, MAX_LINE), b""), 1):
            try:
                out.write(_from_json_line(line).to_line())
            except TraceShapeError as error:
                raise TraceFileError(str(error), file=name_of(source), line=number) from None


def module_texts(source: File) -> Iterator[str]:
    """The modules of a `database_workload.json` or of a workload file, as TVM's JSON texts.

    `tvm.ir.load_json` makes modules of them.

    Raises:
        TraceFileError: a line is none of such a file; the error has its number.
    """
    with reading(source) as stream:
        for number, line in enumerate(iter(partial(stream.readline, MAX_LINE), b""), 1):
            if number == 1 and line == HEADER:
                continue
            read = _from_json_line if line.startswith(b"[") else StoredModule.from_line
            try:
                yield read(line).data[_LENGTH:].decode()
            except (TraceShapeError, UnicodeDecodeError) as error:
                raise TraceFileError(str(error), file=name_of(source), line=number) from None


def decode_workloads(source: File, target: File) -> None:
    """Write the `database_workload.json` that a workload file stands for.

    Raises:
        TraceFileError: a line is none of such a file, or the last one was cut off; the error
            has its number.
    """
    with reading(source) as stream, writing(target) as out:
        for number, line in enumerate(iter(partial(stream.readline, MAX_LINE), b""), 1):
            try:
                out.write(
                    _header(line) if number == 1 else _to_json_line(StoredModule.from_line(line))
                )
            except TraceShapeError as error:
                raise TraceFileError(str(error), file=name_of(source), line=number) from None


def _header(line: bytes) -> bytes:
    if line != HEADER:
        raise TraceShapeError("$", repr(HEADER.decode()), "another line")
    return b""


def _to_json_line(module: StoredModule) -> bytes:
    return '["{}","{}"]\n'.format(*module.to_json()).encode()


def _from_json_line(line: bytes) -> StoredModule:
    match = _json_line(line)
    # Four characters of base 64 are three bytes; what else could be read is not TVM's.
    if match is None or len(match[2]) % 4 != 0:
        raise TraceShapeError("$", _EXPECTED_JSON, "another line")
    module = StoredModule.from_json([match[1].decode(), match[2].decode()])
    if _to_json_line(module) != line:
        raise TraceShapeError("$", _EXPECTED_JSON, "another line")
    return module


_EXPECTED = f"the JSON of a module, of at most {MAX_MODULE} bytes"
_EXPECTED_JSON = 'a workload as TVM writes it, ["hash","base 64"]'
