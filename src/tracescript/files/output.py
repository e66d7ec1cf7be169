"""Open what to read, and write whole files or none."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import BinaryIO, TypeAlias, Union

__all__ = ["File", "name_of", "reading", "writing"]

File: TypeAlias = Union[str, "os.PathLike[str]", BinaryIO]
"""A path, `-` for standard input or output, or an open binary file."""


def name_of(source: File) -> str:
    """What to call a source in errors."""
    if isinstance(source, (str, os.PathLike)):
        return "<stdin>" if str(source) == "-" else str(source)
    return str(getattr(source, "name", "<stream>"))


@contextmanager
def reading(source: File) -> Generator[BinaryIO]:
    """Open a path to read bytes; `-` is standard input, an open binary file stays as it is."""
    if not isinstance(source, (str, os.PathLike)):
        yield source
    elif str(source) == "-":
        yield sys.stdin.buffer
    else:
        with open(source, "rb") as stream:
            yield stream


@contextmanager
def writing(target: File) -> Generator[BinaryIO]:
    """Open a path to write bytes, all of them or none.

    What is written goes to a temporary file in the same folder, which takes the place of
    the target when the block ends. If it ends with an error, the temporary file is gone and
    the target is as it was. `-` is standard output, and an open binary file stays as it is;
    for these two there is no way back.
    """
    if not isinstance(target, (str, os.PathLike)):
        yield target
        return
    if str(target) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # A link keeps pointing to the file that is replaced.
    path = os.path.realpath(target)
    if os.path.exists(path) and not os.path.isfile(path):
        # A device or a pipe cannot be replaced, and need not be.
        with open(path, "wb") as stream:
            yield stream
        return
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError as error:
        error.filename = os.fspath(target)
        raise
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        if os.path.exists(path):
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
