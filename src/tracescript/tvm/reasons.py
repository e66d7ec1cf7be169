"""What TVM says is wrong, in one line, and the error that names the instruction."""

from __future__ import annotations

from tracescript.encode import dumps
from tracescript.errors import ReplayError
from tracescript.model import Trace

__all__ = ["Refusal", "reason_of", "replay_error"]


class Refusal(Exception):
    """TVM refuses an instruction, or must not see it; the text is the reason, in one line."""


def reason_of(error: Exception) -> str:
    r"""What TVM says is wrong, in one line.

    >>> reason_of(RuntimeError("ScheduleError: The loop\nis   gone"))
    'The loop is gone'
    """
    text = " ".join(str(error).split())
    for prefix in ("ScheduleError: ", "Check failed: "):
        text = text.removeprefix(prefix)
    return text or type(error).__name__


def replay_error(trace: Trace, inst: int | None, reason: str) -> ReplayError:
    """The error that says why an instruction of a trace, or the whole trace, cannot be applied."""
    if inst is None:
        return ReplayError(reason)
    return ReplayError(reason, inst=inst, text=dumps(trace).split("\n")[1 + inst])
