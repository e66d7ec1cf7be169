"""Does a trace make sense? Its scope, types, arity and decisions, by the table of kinds.

The codec takes any trace; this module says what is odd about one, for TVM of any release
or for one of them. A kind that the table does not have, of a later release or a fork, is
not an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias, cast

import msgspec

from tracescript.encode import write_value
from tracescript.instructions import KINDS, LETTERS, RELEASES, Form, Kind, RVType, Slot, kinds
from tracescript.json_trace import to_json
from tracescript.literals import quote
from tracescript.model import RV, IndexMap, Instruction, JSONNull, Trace, Value

__all__ = ["UNDEFINED", "Problem", "Severity", "check"]

Severity: TypeAlias = Literal["error", "note"]


class Problem(msgspec.Struct, frozen=True):
    """One thing that is odd about a trace.

    Attributes:
        path: where, as a path into the JSON form of the trace: `$[0][17][1][0]` is the first
            input of instruction 17, `$[1][3][1]` the value of decision 3.
        message: what is wrong there and what was expected, in one sentence.
        inst: the position of the instruction that it concerns; None if there is none.
        severity: `error` for what TVM never makes of its own accord, `note` for what it may.
    """

    path: str
    message: str
    inst: int | None
    severity: Severity = "error"


def check(trace: Trace, *, tvm: str | None = None) -> list[Problem]:
    """Report everything that is odd about a trace: instructions first, then decisions.

    Law: a trace that TVM recorded has no error, if TVM took its decisions itself: it records
    any decision that a caller hands to it. Notes it may have. A sampling instruction without
    a decision is not even worth a note, since TVM then samples anew.

    Args:
        trace: what to check.
        tvm: a release, such as "0.27". Kinds and forms that only other releases have are
            errors then; the law holds for the release that recorded the trace. None takes
            what any release has.

    Raises:
        TraceShapeError: the trace holds an object that no trace can hold.
        ValueError: the table of kinds does not know the release.

    >>> for problem in check(Trace((Instruction("GetLoops", (RV("b0"),), (), ("l0", "v1")),))):
    ...     print(problem.path, problem.message)
    $[0][0][1][0] expected a block, found b0, which no earlier instruction defines
    $[0][0][3][1] expected a name that begins with l, for a loop, found v1
    """
    release = _Release(tvm, kinds(tvm))
    to_json(trace)
    return [*_instruction_problems(trace, release), *_decision_problems(trace)]


class _Release(NamedTuple):
    """What to check a trace against; no name stands for all releases."""

    name: str | None
    kinds: Mapping[str, Kind]


def _instruction_problems(trace: Trace, release: _Release) -> Iterator[Problem]:
    scope = _Scope()
    for position, inst in enumerate(trace.insts):
        for path, message, severity in _instruction(f"$[0][{position}]", inst, scope, release):
            yield Problem(path, message, position, severity)
        scope.define(position, inst)


def _decision_problems(trace: Trace) -> Iterator[Problem]:
    last, seen = -1, set[int]()
    for number, decision in enumerate(trace.decisions):
        path, index = f"$[1][{number}]", decision.index
        if not 0 <= index < len(trace.insts):
            wanted = f"the index of one of {_count({len(trace.insts)}, 'instruction')}"
            yield Problem(f"{path}[0]", f"expected {wanted}, found {_show(index)}", None)
            continue
        findings = [
            *_order(f"{path}[0]", index, last, seen),
            *_decision(path, trace.insts[index], decision.value),
        ]
        yield from [Problem(where, text, index, severity) for where, text, severity in findings]
        last = max(last, index)
        seen.add(index)


class _Finding(NamedTuple):
    """A problem of an instruction that need not be told which one it is."""

    path: str
    message: str
    severity: Severity = "error"


def _expected(path: str, expected: str, found: str) -> _Finding:
    return _Finding(path, f"expected {expected}, found {found}")


def _note(path: str, expected: str, found: str) -> _Finding:
    return _Finding(path, f"expected {expected}, found {found}", "note")


# Instructions.

UNDEFINED = "_"
"""TVM's name for an output without a value: the outer factor of a loop of unknown extent."""


class _Definition(NamedTuple):
    """Where a random variable comes from; the type is None if the table does not know it."""

    position: int
    type: RVType | None


class _Scope(dict[str, _Definition]):
    """The random variables that the instructions so far have defined, by name."""

    def define(self, position: int, inst: Instruction) -> None:
        """Add the outputs of an instruction. TVM binds the first of two equal names."""
        kind = KINDS.get(inst.kind)
        definition = _Definition(position, _output_type(kind) if kind else None)
        for name in inst.outputs:
            if name != UNDEFINED:
                self.setdefault(name, definition)


