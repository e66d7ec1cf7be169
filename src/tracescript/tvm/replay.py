"""Apply a trace to a module, and say which instruction TVM refuses."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from typing import Any

import tvm

from tracescript.model import Trace
from tracescript.tvm.hazards import require_harmless
from tracescript.tvm.reasons import replay_error
from tracescript.tvm.rehearsal import rehearse
from tracescript.tvm.steps import Steps, apply_all

__all__ = ["replay"]


def replay(
    trace: Trace,
    module: Any,
    *,
    isolated: bool = False,
    seed: int | None = None,
    timeout: float = 60.0,
) -> Any:
    """Apply a trace to a module and give the schedule, a `tvm.s_tir.Schedule`.

    Arity, types and the domains of decisions are checked before TVM sees anything: it takes
    decisions by an index that it does not look at, and a factor of 0 kills the process. TVM
    itself replaces a tile that does not fit its loop, and draws what is not decided: compare
    `from_tvm(schedule.trace)` with the trace where that matters.

    Law: schedule and trace are those of TVM's `Trace.apply_json_to_schedule`.

    Args:
        trace: the trace.
        module: a `tvm.IRModule` or a `PrimFunc`, which stays as it is, or the text that
            `tvm.ir.save_json` makes of one. TVM may die of a text: see `isolated`.
        isolated: rehearse in a process of its own first, which may die without harm. For
            traces that a model or a stranger wrote: the checks do not know all that TVM dies of.
        seed: for what is not decided; by default TVM draws one.
        timeout: how many seconds the rehearsal may take.

    Raises:
        ReplayError: TVM refuses an instruction, or must not see it, or the rehearsal died at
            it or took too long: with its position, its text, and the reason in one line.
    """
    require_harmless(trace)
    if isolated:
        text = module if isinstance(module, str) else tvm.ir.save_json(module)
        failure = rehearse(trace, text, seed, timeout)
        if failure is not None:
            raise replay_error(trace, *failure)
    if isinstance(module, str):
        module = tvm.ir.load_json(module)
    steps = Steps(module, seed, trusted=isolated)
    failure = apply_all(trace, steps)
    if failure is not None:
        raise replay_error(trace, *failure)
    return steps.schedule
