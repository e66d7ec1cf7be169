"""What a difference between two traces is made of: frozen structs, one for each sort of change."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tracescript.model import Decision, Instruction

__all__ = ["Changed", "DecisionChange", "Pair", "Placed", "Renamed"]

Pair: TypeAlias = tuple[int, int]
"""The positions of one instruction in the old trace and in the new one."""


class Placed(msgspec.Struct, frozen=True, gc=False):
    """An instruction that one of the two traces does not have.

    Attributes:
        index: its position in the trace that has it.
        inst: the instruction.
    """

    index: int
    inst: Instruction


class Changed(msgspec.Struct, frozen=True, gc=False):
    """An instruction that is still there, but not as it was.

    It has other attributes, other literal inputs or another number of inputs or outputs, or
    what it is applied to comes from elsewhere.

    Attributes:
        a: its position in the old trace.
        b: its position in the new one.
        old: what it was.
        new: what it is.
    """

    a: int
    b: int
    old: Instruction
    new: Instruction


class DecisionChange(msgspec.Struct, frozen=True, gc=False):
    """A decision that became another one, appeared or went.

    Attributes:
        old: the decision in the old trace; None if it appeared.
        new: the decision in the new trace; None if it went.
    """

    old: Decision | None
    new: Decision | None


class Renamed(msgspec.Struct, frozen=True, gc=False):
    """An output whose name is not the one that follows from the old trace.

    A name that says the position of its output, as those that TVM gives do, is expected to
    say the new position; any other name is expected to stay.

    Attributes:
        index: the position of its instruction in the new trace.
        output: its position among the outputs of that instruction.
        name: its name in the new trace.
    """

    index: int
    output: int
    name: str
