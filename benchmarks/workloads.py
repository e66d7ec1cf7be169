"""The traces to measure: real ones from logs, and synthetic ones of any length. No TVM here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tracescript.files.json_writers import WRITERS

__all__ = [
    "OWN",
    "ROOT",
    "Located",
    "Log",
    "compact",
    "measured_logs",
    "median",
    "modern",
    "note",
    "own_logs",
    "shared_logs",
    "synthetic",
]

ROOT = Path(__file__).parents[1]
OWN = ROOT / "tests" / "corpus"
SHARED = Path(os.environ.get("TRACESCRIPT_CORPUS", ROOT.parent / "shared" / "corpus"))


class Located(NamedTuple):
    """A trace as the JSON value in a log."""

    place: str
    """The file and the line, as `file:line`."""
    value: Any
    characters: int
    """Of the JSON of the trace as it stands in the log."""


class Log(NamedTuple):
    """The traces of one file, in order, and how many of its lines are not JSON."""

    name: str
    traces: list[Located]
    unreadable: int


def shared_logs() -> list[Log]:
    """Read the shared corpus; an empty list where there is none."""
    return [_read(path) for path in sorted(SHARED.glob("*.jsonl"))]


def own_logs() -> list[Log]:
    """Read the project's own recorded traces."""
    return [_read(path) for path in sorted(OWN.glob("*.json*"))]


def measured_logs() -> list[Log]:
    """Read the logs whose traces are timed: the shared corpus, or in its absence our own."""
    return shared_logs() or own_logs()


def note() -> str:
    """Say which traces are timed, and loudly so if the shared corpus is absent."""
    shared = sorted(SHARED.glob("*.jsonl"))
    if shared:
        return f"timed: the {len(shared)} logs of the shared corpus"
    return (
        "NOTE: the shared corpus is absent (TRACESCRIPT_CORPUS names its folder), so the traces "
        "of tests/corpus are timed in its place; do not compare the numbers with those of others"
    )


def modern(value: Any) -> Any:
    """Rewrite what TVM 0.27 renamed since 2023, so that it can hold an old trace.

    Only for timing, and for both sides of a comparison: `GetBlock` becomes `GetSBlock`, and
    the attributes of `Split` grow from `[1]` to `[1, 0]`.
    """
    insts, decisions = value
    return [[_modern_instruction(*inst) for inst in insts], decisions]


def _modern_instruction(kind: str, inputs: Any, attrs: Any, outputs: Any) -> list[Any]:
    kind = "GetSBlock" if kind == "GetBlock" else kind
    attrs = [1, 0] if kind == "Split" and attrs == [1] else attrs
    return [kind, inputs, attrs, outputs]


def median(traces: list[Located]) -> Located:
    """Choose the trace in the middle by instructions, and among those by characters of JSON."""
    ordered = sorted(traces, key=lambda trace: (len(trace.value[0]), len(compact(trace.value))))
    return ordered[len(ordered) // 2]


def compact(value: Any) -> str:
    """Write JSON in as few characters as it takes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def synthetic(instructions: int) -> Any:
    """Make a trace of the given length: the tiling of a matrix product, over and over."""
    insts: list[Any] = []
    decisions: list[Any] = []
    names = 0
    stream = _tilings()
    scope: dict[str, list[str]] = {"b": [], "l": [], "v": []}
    while len(insts) < instructions:
        kind, inputs, attrs, outputs, decision = next(stream)
        used = [scope[item[0]][-int(item[2:])] if item[1:2] == "-" else item for item in inputs]
        defined = [f"{letter}{names + position}" for position, letter in enumerate(outputs)]
        names += len(defined)
        for name in defined:
            scope[name[0]].append(name)
        if decision:
            decisions.append([len(insts), decision])
        insts.append([kind, used, attrs, defined])
    return [insts, decisions]


def _tilings() -> Iterator[tuple[str, list[str], list[Any], str, Any]]:
    """Give kind, inputs, attributes, letters of the outputs and decision, without an end."""
    split = ["l-3", "v-4", "v-3", "v-2", "v-1"]
    while True:
        yield "GetSBlock", [], ["C", "main"], "b", None
        yield "Annotate", ["b-1", '"SSSRRSRS"'], ["meta_schedule.tiling_structure"], "", None
        yield "GetLoops", ["b-1"], [], "lll", None
        yield "SamplePerfectTile", ["l-3"], [4, 64], "vvvv", [1, 8, 4, 2]
        yield "Split", split, [1, 0], "llll", None
        yield "Reorder", ["l-4", "l-2", "l-3", "l-1"], [], "", None
        yield "Fuse", ["l-4", "l-3"], [1], "l", None
        yield "Bind", ["l-1"], ["blockIdx.x"], "", None
        yield "CacheRead", ["b-1"], [0, "shared"], "b", None
        yield "ComputeAt", ["b-1", "l-1"], [1, -1], "", None


def _read(path: Path) -> Log:
    traces: list[Located] = []
    unreadable = 0
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            value = json.loads(line)
        except ValueError:
            unreadable += 1
            continue
        # A bare trace starts with a list of instructions, a record with a number.
        trace = value if isinstance(value[0], list) else value[1][0]
        traces.append(Located(f"{path.name}:{number}", trace, _length(trace, line.decode())))
    return Log(path.name, traces, unreadable)


def _length(trace: Any, line: str) -> int:
    """Count the characters of a trace as the writer of its line wrote it."""
    texts = (write(trace) for write in WRITERS.values())
    return len(next((text for text in texts if text in line), compact(trace)))