def _instruction(
    path: str, inst: Instruction, scope: _Scope, release: _Release
) -> Iterator[_Finding]:
    kind = release.kinds.get(inst.kind) or KINDS.get(inst.kind)
    if kind is None:
        yield _note(f"{path}[0]", "a known kind", _name(inst.kind))
        yield from _inputs(f"{path}[1]", inst, None, scope)
    else:
        if kind.name not in release.kinds:
            found = f"{kind.name}, which it {_range(kind)}"
            yield _expected(f"{path}[0]", f"a kind of TVM {release.name}", found)
        form = _closest_form(kind.forms, inst)
        yield from _arity(path, inst, kind, form)
        yield from _inputs(f"{path}[1]", inst, form, scope)
        if len(inst.attrs) == len(form.attrs):
            yield from _attrs(f"{path}[2]", inst, form)
            if kind.decision == "categorical":
                yield from _probabilities(f"{path}[2]", inst)
        yield from _output_letters(f"{path}[3]", inst, kind)
    yield from _new_names(f"{path}[3]", inst, scope)


def _closest_form(forms: tuple[Form, ...], inst: Instruction) -> Form:
    """The form of an instruction or, if it has none, the newest whose inputs it has."""

    def distance(form: Form) -> tuple[bool, bool]:
        return not form.takes(len(inst.inputs)), len(form.attrs) != len(inst.attrs)

    return min(reversed(forms), key=distance)


def _arity(path: str, inst: Instruction, kind: Kind, form: Form) -> Iterator[_Finding]:
    inputs, attrs, outputs = len(inst.inputs), len(inst.attrs), len(inst.outputs)
    alike = [other for other in kind.forms if other.takes(inputs)] or kind.forms
    if not form.takes(inputs):
        wanted = _count({other.least_inputs for other in kind.forms}, "input")
        found = f"{inputs}{_other_release(inst)}"
        yield _expected(f"{path}[1]", f"at least {wanted}" if form.is_open else wanted, found)
    if len(form.attrs) != attrs:
        wanted = _count({len(other.attrs) for other in alike}, "attribute")
        yield _expected(f"{path}[2]", wanted, f"{attrs}{_other_release(inst)}")
    count = _output_count(inst, kind)
    if count is not None and count != outputs:
        yield _expected(f"{path}[3]", _count({count}, "output"), str(outputs))


def _other_release(inst: Instruction) -> str:
    """Say which releases have a form with as many inputs and attributes, if any has."""
    form = _closest_form(KINDS[inst.kind].forms, inst)
    fits = form.takes(len(inst.inputs)) and len(form.attrs) == len(inst.attrs)
    return f", which TVM {_range(form)}" if fits else ""


def _range(row: Kind | Form) -> str:
    """Say when TVM had something that it did not have at all times."""
    if row.since == row.until:
        return f"had in {row.since} only"
    if row.since == RELEASES[0]:
        return f"had until {row.until}"
    if row.until == RELEASES[-1]:
        return f"has had since {row.since}"
    return f"had from {row.since} to {row.until}"


def _output_count(inst: Instruction, kind: Kind) -> int | None:
    """How many outputs there should be; None if any number will do or it cannot be said."""
    count = kind.outputs.count
    if isinstance(count, int):
        return count
    if count == "factors" and len(inst.inputs) > 1:
        return len(inst.inputs) - 1
    if count == "first attribute":
        return _integer(inst.attrs, 0)
    return None


def _inputs(path: str, inst: Instruction, form: Form | None, scope: _Scope) -> Iterator[_Finding]:
    for position, item in enumerate(inst.inputs):
        slot = form.slot(position) if form else None
        yield from _input(f"{path}[{position}]", item, slot, scope)


def _input(path: str, item: object, slot: Slot | None, scope: _Scope) -> Iterator[_Finding]:
    """Check what a slot holds; without one, there is only the scope to check."""
    if isinstance(item, RV):
        yield from _reference(path, item.name, slot, scope)
        return
    fits = slot is None or _TYPES[type(item)] in slot.types
    if slot is not None and not fits:
        yield _expected(path, _words(slot), _show(item))
    if isinstance(item, tuple):
        # A list in the wrong place is one problem, not one for each of its items.
        inside = (slot.items or slot) if slot and fits else None
        for position, element in enumerate(cast("tuple[object, ...]", item)):
            yield from _input(f"{path}[{position}]", element, inside, scope)


