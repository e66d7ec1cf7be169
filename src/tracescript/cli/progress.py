"""A progress bar, where someone can see it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["progress_bar"]

_LONG = 1 << 22
"""Files of fewer bytes are done before a bar could help."""


@contextmanager
def progress_bar(file: str) -> Generator[Callable[[int], object] | None]:
    """Show how much of a long file is read, on a terminal, where tqdm is installed."""
    size = os.path.getsize(file) if os.path.isfile(file) else 0
    if size < _LONG or not sys.stderr.isatty():
        yield None
        return
    try:
        # Optional: the extra `cli` brings it.
        from tqdm import tqdm
    except ImportError:
        yield None
        return
    bar = tqdm(total=size, unit="B", unit_scale=True, desc=os.path.basename(file), leave=False)
    with bar:
        yield bar.update
