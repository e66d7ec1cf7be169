"""Another Python process that answers questions, and may die or hang without harm to this one.

It is started afresh, not forked: TVM and torch have threads. It does not run the main module of
the program.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import Pipe

__all__ = ["Child", "Lost"]

_END = 10.0
"""Seconds that a process may take to end."""


class Lost(Exception):
    """There is no answer. The text says what became of the process: `died of SIGSEGV`."""


class Child:
    """A process, and the pipe to it.

    Args:
        code: what it runs. It finds the handle of its end of the pipe, a
            `multiprocessing.connection.Connection`, in `sys.argv[1]`, and says something first.
        seconds: how long it may take to say that.
    """

    def __init__(self, code: str, seconds: float) -> None:
        self._pipe, theirs = Pipe()
        handle = theirs.fileno()
        self._child = subprocess.Popen(
            [sys.executable, "-c", code, str(handle)],
            pass_fds=[handle],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        self._owner = os.getpid()
        self._allow(seconds)

    @property
    def is_usable(self) -> bool:
        """Whether it lives, and is not that of the process that this one was forked from."""
        return self._owner == os.getpid() and self._child.poll() is None

    def ask(self, question: bytes, seconds: float) -> None:
        """Send a question.

        Args:
            question: any bytes.
            seconds: how long all of its answers may take.
        """
        self._allow(seconds)
        # One that has died does not answer, which says why.
        with suppress(BrokenPipeError):
            self._pipe.send_bytes(question)

    def answer(self) -> bytes:
        """What it says next.

        Raises:
            Lost: it died, or took longer than it may, and was killed.
        """
        left = self._end - time.monotonic()
        if left <= 0 or not self._pipe.poll(left):
            self.kill()
            raise Lost(f"was not done after {self._seconds:g} seconds")
        try:
            return self._pipe.recv_bytes()
        except (EOFError, ConnectionResetError):
            raise Lost(self._death()) from None

    def end(self) -> None:
        """Let the process end, which it does by itself at the end of the pipe."""
        self._pipe.close()
        try:
            self._child.wait(_END)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the process at once."""
        self._child.kill()
        self._death()

    def _death(self) -> str:
        status = self._child.wait()
        self._pipe.close()
        if status >= 0:
            return f"ended with status {status}"
        return f"died of {signal.Signals(-status).name}"

    def _allow(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
