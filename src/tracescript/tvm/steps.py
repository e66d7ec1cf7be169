"""Apply instructions to a live schedule, one after the other."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import tvm_ffi
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import LoopRV, SBlockRV
from tvm.tirx import Var

from tracescript.check import UNDEFINED
from tracescript.instructions import Form
from tracescript.json_trace import value_to_json
from tracescript.model import Instruction, Trace, Value
from tracescript.tvm.boxes import LiveValues, attr_to_tvm, input_to_tvm
from tracescript.tvm.hazards import KNOWN, form_of
from tracescript.tvm.intrinsics import import_intrinsics
from tracescript.tvm.reasons import Refusal, reason_of
from tracescript.tvm.safety import require_safe

__all__ = ["NO_DECISION", "Decided", "Failure", "Refusal", "Steps", "apply_all"]


class Failure(NamedTuple):
    """The instruction of a trace that cannot be applied, and why.

    Attributes:
        inst: its position; None if it did not come to that.
        reason: what is wrong, in one line.
    """

    inst: int | None
    reason: str


class _NoDecision:
    """The type of `NO_DECISION`."""


NO_DECISION = _NoDecision()
"""There is no decision: TVM draws one."""

Decided: TypeAlias = "Value | _NoDecision"
"""A decision, or none."""


class Steps:
    """A live schedule, and TVM's random variables under the names of a trace.

    Args:
        module: a `tvm.IRModule` or a `PrimFunc`.
        seed: for what is not decided.
        trusted: whether TVM may see an index map that is not known to be harmless.

    Law: applying all instructions of a trace gives the same schedule as TVM's own
    `Trace.apply_json_to_schedule`, wherever that accepts the trace.

    Attributes:
        schedule: the `tvm.s_tir.Schedule`.
        values: the random variables that the instructions so far have defined.
    """

    def __init__(self, module: Any, seed: int | None = None, *, trusted: bool = False) -> None:
        # TVM 0.27 may change the module that a schedule was made of: it does when the root
        # block is annotated and another loop split. So the schedule gets a copy.
        self.schedule: Any = Schedule(
            deepcopy(module), seed=seed, debug_mask="none", error_render_level="fast"
        )
        self.values: LiveValues = {}
        self._trusted = trusted

    def apply(self, inst: Instruction, decision: Decided = NO_DECISION) -> None:
        """Apply an instruction that has no hazard.

        Raises:
            Refusal: TVM refuses it or must not see it, and schedule and trace are as they were; or
                it has other outputs here than the instruction says, and it is applied.
        """
        require_safe(inst, self.schedule, self.values)
        outputs = self._call(inst, decision)
        if len(outputs) != len(inst.outputs):
            found = f"it has {len(outputs)} here"
            raise Refusal(f"expected {len(inst.outputs)} outputs, {found}")
        for name, output in zip(inst.outputs, outputs, strict=True):
            if name != UNDEFINED:
                self.values.setdefault(name, output)

    def _call(self, inst: Instruction, decision: Decided) -> Sequence[Any]:
        form = form_of(inst)
        try:
            inputs = [
                input_to_tvm(item, self.values, trusted=self._trusted) for item in inst.inputs
            ]
            attrs = [
                attr_to_tvm(value, attr, trusted=self._trusted)
                for value, attr in zip(inst.attrs, form.attrs, strict=True)
            ]
            arguments = _arguments(inst.kind, form, inputs, attrs)
            if KNOWN[inst.kind].decision != "none":
                given = None if isinstance(decision, _NoDecision) else value_to_json(decision)
                arguments.append(given)
            result = _primitive(inst.kind)(self.schedule, *arguments)
        except Exception as error:
            # TVM raises errors of a dozen types, some of them Python's own.
            raise Refusal(reason_of(error)) from None
        if result is None:
            return ()
        return (result,) if isinstance(result, (SBlockRV, LoopRV, Var)) else result


def apply_all(
    trace: Trace, steps: Steps, say: Callable[[int], object] | None = None
) -> Failure | None:
    """Apply a trace that has no hazard, up to what TVM refuses; None if all of it was applied.

    Args:
        trace: the trace.
        steps: where to apply it.
        say: is told the position of each instruction before it is applied.
    """
    decisions = {each.index: each.value for each in trace.decisions}
    for position, inst in enumerate(trace.insts):
        if say is not None:
            say(position)
        try:
            steps.apply(inst, decisions.get(position, NO_DECISION))
        except Refusal as refusal:
            return Failure(position, str(refusal))
    return None


@cache
def _primitive(kind: str) -> Callable[..., Any]:
    """TVM's function that applies a kind of instruction; its tensor intrinsics are at hand."""
    if any(attr.name == "tensor_intrin" for form in KNOWN[kind].forms for attr in form.attrs):
        import_intrinsics()
    return tvm_ffi.get_global_func(f"s_tir.schedule.Schedule{kind}")


def _arguments(kind: str, form: Form, inputs: list[Any], attrs: list[Any]) -> list[Any]:
    """The arguments of the primitive: inputs and attributes, in TVM's order.

    What any number of may come, as the loops of `Fuse` and the factors of `Split`, is a list.
    """
    if form.is_open:
        fixed = sum(slot.types != form.inputs[-1].types for slot in form.inputs)
        inputs = [*inputs[:fixed], inputs[fixed:]]
    late = KNOWN[kind].late
    return [*inputs[:1], *attrs[:late], *inputs[1:], *attrs[late:]]
