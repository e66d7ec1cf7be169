"""What a mask has to know of a module: its blocks, their loops and buffers."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tvm.s_tir import SBlockRealize, Schedule
from tvm.tirx import IntImm, PrimFunc

from tracescript.masks.task import BlockInfo, Loops, TaskInfo

__all__ = ["blocks_of", "constant", "extents_of", "functions_of", "task_of"]


def task_of(module: Any) -> TaskInfo:
    """A module as masks take it: its blocks, with extents of loops and names of buffers.

    Args:
        module: a `tvm.IRModule` or a `PrimFunc`.
    """
    schedule = Schedule(module, debug_mask="none")
    blocks = tuple([_block(schedule, block) for block in blocks_of(schedule)])
    names = functions_of(schedule)
    return TaskInfo(blocks, names[0] if len(names) == 1 else None)


def functions_of(schedule: Any) -> list[str]:
    """The names of the functions that blocks can be in."""
    functions = schedule.mod.functions.items()
    return [str(name.name_hint) for name, made in functions if isinstance(made, PrimFunc)]


def blocks_of(schedule: Any) -> Iterator[Any]:
    """The random variables of all blocks but the roots, outer ones first.

    The schedule records the questions in its trace; ask a copy.
    """
    for name in functions_of(schedule):
        above = [schedule.get_sblock("root", name)]
        while above:
            inside = list(schedule.get_child_blocks(above.pop()))
            yield from inside
            above += inside


def extents_of(schedule: Any, block: Any) -> Loops:
    """The extents of the loops around a block, the outermost first; None for no constant."""
    return tuple([constant(schedule.get(loop).extent) for loop in schedule.get_loops(block)])


def constant(extent: Any) -> int | None:
    """An extent, None if it is no constant."""
    return int(extent.value) if isinstance(extent, IntImm) else None


def _block(schedule: Any, block: Any) -> BlockInfo:
    made = schedule.get(block)
    buffers = {str(region.source.name) for region in [*made.reads, *made.writes]}
    loops = [schedule.get(loop) for loop in schedule.get_loops(block)]
    return BlockInfo(
        str(made.name_hint),
        tuple([constant(loop.extent) for loop in loops]),
        tuple(sorted(buffers)),
        plain=not schedule.get_child_blocks(block) and _are_iterations(loops),
    )


def _are_iterations(loops: list[Any]) -> bool:
    """Whether there are loops, nothing is between them, and a block has one for each iteration."""
    if not loops or not all(a.body.same_as(b) for a, b in pairwise(loops)):
        return False
    inside = loops[-1].body
    if not isinstance(inside, SBlockRealize) or len(inside.iter_values) != len(loops):
        return False
    return all(
        value.same_as(loop.loop_var) for value, loop in zip(inside.iter_values, loops, strict=True)
    )
