"""What a workload should compute: the same function with float64 in place of every other float.

It is rebuilt from the workload's text, so it shares nothing with the schedule that is judged: no
instruction of a script touches it. The *plain* kernel, the workload in its own dtypes with the
simplest schedule, is what the judgement must let pass: if it does not, inputs or tolerance are
unfit for the workload.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
from tvm.s_tir import dlight
from tvm.target import Target

from tracescript.tvm import module_of
from tracescript.workloads import Cast, Expr, Load, Workload, with_dtypes
from tracescript.workloads.sharing import children

FLOATS_BY_WIDTH = ("bfloat16", "float16", "float32")
"""The floats that the reference replaces, from the least exact one on."""


def exact(workload: Workload) -> Workload:
    """Return the workload with float64 buffers, constants and casts."""
    return with_dtypes(workload, dict.fromkeys(FLOATS_BY_WIDTH, "float64"))


def plain(workload: Workload, target: Target) -> tvm.IRModule:
    """Return a module with the simplest schedule that the target can run.

    On a GPU every element is one thread's work, by dlight's fallback; a CPU runs the loops as
    they are.
    """
    module = module_of(workload)
    if target.kind.name == "llvm":
        return module
    with target:
        return dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())(module)


def narrowest(workload: Workload) -> str | None:
    """The narrowest float that anything is computed in, which bounds how exact outputs can be.

    None if there are no floats. Inputs do not count: to cast one to a wider float loses nothing.
    """
    dtypes = {output.buffer.dtype for block in workload.blocks for output in block.outputs}
    for block in workload.blocks:
        for output in block.outputs:
            found = (*expressions(output.value), *expressions(output.init))
            dtypes |= {each.dtype for each in found if isinstance(each, Cast)}
    return next((each for each in (*FLOATS_BY_WIDTH, "float64") if each in dtypes), None)


def expressions(expr: Expr | None) -> Iterator[Expr]:
    """An expression and all below it."""
    if expr is None:
        return
    yield expr
    for each in children(expr):
        yield from expressions(each)


def only_moves(workload: Workload) -> bool:
    """Whether all that is computed are elements of the inputs as they are, perhaps elsewhere."""
    made = [output for block in workload.blocks for output in block.outputs]
    return all(isinstance(output.value, Load) and output.init is None for output in made)


def reduction_length(workload: Workload) -> int:
    """The longest sum behind one element, on which rounding errors depend."""
    lengths = [1]
    for block in workload.blocks:
        length = 1
        for axis in block.axes:
            # An extent that depends on the element is small: that of an adaptive pool.
            if axis.kind == "R" and isinstance(axis.extent, int):
                length *= axis.extent
        lengths.append(length)
    return max(lengths)


def outputs(workload: Workload) -> list[int]:
    """The places among the parameters of the buffers that blocks compute."""
    made = len(workload.inputs)
    return [place for place, buffer in enumerate(workload.params) if buffer >= made]


def parameters(workload: Workload) -> list[Any]:
    """The buffers that the function takes, in order."""
    return [workload.buffers[buffer] for buffer in workload.params]
