"""`tracescript diff`: what is different in one record from another."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tracescript.cli.colour import add_colour, in_colour
from tracescript.cli.options import Commands
from tracescript.cli.titles import run_time, title
from tracescript.difference import Difference, diff
from tracescript.difference.text import show_difference
from tracescript.errors import TraceShapeError
from tracescript.files import Record
from tracescript.files.output import name_of
from tracescript.files.read import iter_items
from tracescript.listing import paint

__all__ = ["add_commands"]


class _Place(NamedTuple):
    """A record, and where it stands."""

    record: Record
    file: str
    line: int
    number: int


def add_commands(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "diff",
        help="print what is different in one trace from another",
        description="Print which instructions and decisions of a record are different from those "
        "of another: of the first records of two files, or of those that -n says. Names and line "
        "numbers do not count. The exit status says nothing about differences.",
    )
    parser.add_argument(
        "file", metavar="A", help="a JSON log or a .trace file, or - for standard input"
    )
    parser.add_argument(
        "other", metavar="B", nargs="?", help="another one (default: both records are of A)"
    )
    parser.add_argument(
        "-n",
        "--record",
        type=position,
        action="append",
        metavar="N",
        help="compare the N-th record of each file, from 0; given twice, the first is that of A "
        "and the second that of B",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_colour(parser)
    parser.set_defaults(run=_diff, parser=parser)


def position(text: str) -> int:
    """Read an option that is a position, from 0."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _diff(options: argparse.Namespace) -> int:
    numbers: list[int] = options.record or [0]
    if len(numbers) > 2 or (len(numbers) == 1 and options.other is None):
        options.parser.error("two records are compared: give two files, or -n twice")
    first, second = numbers[0], numbers[-1]
    if options.other is None:
        found = _find(options.file, (first, second))
    else:
        found = [*_find(options.file, (first,)), *_find(options.other, (second,))]
    if len(found) < 2:
        return 1
    a, b = found
    difference = diff(a.record.trace, b.record.trace)
    if options.json:
        _print_json(a, b, difference)
    else:
        _print_text(a, b, difference, in_colour(options))
    return 0


def _find(file: str, numbers: Sequence[int]) -> list[_Place]:
    """The records of some numbers; what is missing is reported and left out."""
    places: dict[int, _Place] = {}
    count = 0
    for item in iter_items(file):
        if item.record is None:
            continue
        if count in numbers:
            places[count] = _Place(item.record, name_of(file), item.line, count)
        count += 1
        if count > max(numbers):
            break
    else:
        print(f"tracescript: {name_of(file)} has {count} records", file=sys.stderr)
    return [places[number] for number in numbers if number in places]


def _print_text(a: _Place, b: _Place, difference: Difference, colour: bool) -> None:
    old, new = (title(place.record, f"{place.file}:{place.line}") for place in (a, b))
    speedup = _speedup(a, b)
    ratio = "" if speedup is None else f", {speedup:.2f} times as fast"
    print(paint(f"--- {old}", "old", colour))
    print(paint(f"+++ {new}{ratio}", "new", colour))
    for line in show_difference(difference, a.record.trace, colour=colour):
        print(line)


def _print_json(a: _Place, b: _Place, difference: Difference) -> None:
    report = {
        "a": _place_json(a),
        "b": _place_json(b),
        "speedup": _speedup(a, b),
        "difference": difference.to_json(),
    }
    try:
        print(json.dumps(report))
    except ValueError as error:
        # Python's json does not write integers of more than 4300 digits.
        raise TraceShapeError("$", "what Python can write as JSON", str(error)) from None


def _place_json(place: _Place) -> dict[str, Any]:
    return {
        "file": place.file,
        "line": place.line,
        "record": place.number,
        "workload": place.record.workload,
        "run_time": run_time(place.record),
    }


def _speedup(a: _Place, b: _Place) -> float | None:
    """How many times as fast the second record is, if both are of one workload."""
    old, new = run_time(a.record), run_time(b.record)
    if a.record.workload != b.record.workload or not old or not new:
        return None
    ratio = old / new
    return ratio if math.isfinite(ratio) else None
