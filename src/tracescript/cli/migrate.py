"""`tracescript migrate`: the records of a log for a later release of TVM."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator

from tracescript.cli.options import Commands
from tracescript.files.entries import Entry
from tracescript.files.output import name_of, writing
from tracescript.instructions import RELEASES
from tracescript.migration import STEPS, Migration
from tracescript.migration.logs import MigratedLine, iter_migrated, write_lines

__all__ = ["add_commands"]

_IN_MEMORY = 1 << 24
"""What is to be written waits for the last record; more than these bytes wait in a file."""


def add_commands(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "migrate",
        help="rewrite an old log for a later release of TVM",
        description="Rewrite the records of a log in the forms of a later release of TVM, so that "
        "it can replay them. Records that already are in its forms keep their bytes. If one "
        "record cannot be migrated, nothing is written.",
    )
    parser.add_argument(
        "file", metavar="FILE", help="a JSON log or a .trace file, or - for standard input"
    )
    parser.add_argument(
        "--to",
        metavar="RELEASE",
        choices=RELEASES,
        default=RELEASES[-1],
        help=f"the release of TVM to write for (default: {RELEASES[-1]})",
    )
    parser.add_argument(
        "--recorded-by",
        metavar="RELEASE",
        choices=RELEASES,
        help="the release that recorded the log, where the traces alone do not tell",
    )
    parser.add_argument(
        "-o", "--output", default="-", help="the file to write (default: standard output)"
    )
    parser.add_argument(
        "--format",
        choices=("json", "trace"),
        help="what to write: a JSON log, or a .trace file (default: by the name of the output)",
    )
    parser.add_argument(
        "--skip",
        action="store_true",
        help="leave out the records that cannot be migrated, and say how many",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no report")
    parser.set_defaults(run=_migrate)


def _migrate(options: argparse.Namespace) -> int:
    output: str = options.output
    as_script = (options.format or output.rpartition(".")[2]) == "trace"
    report = _Report(name_of(options.file), options.to)
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as waiting:
        lines = iter_migrated(options.file, options.to, options.recorded_by)
        write_lines(report.entries(lines), waiting, as_script=as_script)
        if report.refused and not options.skip:
            print(f"{report.refusals()}; nothing is written", file=sys.stderr)
            return 1
        waiting.seek(0)
        with writing(output) as target:
            shutil.copyfileobj(waiting, target)
    if not options.quiet:
        print(report.text(), file=sys.stderr)
    return 0


class _Report:
    """Counts what is done to the records of a log, and names those that are refused."""

    def __init__(self, name: str, to: str) -> None:
        self.refused = 0
        self._name = name
        self._to = to
        self._records = 0
        self._migrated = 0
        self._insts: Counter[str] = Counter()
        self._traces: Counter[str] = Counter()

    def entries(self, lines: Iterator[MigratedLine]) -> Iterator[Entry]:
        """Count lines on their way, and let through what is to be written."""
        for line in lines:
            for error in line.errors:
                print(error, file=sys.stderr)
            self.refused += bool(line.errors)
            if line.migration is not None:
                self._add(line.migration)
            if line.entry is not None:
                yield line.entry

    def _add(self, migration: Migration) -> None:
        self._records += 1
        self._migrated += bool(migration.steps)
        for step in migration.steps:
            self._insts[step.name] += len(step.insts)
            self._traces[step.name] += 1

    def refusals(self) -> str:
        """How many records were refused."""
        of = self._records + self.refused
        return f"{self._name}: {self.refused} of {of} records cannot be migrated to {self._to}"

    def text(self) -> str:
        """What was done, a line for each step."""
        unchanged = self._records - self._migrated
        left_out = f", {self.refused} left out" if self.refused else ""
        head = (
            f"{self._name}: {self._migrated} records migrated to {self._to}, "
            f"{unchanged} as they were{left_out}"
        )
        taken = [step for step in STEPS if step.name in self._insts]
        name = max([len(step.name) for step in taken], default=0)
        reference = max([len(step.reference) for step in taken], default=0)
        rows = [
            f"  {step.name:<{name}}  {step.since:<4}  {step.reference:<{reference}}  "
            f"{self._insts[step.name]} instructions of {self._traces[step.name]} records"
            for step in taken
        ]
        return "\n".join([head, *rows])
