"""Say where a value does not have the shape of a trace.

The codec takes the road that well-formed data allows and raises a bare `Fault`
off it. Only then is the value walked again, here, for the path of the fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn, cast

from tracescript.errors import TraceShapeError
from tracescript.model import MAX_DEPTH, MAX_OUTPUTS, RV, IndexMap, Instruction, JSONNull, Trace

__all__ = ["SCALARS", "Fault", "check_outputs", "deeper", "report_json", "report_model"]

SCALARS = frozenset({str, int, float, bool, type(None)})
"""The types of the plain values that hold no others."""


class Fault(Exception):
    """Something is not part of a trace. Never leaves the package: a `TraceShapeError` does."""


def deeper(depth: int) -> int:
    """The depth inside one more list or dict, if the limit allows it."""
    if depth >= MAX_DEPTH:
        raise Fault
    return depth + 1


def check_outputs(insts: tuple[Instruction, ...]) -> None:
    """Refuse more than `MAX_OUTPUTS` random variables."""
    if sum([len(inst.outputs) for inst in insts]) > MAX_OUTPUTS:
        raise Fault


class _Form(NamedTuple):
    """What tells the JSON of a trace from the model: the types of lists and of simple inputs."""

    sequence: type
    inputs: frozenset[type]


def report_json(value: object) -> NoReturn:
    """Raise the first fault of a value that is not the JSON value of a trace."""
    _report(value, _Form(list, SCALARS))


def report_model(trace: Trace) -> NoReturn:
    """Raise the first fault of a trace that was built from parts which no trace can hold."""
    mirror = [
        [[inst.kind, inst.inputs, inst.attrs, inst.outputs] for inst in trace.insts],
        [[decision.index, decision.value] for decision in trace.decisions],
    ]
    _report(mirror, _Form(tuple, SCALARS | {RV, IndexMap, JSONNull}))


def _report(value: object, form: _Form) -> NoReturn:
    insts, decisions = _record(value, "$", 2, "[instructions, decisions]")
    for path, inst in _elements(insts, "$[0]", list):
        kind, inputs, attrs, outputs = _record(inst, path, 4, "[kind, inputs, attrs, outputs]")
        _check_type(kind, f"{path}[0]", str, "the name of a kind, a string")
        for place, item in _elements(inputs, f"{path}[1]", form.sequence):
            _check_value(item, place, form.sequence, form.inputs, 0)
        for place, item in _elements(attrs, f"{path}[2]", form.sequence):
            _check_value(item, place, form.sequence, SCALARS, 0)
        for place, name in _elements(outputs, f"{path}[3]", form.sequence):
            _check_type(name, place, str, "the name of an output, a string")
    for path, decision in _elements(decisions, "$[1]", list):
        index, decided = _record(decision, path, 2, "[instruction index, value]")
        _check_type(index, f"{path}[0]", int, "an instruction index, an integer")
        _check_value(decided, f"{path}[1]", form.sequence, SCALARS, 0)
    raise TraceShapeError("$[0]", f"at most {MAX_OUTPUTS} outputs in all", "more of them")


def _check_value(
    value: object, path: str, sequence: type, simple: frozenset[type], depth: int
) -> None:
    if type(value) in simple:
        return
    if depth == MAX_DEPTH and type(value) in (sequence, dict):
        raise TraceShapeError(path, f"at most {MAX_DEPTH} levels of lists and dicts", "more")
    if type(value) is sequence:
        for place, item in _elements(value, path, sequence):
            _check_value(item, place, sequence, simple, depth + 1)
        return
    _check_type(value, path, dict, "null, true, false, a number, a string, a list or a dict")
    for key, item in cast("dict[object, object]", value).items():
        _check_type(key, path, str, "a dict whose keys are strings")
        _check_value(item, f"{path}[{key!a}]", sequence, SCALARS, depth + 1)


def _elements(value: object, path: str, sequence: type) -> Iterator[tuple[str, object]]:
    _check_type(value, path, sequence, f"a {sequence.__name__}")
    for position, item in enumerate(cast("list[object]", value)):
        yield f"{path}[{position}]", item


def _record(value: object, path: str, length: int, fields: str) -> list[Any]:
    _check_type(value, path, list, fields)
    elements = cast("list[Any]", value)
    if len(elements) != length:
        raise TraceShapeError(path, fields, f"a list of length {len(elements)}")
    return elements


def _check_type(value: object, path: str, wanted: type, expected: str) -> None:
    if type(value) is not wanted:
        raise TraceShapeError(path, expected, _describe(value))


def _describe(value: object) -> str:
    """The type of a value, and its text where that is short."""
    name = type(value).__name__
    if type(value) not in SCALARS - {int}:
        return name
    text = ascii(value)
    return f"{name} {text}" if len(text) <= 40 else name
