"""`tracescript show`: traces for people, with absolute names."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Iterator
from functools import partial

from tracescript.cli.options import Commands, add_files
from tracescript.encode import write_value
from tracescript.files import Record
from tracescript.files.output import name_of
from tracescript.files.read import iter_items
from tracescript.literals import quote
from tracescript.model import NULL, RV, IndexMap, Input, Instruction, Trace

__all__ = ["add_commands", "show_trace"]

_STYLES = {"kind": "1", "rv": "36", "value": "32", "decision": "1;33", "comment": "2"}


def add_commands(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "show",
        help="print traces for reading, with absolute names",
        description="Print traces for reading: every reference and output has its TVM name. "
        "What is printed is not a script; encode makes those.",
    )
    add_files(parser, "a JSON log or a .trace file")
    parser.add_argument(
        "-n", "--record", type=int, metavar="N", help="only the N-th record of a file, from 0"
    )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours; auto is on a terminal, unless NO_COLOR is set",
    )
    parser.set_defaults(run=_show)


def _show(options: argparse.Namespace) -> int:
    on_terminal = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    colour = options.color == "always" or (options.color == "auto" and on_terminal)
    status = 0
    for file in options.files:
        number = 0
        for item in iter_items(file):
            if item.error is not None:
                # In order, also where both streams end up in one place.
                sys.stdout.flush()
                print(f"tracescript: {item.error}", file=sys.stderr)
                status = 1
            if item.record is None:
                continue
            if options.record in (None, number):
                _show_record(item.record, f"{name_of(file)}:{item.line}", colour)
            number += 1
        if options.record is not None and not 0 <= options.record < number:
            print(f"tracescript: {name_of(file)} has {number} records", file=sys.stderr)
            status = 1
    return status


def _show_record(record: Record, place: str, colour: bool) -> None:
    title = f"# {place}"
    if record.workload is not None:
        title += f"  workload {record.workload}{_run_time(record)}"
    print(_paint(title, "comment", colour))
    for line in show_trace(record.trace, colour=colour):
        print(line)
    print()


def _run_time(record: Record) -> str:
    times = record.run_secs
    if not isinstance(times, tuple) or not times:
        return "  not measured"
    numbers = [time for time in times if isinstance(time, (int, float))]
    return f"  {statistics.median(numbers) * 1e6:.1f} us" if len(numbers) == len(times) else ""


def show_trace(trace: Trace, *, colour: bool = False) -> Iterator[str]:
    """The lines that show a trace.

    >>> list(show_trace(Trace((Instruction("GetLoops", (RV("b0"),), (), ("l1", "l2")),))))
    ['GetLoops b0 -> l1 l2']
    """
    paint = partial(_paint, colour=colour)
    decided: dict[int, list[str]] = {}
    for decision in trace.decisions:
        text = paint(write_value(decision.value), "decision")
        decided.setdefault(decision.index, []).append(text)
    for index, inst in enumerate(trace.insts):
        line = _show_instruction(inst, colour)
        yield " = ".join([line, *decided.pop(index, [])])
    for index, values in decided.items():
        yield paint(f"# decision {index}, of no instruction: ", "comment") + " ".join(values)


def _show_instruction(inst: Instruction, colour: bool) -> str:
    paint = partial(_paint, colour=colour)
    parts = [paint(inst.kind if inst.kind.isidentifier() else quote(inst.kind), "kind")]
    parts += [_show_input(item, colour) for item in inst.inputs]
    if inst.attrs:
        parts += ["|", *(paint(write_value(value), "value") for value in inst.attrs)]
    if inst.outputs:
        parts += ["->", *(paint(_name(name), "rv") for name in inst.outputs)]
    return " ".join(parts)


def _show_input(value: Input, colour: bool) -> str:
    if isinstance(value, RV):
        return _paint(_name(value.name), "rv", colour)
    if isinstance(value, tuple):
        return "[" + " ".join([_show_input(item, colour) for item in value]) + "]"
    if isinstance(value, IndexMap):
        return _paint("@" + quote(value.text), "value", colour)
    return _paint("@null" if value == NULL else write_value(value), "value", colour)


def _name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else "@" + quote(name)


def _paint(text: str, style: str, colour: bool) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if colour else text
