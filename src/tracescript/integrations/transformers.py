"""A logits processor for `generate` of Hugging Face transformers, and for what is built on it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tracescript.integrations.rows import Rows
from tracescript.masks import ScriptMasker, TaskInfo

__all__ = ["ScriptLogitsProcessor"]


class ScriptLogitsProcessor:
    """Lets through what a masker lets through: sampling, greedy search and beams.

    The place of a row in the batch does not matter, so beams may be reordered. One object can
    serve many calls of `generate` whose prompts have the same length.

    Args:
        masker: for the tokenizer of the model.
        prompt_length: the number of columns of the prompts, padding at the left included.
        tasks: the workloads of the prompts, in their order; all rows of a prompt have its task.
            None is no workload.
        max_new_tokens: that of `generate`: each row is then a finished script when it ends.
            The end takes no more tokens than there are, at the cost of what else might come.

    Raises:
        ValueError: no script is as short as `max_new_tokens`, or there is no task.
    """

    supports_continuous_batching = False
    """What transformers asks a processor: rows are told apart by their prompts' length."""

    def __init__(
        self,
        masker: ScriptMasker,
        prompt_length: int,
        tasks: Sequence[TaskInfo | None] | None = None,
        max_new_tokens: int | None = None,
    ) -> None:
        self._prompt_length = prompt_length
        self._rows = Rows(masker, tasks, max_new_tokens)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores, minus infinity for all tokens that may not come.

        Raises:
            ValueError: the rows are not as many for each task, or there are fewer scores than
                the tokenizer has tokens.
        """
        # Optional, and slow to import.
        torch: Any = import_module("torch")
        rows = input_ids[:, self._prompt_length :].tolist()
        allowed = torch.from_numpy(self._rows.allowed(rows, scores.shape[-1]))
        return scores.masked_fill(~allowed.to(scores.device), float("-inf"))
