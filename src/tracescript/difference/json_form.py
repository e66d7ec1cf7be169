"""A difference as a JSON value, and back."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tracescript.difference.difference import Difference
from tracescript.difference.parts import Changed, DecisionChange, Placed, Renamed
from tracescript.errors import TraceShapeError
from tracescript.json_trace import from_json, to_json
from tracescript.model import Decision, Instruction, Trace

__all__ = ["difference_from_json", "difference_to_json"]


class _Placed(msgspec.Struct, forbid_unknown_fields=True):
    index: int
    instruction: Any


class _Changed(msgspec.Struct, forbid_unknown_fields=True):
    a: int
    b: int
    old: Any
    new: Any


class _DecisionChange(msgspec.Struct, forbid_unknown_fields=True):
    old: Any
    new: Any


class _Renamed(msgspec.Struct, forbid_unknown_fields=True):
    index: int
    output: int
    name: str


class _Difference(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON form. What it has of traces is left to `from_json`."""

    kept: list[tuple[int, int]]
    moved: list[tuple[int, int]]
    changed: list[_Changed]
    removed: list[_Placed]
    added: list[_Placed]
    decisions: list[_DecisionChange]
    decision_order: list[int]
    renamed: list[_Renamed]


_MISMATCH = re.compile(r"Expected (.+), got (.+?)(?: - at `(.+)`)?")


def difference_to_json(difference: Difference) -> dict[str, Any]:
    """See `Difference.to_json`."""
    return {
        "kept": [list(pair) for pair in difference.kept],
        "moved": [list(pair) for pair in difference.moved],
        "changed": [
            {"a": one.a, "b": one.b, "old": _inst_json(one.old), "new": _inst_json(one.new)}
            for one in difference.changed
        ],
        "removed": [_placed_json(placed) for placed in difference.removed],
        "added": [_placed_json(placed) for placed in difference.added],
        "decisions": [
            {"old": _decision_json(one.old), "new": _decision_json(one.new)}
            for one in difference.decisions
        ],
        "decision_order": list(difference.decision_order),
        "renamed": [
            {"index": one.index, "output": one.output, "name": one.name}
            for one in difference.renamed
        ],
    }


def difference_from_json(value: object) -> Difference:
    """See `Difference.from_json`."""
    try:
        form = msgspec.convert(value, _Difference)
    except msgspec.ValidationError as error:
        found = _MISMATCH.fullmatch(str(error))
        if found is None:
            raise TraceShapeError("$", "the JSON form of a difference", str(error)) from None
        raise TraceShapeError(found[3] or "$", found[1], found[2]) from None
    return Difference(
        kept=tuple(form.kept),
        moved=tuple(form.moved),
        changed=tuple(
            [
                Changed(
                    one.a,
                    one.b,
                    _inst(one.old, f"$.changed[{number}].old"),
                    _inst(one.new, f"$.changed[{number}].new"),
                )
                for number, one in enumerate(form.changed)
            ]
        ),
        removed=_placed(form.removed, "$.removed"),
        added=_placed(form.added, "$.added"),
        decisions=tuple(
            [
                DecisionChange(
                    _decision(one.old, f"$.decisions[{number}].old"),
                    _decision(one.new, f"$.decisions[{number}].new"),
                )
                for number, one in enumerate(form.decisions)
            ]
        ),
        decision_order=tuple(form.decision_order),
        renamed=tuple([Renamed(one.index, one.output, one.name) for one in form.renamed]),
    )


def _placed_json(placed: Placed) -> dict[str, Any]:
    return {"index": placed.index, "instruction": _inst_json(placed.inst)}


def _inst_json(inst: Instruction) -> Any:
    return to_json(Trace((inst,)))[0][0]


def _decision_json(decision: Decision | None) -> Any:
    return None if decision is None else to_json(Trace((), (decision,)))[1][0]


def _placed(forms: list[_Placed], path: str) -> tuple[Placed, ...]:
    return tuple(
        [
            Placed(one.index, _inst(one.instruction, f"{path}[{number}].instruction"))
            for number, one in enumerate(forms)
        ]
    )


def _inst(value: object, path: str) -> Instruction:
    return _read([[value], []], "$[0][0]", path).insts[0]


def _decision(value: object, path: str) -> Decision | None:
    return None if value is None else _read([[], [value]], "$[1][0]", path).decisions[0]


def _read(value: object, prefix: str, path: str) -> Trace:
    """Read a part of a trace whose faults are faults of the difference."""
    try:
        return from_json(value)
    except TraceShapeError as error:
        place = path + error.path.removeprefix(prefix)
        raise TraceShapeError(place, error.expected, error.found) from None
