"""From a task to what the model is asked, and from its tokens to the text of a script."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tracescript import TraceScriptError, workloads
from tracescript.masks import MaskState, ScriptMasker, TaskInfo, task_of
from tracescript.proposals import ask
from tracescript.tokens import Tokenizer
from training.data import files
from training.evaluate.results import Task
from training.model.sample import Request

__all__ = ["Question", "request", "text", "warm"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is asked; who asks may add what the answer is for."""

    task: Task
    given: str | None = None
    """The script to refine; None is to construct one."""


def request(tokenizer: Tokenizer, question: Question, masker: ScriptMasker | None) -> Request:
    """A question as tokens.

    Args:
        tokenizer: the model's.
        question: what is asked.
        masker: makes the masks of the answers, which then fit the workload; None is without.
    """
    ids = ask(tokenizer, question.task.prompt, question.given)
    return Request(ids, None if masker is None else _Begin(masker, _info(question.task)))


def text(tokenizer: Tokenizer, ids: Iterable[int]) -> str:
    """The text of a script; tokens that make no text are as wrong as no script at all."""
    try:
        return tokenizer.decode(ids)
    except TraceScriptError:
        return ""


def warm(masker: ScriptMasker, examples: Iterable[files.Row]) -> None:
    """Make the tables of masks before the clock runs.

    Args:
        masker: whose tables.
        examples: some of the training data; each script is followed for its own workload.
    """
    for row in examples:
        masker.warm([row["script"]], _info(Task(row["key"], row["prompt"])))


class _Begin(msgspec.Struct, frozen=True):
    """Makes the mask states of one workload."""

    masker: ScriptMasker
    task: TaskInfo

    def __call__(self) -> MaskState:
        return self.masker.new(self.task)


def _info(task: Task) -> TaskInfo:
    return task_of(workloads.loads(task.prompt))
