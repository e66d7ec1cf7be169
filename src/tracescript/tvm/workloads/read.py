"""From TVM's module to a workload."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import tirx

from tracescript.errors import WorkloadError
from tracescript.json_trace import value_from_json
from tracescript.tvm.boxes import unbox
from tracescript.tvm.workloads.build import KINDS
from tracescript.tvm.workloads.expressions import ExpressionReader
from tracescript.tvm.workloads.nests import Nest, nests_of, root_of
from tracescript.workloads import Attribute, Axis, Block, Buffer, Kind, Output, Workload

__all__ = ["names", "read", "read_attributes"]

_KINDS: dict[int, Kind] = {KINDS["S"]: "S", KINDS["R"]: "R"}


def read(module: Any) -> Workload:
    """Read the one function of a module, without a target.

    Raises:
        WorkloadError: the module has something that no workload has.
    """
    name, function = _only_function(module)
    root = root_of(function)
    nests = nests_of(root)
    written = [store.buffer for nest in nests for store in nest.stores]
    _require_one_writer(written)
    known = [*function.params, *root.alloc_buffers]
    inputs = [made for made in known if not any(map(made.same_as, written))]
    buffers = [*inputs, *written]
    return Workload(
        tuple([_buffer(made) for made in inputs]),
        tuple([_block(nest, buffers) for nest in nests]),
        tuple([_place(param, buffers) for param in function.params]),
        name=name,
        index_dtype=_index_dtype(nests),
        attrs=read_attributes("the function", function.attrs),
    )


def read_attributes(place: str, entries: Any) -> tuple[Attribute, ...]:
    """Read what a function, block or target has, in the order of the keys.

    Raises:
        WorkloadError: a value is of no type that JSON has.
    """
    try:
        plain = unbox(dict(entries.items()))
    except TypeError as error:
        raise WorkloadError(place, "plain values", str(error)) from None
    return tuple([Attribute(key, value_from_json(plain[key])) for key in sorted(plain)])


def names(module: Any) -> list[str]:
    """The names of all buffers and blocks, in order."""
    _, function = _only_function(module)
    root = root_of(function)
    found = [made.name for made in [*function.params, *root.alloc_buffers]]
    for nest in nests_of(root):
        blocks = [nest.realize.block] if nest.outer is None else [nest.outer, nest.realize.block]
        found += [block.name_hint for block in blocks]
    return [str(name) for name in found]


def _only_function(module: Any) -> tuple[str, Any]:
    functions = [(str(name.name_hint), made) for name, made in module.functions.items()]
    if len(functions) != 1 or not isinstance(functions[0][1], tirx.PrimFunc):
        names = ", ".join(name for name, _ in functions)
        raise WorkloadError("the module", "one function, of TIR", names or "none")
    return functions[0]


def _require_one_writer(written: Sequence[Any]) -> None:
    for place, made in enumerate(written):
        if any(map(made.same_as, written[:place])):
            raise WorkloadError(f'buffer "{made.name}"', "one block that writes it", "more")


def _place(param: Any, buffers: Sequence[Any]) -> int:
    return next(place for place, made in enumerate(buffers) if made.same_as(param))


def _buffer(made: Any) -> Buffer:
    name = str(made.name)
    if not hasattr(made.ty, "shape"):
        raise WorkloadError(f'parameter "{name}"', "a buffer", "a scalar or handle")
    return Buffer(name, str(made.ty.dtype), tuple([_size(name, size) for size in made.ty.shape]))


def _size(name: str, size: Any) -> int:
    if not isinstance(size, tirx.IntImm):
        raise WorkloadError(f'buffer "{name}"', "a constant shape", str(size))
    return int(size.value)


def _block(nest: Nest, buffers: Sequence[Any]) -> Block:
    reader = ExpressionReader(nest.place, buffers)
    axes = _axes(nest, reader)
    inits = [reader.expr(init) for init in nest.inits] or [None] * len(nest.stores)
    outputs = [
        Output(_buffer(store.buffer), reader.exprs(store.indices), reader.expr(value), init)
        for store, value, init in zip(nest.stores, nest.values, inits, strict=True)
    ]
    block = nest.realize.block
    return Block(
        str(block.name_hint), axes, tuple(outputs), read_attributes(nest.place, block.annotations)
    )


def _index_dtype(nests: Sequence[Nest]) -> str:
    variables = [axis for nest in nests for axis in nest.realize.block.iter_vars]
    return str(variables[0].var.ty) if variables else "int32"


def _axes(nest: Nest, reader: ExpressionReader) -> tuple[Axis, ...]:
    """The axes of a nest; the reader learns its iteration variables."""
    axes: list[Axis] = []
    if nest.scalar:
        # TVM makes a block of one point, outside of loops.
        return ()
    inner = nest.realize.block.iter_vars
    for variable in [] if nest.outer is None else nest.outer.iter_vars:
        reader.add_axis(variable.var, len(axes))
        axes.append(_axis(nest.place, variable, reader))
    # The inner of two blocks begins with the axes of the outer one, each at one point.
    for position, variable in enumerate(inner):
        reader.add_axis(variable.var, position)
        if position >= len(axes):
            axes.append(_axis(nest.place, variable, reader))
    return tuple(axes)


def _axis(place: str, variable: Any, reader: ExpressionReader) -> Axis:
    kind: Kind | None = _KINDS.get(int(variable.iter_type))
    if kind is None:
        raise WorkloadError(place, "axes that are spatial or of a reduction", str(variable.var))
    extent = variable.dom.extent
    return Axis(kind, int(extent.value) if isinstance(extent, tirx.IntImm) else reader.expr(extent))
