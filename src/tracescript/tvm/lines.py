"""What the finished lines of a script have made of a module."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from functools import cached_property
from typing import Any

from tvm.s_tir.schedule import SBlockRV
from tvm.tirx import Var

from tracescript import scope as names
from tracescript.decode import read_line
from tracescript.encode import write_value
from tracescript.instructions import LETTERS
from tracescript.json_trace import value_from_json
from tracescript.masks.nests import Loop, Nests
from tracescript.masks.scope import CHANGES, Scope
from tracescript.masks.task import Loops, Names, NameSet
from tracescript.model import Instruction
from tracescript.tvm.boxes import unbox
from tracescript.tvm.hazards import KNOWN, instruction_hazards
from tracescript.tvm.steps import NO_DECISION, Decided, Refusal, Steps
from tracescript.tvm.tasks import blocks_of, constant, extents_of, functions_of

__all__ = ["Lines", "LiveWorkload"]


class LiveWorkload:
    """The blocks of a live schedule as it is now: a `Workload` for masks."""

    def __init__(self, schedule: Any) -> None:
        # Questions are recorded in the trace, so a copy is asked.
        self._schedule = schedule.copy()

    @property
    def most_loops(self) -> int:
        """The greatest number of loops of a block."""
        return max((len(loops) for loops in self._loops.values() if loops is not None), default=0)

    def loops_of(self, name: str) -> Loops | None:
        """The extents of the loops around a block; None if no block or several have the name."""
        return self._loops.get(name)

    def is_plain(self, name: str) -> bool:  # noqa: ARG002 - what a workload is asked
        """Nothing that a later line changes is followed: TVM is asked again."""
        return False

    @cached_property
    def names(self) -> Names:
        """The names of the blocks and functions."""
        return Names(NameSet.of({"root", *self._loops}), NameSet.of(functions_of(self._schedule)))

    @cached_property
    def _loops(self) -> dict[str, Loops | None]:
        found: dict[str, Loops | None] = {}
        for block in blocks_of(self._schedule):
            name = str(self._schedule.get(block).name_hint)
            found[name] = None if name in found else extents_of(self._schedule, block)
        return found


class Lines:
    """What the finished lines of a script have made of a module; it never changes.

    The live schedule goes on to the next line, since TVM leaves it as it was when it refuses
    one. Whoever asks for it later, after a retreat or in a fork, gets one made anew. Copies
    would not do: a copy of a schedule has lost the places that `SampleComputeLocation` found.

    Attributes:
        scope: what a mask has to know of the values in scope, as TVM has them.
    """

    def __init__(self, made: _Made, scope: Scope, read: names.Scope) -> None:
        self.scope = scope
        self._made = made
        self._read = read

    @classmethod
    def of_module(cls, module: Any, seed: int) -> Lines:
        """Before the first line."""
        made = _Made(module, seed, ())
        scope = Scope(workload=LiveWorkload(made.steps().schedule))
        return cls(made, scope, names.Scope())

    @property
    def schedule(self) -> Any:
        """The schedule after these lines. It is not to be changed."""
        return self._made.steps().schedule

    @property
    def workload(self) -> LiveWorkload:
        """The blocks that there are now."""
        workload = self.scope.workload
        assert isinstance(workload, LiveWorkload)
        return workload

    def after(self, line: str) -> Lines:
        """What another line makes of it.

        Raises:
            Refusal: TVM refuses the line, or must not see it.
        """
        read = self._read.copy()
        inst, decided = read_line(line, read)
        decision = decided[0] if decided else NO_DECISION
        for problem in instruction_hazards(0, inst):
            raise Refusal(problem.message)
        made = self._made.after(inst, decision)
        steps = made.steps()
        changes = KNOWN[inst.kind].loops in CHANGES
        workload = LiveWorkload(steps.schedule) if changes else self.workload
        scope = _with_outputs(self.scope, workload, steps, inst)
        return Lines(made, scope, read)


class _Made:
    """A module with some instructions applied; the schedule is made when it is not at hand."""

    def __init__(
        self, module: Any, seed: int, applied: tuple[tuple[Instruction, Decided], ...]
    ) -> None:
        self._module = module
        self._seed = seed
        self._applied = applied
        self._steps: Steps | None = None

    def steps(self) -> Steps:
        """The schedule and its values."""
        if self._steps is None:
            steps = Steps(self._module, self._seed)
            for inst, decision in self._applied:
                steps.apply(inst, decision)
            self._steps = steps
        return self._steps

    def after(self, inst: Instruction, decision: Decided) -> _Made:
        """The schedule goes on by an instruction.

        Raises:
            Refusal: TVM refuses it, or takes another decision.
        """
        steps, self._steps = self.steps(), None
        try:
            steps.apply(inst, decision)
            if KNOWN[inst.kind].decision != "none":
                _require_recorded(decision, steps)
        except Refusal:
            if len(steps.schedule.trace.insts) == len(self._applied):
                self._steps = steps
            raise
        after = _Made(self._module, self._seed, (*self._applied, (inst, decision)))
        after._steps = steps
        return after


def _require_recorded(decision: Decided, steps: Steps) -> None:
    """Refuse a decision that TVM has drawn or mended: the script would say something else."""
    trace = steps.schedule.trace
    taken = value_from_json(unbox(trace.get_decision(trace.insts[-1])))
    if decision != taken:
        raise Refusal(f"expected the decision {write_value(taken)}, which TVM takes in its place")


def _with_outputs(scope: Scope, workload: LiveWorkload, steps: Steps, inst: Instruction) -> Scope:
    """The scope with the names, extents and values that the outputs have in the schedule."""
    letter = LETTERS[KNOWN[inst.kind].outputs.type]
    new = [_known(steps, name) for name in inst.outputs]
    blocks, loops, exprs = scope.blocks, scope.nests.named, scope.exprs
    if letter == "b":
        blocks += tuple(new)
    elif letter == "l":
        loops += tuple(map(Loop, new))
    else:
        exprs += tuple(new)
    return Scope(blocks, exprs, Nests(loops), workload)


def _known(steps: Steps, name: str) -> Any:
    """The name of a block, the extent of a loop, the value of an expression; None if unknown."""
    value = steps.values.get(name)
    if isinstance(value, Var):
        return int(steps.schedule.get(value))
    if value is None or steps.schedule.get_sref(value).stmt is None:
        # Of a loop of unknown extent, or a place that is no loop.
        return None
    made = steps.schedule.get(value)
    return str(made.name_hint) if isinstance(value, SBlockRV) else constant(made.extent)
