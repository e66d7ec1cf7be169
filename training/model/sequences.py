"""What the model reads and writes, as tokens: the examples of the training data.

What it is asked is what `tracescript.proposals.ask` makes. The script and its end follow, and are
all that it learns.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import groupby
from multiprocessing.connection import Connection
from operator import itemgetter
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow.parquet as pq

from tracescript.proposals import Encoder, ask
from tracescript.tokens import Tokenizer
from training import pool
from training.data import files

__all__ = [
    "TOKENIZER",
    "Part",
    "Sequence",
    "load_tokenizer",
    "measured",
    "rows",
    "sequence",
    "sequences",
    "valid",
]

TOKENIZER = Path(__file__).with_name("tokenizer.json")

ONE_IN = 20
"""One workload in so many, by its key, is kept from training to validate with."""

_SHARE = 1000
"""Examples that a process encodes at a time."""

Part = Literal["train", "validation"]


class Sequence(msgspec.Struct, frozen=True):
    """An example as tokens."""

    ids: list[int]
    start: int
    """Where the part begins that is learnt."""

    @property
    def labels(self) -> list[int]:
        """The ids, -100 for those that are not learnt."""
        return [-100] * self.start + self.ids[self.start :]


def load_tokenizer() -> Tokenizer:
    """The tokenizer that `training.model.vocabulary` made."""
    return Tokenizer.load(TOKENIZER)


def sequence(encoder: Encoder, prompt: str, script: str, given: str | None = None) -> Sequence:
    """An example, as the model learns it."""
    asked = ask(encoder, prompt, given)
    return Sequence([*asked, *encoder.encode(script), encoder.eos_id], len(asked))


def valid(part: Part, datasets: Path = files.DATASETS) -> list[files.Row]:
    """The pre-training set: scripts that pass the post-processors, not measured.

    Each is there twice, alone and with another one of its workload as the given one: the next one
    in the order of their texts, which mostly has the same sketch. Which is faster is not known.
    """
    alone = rows(datasets, "pretrain", part)
    ordered = sorted(alone, key=itemgetter("key", "script"))
    workloads = [list(each) for _, each in groupby(ordered, itemgetter("key"))]
    return alone + [
        {**row, "given": other["script"]}
        for examples in workloads
        for row, other in zip(examples, examples[1:] + examples[:1], strict=True)
        if row["script"] != other["script"]
    ]


def measured(part: Part, datasets: Path = files.DATASETS) -> list[files.Row]:
    """Both tasks on measured scripts: the best ones, and faster ones for given ones."""
    return [
        row
        for name in ("construct", "refine")
        for row in rows(datasets, name, "train")
        if (int(row["key"], 16) % ONE_IN == 0) == (part == "validation")
    ]


def sequences(
    encoder: Encoder, examples: list[files.Row], processes: int | None = None
) -> list[Sequence]:
    """The examples as the model learns them, in their order.

    Forks this process, which must not have used threads or a GPU.

    Args:
        encoder: the tokenizer of the model.
        examples: rows with a prompt, a script, and a given one where it is to be refined.
        processes: that encode; None is one for each core.
    """
    shares = [slice(at, at + _SHARE) for at in range(0, len(examples), _SHARE)]
    found: dict[int, list[Sequence]] = {}
    serve = partial(_encode, encoder, examples)
    for outcome in pool.results(shares, serve, processes or os.cpu_count() or 1):
        if outcome.answer is None:
            raise RuntimeError(f"examples {outcome.job} were not encoded: {outcome.reason}")
        found[outcome.job.start] = msgspec.msgpack.decode(outcome.answer, type=list[Sequence])
    return [each for share in shares for each in found[share.start]]


def _encode(encoder: Encoder, examples: list[files.Row], pipe: Connection) -> None:
    while True:
        made = [
            sequence(encoder, row["prompt"], row["script"], row.get("given"))
            for row in examples[pipe.recv()]
        ]
        pipe.send_bytes(msgspec.msgpack.encode(made))


def rows(datasets: Path, name: str, part: str) -> list[files.Row]:
    """The rows of a part of a data set.

    Raises:
        OSError: there is no such file.
        ValueError: it is none of Parquet, or cut off.
    """
    path = datasets / name / f"{part}.parquet"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    return pq.read_table(path).to_pylist()
