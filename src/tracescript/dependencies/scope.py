"""Which random variables the instructions of a trace define and use, one pass over all.

Values are numbered over all instructions, in their order: a name may stand for two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import cast

import msgspec

from tracescript.instructions import KINDS, Kind, RVType
from tracescript.model import RV, IndexMap, Instruction, Trace

__all__ = ["Scope", "resolve"]


class Scope(msgspec.Struct, frozen=True, gc=False):
    """What defines and what uses the random variables of a trace.

    Attributes:
        first: the number of the first value of each instruction, and behind the last of them
            the number of all values.
        names: the names that each instruction refers to, defined or not.
        defined: the names that each instruction defines.
        used: the numbers of the values that each instruction uses, each once.
        definers: the position of the instruction that defines each value.
        types: the type of each value; None if the table does not know it.
        places: the type of what each instruction is given first; None if that is not known.
        values: the number of the value that each name stands for once it is defined.
    """

    first: list[int]
    names: list[frozenset[str]]
    defined: list[frozenset[str]]
    used: list[list[int]]
    definers: list[int]
    types: list[RVType | None]
    places: list[RVType | None]
    values: dict[str, int]


def resolve(trace: Trace) -> Scope:
    """Give the references of a trace the values that they stand for, as TVM does.

    TVM binds the first of two equal names. A name that no earlier instruction defines stands
    for nothing; TVM refuses such a trace. References are the names among the inputs and in
    lists there, and the variables of index maps that have such a name: TVM puts the random
    variable in the place of those. Strings in dicts are no references.
    """
    scope = Scope([0], [], [], [], [], [], [], {})
    values = scope.values
    for index, inst in enumerate(trace.insts):
        names = _names(inst)
        scope.names.append(frozenset(names))
        scope.defined.append(frozenset(inst.outputs))
        scope.used.append(list(dict.fromkeys([values[name] for name in names if name in values])))
        place = inst.inputs[0] if inst.inputs else None
        number = values.get(place.name) if type(place) is RV else None
        scope.places.append(None if number is None else scope.types[number])
        for number, name in enumerate(inst.outputs, len(scope.definers)):
            values.setdefault(name, number)
        scope.definers.extend(repeat(index, len(inst.outputs)))
        scope.types.extend(repeat(_type(KINDS.get(inst.kind)), len(inst.outputs)))
        scope.first.append(len(scope.definers))
    return scope


def _type(kind: Kind | None) -> RVType | None:
    return kind.outputs.type if kind and kind.outputs.count != 0 else None


def _names(inst: Instruction) -> list[str]:
    """The names that an instruction refers to."""
    names: list[str] = []
    for item in inst.inputs:
        if type(item) is RV:
            names.append(item.name)
        elif type(item) is tuple or type(item) is IndexMap:
            names += _inner_names(item)
    return names


def _inner_names(item: object) -> Iterator[str]:
    """The names in a list or an index map. Without recursion: lists may be deep."""
    rest = [item]
    while rest:
        item = rest.pop()
        if type(item) is RV:
            yield item.name
        elif type(item) is tuple:
            rest.extend(reversed(cast("tuple[object, ...]", item)))
        elif type(item) is IndexMap:
            yield from _strings(item.text)


def _strings(text: str) -> Iterator[str]:
    """The strings in the JSON text of an index map; the names of its variables are some."""
    try:
        rest: list[object] = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        # TVM cannot read it either, so it holds no variables.
        return
    while rest:
        item = rest.pop()
        if type(item) is str:
            yield item
        elif type(item) is list:
            rest.extend(cast("list[object]", item))
        elif type(item) is dict:
            rest.extend(cast("dict[str, object]", item).values())
