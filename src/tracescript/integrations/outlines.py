"""A logits processor for outlines."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tracescript.integrations.rows import Rows
from tracescript.masks import ScriptMasker, TaskInfo

__all__ = ["script_processor"]


def script_processor(
    model: Any,
    masker: ScriptMasker,
    tasks: Sequence[TaskInfo | None] | None = None,
    max_new_tokens: int | None = None,
) -> Any:
    """Make the processor that `outlines.Generator(model, processor=...)` takes.

    It masks with the arrays of the model's own library. outlines' own way, a `CFG` of
    `grammar_text`, works with the backend llguidance, too, but knows the grammar only; and it
    compiles a function at first use, which takes half a minute or more on a CPU.

    Args:
        model: a model of outlines that runs locally, on torch or numpy.
        masker: for the tokenizer of the model.
        tasks: the workloads of the prompts of a batch, in their order; None is no workload.
        max_new_tokens: what is given to the generator: each script is then finished.

    Raises:
        ValueError: no script is as short as `max_new_tokens`, or there is no task.
    """
    # Optional, and slow to import.
    base: Any = import_module("outlines.processors").OutlinesLogitsProcessor

    class ScriptProcessor(base):
        def __init__(self) -> None:
            base.__init__(self, model.tensor_library_name)
            self._rows = Rows(masker, tasks, max_new_tokens)
            self._prompt_length: int | None = None

        def reset(self) -> None:
            """Begin again: the next call comes with the prompts alone."""
            self._prompt_length = None

        def process_logits(self, input_ids: Any, logits: Any) -> Any:
            adapter: Any = self.tensor_adapter
            ids = adapter.to_list(input_ids)
            if self._prompt_length is None:
                self._prompt_length = len(ids[0])
            rows = [row[self._prompt_length :] for row in ids]
            refused = ~self._rows.allowed(rows, adapter.shape(logits)[-1])
            if model.tensor_library_name == "torch":
                torch: Any = import_module("torch")
                refused = torch.from_numpy(refused).to(logits.device)
            return adapter.apply_mask(logits, refused, float("-inf"))

    return ScriptProcessor()
