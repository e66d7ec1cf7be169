"""The statements of a function taken apart: loops, blocks, and what these compute."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tvm import tirx
from tvm.s_tir import SBlockRealize

from tracescript.errors import WorkloadError

__all__ = ["Nest", "nests_of", "root_of"]


class Nest(NamedTuple):
    """A block in its loops.

    Attributes:
        scalar: whether there are no loops.
        place: the block, as an error names it.
        outer: the block around it, if an extent depends on other axes.
        realize: the block as it is bound to the loops.
        stores: what it writes.
        values: the value of each store.
        inits: what each store begins with; empty without an init.
    """

    scalar: bool
    place: str
    outer: Any | None
    realize: Any
    stores: Sequence[Any]
    values: Sequence[Any]
    inits: Sequence[Any]


def root_of(function: Any) -> Any:
    """The root block of a function.

    Raises:
        WorkloadError: it has none.
    """
    realize = function.body
    if not isinstance(realize, SBlockRealize) or realize.block.iter_vars:
        raise WorkloadError("the function", "a root block", type(realize).__name__)
    return realize.block


def nests_of(root: Any) -> list[Nest]:
    """The nests of a root block, in order.

    Raises:
        WorkloadError: it holds something else.
    """
    return [_nest(statement) for statement in _statements(root.body)]


def _nest(statement: Any) -> Nest:
    outer, realize = None, _inside_loops(statement, "the function")
    if isinstance(realize.block.body, (tirx.For, SBlockRealize)):
        outer = realize.block
        realize = _inside_loops(outer.body, f'block "{outer.name_hint}"')
    block = realize.block
    place = f'block "{block.name_hint}"'
    if block.match_buffers or block.alloc_buffers:
        raise WorkloadError(place, "whole buffers of the function", "buffers of its own")
    stores, values = _computation(place, block.body)
    inits: list[Any] = []
    if block.init is not None:
        inits = [store.value for store in _stores(place, _statements(block.init))]
        if len(inits) != len(stores):
            raise WorkloadError(place, "an init for each buffer that is written", str(len(inits)))
    return Nest(realize is statement, place, outer, realize, stores, values, inits)


def _inside_loops(statement: Any, place: str) -> Any:
    loops: list[Any] = []
    while isinstance(statement, tirx.For):
        if statement.kind != tirx.ForKind.SERIAL or statement.annotations:
            wanted = "loops that are serial and have no annotations"
            raise WorkloadError(place, wanted, f"loop {statement.loop_var.name}")
        loops.append(statement.loop_var)
        statement = statement.body
    if not isinstance(statement, SBlockRealize):
        raise WorkloadError(place, "one block in its loops", type(statement).__name__)
    bound = list(statement.iter_values)[-len(loops) :] if loops else []
    if len(bound) != len(loops) or not all(map(_same, bound, loops)):
        wanted = "iteration variables bound to the loops, in order"
        raise WorkloadError(f'block "{statement.block.name_hint}"', wanted, "other bindings")
    return statement


def _same(left: Any, right: Any) -> bool:
    return bool(left.same_as(right))


def _computation(place: str, body: Any) -> tuple[list[Any], list[Any]]:
    """The stores of a block and their values; several values are bound before any is stored."""
    statements = _statements(body)
    bound = [each for each in statements if isinstance(each, tirx.Bind)]
    stores = _stores(place, statements[len(bound) :])
    values = [store.value for store in stores]
    if not bound and len(stores) == 1:
        return stores, values
    if len(bound) != len(values) or not all(
        _same(each.var, value) for each, value in zip(bound, values, strict=True)
    ):
        raise WorkloadError(place, "values that are all computed before any is stored", "others")
    return stores, [each.value for each in bound]


def _stores(place: str, statements: Sequence[Any]) -> list[Any]:
    for statement in statements:
        if not isinstance(statement, tirx.BufferStore):
            raise WorkloadError(place, "only stores", type(statement).__name__)
    return list(statements)


def _statements(body: Any) -> list[Any]:
    return list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
