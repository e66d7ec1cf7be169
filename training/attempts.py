"""The held-out questions, and what the files of attempts at them hold, whoever is asked.

`training.propose` asks our model and `training.compare` others. `training.evaluate` judges the
attempts, and `training.report` reads them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Literal

from training.data import files
from training.evaluate.results import Candidate, Task
from training.model.asking import Question
from training.model.sequences import rows

__all__ = [
    "GIVEN",
    "Attempt",
    "HeldOut",
    "Kind",
    "add_arguments",
    "count",
    "facts_path",
    "given",
    "questions",
    "summary",
]

Kind = Literal["construct", "refine"]

GIVEN = "given"
"""The source of a script that a task gives."""


class Attempt(Candidate, frozen=True, kw_only=True, omit_defaults=True):
    """A script that answers a question; its source is the label of who wrote it."""

    kind: Kind
    split: str
    tokens: int
    """How many it took, the end included."""
    ended: bool
    """Whether it came to its end; one that did not is wrong."""
    logprob: float


class HeldOut(Question, frozen=True, kw_only=True):
    """A held-out task."""

    kind: Kind
    split: str

    def attempt(
        self, script: str, source: str, *, tokens: int, ended: bool = True, logprob: float = 0.0
    ) -> Attempt:
        """A script as the answer; one that did not come to its end is none."""
        return Attempt(
            self.task.key,
            script if ended else "",
            source,
            kind=self.kind,
            split=self.split,
            tokens=tokens,
            ended=ended,
            logprob=logprob,
        )


def questions(datasets: Path, splits: list[str], first: int | None = None) -> list[HeldOut]:
    """The held-out tasks of both kinds, in the order of their files.

    Args:
        datasets: the folder of the data sets.
        splits: those that are asked for.
        first: only so many of each kind and split.

    Raises:
        OSError: a file is missing.
        ValueError: a file is none of Parquet.
    """
    found: list[HeldOut] = []
    kinds: tuple[Kind, ...] = ("construct", "refine")
    for kind in kinds:
        for split in splits:
            for row in rows(datasets, kind, split)[:first]:
                task = Task(row["key"], row["prompt"])
                found.append(HeldOut(task=task, given=row.get("given"), kind=kind, split=split))
    return found


def given(asked: Sequence[HeldOut]) -> list[Attempt]:
    """The scripts that tasks give, as candidates for the evaluator."""
    return [each.attempt(each.given, GIVEN, tokens=0) for each in asked if each.given is not None]


def summary(attempts: Sequence[Attempt], seconds: float) -> dict[str, Any]:
    """What is told of a model's attempts beside the file of them.

    >>> one = Attempt("a", "", "me", kind="refine", split="test", tokens=7, ended=True, logprob=0.0)
    >>> summary([one], 0.5)  # doctest: +NORMALIZE_WHITESPACE
    {'scripts': 1, 'ended': 1, 'tokens_median': 7, 'seconds': 0.5, 'scripts_per_second': 2.0}

    Args:
        attempts: all of them; given scripts are none.
        seconds: that they took.
    """
    return {
        "scripts": len(attempts),
        "ended": sum(each.ended for each in attempts),
        "tokens_median": median(each.tokens for each in attempts) if attempts else 0,
        "seconds": round(seconds, 2),
        "scripts_per_second": round(len(attempts) / max(seconds, 1e-9), 2),
    }


def facts_path(attempts: Path) -> Path:
    """The file beside a file of attempts that says how they were made.

    >>> facts_path(Path("attempts.jsonl")).name
    'attempts.run.json'
    """
    return attempts.with_suffix(".run.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what all need to know who ask: the questions, how often each, and where attempts go."""
    parser.add_argument("--label", required=True, help="names the model in the results")
    parser.add_argument("--out", type=Path, required=True, help="JSONL of attempts")
    parser.add_argument("--datasets", type=Path, default=files.DATASETS, help="(%(default)s)")
    parser.add_argument("--splits", nargs="+", default=["test", "hard"], help="(%(default)s)")
    parser.add_argument("--first", type=count, help="only so many questions of each set")
    parser.add_argument("--copies", type=count, default=8, help="scripts for each (%(default)s)")
    parser.add_argument("--temperature", type=_amount, default=1.0, help="(%(default)s)")


def count(text: str) -> int:
    """A number of an option, 1 or more."""
    return _checked(int(text), 1)


def _amount(text: str) -> float:
    return _checked(float(text), 0)


def _checked(value: Any, least: int) -> Any:
    if not least <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{value}: expected {least} or more")
    return value
