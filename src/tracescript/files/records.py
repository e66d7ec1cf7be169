"""One line of a JSON log: a tuning record, a bare trace, or neither."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from tracescript.errors import TraceShapeError
from tracescript.json_trace import from_json, to_json, value_from_json, value_to_json
from tracescript.model import Trace, Value

__all__ = ["Record", "record_from_json", "record_to_json"]


class Record(msgspec.Struct, frozen=True):
    """A trace as a log holds it.

    Attributes:
        trace: the schedule.
        workload: the index of its workload in `database_workload.json`; None for a bare trace,
            which has nothing but the trace itself.
        run_secs: measured run times in seconds, or what else stands there.
        target: the target, as TVM's JSON has it.
        args_info: kinds, dtypes and shapes of the arguments, as TVM's JSON has them.
    """

    trace: Trace
    workload: int | None = None
    run_secs: Value = None
    target: Value = None
    args_info: Value = None


def record_from_json(value: object) -> Record:
    """Read `[workload, [trace, run_secs, target, args_info]]`, or a bare trace.

    Law: `record_to_json(record_from_json(value)) == value`.

    Raises:
        TraceShapeError: the value is neither; the path starts at the line's value, `$`.
    """
    if not _is_record(value):
        return Record(from_json(value))
    workload, (trace, *rest) = cast("tuple[int, list[Any]]", value)
    try:
        read = from_json(trace)
    except TraceShapeError as error:
        raise TraceShapeError("$[1][0]" + error.path[1:], error.expected, error.found) from None
    run_secs, target, args_info = map(value_from_json, rest)
    return Record(read, workload, run_secs, target, args_info)


def record_to_json(record: Record) -> list[Any]:
    """Write a record as the JSON value of its line."""
    trace = to_json(record.trace)
    if record.workload is None:
        return trace
    rest = [value_to_json(item) for item in (record.run_secs, record.target, record.args_info)]
    return [record.workload, [trace, *rest]]


def _is_record(value: object) -> bool:
    if type(value) is not list or len(cast("list[Any]", value)) != 2:
        return False
    workload, record = cast("list[Any]", value)
    return type(workload) is int and type(record) is list and len(cast("list[Any]", record)) == 4
