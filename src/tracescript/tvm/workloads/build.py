"""From a workload to TVM's module: what `te.create_prim_func` would make of it."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import tirx
from tvm.ir import IRModule, Range
from tvm.s_tir import SBlock, SBlockRealize
from tvm.s_tir.analysis import get_sblock_access_region

from tracescript.errors import WorkloadError
from tracescript.json_trace import value_to_json
from tracescript.tvm.reasons import reason_of
from tracescript.tvm.workloads.expressions import ExpressionBuilder
from tracescript.workloads import Block, Buffer, Expr, Kind, Workload

__all__ = ["KINDS", "build"]

_OUTER_SUFFIX = "_l1"
"""What `te.create_prim_func` adds to the name of the outer of two blocks."""

KINDS: dict[Kind, int] = {"S": tirx.IterVar.DataPar, "R": tirx.IterVar.CommReduce}
"""TVM's numbers for the kinds of axes."""


def build(workload: Workload) -> Any:
    """Make the module of a workload that is valid.

    Raises:
        WorkloadError: TVM refuses a part of it.
    """
    place = "the buffers"
    try:
        maker = _Maker(workload)
        for block in workload.blocks:
            place = f'block "{block.name}"'
            maker.add(block)
        place = "the function"
        return maker.module()
    except Exception as error:
        # TVM raises errors of a dozen types, some of them Python's own.
        raise WorkloadError(place, "what TVM takes", reason_of(error)) from None


class _Maker:
    """Makes one module, block by block."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._buffers = [self._buffer(buffer) for buffer in workload.buffers]
        self._made = len(workload.inputs)
        self._nests: list[Any] = []

    def add(self, block: Block) -> None:
        """Add the nest of a block."""
        written = self._buffers[self._made : self._made + len(block.outputs)]
        self._made += len(written)
        self._nests.append(_Nest(self._workload, self._buffers, block, written).statement())

    def module(self) -> Any:
        """The module of all nests."""
        taken = set(self._workload.params)
        allocated = [made for place, made in enumerate(self._buffers) if place not in taken]
        root = SBlock([], [], [], "root", _sequence(self._nests), alloc_buffers=allocated)
        parameters = [self._buffers[place] for place in self._workload.params]
        function: Any = tirx.PrimFunc(parameters, SBlockRealize([], True, root))
        for attr in self._workload.attrs:
            function = function.with_attr(attr.key, value_to_json(attr.value))
        return IRModule({self._workload.name: function})

    def _buffer(self, buffer: Buffer) -> Any:
        shape = [tirx.IntImm(self._workload.index_dtype, size) for size in buffer.shape]
        # TVM gives compact buffers of this dialect no layout, which its types do not know.
        made: Any = tirx.decl_buffer
        return made(shape, buffer.dtype, buffer.name, layout=None)


class _Nest:
    """Makes the loops and blocks of one block of a workload."""

    def __init__(
        self, workload: Workload, buffers: Sequence[Any], block: Block, written: Sequence[Any]
    ) -> None:
        self._workload = workload
        self._buffers = buffers
        self._block = block
        self._written = written

    def statement(self) -> Any:
        """One block in its loops; two, one in the other, where extents depend on other axes."""
        outer: list[Any] = []
        dependent: list[tuple[int, Kind, Expr]] = []
        for position, axis in enumerate(self._block.axes):
            if isinstance(axis.extent, int):
                outer.append(self._axis(position, axis.kind, 0, self._size(axis.extent)))
            else:
                dependent.append((position, axis.kind, axis.extent))
        if not self._block.axes:
            point = self._axis(0, "S", 0, self._size(1))
            return self._in_loops([], self._with_regions(self._leaf([point])), [self._size(0)])
        if not dependent:
            return self._in_loops(outer, self._with_regions(self._leaf(outer)))
        return self._in_loops(outer, self._with_regions(self._around(outer, dependent)))

    def _around(self, outer: list[Any], dependent: Sequence[tuple[int, Kind, Expr]]) -> Any:
        """The outer of two blocks, without regions: its body is the inner one in its loops."""
        places = [each.var for each in outer]
        builder = ExpressionBuilder(self._workload, self._buffers, places)
        points = [
            self._axis(place, "S", each.var, self._size(1)) for place, each in enumerate(outer)
        ]
        inner = [
            self._axis(place, kind, 0, builder.expr(extent)) for place, kind, extent in dependent
        ]
        block = self._with_regions(self._leaf([*points, *inner]))
        body = self._in_loops(inner, block, places)
        name = f"{self._block.name}{_OUTER_SUFFIX}"
        return SBlock(outer, [], [], name, body, annotations=block.annotations)

    def _size(self, size: int) -> Any:
        return tirx.IntImm(self._workload.index_dtype, size)

    def _axis(self, position: int, kind: Kind, least: Any, extent: Any) -> Any:
        least = self._size(0) if least == 0 else least
        return tirx.IterVar(Range.from_min_extent(least, extent), f"v{position}", KINDS[kind])

    def _leaf(self, axes: list[Any]) -> Any:
        """The block that computes, without regions."""
        builder = ExpressionBuilder(self._workload, self._buffers, [axis.var for axis in axes])
        outputs = self._block.outputs
        values = [builder.expr(output.value) for output in outputs]
        targets = [builder.exprs(output.indices) for output in outputs]
        inits = [builder.expr(output.init) for output in outputs if output.init is not None]
        lets: list[Any] = []
        if len(outputs) > 1:
            names = [tirx.Var(f"v_{output.buffer.name}", output.buffer.dtype) for output in outputs]
            lets = [tirx.Bind(*pair) for pair in zip(names, values, strict=True)]
            values = names
        return SBlock(
            axes,
            [],
            [],
            self._block.name,
            _sequence([*lets, *self._stores(values, targets)]),
            _sequence(self._stores(inits, targets)) if inits else None,
            annotations={attr.key: value_to_json(attr.value) for attr in self._block.annotations},
        )

    def _stores(self, values: Sequence[Any], targets: Sequence[Any]) -> list[Any]:
        stored = zip(self._written, values, targets, strict=True)
        return [tirx.BufferStore(*store) for store in stored]

    def _with_regions(self, block: Any) -> Any:
        """The block with the regions that TVM finds in its body."""
        reads, writes, _ = get_sblock_access_region(block, {each: each for each in self._buffers})
        return SBlock(
            block.iter_vars,
            reads,
            writes,
            block.name_hint,
            block.body,
            block.init,
            annotations=block.annotations,
        )

    def _in_loops(self, axes: Sequence[Any], block: Any, places: Sequence[Any] = ()) -> Any:
        """The block in one loop an axis, and bound to them; first to places that are given."""
        loops = [tirx.Var(f"i{number}", axis.var.ty) for number, axis in enumerate(axes)]
        body = SBlockRealize([*places, *loops], True, block)
        for loop, axis in zip(reversed(loops), reversed(axes), strict=True):
            body = tirx.For(loop, axis.dom.min, axis.dom.extent, tirx.ForKind.SERIAL, body)
        return body


def _sequence(statements: list[Any]) -> Any:
    return statements[0] if len(statements) == 1 else tirx.SeqStmt(statements)
