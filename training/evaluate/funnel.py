"""How far candidates come: counts and reasons for each stage, as numbers and as a table.

    python -m training.evaluate.funnel RESULTS.jsonl... --out training/results/funnel.json

counts files of results, each source of candidates by itself, and prints the table.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from training.evaluate.card import command_of
from training.evaluate.results import STAGES, Result, Run, files_or_exit, read

MAX_REASONS = 12


def funnel(results: Iterable[Result]) -> dict[str, Any]:
    """Count the candidates that reach each stage, and why the others stop.

    >>> funnel([Result("a", "...", "parses", "no such kind")])["reached"]["parses"]
    1
    """
    reached: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    for result in results:
        place = STAGES.index(result.stage)
        reached.update(STAGES[: place + 1])
        if result.reason:
            reasons[result.stage, _kind_of(result.reason)] += 1
    return {
        "reached": {stage: reached[stage] for stage in STAGES},
        "reasons": [
            {"after": stage, "reason": reason, "count": count}
            for (stage, reason), count in reasons.most_common(MAX_REASONS)
        ],
    }


def by_source(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return the results of each source by themselves, in the order in which sources appear."""
    found: dict[str, list[Result]] = {}
    for each in results:
        found.setdefault(each.source, []).append(each)
    return found


def table(funnels: dict[str, dict[str, Any]]) -> str:
    """Write a Markdown table with a row for each funnel and a column for each stage."""
    rows = ["| | " + " | ".join(STAGES) + " |", "|---" * (len(STAGES) + 1) + "|"]
    for name, one in funnels.items():
        counts = one["reached"]
        given = counts["given"]
        shares = [f"{100 * counts[stage] / max(given, 1):.1f}%" for stage in STAGES[1:]]
        rows.append(f"| {name} | {given} | " + " | ".join(shares) + " |")
    return "\n".join(rows) + "\n"


def _kind_of(reason: str) -> str:
    """The reason without what differs from case to case."""
    words = ("#" if any(c.isdigit() for c in word) else word for word in reason.split())
    return " ".join(words)[:80]


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+", help="files of results")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    options = parser.parse_args()
    with files_or_exit("funnel"):
        results = [each for path in options.results for each in read(path, Result)]
    funnels = {
        source: funnel(own) | {"workloads": len({each.workload for each in own})}
        for source, own in by_source(results).items()
    }
    report = {
        "command": command_of("training.evaluate.funnel"),
        "runs": [msgspec.to_builtins(run) for path in options.results for run in read(path, Run)],
        "funnels": funnels,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(table(funnels), end="")


if __name__ == "__main__":
    main()
