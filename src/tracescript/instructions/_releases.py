"""The table as a whole, and what of it one release has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import cast

import msgspec

from tracescript.instructions import _blocks, _loops
from tracescript.instructions._shapes import LETTERS, RELEASES, Form, Kind, Slot
from tracescript.model import RV, IndexMap, Instruction, JSONNull

__all__ = ["KINDS", "forms_of", "kinds"]

KINDS: Mapping[str, Kind] = MappingProxyType(
    {row.name: row for row in (*_loops.ROWS, *_blocks.ROWS)}
)
"""Every known kind by its name, with the forms of all releases."""


def kinds(tvm: str | None = None) -> Mapping[str, Kind]:
    """The kinds of one release by name, with the forms of that release; None is all of them.

    Raises:
        ValueError: the table has no such release.

    >>> sorted(kinds("0.27").keys() ^ kinds("0.23").keys())
    ['GetBlock', 'GetSBlock', 'SetAxisSeparator']
    >>> [len(kinds(tvm)["Split"].forms) for tvm in ("0.16", "0.27", None)]
    [1, 1, 3]
    """
    return KINDS if tvm is None else _kinds_of(tvm)


@lru_cache(maxsize=len(RELEASES))
def _kinds_of(tvm: str) -> Mapping[str, Kind]:
    if tvm not in RELEASES:
        raise ValueError(f"expected a release of TVM, one of {', '.join(RELEASES)}, found {tvm!r}")
    release = RELEASES.index(tvm)

    def has(row: Kind | Form) -> bool:
        return RELEASES.index(row.since) <= release <= RELEASES.index(row.until)

    return MappingProxyType(
        {
            name: msgspec.structs.replace(row, forms=tuple(filter(has, row.forms)))
            for name, row in KINDS.items()
            if has(row)
        }
    )


def forms_of(inst: Instruction) -> tuple[Form, ...]:
    r"""The forms of its kind, of all releases, that an instruction can be in, oldest first.

    An instruction is in a form if it has as many inputs and attributes, each of a type that
    its slot takes. What a random variable stands for is not looked at.

    Returns:
        No form, if the table does not know the kind or no release had it like that.

    >>> from tracescript import loads
    >>> (split,) = loads('tracescript 1\nSplit @"l0" null 4 | true false -> l2\n').insts
    >>> [(form.since, form.until) for form in forms_of(split)]
    [('0.17', '0.27')]
    """
    kind = KINDS.get(inst.kind)
    return tuple(form for form in kind.forms if _is_in(form, inst)) if kind else ()


def _is_in(form: Form, inst: Instruction) -> bool:
    if not form.takes(len(inst.inputs)) or len(form.attrs) != len(inst.attrs):
        return False
    slots = [form.slot(position) for position in range(len(inst.inputs))]
    return all(
        slot is not None and _fits(item, slot, _INPUT_TYPES)
        for item, slot in zip(inst.inputs, slots, strict=True)
    ) and all(
        _fits(value, attr.slot, _ATTR_TYPES)
        for value, attr in zip(inst.attrs, form.attrs, strict=True)
    )


_RV_TYPES = frozenset(LETTERS)

_INPUT_TYPES: Mapping[type, frozenset[str]] = {
    RV: _RV_TYPES,
    IndexMap: frozenset({"index map"}),
    JSONNull: frozenset({"null"}),
    type(None): frozenset({"none"}),
    bool: frozenset({"bool"}),
    int: frozenset({"int"}),
    float: frozenset({"float"}),
    str: frozenset({"str"}),
    tuple: frozenset({"list"}),
    dict: frozenset({"dict"}),
}
"""What the types of the model are called in a slot."""

_ATTR_TYPES: Mapping[type, frozenset[str]] = {**_INPUT_TYPES, type(None): frozenset({"null"})}


def _fits(value: object, slot: Slot, types: Mapping[type, frozenset[str]]) -> bool:
    if types[type(value)].isdisjoint(slot.types):
        return False
    if not isinstance(value, tuple):
        return True
    items = cast("tuple[object, ...]", value)
    return all(_fits(item, slot.items or slot, types) for item in items)
