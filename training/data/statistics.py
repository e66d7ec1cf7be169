"""Count what the data sets hold: `data.json`, the plots, and the numbers of two pages.

    python -m training.data.statistics

Reads the files under `training/datasets`. The same files give the same numbers and plots.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tracescript import loads
from tracescript.tokens import Tokenizer
from training.data import files, pages, plots, tables
from training.evaluate.results import STAGES

COMMAND = "python -m training.data.statistics"
PACKAGES = ("tracescript", "apache-tvm", "pyarrow")
TABLES = {
    "pretrain": ("train", "validation"),
    "construct": ("train", "test", "hard"),
    "refine": ("train", "test", "hard"),
}

Data = dict[str, Any]


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=Path, default=files.DATASETS, help="%(default)s")
    parser.add_argument("--out", type=Path, default=files.ROOT, help="root of the repository")
    args = parser.parse_args()
    data, samples = counted(args.datasets)
    text = json.dumps(data, indent=1) + "\n"
    files.write(args.out / "training" / "results" / "data.json", text.encode())
    plots.draw(samples, data, args.out / "docs" / "images")
    for page in pages.PAGES:
        path = args.out / page
        files.write(path, pages.filled(path.read_text(), data).encode())
        print(path, file=sys.stderr)


def counted(datasets: Path) -> tuple[Data, plots.Samples]:
    """Return all numbers, and those that the plots are of."""
    listed = files.workloads(datasets / files.WORKLOADS.name)
    further = files.workloads(datasets / files.FURTHER.name)
    rows = {
        name: {split: tables.read(datasets / name / f"{split}.parquet") for split in splits}
        for name, splits in TABLES.items()
    }
    measured = tables.read(datasets / "measured" / "results.parquet")
    timed = [row for row in measured if row["median"] is not None]
    scripts = list(_scripts(rows, timed))
    samples = plots.Samples(
        prompts=_tokens(row["prompt"] for row in [*listed, *further]),
        scripts=_tokens(scripts),
        gains=_gains(timed),
        ratios=[row["ratio"] for row in rows["refine"]["train"]],
    )
    data = {
        "workloads": len(listed),
        "measured": len(timed),
        **{name: len(splits["train"]) for name, splits in rows.items()},
        "command": COMMAND,
        "card": ", ".join(sorted({row["card"] for row in timed})),
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
        "splits": _counts(row["split"] for row in listed),
        "further_workloads": len(further),
        "float16": sum('"float16' in json.dumps(row["arguments"]) for row in listed),
        "layers": sum(bool(row["layers"]) for row in listed),
        "tables": {name: {split: _size(part) for split, part in splits.items()}
                   for name, splits in rows.items()},
        "further_with_scripts": len(
            {row["key"] for row in further}
            & {row["key"] for part in rows["pretrain"].values() for row in part}
        ),
        "reproduced": sum(row["reproduced"] for part in rows["pretrain"].values() for row in part),
        "stages": {stage: sum(row["stage"] == stage for row in measured) for stage in STAGES},
        "sources": _counts(row["source"] for row in timed),
        "targets": _counts(row["target"] for row in [*listed, *further]),
        "tokens": {"prompt": _spread(samples.prompts), "script": _spread(samples.scripts)},
        "gain": _spread(samples.gains),
        "ratio": _spread(samples.ratios),
        "noise": _spread([row["high"] / row["low"] - 1 for row in timed]),
        "families": _families(listed, further, rows["pretrain"], timed),
        "kinds": _kinds(scripts),
    }  # fmt: skip
    return data, samples


def _scripts(rows: dict[str, dict[str, list[Data]]], timed: Iterable[Data]) -> list[str]:
    """All scripts, each once."""
    found = [row["script"] for part in rows["pretrain"].values() for row in part]
    return list(dict.fromkeys([*found, *(row["script"] for row in timed)]))


def _tokens(texts: Iterable[str]) -> list[int]:
    tokenizer = Tokenizer.default()
    return [len(tokenizer.encode(text)) for text in texts]


def _gains(timed: Iterable[Data]) -> list[float]:
    """How many times as fast as the slowest script of a workload the fastest one is."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in timed:
        found[row["key"]].append(row["median"])
    return [max(times) / min(times) for times in found.values() if len(times) > 1]


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def _size(part: Sequence[Data]) -> dict[str, int]:
    return {"examples": len(part), "workloads": len({row["key"] for row in part})}


def _spread(values: Sequence[float]) -> dict[str, float]:
    """Return a few quantiles, rounded to what is worth reading."""
    if not values:
        return {}
    ordered = sorted(values)
    names = {"least": 0.0, "tenth": 0.1, "median": 0.5, "ninetieth": 0.9, "most": 1.0}
    middle = statistics.median(ordered)
    found = {name: ordered[round(part * (len(ordered) - 1))] for name, part in names.items()}
    return {name: _rounded(value) for name, value in {**found, "median": middle}.items()}


def _rounded(value: float) -> float:
    digits = 4 - math.ceil(math.log10(abs(value))) if value else 0
    return round(value, max(digits, 0))


def _families(
    listed: Iterable[Data], further: Iterable[Data], pretrain: dict[str, list[Data]],
    timed: Iterable[Data],
) -> dict[str, dict[str, int]]:  # fmt: skip
    """Count workloads and scripts of each family, the largest first."""
    counts = {
        "measured_workloads": Counter(row["family"] for row in listed),
        "held_out": Counter(row["family"] for row in listed if row["split"] != "train"),
        "further_workloads": Counter(row["family"] for row in further),
        "pretrain": Counter(row["family"] for part in pretrain.values() for row in part),
        "measured": Counter(row["family"] for row in timed),
    }
    total = counts["measured_workloads"] + counts["further_workloads"]
    ordered = sorted(total, key=lambda family: (-total[family], family))
    return {family: {name: each[family] for name, each in counts.items()} for family in ordered}


def _kinds(scripts: Sequence[str]) -> dict[str, float]:
    """How many instructions of each kind a script has on average."""
    counts = Counter(inst.kind for script in scripts for inst in loads(script).insts)
    return {
        kind: round(count / max(len(scripts), 1), 3)
        for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    }


if __name__ == "__main__":
    main()
