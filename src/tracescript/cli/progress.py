"""A progress bar, where someone can see it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["counted", "progress_bar"]

_LONG = 1 << 22
"""Files of fewer bytes are done before a bar could help."""


T = TypeVar("T")


@contextmanager
def progress_bar(file: str) -> Generator[Callable[[int], object] | None]:
    """Show how much of a long file is read, on a terminal, where tqdm is installed."""
    size = os.path.getsize(file) if os.path.isfile(file) else 0
    tqdm = None if size < _LONG else _tqdm()
    if tqdm is None:
        yield None
        return
    bar = tqdm(total=size, unit="B", unit_scale=True, desc=os.path.basename(file), leave=False)
    with bar:
        yield bar.update


def counted(items: Sequence[T], what: str) -> Iterable[T]:
    """The items, with a bar that says how many are done, on a terminal, where tqdm is installed."""
    tqdm = _tqdm()
    return items if tqdm is None else tqdm(items, unit=f" {what}", leave=False)


def _tqdm() -> Any:
    if not sys.stderr.isatty():
        return None
    try:
        # Optional: the extra `cli` brings it.
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm
