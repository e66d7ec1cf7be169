"""Ctrl-C while a process is being started."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["interrupts_after"]


@contextmanager
def interrupts_after() -> Generator[None]:
    """Let an interrupt that comes within the block take effect at its end.

    Functions that Python runs at a fork, of `logging` for one, cannot raise: a `KeyboardInterrupt`
    in one of them is printed and dropped, and the program goes on as if nobody had asked it to
    stop. A signal's handler runs in the main thread only, so in another there is nothing to do.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: Any) -> None:
        came.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)
