"""Which integers an input may hold, if a workload uses it as an index."""

from __future__ import annotations

from collections.abc import Iterator

from tracescript.workloads.model import Block, Cast, Expr, Load, Op, Reinterpret, Workload
from tracescript.workloads.sharing import Parts, expressions

__all__ = ["index_limits"]


def index_limits(workload: Workload) -> dict[int, int]:
    """For each buffer that is used as an index, how large the dimension is that it indexes.

    Law: if each holds integers from 0 to below its limit, no index is out of range.

    Returns:
        The least of the sizes, by the place of the buffer in `workload.buffers`.

    Raises:
        ValueError: an index is computed from integers in a way that has no known bounds.
    """
    limits: dict[int, int] = {}
    for block in workload.blocks:
        for index, size in _indexing(workload, block):
            for part in Parts([index]).exprs:
                if isinstance(part, Load):
                    _require_bounded(index)
                    limits[part.buffer] = min(limits.get(part.buffer, size), size)
    return limits


def _indexing(workload: Workload, block: Block) -> Iterator[tuple[Expr, int]]:
    """The indices of a block, and the sizes of the dimensions that they are for."""
    for output in block.outputs:
        yield from zip(output.indices, output.buffer.shape, strict=True)
    for part in Parts(expressions(block)).exprs:
        if isinstance(part, Load):
            yield from zip(part.indices, workload.buffers[part.buffer].shape, strict=True)


def _require_bounded(index: Expr) -> None:
    """An index is a loaded integer, perhaps cast or clipped."""
    if isinstance(index, Op):
        if index.name not in ("min", "max"):
            raise ValueError(f"an index is computed by {index.name}")
        for arg in index.args:
            _require_bounded(arg)
    elif isinstance(index, (Cast, Reinterpret)):
        _require_bounded(index.value)