def _reference(path: str, name: str, slot: Slot | None, scope: _Scope) -> Iterator[_Finding]:
    definition = scope.get(name)
    if definition is None:
        wanted = _words(slot) if slot else "the name of a random variable"
        yield _expected(path, wanted, f"{_name(name)}, which no earlier instruction defines")
    elif slot is None:
        return
    elif definition.type is None:
        # It may be of any type, so it fits wherever some random variable does.
        if LETTERS.keys().isdisjoint(slot.types):
            yield _expected(path, _words(slot), f"the random variable {_name(name)}")
    elif definition.type not in slot.types:
        found = f"{_name(name)}, which is {_WORDS[definition.type]}"
        yield _expected(path, _words(slot), found)


def _output_type(kind: Kind) -> RVType | None:
    return None if kind.outputs.count == 0 else kind.outputs.type


def _output_letters(path: str, inst: Instruction, kind: Kind) -> Iterator[_Finding]:
    """Names are free, but one with the letter of another type would deceive its reader."""
    output_type = _output_type(kind)
    if output_type is None:
        return
    letter = LETTERS[output_type]
    for position, name in enumerate(inst.outputs):
        if name[:1] != letter and not (name == UNDEFINED and output_type == "expr"):
            wanted = f"a name that begins with {letter}, for {_WORDS[output_type]}"
            yield _expected(f"{path}[{position}]", wanted, _name(name))


def _new_names(path: str, inst: Instruction, scope: _Scope) -> Iterator[_Finding]:
    new: set[str] = set()
    for position, name in enumerate(inst.outputs):
        if name in scope:
            found = f"{_name(name)}, which instruction {scope[name].position} defines"
            yield _expected(f"{path}[{position}]", "a new name", found)
        elif name in new:
            found = f"{_name(name)}, which this instruction defines already"
            yield _expected(f"{path}[{position}]", "a new name", found)
        elif name != UNDEFINED:
            new.add(name)


# Attributes.


def _attrs(path: str, inst: Instruction, form: Form) -> Iterator[_Finding]:
    for position, (value, attr) in enumerate(zip(inst.attrs, form.attrs, strict=True)):
        yield from _attr(f"{path}[{position}]", value, attr.slot)


def _attr(path: str, value: Value, slot: Slot) -> Iterator[_Finding]:
    if _attr_type(value) not in slot.types:
        found = "a JSON null" if value is None else _show(value)
        yield _expected(path, _words(slot), found)
    elif isinstance(value, tuple):
        for position, element in enumerate(value):
            yield from _attr(f"{path}[{position}]", element, slot.items or slot)


def _attr_type(value: Value) -> str:
    """The word for a value; what is TVM's None among the inputs is a null here."""
    return "null" if value is None else _TYPES[type(value)]


def _probabilities(path: str, inst: Instruction) -> Iterator[_Finding]:
    candidates, probs = inst.attrs
    if not isinstance(candidates, tuple) or not isinstance(probs, tuple):
        return
    if len(probs) != len(candidates):
        wanted = f"one probability for each of {_count({len(candidates)}, 'candidate')}"
        yield _expected(f"{path}[1]", wanted, str(len(probs)))


# Decisions.

_NO_BOUND = -1
_INLINE = -2
"""The least compute location; -1 is the place where the block already is."""


def _order(path: str, index: int, last: int, seen: set[int]) -> Iterator[_Finding]:
    if index in seen:
        yield _expected(path, f"one decision for instruction {index}", "another")
    elif index < last:
        yield _expected(path, f"an index above {last}, which came before", str(index))


def _decision(path: str, inst: Instruction, value: Value) -> Iterator[_Finding]:
    kind = KINDS.get(inst.kind)
    if kind is None:
        return
    if kind.decision == "none":
        found = f"one for {kind.name}, which samples nothing"
        yield _expected(f"{path}[0]", "a decision of a sampling instruction", found)
        return
    yield from _DECISIONS[kind.decision](f"{path}[1]", inst, value)


def _categorical(path: str, inst: Instruction, value: Value) -> Iterator[_Finding]:
    candidates = inst.attrs[0] if inst.attrs else None
    if not isinstance(candidates, tuple):
        # There is no telling how many there are, and the attributes are reported.
        if type(value) is not int or value < 0:
            yield _expected(path, "the index of a candidate", _show(value))
    elif type(value) is not int or not 0 <= value < len(candidates):
        wanted = f"the index of one of {_count({len(candidates)}, 'candidate')}"
        yield _expected(path, wanted, _show(value))


