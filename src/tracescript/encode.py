"""The model to text: `dumps`.

A reference is written as a distance, so the only state is which values the
script has defined so far. Nothing here knows an instruction kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from tracescript._faults import Fault, check_outputs, deeper, report_model
from tracescript._memo import Memo
from tracescript.literals import format_float, format_int, quote
from tracescript.model import RV, IndexMap, Instruction, JSONNull, Trace

__all__ = ["HEADER", "dumps", "write_body", "write_value"]

HEADER = "tracescript 1\n"
"""The first line of every script and of every `.trace` file."""

_all_ints = frozenset({int}).issuperset
_is_identifier = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


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
        inside = deeper(depth)
        items = [write_value(item, inside) for item in cast("tuple[object, ...]", value)]
        return "[" + " ".join(items) + "]"
    if type(value) is dict:
        inside = deeper(depth)
        entries = cast("dict[object, object]", value).items()
        pairs = [f"{_key(key)}: {write_value(item, inside)}" for key, item in entries]
        return "{" + " ".join(pairs) + "}"
    raise Fault


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
        for item in inputs:
            line += " " + (self._reference(item.name) if type(item) is RV else self._input(item))
        if attrs:
            line += " | " + " ".join([write_value(item) for item in attrs])
        if outputs:
            line += " -> " + self._define(outputs)
        return line

    def _reference(self, name: str) -> str:
        position = self._position.get(name)
        if position is None:
            return "@" + quote(name)
        letter = name[0]
        return f"{letter}-{self._defined[letter] - position}"

    def _input(self, value: object, depth: int = 0) -> str:
        if type(value) is RV:
            return self._reference(value.name)
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
        runs: list[str] = []
        run, length = "", 0
        for name in names:
            output = self._define_one(name)
            if output == run and len(output) == 1:
                length += 1
                continue
            if length:
                runs.append(_run(run, length))
            run, length = output, 1
        runs.append(_run(run, length))
        return " ".join(runs)

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


def _run(output: str, length: int) -> str:
    return output if length == 1 else f"{output}{length}"


def _kind(kind: str) -> str:
    return kind if _is_identifier(kind) else quote(kind)


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


_KINDS = Memo(_kind)
_QUOTED = Memo(quote)
_SCALARS: dict[type, Callable[[Any], str]] = {
    str: _QUOTED.__getitem__,
    int: format_int,
    float: format_float,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): {None: "null"}.__getitem__,
}
