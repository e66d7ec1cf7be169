"""Modules and workloads, in both directions; what one of them cannot say is an error."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from tvm.target import Target
from tvm_ffi import get_first_structural_mismatch

from tracescript.errors import WorkloadError
from tracescript.tvm.workloads.build import build
from tracescript.tvm.workloads.read import names, read, read_attributes
from tracescript.workloads import Attribute, Workload
from tracescript.workloads.validity import require_valid

__all__ = ["module_of", "workload_of"]


def workload_of(module: Any, target: Any = None) -> Workload:
    """Read the one function of a module, a `tvm.IRModule`.

    Law: `tvm_ffi.structural_equal(module_of(workload_of(module)), module)`, and the names of
    blocks and buffers are the same. It is verified for each module before this returns.

    Args:
        module: what `te.create_prim_func` makes, or a module like it.
        target: what it is compiled for: a tag, a dict, or a `tvm.target.Target`.

    Raises:
        WorkloadError: the module says something that a workload cannot.
    """
    workload = replace(read(module), target=_target(target))
    require_valid(workload)
    rebuilt = build(workload)
    mismatch = get_first_structural_mismatch(rebuilt, module)
    if mismatch is not None:
        wanted = "what TVM makes of the same computation"
        raise WorkloadError(str(mismatch[1]), wanted, "something else")
    for made, found in zip(names(rebuilt), names(module), strict=True):
        if made != found:
            raise WorkloadError("the names", f'"{made}"', f'"{found}"')
    return workload


def module_of(workload: Workload) -> Any:
    """Make the module of a workload, a `tvm.IRModule` of one function.

    Law: `workload_of(module_of(workload), target) == workload`, but for the target, which no
    module has. It is verified for each workload before this returns.

    Raises:
        WorkloadError: the workload uses what is not there, or TVM refuses a part of it, such as
            a sum of two dtypes, or makes something else of it.
    """
    require_valid(workload)
    module = build(workload)
    made = read(module)
    for block, other in zip(workload.blocks, made.blocks, strict=True):
        if block != other:
            raise WorkloadError(f'block "{block.name}"', "what TVM keeps as it is", "more")
    if replace(made, target=workload.target) != workload:
        raise WorkloadError("the function", "what TVM keeps as it is", "more")
    return module


def _target(target: Any) -> str | tuple[Attribute, ...] | None:
    if target is None or isinstance(target, str):
        return target
    return read_attributes("the target", target.export() if isinstance(target, Target) else target)
