"""What makes a workload one that can be: everything that it uses is there."""

from __future__ import annotations

from collections.abc import Sequence

from tracescript.errors import WorkloadError
from tracescript.workloads import defaults
from tracescript.workloads.model import (
    MAX_NODES,
    MAX_TREE_DEPTH,
    Attribute,
    Block,
    Expr,
    Load,
    Op,
    Var,
    Workload,
)
from tracescript.workloads.operators import OPERATORS
from tracescript.workloads.sharing import Parts, expressions

__all__ = ["require_valid"]


def require_valid(workload: Workload) -> None:
    """Refuse a workload that uses what is not there, or whose expressions are too large.

    Raises:
        WorkloadError: it does; the error names the block.
    """
    if not workload.blocks:
        raise WorkloadError("the workload", "at least one block", "none")
    buffers, nodes = len(workload.inputs), 0
    for block in workload.blocks:
        place = f'block "{block.name}"'
        buffers += len(block.outputs)
        nodes += _require_valid_block(place, block, buffers)
        if nodes > MAX_NODES:
            raise WorkloadError(place, f"at most {MAX_NODES} nodes up to here", str(nodes))
    if len(set(workload.params)) < len(workload.params) or any(
        not 0 <= place < buffers for place in workload.params
    ):
        raise WorkloadError("the parameters", "positions of buffers, each once", "others")
    _require_sorted("the attributes", workload.attrs)
    for attr in workload.attrs:
        if attr.value is None and attr.key in defaults.attributes(workload.name):
            raise WorkloadError(f'attribute "{attr.key}"', "a value", "None")
    if isinstance(workload.target, tuple):
        _require_sorted("the target", workload.target)


def _require_valid_block(place: str, block: Block, buffers: int) -> int:
    """Check a block that may use so many buffers, and count its nodes."""
    inits = [output.init is None for output in block.outputs]
    if len(set(inits)) != 1:
        raise WorkloadError(place, "outputs that all begin with something, or none", "others")
    _require_sorted(place, block.annotations)
    try:
        parts = Parts(expressions(block))
    except OverflowError as error:
        wanted = f"expressions of at most {MAX_TREE_DEPTH} levels"
        raise WorkloadError(place, wanted, str(error)) from None
    for part in parts.exprs:
        _require_known(place, part, len(block.axes), buffers)
    for position, axis in enumerate(block.axes):
        if not isinstance(axis.extent, int):
            for part in Parts([axis.extent]).exprs:
                _require_known(place, part, position, buffers)
    return parts.nodes


def _require_known(place: str, part: Expr, axes: int, buffers: int) -> None:
    if isinstance(part, Var) and not 0 <= part.axis < axes:
        raise WorkloadError(place, f"one of its {axes} axes", f"axis {part.axis}")
    if isinstance(part, Load) and not 0 <= part.buffer < buffers:
        raise WorkloadError(place, f"one of {buffers} buffers so far", f"buffer {part.buffer}")
    if not isinstance(part, Op):
        return
    operator = OPERATORS.get(part.name)
    if operator is None or operator.arity != len(part.args):
        found = f"{part.name} of {len(part.args)}"
        raise WorkloadError(place, "an operator and as many operands as it has", found)


def _require_sorted(place: str, attrs: Sequence[Attribute]) -> None:
    keys = [attr.key for attr in attrs]
    if keys != sorted(set(keys)):
        raise WorkloadError(place, "keys in order, each once", " ".join(keys))
