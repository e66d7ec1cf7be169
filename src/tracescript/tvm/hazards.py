"""What must not reach TVM, since it would write out of bounds, divide by zero, or die.

`check` knows most of it: TVM takes a decision by its index without looking whether there
is such an instruction, and divides by the factors of a tile. What is here, `check` lets
pass, because a trace with it is well-formed; what only a live schedule can tell is in
`safety`. All of it was found by applying mutated traces to their modules, which
`tests/fuzz_replay.py` does.
"""

# pyright: reportMissingTypeStubs=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import tvm

from tracescript.check import Problem, check
from tracescript.instructions import Form, kinds
from tracescript.model import Instruction, Trace
from tracescript.tvm.reasons import replay_error

__all__ = ["KNOWN", "RELEASE", "form_of", "hazards", "instruction_hazards", "require_harmless"]

RELEASE = ".".join(str(tvm.__version__).split(".")[:2])
"""The release of TVM that is installed, such as "0.27"."""

KNOWN = kinds(RELEASE)
"""The kinds of instructions that it has."""

_INT32 = range(1, 1 << 31)
"""What TVM can divide by: a multiple of a larger divisor overflows, and is 0."""

_INT64 = range(-(1 << 63), 1 << 63)


def require_harmless(trace: Trace) -> None:
    """Raise unless a trace is one that this TVM can be asked to apply.

    Raises:
        ReplayError: with the first thing that is wrong.
    """
    for problem in hazards(trace):
        raise replay_error(trace, problem.inst, f"{problem.path}: {problem.message}")


def hazards(trace: Trace) -> Iterator[Problem]:
    """What is wrong with a trace before any module is looked at: errors alone, no notes."""
    yield from (found for found in check(trace, tvm=RELEASE) if found.severity == "error")
    decided = {decision.index for decision in trace.decisions}
    for position, inst in enumerate(trace.insts):
        yield from instruction_hazards(position, inst)
        if position not in decided:
            yield from _endless(position, inst)
    for number, decision in enumerate(trace.decisions):
        yield from _integers(f"$[1][{number}][1]", decision.value, decision.index)


def instruction_hazards(position: int, inst: Instruction) -> Iterator[Problem]:
    """What `check` lets pass in an instruction, and TVM does not survive or does not know."""
    path = f"$[0][{position}]"
    kind = KNOWN.get(inst.kind)
    if kind is None:
        yield Problem(f"{path}[0]", f"expected a kind of TVM {RELEASE}, found another", position)
    yield from _integers(f"{path}[1]", inst.inputs, position)
    yield from _integers(f"{path}[2]", inst.attrs, position)
    if kind is not None and kind.outputs.count == "first attribute" and not inst.outputs:
        # Of no factors TVM writes the first one, if the extent of the loop is unknown.
        yield Problem(f"{path}[3]", "expected at least one factor, found none", position)
    if kind is not None and kind.decision == "partitioned tile" and len(inst.attrs) == 3:
        yield from _partition(f"{path}[2]", position, inst)


def form_of(inst: Instruction) -> Form:
    """The form of an instruction that has no hazard."""
    forms = KNOWN[inst.kind].forms
    fits = (f for f in forms if f.takes(len(inst.inputs)) and len(f.attrs) == len(inst.attrs))
    return next(fits)


def _endless(position: int, inst: Instruction) -> Iterator[Problem]:
    """TVM draws tiles until one keeps the bound, where no decision gives one."""
    kind = KNOWN.get(inst.kind)
    if kind is None or kind.decision != "tile" or len(inst.attrs) != 2:
        return
    bound = inst.attrs[1]
    if type(bound) is int and bound != -1 and bound not in _INT32:
        wanted = "expected a decision, or a positive bound of 32 bits or -1"
        yield Problem(f"$[0][{position}][2][1]", f"{wanted}, found {bound}", position)


def _partition(path: str, position: int, inst: Instruction) -> Iterator[Problem]:
    """TVM divides by the factor of the inner part, and cuts the factors at any position.

    Where nothing is behind the cut it puts the factor of the inner part there all the same.
    """
    count, cut, divisor = inst.attrs
    if type(cut) is int and type(count) is int and not 0 <= cut <= count:
        yield Problem(f"{path}[1]", f"expected a position from 0 to {count}, found {cut}", position)
    if type(divisor) is int and divisor not in _INT32:
        wanted = "expected a positive integer of 32 bits"
        yield Problem(f"{path}[2]", f"{wanted}, found {divisor}", position)
    elif cut == count and divisor != 1:
        wanted = f"expected 1, since there is no factor from position {count} on"
        yield Problem(f"{path}[2]", f"{wanted}, found {divisor}", position)


def _integers(path: str, value: object, inst: int) -> Iterator[Problem]:
    """TVM holds integers of 64 bits."""
    stack: list[tuple[str, object]] = [(path, value)]
    while stack:
        path, value = stack.pop()
        if type(value) is int and value not in _INT64:
            yield Problem(path, "expected an integer of 64 bits, found a larger one", inst)
        elif isinstance(value, tuple):
            items = cast("tuple[object, ...]", value)
            stack += [(f"{path}[{number}]", item) for number, item in enumerate(items)]
        elif isinstance(value, dict):
            entries = cast("dict[str, object]", value)
            stack += [(f"{path}.{key}", item) for key, item in entries.items()]
