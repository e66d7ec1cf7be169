"""Files that grow at their end: locked, appended to, and read on from where one was."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import BinaryIO

from tracescript.errors import TraceFileError

__all__ = ["AppendFile", "Rest", "locked"]


@contextmanager
def locked(path: str, *, writing: bool) -> Generator[None]:
    """Hold the lock of a file while the block runs. Writers wait for all others.

    The lock is advisory: it binds those who ask for it. The system takes it back when a
    process dies. A file that may not be written to can be locked for reading.

    Raises:
        OSError: the platform has no `flock`, or the file cannot be opened.
    """
    try:
        import fcntl
    except ImportError:
        raise OSError(
            errno.ENOTSUP, "a database of .trace files needs flock, which this platform lacks", path
        ) from None
    # Each holder opens the file anew: a lock belongs to what was opened, and is shared by
    # forked processes.
    with open(path, "r+b" if writing else "rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX if writing else fcntl.LOCK_SH)
        yield


class Rest:
    """The lines of a file behind the place where reading stopped.

    Attributes:
        offset: how many bytes of the file lie before the next line.
        line: how many lines do.
        ended: whether the file has ended, be it inside the last line.
    """

    def __init__(self, stream: BinaryIO, offset: int, line: int) -> None:
        self._stream = stream
        self.offset = offset
        self.line = line
        self.ended = False

    def readline(self, limit: int, /) -> bytes:
        """The next line, or its first `limit` bytes; nothing at the end of the file."""
        line = self._stream.readline(limit)
        self.offset += len(line)
        self.line += bool(line)
        self.ended = not line.endswith(b"\n") and len(line) < limit
        return line


class AppendFile:
    """A file of a header and entries, which processes append to one after the other.

    What stands behind the last whole entry is either new, or the torn rest of a write that
    was killed. `rest` gives it to a reader, who calls `keep` after each whole entry;
    `append` writes in the place of whatever is left. Both are for the holder of a lock, and
    `append` only after the file was read to its end.

    Attributes:
        path: the file.
        end: the end of the last whole entry that was read or written, in bytes. It is 0 as
            long as not even the header was found.
        line: the number of lines up to there.
    """

    def __init__(self, path: str, header: bytes) -> None:
        self.path = path
        self.end = 0
        self.line = 0
        self._header = header

    @contextmanager
    def rest(self) -> Generator[Rest]:
        """Open the file behind the last whole entry.

        Raises:
            TraceFileError: the file has another header, or has become shorter.
        """
        with open(self.path, "rb") as stream:
            if self.end == 0:
                self._read_header(stream)
            elif stream.seek(0, os.SEEK_END) < self.end:
                raise self.error("the file is shorter than it was: something else has written it")
            # Without a header there is nothing to read: the file was torn inside it.
            stream.seek(self.end, os.SEEK_SET if self.end else os.SEEK_END)
            yield Rest(stream, self.end, self.line)

    def keep(self, rest: Rest) -> None:
        """Take what was read so far for whole."""
        self.end, self.line = rest.offset, rest.line

    def append(self, entry: bytes) -> None:
        """Write an entry, or none, behind the last whole one, and wait for the disk.

        Raises:
            OSError: not all of it could be written. The next `append` overwrites the rest.
        """
        data = entry if self.end else self._header + entry
        with open(self.path, "r+b", buffering=0) as stream:
            stream.truncate(self.end)
            stream.seek(self.end)
            if stream.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
            os.fsync(stream.fileno())
        self.end += len(data)
        self.line += data.count(b"\n")

    def error(self, message: str, line: int | None = None) -> TraceFileError:
        """An error at a line of the file; without one, behind the last whole entry."""
        return TraceFileError(message, file=self.path, line=line or self.line + 1)

    def _read_header(self, stream: BinaryIO) -> None:
        head = stream.read(len(self._header))
        if head == self._header:
            self.end, self.line = len(head), 1
        elif not self._header.startswith(head):
            raise self.error(
                f"the file does not begin with {self._header.decode().rstrip()!r}; if it is of a "
                "JSONDatabase, encode_database makes a .trace file of it"
            )
