"""Apply traces in a process of its own, which may die or hang without harm.

One process serves them one after the other, so that TVM is imported once; another takes its
place when it has died.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

import atexit
import json
import threading
from multiprocessing.connection import Connection

import tvm

from tracescript._child import Child, Lost
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
        process = _usable_process()
        process.ask(job, timeout)
        return _failure(process)


def _failure(process: Child) -> Failure | None:
    position = None
    try:
        while isinstance(answer := json.loads(process.answer()), int):
            position = answer
    except Lost as lost:
        return Failure(position, f"TVM {lost}")
    return answer and Failure(*answer)


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


_LOCK = threading.Lock()
_processes: list[Child] = []


def _usable_process() -> Child:
    if not _processes or not _processes[0].is_usable:
        _processes[:] = [_new_process()]
    return _processes[0]


def _new_process() -> Child:
    process = Child(_CODE, _START)
    failure = _failure(process)
    if failure is not None:
        raise ReplayError(f"the process for rehearsals does not start: {failure.reason}")
    return process


@atexit.register
def end_rehearsals() -> None:
    """End the other process, if there is one; the next rehearsal starts another."""
    for process in _processes:
        if process.is_usable:
            process.end()
    _processes.clear()
