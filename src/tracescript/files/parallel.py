"""Map a function over batches, in order, on one process or several."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from tracescript._interrupts import interrupts_after

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["batches", "ordered_map"]

S = TypeVar("S")
T = TypeVar("T")


def ordered_map(function: Callable[[S], T], items: Iterable[S], jobs: int) -> Iterator[T]:
    """Like `map`, on `jobs` processes; at most two items a process are under way at once.

    The bound matters: an executor's own `map` would read a whole log into memory first.
    """
    if jobs <= 1:
        yield from map(function, items)
        return
    # Imported late: most programs never need it, and it is slow to load.
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(jobs, initializer=_ignore_interrupts)
    pending: deque[Future[T]] = deque()
    source = iter(items)
    try:
        while True:
            try:
                item = next(source)
            except StopIteration:
                break
            except Exception:
                # What came before the fault may have one of its own, to be reported first.
                yield from map(_result, pending)
                raise
            with interrupts_after():
                pending.append(pool.submit(function, item))
            if len(pending) > 2 * jobs:
                yield pending.popleft().result()
        yield from map(_result, pending)
    finally:
        pool.shutdown(cancel_futures=True)


def _result(future: Future[T]) -> T:
    return future.result()


def batches(items: Iterable[S], size_of: Callable[[S], int], limit: int) -> Iterator[list[S]]:
    """Group consecutive items until their sizes reach the limit."""
    batch: list[S] = []
    size = 0
    try:
        for item in items:
            batch.append(item)
            size += size_of(item)
            if size >= limit:
                yield batch
                batch, size = [], 0
    except Exception:
        # What came before the fault may have one of its own, to be reported first.
        yield batch
        raise
    if batch:
        yield batch


def _ignore_interrupts() -> None:
    # Ctrl-C reaches every process of the terminal; the parent alone answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
