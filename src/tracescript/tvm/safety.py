"""What an instruction must not ask of a live schedule, since TVM does not look and dies of it.

`hazards` knows the trace alone. What is here depends on where the blocks and loops are that an
instruction names; `Slot.assumes` says what TVM takes for granted of them. A node is TVM's
`StmtSRef`: a block or a loop of the module, which knows what it is directly in.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from tvm.s_tir import SBlock, SBlockRealize
from tvm.s_tir.schedule import LoopRV
from tvm.tirx import For

from tracescript.instructions import Assumption
from tracescript.model import RV, Instruction
from tracescript.tvm.boxes import LiveValues
from tracescript.tvm.hazards import KNOWN, form_of
from tracescript.tvm.reasons import Refusal, reason_of

__all__ = ["require_safe"]


class _Named(NamedTuple):
    """A random variable that an instruction names, and where it is."""

    name: str
    node: Any


def require_safe(inst: Instruction, schedule: Any, values: LiveValues) -> None:
    """Raise unless TVM survives an instruction, be it that it refuses it.

    Args:
        inst: an instruction that has no hazard.
        schedule: the `tvm.s_tir.Schedule` that it is for. It stays as it is.
        values: TVM's random variables by their names in the trace.

    Raises:
        Refusal: it does not; or a block or a loop is gone.
    """
    form, loops = form_of(inst), list[_Named]()
    for position, item in enumerate(inst.inputs):
        slot = form.slot(position)
        assert slot is not None
        if isinstance(item, RV) and isinstance(values[item.name], LoopRV) and not slot.place:
            loops.append(_loop(item.name, schedule, values))
        if slot.assumes is not None:
            items = item if isinstance(item, tuple) else (item,)
            names = [cast("RV", each).name for each in items]
            found = [_Named(name, _node(name, schedule, values)) for name in names]
            _GUARDS[slot.assumes](found, inst, schedule, values)
    if KNOWN[inst.kind].loops == "merges":
        _require_side_by_side(loops)


def _loop(name: str, schedule: Any, values: LiveValues) -> _Named:
    node = _node(name, schedule, values)
    if node.stmt is None:
        raise Refusal(f"expected a loop, found {name}, which stands for a place")
    return _Named(name, node)


def _node(name: str, schedule: Any, values: LiveValues) -> Any:
    """Where a block or a loop is in the module."""
    try:
        return schedule.get_sref(values[name])
    except Exception as error:
        raise Refusal(reason_of(error)) from None


def _scope(node: Any) -> Any:
    """The block that a block or a loop is directly in, loops aside; None for a root."""
    at = node.parent
    while at is not None and not isinstance(at.stmt, SBlock):
        at = at.parent
    return at


def _require_side_by_side(loops: Sequence[_Named]) -> None:
    """Refuse loops of which one is in another, or is the other."""
    for place, (name, node) in enumerate(loops):
        others = [*loops[:place], *loops[place + 1 :]]
        at = node
        while at is not None:
            if any(at.same_as(other.node) for other in others):
                raise Refusal(f"expected loops side by side, found {name} in another one")
            at = at.parent


# What TVM takes for granted.

_Guard: TypeAlias = Callable[[Sequence[_Named], Instruction, Any, LiveValues], None]


def _inner(found: Sequence[_Named], *_: object) -> None:
    for name, node in found:
        if _scope(node) is None:
            raise Refusal(f"expected a block inside another one, found {name}, which is a root")


def _siblings(found: Sequence[_Named], *_: object) -> None:
    _inner(found)
    for place, (name, node) in enumerate(found):
        if any(node.same_as(earlier.node) for earlier in found[:place]):
            raise Refusal(f"expected different blocks, found {name} twice")
        if not _scope(node).same_as(_scope(found[0].node)):
            raise Refusal(f"expected blocks inside the same block, found {name} in another one")


def _nest(found: Sequence[_Named], *_: object) -> None:
    for name, node in found:
        body = node.stmt.body
        while isinstance(body, For):
            body = body.body
        if not isinstance(body, SBlockRealize):
            raise Refusal(f"expected loops around one block, found {name} around more")


def _apart(found: Sequence[_Named], inst: Instruction, schedule: Any, values: LiveValues) -> None:
    """TVM makes no copy then, and finds that out when the module is changed already."""
    first = _first(inst, schedule, values)
    scope = _scope(first.node)
    around = [] if scope is None else [scope, _scope(scope)]
    for name, node in found:
        if any(node.same_as(block) for block in around):
            raise Refusal(f"expected blocks that are not around {first.name}, found {name}")


def _readers(found: Sequence[_Named], inst: Instruction, schedule: Any, values: LiveValues) -> None:
    """The copy is put between the writer and the first block of the list that is beside it."""
    block = _first(inst, schedule, values).node
    scope, buffer = _scope(block), _buffer(inst, block)
    if not found or scope is None or buffer is None:
        # TVM refuses the last two by itself.
        return
    beside = _neighbours(block, schedule.state.get_sblock_scope(scope))
    if not any(_writes(node, buffer) for node in beside):
        return
    for _, node in found:
        listed = beside if node.same_as(scope) else [node]
        if any(_scope(one).same_as(scope) and not _writes(one, buffer) for one in listed):
            return
    raise Refusal("expected a block that reads the buffer beside the one that writes it")


def _first(inst: Instruction, schedule: Any, values: LiveValues) -> _Named:
    """The block of the first input."""
    name = cast("RV", inst.inputs[0]).name
    return _Named(name, _node(name, schedule, values))


def _buffer(inst: Instruction, block: Any) -> Any:
    """The buffer that a block reads at the index that an attribute says."""
    attrs = zip(form_of(inst).attrs, inst.attrs, strict=True)
    (index,) = [value for attr, value in attrs if attr.name == "buffer_index"]
    reads = list(block.stmt.reads)
    # TVM takes the lower half of the integer.
    place = cast("int", index) & 0xFFFFFFFF
    return reads[place].source if place < len(reads) else None


def _neighbours(block: Any, scope: Any) -> list[Any]:
    """The block, and those in its scope that have to come before or after it."""
    before = [dependency.src for dependency in scope.get_deps_by_dst(block)]
    return [block, *before, *[dependency.dst for dependency in scope.get_deps_by_src(block)]]


def _writes(node: Any, buffer: Any) -> bool:
    return any(region.source.same_as(buffer) for region in node.stmt.writes)


_GUARDS: Mapping[Assumption, _Guard] = {
    "inner": _inner,
    "siblings": _siblings,
    "readers": _readers,
    "apart": _apart,
    "nest": _nest,
}
