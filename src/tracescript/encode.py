"""The model to text: `dumps`.

A reference is written as a distance, so the only state is which values the
script has defined so far. Nothing here knows an instruction kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, cast

from tracescript._faults import Fault, check_outputs, deeper, report_model
from tracescript._memo import Memo
from tracescript.literals import format_float, format_int, is_name, quote
from tracescript.model import RV, IndexMap, Instruction, JSONNull, Trace
from tracescript.scope import canonical_names

__all__ = ["HEADER", "dumps", "write_body", "write_value"]

HEADER = "tracescript 1\n"
"""The first line of every script and of every `.trace` file."""

_all_ints = frozenset({int}).issuperset


def dumps(trace: Trace) -> str:
    """Write a trace as its canonical script, header included.

    Law: `loads(dumps(trace)) == trace`. The text can be encoded as UTF-8 whatever
    strings the trace holds, and each line of it ends with a newline.

    Raises:
        TraceShapeError: the trace holds an object that no trace can hold, or more than
            `MAX_DEPTH` or `MAX_OUTPUTS` allows.

    >>> print(dumps(Trace((
    ...     Instruction("GetSBlock", (), ("C", "main"), ("b0",)),
    ...     Instruction("GetLoops", (RV("b0"),), (), ("l1", "l2", "l3")),
    ...     Instruction("Bind", (RV("l2"),), ("threadIdx.x",)),
    ... ))), end="")
    tracescript 1
    GetSBlock | "C" "main" -> b
    GetLoops b-1 -> l3
    Bind l-2 | "threadIdx.x"
    """
    return HEADER + write_body(trace)


def write_body(trace: Trace) -> str:
    """Write the lines of a script, without its header."""
    try:
        check_outputs(trace.insts)
        scope = _Scope()
        lines = [scope.line(inst) for inst in trace.insts]
        if not _all_ints([type(decision.index) for decision in trace.decisions]):
            raise Fault
        inline = _count_inline(trace)
        for decision in trace.decisions[:inline]:
            lines[decision.index] += " = " + write_value(decision.value)
        lines += [
            f"@{format_int(decision.index)} = {write_value(decision.value)}"
            for decision in trace.decisions[inline:]
        ]
    except Fault:
        report_model(trace)
    lines.append("")
    return "\n".join(lines)


def write_value(value: object, depth: int = 0) -> str:
    """Write a plain JSON value of the model: an attribute, a decision, what is inside a dict."""
    write_scalar = _SCALARS.get(type(value))
    if write_scalar is not None:
        return write_scalar(value)
    if type(value) is tuple:
        return "[" + _join(cast("tuple[object, ...]", value), deeper(depth)) + "]"
    if type(value) is dict:
        inside = deeper(depth)
        entries = cast("dict[object, object]", value).items()
        pairs = [f"{_key(key)}: {write_value(item, inside)}" for key, item in entries]
        return "{" + " ".join(pairs) + "}"
    raise Fault


def _join(values: tuple[object, ...], depth: int) -> str:
    try:
        return " ".join([_SCALARS[type(value)](value) for value in values])
    except KeyError:
        # Not all of them are scalars.
        return " ".join([write_value(value, depth) for value in values])


class _Scope:
    """The values that the lines so far have defined, under TVM's naming.

    TVM names the n-th output of a trace, counted from 0 over all types, with the
    letter of its type and n. An output with that name is written as its letter
    alone; any other is written out and cannot be referred to by a distance.
    """

    def __init__(self) -> None:
        self._outputs = 0
        self._defined = {"b": 0, "l": 0, "v": 0}
        self._position: dict[str, int] = {}

    def line(self, inst: Instruction) -> str:
        """Write one instruction; its outputs are in scope from then on."""
        kind, inputs, attrs, outputs = inst.kind, inst.inputs, inst.attrs, inst.outputs
        if type(kind) is not str or not type(inputs) is type(attrs) is type(outputs) is tuple:
            raise Fault
        line = _KINDS[kind]
        if inputs:
            position, defined = self._position, self._defined
            for item in inputs:
                # As `_input`, without a call for the inputs that are most common.
                if type(item) is RV and item.name in position:
                    name = item.name
                    line += f" {name[0]}-{defined[name[0]] - position[name]}"
                else:
                    line += " " + self._input(item)
        if attrs:
            line += " | " + _join(attrs, 0)
        if outputs:
            line += " -> " + self._define(outputs)
        return line

    def _input(self, value: object, depth: int = 0) -> str:
        if type(value) is RV:
            place = self._position.get(value.name)
            if place is None:
                return "@" + quote(value.name)
            letter = value.name[0]
            return f"{letter}-{self._defined[letter] - place}"
        if type(value) is IndexMap:
            return "@" + quote(value.text)
        if type(value) is JSONNull:
            return "@null"
        if type(value) is tuple:
            inside = deeper(depth)
            items = [self._input(item, inside) for item in cast("tuple[object, ...]", value)]
            return "[" + " ".join(items) + "]"
        return write_value(value, depth)

    def _define(self, names: tuple[str, ...]) -> str:
        first, length = self._outputs, len(names)
        letter = names[0][:1] if type(names[0]) is str else ""
        if letter in self._defined and names == canonical_names(letter, first, first + length):
            # The common road: one run of canonical names.
            place = self._defined[letter]
            self._defined[letter] = place + length
            self._outputs += length
            if length == 1:
                self._position[names[0]] = place
                return letter
            self._position.update(zip(names, range(place, place + length), strict=True))
            return f"{letter}{length}"
        return " ".join(_runs([self._define_one(name) for name in names]))

    def _define_one(self, name: str) -> str:
        if type(name) is not str:
            raise Fault
        letter = name[:1]
        position = self._defined.get(letter)
        canonical = f"{letter}{self._outputs}"
        self._outputs += 1
        if position is None or name != canonical:
            return "@" + quote(name)
        self._position[name] = position
        self._defined[letter] = position + 1
        return letter


def _runs(outputs: list[str]) -> Iterator[str]:
    """Join equal letters that follow each other; names that are written out stay alone."""
    for output, group in groupby(outputs):
        length = sum(1 for _ in group)
        if len(output) == 1:
            yield _run(output, length)
        else:
            yield from [output] * length


def _run(letter: str, length: int) -> str:
    return letter if length == 1 else f"{letter}{length}"


def _kind(kind: str) -> str:
    return kind if is_name(kind) else quote(kind)


def _key(key: object) -> str:
    if type(key) is not str:
        raise Fault
    return _QUOTED[key]


def _count_inline(trace: Trace) -> int:
    """How many decisions, from the first, can stand on the line of their instruction.

    A line holds one decision and lines have an order, so the indices must ascend and
    be in range. The rest is written after the last instruction.
    """
    last = -1
    for position, decision in enumerate(trace.decisions):
        if not last < decision.index < len(trace.insts):
            return position
        last = decision.index
    return len(trace.decisions)


class _Integers(dict[int, str]):
    """The texts of integers; those of the small ones are at hand."""

    def __missing__(self, number: int) -> str:
        return format_int(number)


class _Floats(dict[float, str]):
    """The texts of floats; those that came before are at hand, up to a number."""

    def __missing__(self, number: float) -> str:
        text = format_float(number)
        # 0.0 and -0.0 are one key; a nan is never found again.
        if number and number == number and len(self) < _FLOATS:
            self[number] = text
        return text


_FLOATS = 1024
_KINDS = Memo(_kind)
_QUOTED = Memo(quote)
_SCALARS: dict[type, Callable[[Any], str]] = {
    str: _QUOTED.__getitem__,
    int: _Integers({number: str(number) for number in range(-2, 1025)}).__getitem__,
    float: _Floats().__getitem__,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): {None: "null"}.__getitem__,
}
