"""From a task to what the model is asked, and from its tokens to the text of a script."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from tracescript import TraceScriptError, workloads
from tracescript.masks import TaskInfo, task_of
from tracescript.proposals import ask
from tracescript.tokens import Tokenizer
from training.evaluate.results import Task
from training.model.sample import Request
from training.model.sequences import rows

__all__ = ["Question", "examples", "request", "text"]

_SOME = 300
"""Examples after which a mask rarely needs a table that is not there yet."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is asked; who asks may add what the answer is for."""

    task: Task
    given: str | None = None
    """The script to refine; None is to construct one."""


def request(tokenizer: Tokenizer, question: Question) -> Request:
    """A question as tokens, and the workload for the masks of the answers."""
    ids = ask(tokenizer, question.task.prompt, question.given)
    return Request(ids, _info(question.task.prompt))


def text(tokenizer: Tokenizer, ids: Iterable[int]) -> str:
    """The text of a script; tokens that make no text are as wrong as no script at all."""
    try:
        return tokenizer.decode(ids)
    except TraceScriptError:
        return ""


def examples(datasets: Path) -> list[tuple[str, TaskInfo]]:
    """Some scripts of the training data and their workloads, to make the tables of masks from."""
    found = rows(datasets, "pretrain", "train")
    return [(row["script"], _info(row["prompt"])) for row in found[:: max(len(found) // _SOME, 1)]]


def _info(prompt: str) -> TaskInfo:
    return task_of(workloads.loads(prompt))
