r"""Write the report on the models: `summary.json`, the plots, and the tables of a page.

    python -m training.report training/results/report --out training/results/summary.json \
        --page docs/training.md --plots docs/images

`board.py` says what the folder holds. The same folder gives the same files. A comparison that
nothing was measured for is left out, and an aim without a measurement says so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from training.data import files
from training.data.pages import filled
from training.evaluate.card import command_of
from training.evaluate.results import files_or_exit
from training.report.board import load
from training.report.page import PARTS
from training.report.plots import Shown, draw
from training.report.summary import aims, summary


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m training.report", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("folder", type=Path, help="attempts, results and logs")
    parser.add_argument("--out", type=Path, required=True, help="JSON of all numbers")
    parser.add_argument("--page", type=Path, help="a page whose tables are filled")
    parser.add_argument("--plots", type=Path, help="a folder for the plots")
    parser.add_argument("--datasets", type=Path, default=files.DATASETS, help="(%(default)s)")
    parser.add_argument("--first", default="rl", help="the model it is about (%(default)s)")
    parser.add_argument("--second", default="sft", help="what it began from (%(default)s)")
    parser.add_argument(
        "--unmasked", default="rl unmasked", help="the first one without masks (%(default)s)"
    )
    options = parser.parse_args()
    with files_or_exit("report"):
        board = load(options.folder, options.datasets)
        if options.first not in board.attempts:
            known = ", ".join(map(repr, board.attempts)) or "none"
            raise ValueError(f"no attempts of {options.first!r}; there are those of {known}")
        page = options.page.read_text() if options.page else ""
    numbers = summary(board, options.first, options.second)
    numbers = {
        "aims": aims(numbers, options.first, options.unmasked),
        **numbers,
        "command": command_of("training.report"),
        "cards": sorted({run.card for run in board.judged_by}),
        "versions": board.judged_by[-1].versions if board.judged_by else {},
        "data": data_version(options.datasets),
    }
    files.write(options.out, json.dumps(numbers, indent=1).encode() + b"\n")
    if options.page:
        # As a reader of the JSON finds them: all keys are text.
        tables = filled(page, json.loads(options.out.read_bytes()), PARTS)
        files.write(options.page, tables.encode())
    if options.plots:
        shown = Shown(board, numbers, options.first, options.second)
        print("\n".join(draw(shown, options.plots)))
    for each in numbers["aims"]:
        print(f"{each['name']}: {each['reached']}, {each['unit']} {each['aim']}", file=sys.stderr)


def data_version(datasets: Path) -> str:
    """A short name of the data sets that changes with any of their files."""
    total = hashlib.sha256()
    for path in sorted(datasets.rglob("*.parquet")):
        total.update(f"{path.relative_to(datasets)}\n".encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:12]


if __name__ == "__main__":
    main()
