"""`tracescript check`: every problem of a log, with its place."""

from __future__ import annotations

import argparse
import sys

from tracescript.check import check
from tracescript.cli.options import Commands, add_files
from tracescript.errors import TraceScriptError
from tracescript.files.output import name_of
from tracescript.files.read import Item, iter_items
from tracescript.instructions import RELEASES
from tracescript.model import Trace

__all__ = ["add_commands"]


def add_commands(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "check",
        help="find what is wrong with traces",
        description="Check syntax, scope, reference types, arity and decisions, and name every "
        "problem with its file, line and JSON path.",
    )
    add_files(parser, "a JSON log or a .trace file")
    parser.add_argument(
        "--tvm",
        metavar="RELEASE",
        choices=RELEASES,
        help="check against this release of TVM alone (default: what any of them has): "
        + ", ".join(RELEASES),
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="errors only, no notes")
    parser.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> int:
    errors = 0
    for file in options.files:
        name = name_of(file)
        traces = faulty = 0
        try:
            for item in iter_items(file):
                if item.error is not None:
                    print(item.error)
                    faulty += 1
                elif item.record is not None:
                    traces += 1
                    faulty += _report(item, item.record.trace, name, options)
        except TraceScriptError as error:
            # Such a file cannot be read on; the others can.
            print(error)
            faulty += 1
        if not options.quiet:
            # In order, also where both streams end up in one place.
            sys.stdout.flush()
            print(f"{name}: {traces} traces, {faulty} with errors", file=sys.stderr)
        errors += faulty
    return 1 if errors else 0


def _report(item: Item, trace: Trace, name: str, options: argparse.Namespace) -> int:
    """Print the problems of a trace; give 1 if any of them is an error, else 0."""
    found = check(trace, tvm=options.tvm)
    problems = [p for p in found if p.severity == "error" or not options.quiet]
    for problem in problems:
        line = item.line
        if item.script is not None and problem.inst is not None:
            line = item.script + problem.inst
        print(f"{name}:{line}: {problem.severity}: {problem.path}: {problem.message}")
    return int(any(problem.severity == "error" for problem in problems))
