"""What masks need to know of a workload, from its text alone."""

from __future__ import annotations

from tracescript.masks.task import BlockInfo, TaskInfo
from tracescript.workloads.model import Block, Load, Workload
from tracescript.workloads.sharing import Parts, expressions

__all__ = ["task_of"]


def task_of(workload: Workload) -> TaskInfo:
    r"""The blocks of a workload as masks take them: names, extents of loops, names of buffers.

    Law: it is what `tracescript.tvm.task_of` says of the function that `module_of` makes.

    >>> from tracescript.masks import task_of
    >>> from tracescript.workloads import loads
    >>> text = 'A "x" "float32" 8 64\nB "double" 8 64: A*2\n'
    >>> task_of(loads(text)).blocks
    (BlockInfo(name='double', loops=(8, 64), buffers=('double', 'x'), plain=True),)
    """
    names = [buffer.name for buffer in workload.buffers]
    above = [_levels(block, names) for block in workload.blocks]
    inner = [each for levels in reversed(above) for each in levels[1:]]
    return TaskInfo((*[levels[0] for levels in above], *inner), workload.name)


def _levels(block: Block, names: list[str]) -> list[BlockInfo]:
    """A block, or those that TVM makes of it: extents that depend on axes are an inner block's."""
    parts = Parts(expressions(block)).exprs
    read = {names[part.buffer] for part in parts if isinstance(part, Load)}
    buffers = tuple(sorted(read | {output.buffer.name for output in block.outputs}))
    known = [axis.extent for axis in block.axes if isinstance(axis.extent, int)]
    unknown = len(block.axes) - len(known)
    if not unknown:
        return [BlockInfo(block.name, tuple(known), buffers, plain=bool(known))]
    outer = BlockInfo(f"{block.name}_l1", tuple(known), buffers)
    return [outer, BlockInfo(block.name, (None,) * unknown, buffers)]
