"""From a task to what the model is asked, and from its tokens to the text of a script."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tracescript import TraceScriptError, workloads
from tracescript.masks import MaskState, ScriptMasker, TaskInfo, task_of
from tracescript.tokens import Tokenizer
from training.evaluate.results import Task
from training.model.sample import Request
from training.model.sequences import ask

__all__ = ["request", "text", "warm"]


def request(
    tokenizer: Tokenizer, task: Task, given: str | None, masker: ScriptMasker | None
) -> Request:
    """What the model is asked for a script of a task.

    Args:
        tokenizer: the model's.
        task: the workload.
        given: the script to refine; None is to construct one.
        masker: makes the masks of the answers, which then fit the workload; None is without.
    """
    ids = ask(tokenizer, task.prompt, given)
    return Request(ids, None if masker is None else _Begin(masker, _info(task)))


def text(tokenizer: Tokenizer, ids: Iterable[int]) -> str:
    """The text of a script; tokens that make no text are as wrong as no script at all."""
    try:
        return tokenizer.decode(ids)
    except TraceScriptError:
        return ""


def warm(masker: ScriptMasker, scripts: Iterable[str], task: Task) -> None:
    """Make the tables of masks before the clock runs.

    Args:
        masker: whose tables.
        scripts: some of the training data.
        task: any workload; what it is does not matter.
    """
    masker.warm(scripts, _info(task))


class _Begin(msgspec.Struct, frozen=True):
    """Makes the mask states of one workload."""

    masker: ScriptMasker
    task: TaskInfo

    def __call__(self) -> MaskState:
        return self.masker.new(self.task)


def _info(task: Task) -> TaskInfo:
    return task_of(workloads.loads(task.prompt))