def _location(path: str, _inst: Instruction, value: Value) -> Iterator[_Finding]:
    if type(value) is not int or value < _INLINE:
        yield _expected(path, "the index of a loop, -1 or -2", _show(value))


def _tile(path: str, inst: Instruction, value: Value) -> Iterator[_Finding]:
    faults = list(_factors(path, inst, value))
    yield from faults
    bound = _integer(inst.attrs, 1)
    if faults or bound is None or bound == _NO_BOUND:
        return
    factors = cast("tuple[int, ...]", value)
    # Not an error: TVM gets here by itself when it mends the decision of another extent.
    if factors and factors[-1] > bound:
        wanted = f"an innermost factor of at most {_show(bound)}"
        yield _note(f"{path}[{len(factors) - 1}]", wanted, _show(factors[-1]))


def _partitioned_tile(path: str, inst: Instruction, value: Value) -> Iterator[_Finding]:
    faults = list(_factors(path, inst, value))
    yield from faults
    position, divisor = _integer(inst.attrs, 1), _integer(inst.attrs, 2)
    if faults or _is_unknown_extent(value) or position is None or divisor is None:
        return
    if position < 0 or divisor < 1:
        return
    product = math.prod(cast("tuple[int, ...]", value)[position:])
    # Not an error, for the same reason; TVM replaces such a decision.
    if product % divisor:
        wanted = f"factors from position {_show(position)} whose product {_show(divisor)} divides"
        yield _note(path, wanted, f"the product {_show(product)}")


def _factors(path: str, inst: Instruction, value: Value) -> Iterator[_Finding]:
    """Check what the factors of all tiles have in common."""
    if not isinstance(value, tuple):
        yield _expected(path, "a list of factors", _show(value))
        return
    # How many there are says the first attribute; that the outputs agree is checked there.
    count = _integer(inst.attrs, 0)
    count = len(inst.outputs) if count is None else count
    if len(value) != count:
        yield _expected(path, _count({count}, "factor"), str(len(value)))
    if _is_unknown_extent(value):
        return
    for position, factor in enumerate(value):
        # A 0 is worse than wrong: TVM divides by it and the process dies.
        if type(factor) is not int or factor < 1:
            yield _expected(f"{path}[{position}]", "a positive integer", _show(factor))


def _is_unknown_extent(value: Value) -> bool:
    """Whether a tile is what TVM writes where the extent is no constant: -1, 1, ..., 1."""
    if not isinstance(value, tuple) or not all(type(factor) is int for factor in value):
        return False
    return value[:1] == (-1,) and value.count(1) == len(value) - 1


_DECISIONS: dict[str, Callable[[str, Instruction, Value], Iterator[_Finding]]] = {
    "categorical": _categorical,
    "compute location": _location,
    "tile": _tile,
    "partitioned tile": _partitioned_tile,
}


# Words.

_WORDS = {
    "block": "a block",
    "loop": "a loop",
    "expr": "an expression",
    "int": "an integer",
    "float": "a float",
    "bool": "a boolean",
    "str": "a string",
    "none": "None",
    "null": "a JSON null",
    "list": "a list",
    "dict": "a dict",
    "index map": "an index map",
}

_TYPES: dict[type, str] = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    type(None): "none",
    JSONNull: "null",
    tuple: "list",
    dict: "dict",
    IndexMap: "index map",
}

_WRITTEN = frozenset({int, float, bool, str})

_SHOWN = 60
"""Characters of a value that still fit in a sentence; a longer one is described."""


def _show(value: object) -> str:
    """A value as a message shows it: as a script writes it if that is short."""
    text = ""
    if type(value) in _WRITTEN:
        text = write_value(value)
    return text if 0 < len(text) <= _SHOWN else _WORDS[_TYPES[type(value)]]


def _name(name: str) -> str:
    """A name as a message shows it: bare if nobody can misread it."""
    if len(name) > _SHOWN:
        return "a long name"
    return name if name.isidentifier() and name.isascii() else f"the name {quote(name)}"


def _words(slot: Slot) -> str:
    return _or([_WORDS[name] for name in slot.types])


def _count(numbers: Iterable[int], noun: str) -> str:
    """Say how many: `1 input`, `1 or 2 inputs`."""
    ordered = sorted(numbers)
    return f"{_or(map(_show, ordered))} {noun}{'' if ordered == [1] else 's'}"


def _or(choices: Iterable[str]) -> str:
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last


def _integer(attrs: tuple[Value, ...], position: int) -> int | None:
    """An attribute, if it is there and an integer."""
    value = attrs[position] if position < len(attrs) else None
    return value if type(value) is int else None
