"""TVM's `Trace` objects and the model, in both directions; no module is needed."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from typing import Any

from tvm.s_tir import schedule as live
from tvm.tirx import Var

from tracescript.check import UNDEFINED
from tracescript.instructions import RVType
from tracescript.json_trace import from_json, value_to_json
from tracescript.model import Instruction, Trace
from tracescript.tvm.boxes import LiveValues, attr_to_tvm, input_to_tvm, unbox
from tracescript.tvm.hazards import KNOWN, form_of, require_harmless
from tracescript.tvm.reasons import reason_of, replay_error

__all__ = ["from_tvm", "to_tvm"]


def from_tvm(trace: Any) -> Trace:
    """Read a trace of a live schedule.

    Law: `from_tvm(to_tvm(trace)) == trace` for every trace with TVM's names.

    Args:
        trace: a `tvm.s_tir.schedule.Trace`: `schedule.trace`, or that of a tuning record.

    Raises:
        TypeError: the trace holds an object that TVM itself cannot write as JSON.
    """
    return from_json(unbox(trace.as_json()))


def to_tvm(trace: Trace) -> Any:
    """Make the `tvm.s_tir.schedule.Trace` that a trace stands for; no module is needed.

    Nothing is applied: `replay` does that. What this gives is safe to apply: it does not make
    TVM write out of bounds or divide by zero, as far as that is known (see `replay`). TVM names
    random variables by itself, so names that are not its own are gone.

    Law: `from_tvm(to_tvm(trace)) == trace` for every trace with TVM's names.

    Raises:
        ReplayError: this TVM has no such trace: a kind or form that it does not know, a random
            variable that nothing defines, a decision that its instruction cannot take.
    """
    require_harmless(trace)
    values: LiveValues = {}
    insts: list[Any] = []
    for position, inst in enumerate(trace.insts):
        try:
            insts.append(_instruction(inst, values))
        except Exception as error:
            # The text of an index map can be anything, and TVM raises errors of many types.
            raise replay_error(trace, position, reason_of(error)) from None
    decisions = {insts[each.index]: value_to_json(each.value) for each in trace.decisions}
    return live.Trace(insts, decisions)


def _instruction(inst: Instruction, values: LiveValues) -> Any:
    kind = KNOWN[inst.kind]
    form = form_of(inst)
    inputs = [input_to_tvm(item, values) for item in inst.inputs]
    attrs = [attr_to_tvm(value, attr) for value, attr in zip(inst.attrs, form.attrs, strict=True)]
    outputs = [_output(kind.outputs.type, name) for name in inst.outputs]
    values.update(zip(inst.outputs, outputs, strict=True))
    return live.Instruction(live.InstructionKind.get(inst.kind), inputs, attrs, outputs)


def _output(rv_type: RVType, name: str) -> Any:
    """A new random variable; TVM has none where the extent of a loop is unknown."""
    if name == UNDEFINED:
        return None
    if rv_type == "expr":
        return Var(name, "int32")
    return live.SBlockRV() if rv_type == "block" else live.LoopRV()
