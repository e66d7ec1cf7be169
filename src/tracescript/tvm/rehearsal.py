"""Apply traces in a process of its own, which may die or hang without harm.

One process serves them one after the other, so that TVM is imported once; another takes its
place when it has died. It is started afresh, not forked: TVM has threads.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import tvm

from tracescript.errors import ReplayError
from tracescript.json_trace import from_json, to_json
from tracescript.model import Trace
from tracescript.tvm.intrinsics import import_intrinsics
from tracescript.tvm.reasons import reason_of
from tracescript.tvm.steps import Failure, Steps, apply_all

__all__ = ["end_rehearsals", "rehearse", "serve"]

_CODE = "import sys; from tracescript.tvm.rehearsal import serve; serve(int(sys.argv[1]))"

_START = 300.0
"""Seconds that a new process may take to import TVM."""

_END = 10.0
"""Seconds that a process may take to end."""

_READY = _DONE = b"null"


def rehearse(trace: Trace, module: str, seed: int | None, timeout: float) -> Failure | None:
    """Apply a trace in the other process; None if all of it was applied.

    Args:
        trace: a trace that has no hazard.
        module: what to apply it to, as `tvm.ir.save_json` writes it.
        seed: for what is not decided.
        timeout: how many seconds it may take, without the start of the process.
    """
    job = json.dumps([to_json(trace), module, seed]).encode()
    with _LOCK:
        return _usable_process().ask(job, timeout)


def serve(handle: int) -> None:
    """Apply the traces that come through a pipe: what the other process runs.

    It says the position of an instruction before it applies it, and at the end null or the
    failure.
    """
    pipe = Connection(handle)
    # Now, since no instruction is to wait for it.
    import_intrinsics()
    pipe.send_bytes(_READY)
    while True:
        try:
            trace, module, seed = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            steps = Steps(tvm.ir.load_json(module), seed, trusted=True)
        except Exception as error:
            # The text can be anything, and TVM raises errors of many types.
            failure = Failure(None, f"TVM cannot read the module: {reason_of(error)}")
        else:
            failure = apply_all(from_json(trace), steps, lambda at: pipe.send_bytes(b"%d" % at))
        pipe.send_bytes(_DONE if failure is None else json.dumps(failure).encode())


class _Process:
    """The other process."""

    def __init__(self) -> None:
        self._pipe, theirs = Pipe()
        handle = theirs.fileno()
        self._child = subprocess.Popen(
            [sys.executable, "-c", _CODE, str(handle)],
            pass_fds=[handle],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        self._owner = os.getpid()
        failure = self._answer(_START)
        if failure is not None:
            raise ReplayError(f"the process for rehearsals does not start: {failure.reason}")

    @property
    def is_usable(self) -> bool:
        """Whether it lives, and is not that of the process that this one was forked from."""
        return self._owner == os.getpid() and self._child.poll() is None

    def ask(self, job: bytes, timeout: float) -> Failure | None:
        self._pipe.send_bytes(job)
        return self._answer(timeout)

    def _answer(self, timeout: float) -> Failure | None:
        position, end = None, time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0 and self._pipe.poll(left):
            try:
                answer = json.loads(self._pipe.recv_bytes())
            except EOFError:
                return Failure(position, f"TVM {self._death()}")
            if not isinstance(answer, int):
                return answer and Failure(*answer)
            position = answer
        self._child.kill()
        self._death()
        return Failure(position, f"TVM was not done after {timeout:g} seconds")

    def _death(self) -> str:
        status = self._child.wait()
        self._pipe.close()
        if status >= 0:
            return f"ended with status {status}"
        return f"died of {signal.Signals(-status).name}"

    def end(self) -> None:
        """Let the process end, which it does by itself at the end of the pipe."""
        self._pipe.close()
        try:
            self._child.wait(_END)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


_LOCK = threading.Lock()
_processes: list[_Process] = []


def _usable_process() -> _Process:
    if not _processes or not _processes[0].is_usable:
        _processes[:] = [_Process()]
    return _processes[0]


@atexit.register
def end_rehearsals() -> None:
    """End the other process, if there is one; the next rehearsal starts another."""
    for process in _processes:
        if process.is_usable:
            process.end()
    _processes.clear()
