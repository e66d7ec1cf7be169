"""Open what to read, and write whole files or none."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["name_of", "reading", "writing"]


def name_of(source: str | Path | BinaryIO) -> str:
    """What to call a source in errors."""
    if isinstance(source, (str, Path)):
        return "<stdin>" if str(source) == "-" else str(source)
    return str(getattr(source, "name", "<stream>"))


@contextmanager
def reading(source: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """Open a path to read bytes; `-` is standard input, an open binary file stays as it is."""
    if not isinstance(source, (str, Path)):
        yield source
    elif str(source) == "-":
        yield sys.stdin.buffer
    else:
        with Path(source).open("rb") as stream:
            yield stream


@contextmanager
def writing(target: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    """Open a path to write bytes, all of them or none.

    What is written goes to a temporary file in the same folder, which takes the place of
    the target when the block ends. If it ends with an error, the temporary file is gone and
    the target is as it was. `-` is standard output, and an open binary file stays as it is;
    for these two there is no way back.
    """
    if not isinstance(target, (str, Path)):
        yield target
        return
    if str(target) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    if path.exists() and not path.is_file():
        # A device or a pipe cannot be replaced, and need not be.
        with path.open("wb") as stream:
            yield stream
        return
    # A link keeps pointing to the file that is replaced.
    path = path.resolve()
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(path: Path) -> int:
    """The permissions that a plain `open` would leave on the file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
