"""TVM's JSON form of a trace and the model, in both directions; no TVM is needed.

"JSON" here means the value that `json.loads` gives, not its text. Law:
`to_json(from_json(value)) == value`, types included, for every JSON value that
has the shape of a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar, cast

from tracescript._faults import SCALARS, Fault, check_outputs, deeper, report_json, report_model
from tracescript._memo import Memo
from tracescript.errors import TraceShapeError
from tracescript.model import (
    MAX_DEPTH,
    NULL,
    RV,
    Decision,
    IndexMap,
    Input,
    Instruction,
    JSONNull,
    Trace,
    Value,
    bare,
)

__all__ = ["from_json", "to_json", "value_from_json", "value_to_json"]

T = TypeVar("T")

_BARE = Memo(bare)
_all_strings = frozenset({str}).issuperset
_all_scalars = SCALARS.issuperset


def from_json(value: object) -> Trace:
    """Read the JSON value of a trace, `[instructions, decisions]`.

    Laws: `to_json(from_json(value)) == value` and `from_json(to_json(trace)) == trace`.

    Args:
        value: nested lists, dicts, strings, numbers, booleans and None, as `json.loads`
            gives them. Tuples and instances of subclasses (numpy's integers, TVM's boxed
            `IntImm`) are refused rather than guessed at.

    Raises:
        TraceShapeError: the value is not a trace; the error has the JSON path.

    >>> from_json([[["GetLoops", ["b0"], [], ["l1", "l2"]]], []]).insts[0].outputs
    ('l1', 'l2')
    """
    try:
        insts, decisions = _list(value, 2)
        trace = Trace(
            tuple([_instruction(inst) for inst in _list(insts)]),
            tuple([_decision(decision) for decision in _list(decisions)]),
        )
        check_outputs(trace.insts)
    except Fault:
        report_json(value)
    return trace


def to_json(trace: Trace) -> list[Any]:
    """Write a trace as TVM's JSON value; every list and dict in it is new.

    Laws: `from_json(to_json(trace)) == trace` and `to_json(from_json(value)) == value`.

    Raises:
        TraceShapeError: the trace holds an object that a trace cannot hold, or more than
            `MAX_DEPTH` or `MAX_OUTPUTS` allows.

    >>> to_json(Trace((Instruction("Split", (RV("l1"), None, 4)),)))
    [[['Split', ['l1', 'None', 4], [], []]], []]
    """
    try:
        check_outputs(trace.insts)
        return [
            [_instruction_json(inst) for inst in trace.insts],
            [_decision_json(decision) for decision in trace.decisions],
        ]
    except Fault:
        report_model(trace)


def value_from_json(value: object) -> Value:
    """Read one plain JSON value; lists become tuples."""
    return _whole(_value, value)


def value_to_json(value: object) -> Any:
    """Write one plain value as JSON; tuples become lists."""
    return _whole(_value_json, value)


def _whole(copy: Callable[[object], T], value: object) -> T:
    try:
        return copy(value)
    except Fault:
        expected = f"a JSON value of at most {MAX_DEPTH} levels"
        raise TraceShapeError("$", expected, type(value).__name__) from None


def _instruction(value: Any) -> Instruction:
    if type(value) is not list or len(cast("list[Any]", value)) != 4:
        raise Fault
    kind, inputs, attrs, outputs = cast("list[Any]", value)
    if not (
        type(kind) is str
        and type(inputs) is type(attrs) is type(outputs) is list
        and _all_strings(map(type, outputs))
    ):
        raise Fault
    return Instruction(
        kind,
        # As `_input`, without a call for the inputs that are most common.
        tuple([_BARE[item] if type(item) is str else _input(item) for item in inputs])
        if inputs
        else (),
        tuple(attrs) if _all_scalars(map(type, attrs)) else tuple(map(_value, attrs)),
        tuple(outputs),
    )


def _instruction_json(inst: Instruction) -> list[Any]:
    kind, inputs, attrs, outputs = inst.kind, inst.inputs, inst.attrs, inst.outputs
    if not (
        type(kind) is str
        and type(inputs) is type(attrs) is type(outputs) is tuple
        and _all_strings(map(type, outputs))
    ):
        raise Fault
    return [
        kind,
        # As `_input_json`, without a call for the inputs that are most common.
        [item.name if type(item) is RV else _input_json(item) for item in inputs],
        list(attrs) if _all_scalars(map(type, attrs)) else list(map(_value_json, attrs)),
        list(outputs),
    ]


def _decision(value: object) -> Decision:
    index, decided = _list(value, 2)
    if type(index) is not int:
        raise Fault
    return Decision(index, _value(decided))


def _decision_json(decision: Decision) -> list[Any]:
    if type(decision.index) is not int:
        raise Fault
    return [decision.index, _value_json(decision.value)]


def _input(value: object, depth: int = 0) -> Input:
    if type(value) is str:
        return _BARE[value]
    if value is None:
        return NULL
    if type(value) is list:
        inside = deeper(depth)
        return tuple([_input(item, inside) for item in cast("list[object]", value)])
    # TVM puts no quotes inside a dict: a string there is the string itself.
    return _value(value, depth)


def _input_json(value: object, depth: int = 0) -> Any:
    if type(value) is RV:
        return value.name
    if type(value) is str:
        return f'"{value}"'
    if value is None:
        return "None"
    if type(value) is IndexMap:
        return value.text
    if type(value) is JSONNull:
        return None
    if type(value) is tuple:
        inside = deeper(depth)
        return [_input_json(item, inside) for item in cast("tuple[object, ...]", value)]
    return _value_json(value, depth)


def _copier(source: type, target: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function that copies a plain value and turns its lists into `target`."""

    def copy(value: object, depth: int = 0) -> Any:
        if type(value) in SCALARS:
            return value
        if type(value) is source:
            items = cast("Collection[object]", value)
            inside = deeper(depth)
            if _all_scalars(map(type, items)):
                return target(items)
            return target([copy(item, inside) for item in items])
        if type(value) is dict:
            entries = cast("dict[object, object]", value)
            inside = deeper(depth)
            if not _all_strings(map(type, entries)):
                raise Fault
            return {key: copy(item, inside) for key, item in entries.items()}
        raise Fault

    return copy


_value = _copier(list, tuple)
_value_json = _copier(tuple, list)


def _list(value: object, length: int | None = None) -> list[Any]:
    if type(value) is not list or length not in (None, len(cast("list[Any]", value))):
        raise Fault
    return cast("list[Any]", value)
