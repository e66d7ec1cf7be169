"""GRPO on the distribution that scripts are sampled from, masks included.

TRL's trainer takes the probabilities that tokens have among all tokens. A token that a mask has
left over may be very unlikely among these, and the ratio of two models' probabilities of it is then
arbitrary: training with them let the KL grow to 1e9 within 20 steps, and the reward fall.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from trl import GRPOTrainer

from training.model.sample import unpacked

__all__ = ["MaskedGRPOTrainer"]


class MaskedGRPOTrainer(GRPOTrainer):
    """A trainer that knows the masks under which its completions were sampled.

    Args:
        masks: by the tokens of a prompt with its completion, a mask in bits for each token of the
            completion, (tokens, words). It may change with each rollout.
        options: what TRL takes.
    """

    def __init__(
        self, *, masks: Mapping[tuple[int, ...], NDArray[np.int32]], **options: Any
    ) -> None:
        super().__init__(**options)
        self._masks = masks

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **_: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, None]:
        size = batch_size or len(input_ids)
        parts = [
            self._scored(model, ids, attended, logits_to_keep)
            for ids, attended in zip(input_ids.split(size), attention_mask.split(size), strict=True)
        ]
        logprobs, entropies = (torch.cat(each) for each in zip(*parts, strict=True))
        return logprobs, entropies if compute_entropy else None, None

    def _scored(
        self, model: Any, ids: torch.Tensor, attended: torch.Tensor, count: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities and entropies of the last tokens, (rows, count); 0 for padding."""
        with self.accelerator.autocast():
            out = model(input_ids=ids, attention_mask=attended, logits_to_keep=count + 1)
        written = attended[:, -count:].bool()
        logits = out.logits[:, :-1][written].float() / self.temperature
        allowed = self._allowed(ids, attended, logits)
        logprobs = logits.masked_fill(~allowed, float("-inf")).log_softmax(-1)
        chosen = logprobs.gather(1, ids[:, -count:][written][:, None])[:, 0]
        with torch.no_grad():
            entropies = -(logprobs.exp() * logprobs.masked_fill(~allowed, 0.0)).sum(-1)
        empty = chosen.new_zeros(written.shape)
        return empty.masked_scatter(written, chosen), empty.masked_scatter(written, entropies)

    def _allowed(
        self, ids: torch.Tensor, attended: torch.Tensor, logits: torch.Tensor
    ) -> torch.Tensor:
        """Which tokens could come at each place that was written, (places, vocabulary)."""
        rows = zip(ids.tolist(), attended.tolist(), strict=True)
        keys = [tuple(t for t, is_there in zip(*row, strict=True) if is_there) for row in rows]
        bits = np.concatenate([self._masks[key] for key in keys])
        return unpacked(torch.from_numpy(bits).to(logits.device), logits.shape[1])
