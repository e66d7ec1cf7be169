"""`tracescript stats`: what is in a log."""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from typing import Any

from tracescript.cli.options import Commands, add_files
from tracescript.encode import dumps
from tracescript.files.output import name_of
from tracescript.files.read import iter_items
from tracescript.instructions import RELEASES
from tracescript.json_trace import to_json
from tracescript.migration import infer_release
from tracescript.model import Trace

__all__ = ["add_commands"]


def add_commands(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "stats",
        help="count kinds, sizes and eras",
        description="Count the instruction kinds, sizes and TVM eras of logs.",
    )
    add_files(parser, "a JSON log or a .trace file")
    parser.add_argument("--json", action="store_true", help="print JSON, one object a file")
    parser.set_defaults(run=_stats)


def _stats(options: argparse.Namespace) -> int:
    for file in options.files:
        counts = _Counts()
        for item in iter_items(file):
            if item.record is not None:
                counts.add(item.record.trace, item.record.workload)
            elif item.error is not None:
                counts.other += 1
        report = counts.report()
        print(
            json.dumps({"file": file, **report}) if options.json else _table(name_of(file), report)
        )
    return 0


class _Counts:
    """Adds up traces."""

    def __init__(self) -> None:
        self.other = 0
        self._workloads: Counter[int | None] = Counter()
        self._eras: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._lengths: list[int] = []
        self._decisions = 0
        self._script_characters = 0
        self._json_characters = 0

    def add(self, trace: Trace, workload: int | None) -> None:
        """Count one trace."""
        self._workloads[workload] += 1
        self._eras[_era(infer_release(trace))] += 1
        self._kinds.update(inst.kind for inst in trace.insts)
        self._lengths.append(len(trace.insts))
        self._decisions += len(trace.decisions)
        self._script_characters += len(dumps(trace))
        self._json_characters += len(json.dumps(to_json(trace), separators=(",", ":")))

    def report(self) -> dict[str, Any]:
        """Everything that was counted, by name."""
        bare = self._workloads.pop(None, 0)
        lengths = self._lengths or [0]
        return {
            "records": self._workloads.total(),
            "workloads": len(self._workloads),
            "bare_traces": bare,
            "other_lines": self.other,
            "instructions": sum(lengths),
            "instructions_per_trace": {
                "min": min(lengths),
                "median": statistics.median(lengths),
                "max": max(lengths),
            },
            "decisions": self._decisions,
            "script_characters": self._script_characters,
            "json_characters": self._json_characters,
            "eras": dict(self._eras.most_common()),
            "kinds": dict(self._kinds.most_common()),
        }


def _era(releases: tuple[str, ...]) -> str:
    """The releases that a trace can come from, in words."""
    if not releases:
        return "of no one release"
    first, last = releases[0], releases[-1]
    if len(releases) == len(RELEASES):
        return "any"
    if first == RELEASES[0]:
        return f"to {last}"
    if last == RELEASES[-1]:
        return f"from {first}"
    return f"{first} to {last}"


def _table(file: str, report: dict[str, Any]) -> str:
    lengths = report["instructions_per_trace"]
    ratio = report["script_characters"] / max(1, report["json_characters"])
    counted = (
        f"{report['records']} of {report['workloads']} workloads, "
        f"{report['bare_traces']} bare traces, {report['other_lines']} other lines"
    )
    traces = f"a trace has {lengths['min']} to {lengths['max']}, median {lengths['median']:g}"
    characters = (
        f"{report['script_characters']:,} as scripts, "
        f"{report['json_characters']:,} as JSON ({ratio:.2f})"
    )
    lines = [
        file,
        f"  records       {counted}",
        f"  instructions  {report['instructions']}; {traces}",
        f"  decisions     {report['decisions']}",
        f"  characters    {characters}",
        *_columns("eras", report["eras"]),
        *_columns("kinds", report["kinds"]),
    ]
    return "\n".join(lines)


def _columns(title: str, counts: dict[str, int]) -> list[str]:
    width = max([len(str(count)) for count in counts.values()], default=1)
    shown = [f"{count:>{width}}  {name}" for name, count in counts.items()]
    return [f"  {title:<12}  {shown[0]}", *[" " * 16 + line for line in shown[1:]]] if shown else []
