r"""What the model reads and writes, as tokens: two tasks, one form.

    construct:  <bos> prompt <bos> script <eos>
    refine:     <bos> prompt <bos> given <bos> script <eos>

A prompt is the text of a workload (`tracescript.workloads`), a script is TraceScript. The model
learns the last part alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

import msgspec
import pyarrow.parquet as pq

from tracescript.tokens import Tokenizer
from training.data import files

__all__ = [
    "TOKENIZER",
    "Encoder",
    "Part",
    "Sequence",
    "ask",
    "load_tokenizer",
    "measured",
    "rows",
    "sequence",
    "valid",
]

TOKENIZER = Path(__file__).with_name("tokenizer.json")

ONE_IN = 20
"""One workload in so many, by its key, is kept from training to validate with."""

Part = Literal["train", "validation"]


class Encoder(Protocol):
    """A tokenizer, as far as sequences need it: ours, or one of Hugging Face."""

    @property
    def bos_id(self) -> int:
        """The id that stands in front of each part."""
        ...

    @property
    def eos_id(self) -> int:
        """The id at the end."""
        ...

    @property
    def pad_id(self) -> int:
        """The id that fills up batches."""
        ...

    def encode(self, text: str) -> list[int]:
        """Give the ids of a text, without special tokens."""
        ...


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


def ask(encoder: Encoder, prompt: str, given: str | None = None) -> list[int]:
    """What the model is given before it writes.

    Args:
        encoder: the tokenizer of the model.
        prompt: the text of a workload.
        given: the script to refine; None is to construct one.
    """
    mark = encoder.bos_id
    ids = [mark, *encoder.encode(prompt), mark]
    return ids if given is None else [*ids, *encoder.encode(given), mark]


def sequence(encoder: Encoder, prompt: str, script: str, given: str | None = None) -> Sequence:
    """An example, as the model learns it."""
    asked = ask(encoder, prompt, given)
    return Sequence([*asked, *encoder.encode(script), encoder.eos_id], len(asked))


def valid(encoder: Encoder, part: Part, datasets: Path = files.DATASETS) -> Iterator[Sequence]:
    """The pre-training set: scripts that pass the post-processors, not measured."""
    for row in rows(datasets, "pretrain", part):
        yield sequence(encoder, row["prompt"], row["script"])


def measured(encoder: Encoder, part: Part, datasets: Path = files.DATASETS) -> Iterator[Sequence]:
    """Both tasks on measured scripts: the best ones, and faster ones for given ones."""
    for name in ("construct", "refine"):
        for row in rows(datasets, name, "train"):
            is_kept_out = int(row["key"], 16) % ONE_IN == 0
            if is_kept_out == (part == "validation"):
                yield sequence(encoder, row["prompt"], row["script"], row.get("given"))


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
