"""Which workloads the baselines are measured on.

    python -m training.baselines.tasks --splits construct > construct.txt
    python -m training.baselines.tasks --subset > subset.txt

prints their keys, a line each, as `--keys` of `training.data.search` takes them.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from training.data import files
from training.evaluate.results import Task, files_or_exit, read

HELD_OUT = ("construct", "hard", "refine")
"""The splits of the workloads that models are asked about."""

SUBSET = 32
"""Workloads on which MetaSchedule has 256 trials."""


class Listed(Task, frozen=True):
    """A workload as the list of the data sets has it."""

    family: str
    arguments: list[Any]
    split: str
    flops: float
    """Operations, as TVM counts them."""


def held_out(workloads: Iterable[Listed], splits: Collection[str] = HELD_OUT) -> list[Listed]:
    """Return the held-out workloads of a list, all or those of some splits, in its order."""
    return [each for each in workloads if each.split in splits]


def subset(workloads: Iterable[Listed], count: int = SUBSET) -> list[Listed]:
    """Return the construct tasks with the smallest keys, whatever the order of the list.

    A key is a hash of the prompt, so that is a random choice which never changes.

    >>> [each.key for each in subset([Listed(key, "", "gemm", [], "construct", 1.0)
    ...                               for key in ("b", "c", "a")], 2)]
    ['a', 'b']
    """
    tasks = [each for each in workloads if each.split == "construct"]
    return sorted(tasks, key=lambda each: each.key)[:count]


def add_workloads(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which workloads, which all baselines have."""
    parser.add_argument(
        "--workloads", type=Path, default=files.WORKLOADS, help="the list (%(default)s)"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--splits", nargs="+", choices=HELD_OUT, default=HELD_OUT, help="which ones (all)"
    )
    which.add_argument("--keys", type=Path, help="a file with keys instead")


def chosen(options: argparse.Namespace) -> list[Listed]:
    """Return the workloads that the options say.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is not of its kind, or a key is not in the list.
    """
    listed = read(options.workloads, Listed)
    if options.keys is None:
        return held_out(listed, options.splits)
    by_key = {each.key: each for each in listed}
    wanted = options.keys.read_text().split()
    for key in wanted:
        if key not in by_key:
            raise ValueError(f"{options.keys}: {key!r} is no key in {options.workloads}")
    return [by_key[key] for key in wanted]


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m training.baselines.tasks", description=(__doc__ or "").splitlines()[0]
    )
    add_workloads(parser)
    parser.add_argument(
        "--subset", action="store_true", help=f"only the {SUBSET} with 256 trials of MetaSchedule"
    )
    options = parser.parse_args(arguments)
    with files_or_exit("tasks"):
        listed = chosen(options)
    for each in subset(listed) if options.subset else listed:
        print(each.key)


if __name__ == "__main__":
    main()
