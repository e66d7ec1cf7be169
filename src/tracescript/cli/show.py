"""`tracescript show`: traces for people, with absolute names."""

from __future__ import annotations

import argparse
import sys

from tracescript.cli.colour import add_colour, in_colour
from tracescript.cli.options import Commands, add_files
from tracescript.cli.titles import title
from tracescript.files import Record
from tracescript.files.output import name_of
from tracescript.files.read import iter_items
from tracescript.listing import paint, show_trace

__all__ = ["add_commands"]


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
    add_colour(parser)
    parser.set_defaults(run=_show)


def _show(options: argparse.Namespace) -> int:
    colour = in_colour(options)
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
    print(paint(f"# {title(record, place)}", "comment", colour))
    for line in show_trace(record.trace, colour=colour):
        print(line)
    print()
