"""Sampling scripts in batches, with masks or without.

`generate` of transformers carries rows that have ended until the last one has, and masks
one row after the other on the way to the device. Scripts differ much in length, so here rows that
have ended leave the batch, and masks travel as bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import msgspec
import numpy as np
import torch
from transformers import DynamicCache

from tracescript.masks import MaskState

__all__ = ["Draw", "Request", "Sampling", "sample"]

_COMPACT = 8
"""The rows that ended leave when they are one in so many."""


class Request(msgspec.Struct, frozen=True):
    """What the model is asked, and how the masks of its answers begin.

    Attributes:
        ids: the tokens in front of a script.
        begin: makes the mask state of a new script; None is no mask.
    """

    ids: list[int]
    begin: Callable[[], MaskState] | None = None


class Draw(msgspec.Struct, frozen=True):
    """A script as it was sampled.

    Attributes:
        ids: its tokens, without the end.
        logprobs: of its tokens, the end included, under the distribution that was sampled from.
        ended: whether it came to its end within the limit.
    """

    ids: list[int]
    logprobs: list[float]
    ended: bool


class Sampling(msgspec.Struct, frozen=True):
    """How scripts are sampled.

    Attributes:
        copies: scripts of each request.
        temperature: of the distribution; 0 takes the most likely token.
        limit: tokens of a script, the end included.
        rows: scripts that are written at once.
    """

    copies: int = 1
    temperature: float = 1.0
    limit: int = 512
    rows: int = 1024


def sample(
    model: Any,
    requests: Sequence[Request],
    sampling: Sampling,
    *,
    eos: int,
    pad: int,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> list[list[Draw]]:
    """Sample scripts, `sampling.copies` for each request.

    Law: with masks, all of them end. The same seed, machine and sizes give the same scripts.

    Args:
        model: a causal model of transformers; its device and dtype are taken as they are.
        requests: what is asked.
        sampling: how.
        eos: the id that ends a script.
        pad: the id that fills up prompts.
        seed: of the draws.
        progress: is told how many scripts have been written, batch by batch.
    """
    generator = torch.Generator(model.device).manual_seed(seed)
    each = max(sampling.rows // sampling.copies, 1)
    # Prompts of a batch are filled up to the longest one.
    order = sorted(range(len(requests)), key=lambda place: len(requests[place].ids))
    found: dict[int, list[Draw]] = {}
    for begin in range(0, len(order), each):
        places = order[begin : begin + each]
        batch = _Batch(model, [requests[place] for place in places], sampling, eos, pad, generator)
        draws = batch.run()
        for number, place in enumerate(places):
            found[place] = draws[number * sampling.copies : (number + 1) * sampling.copies]
        if progress is not None:
            progress(len(draws))
    return [found[place] for place in range(len(requests))]


class _Batch:
    """Rows that are written at once, as many for each request."""

    def __init__(
        self,
        model: Any,
        requests: Sequence[Request],
        sampling: Sampling,
        eos: int,
        pad: int,
        generator: torch.Generator,
    ) -> None:
        self._model = model
        # Older releases of transformers have another name for it.
        names = signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in names else "past_key_values"
        self._sampling = sampling
        self._eos = eos
        self._generator = generator
        copies = sampling.copies
        count = len(requests) * copies
        self._tokens: list[list[int]] = [[] for _ in range(count)]
        self._ended = [False] * count
        self._states: list[MaskState | None] = [
            None if request.begin is None else request.begin()
            for request in requests
            for _ in range(copies)
        ]
        self._logprobs: list[list[float]] = [[] for _ in range(count)]
        width = max(len(request.ids) for request in requests)
        ids = [[pad] * (width - len(request.ids)) + request.ids for request in requests]
        self._ids = torch.tensor(ids, device=model.device)
        lengths = torch.tensor([len(request.ids) for request in requests], device=model.device)
        places = torch.arange(width, device=model.device)
        self._attended = (places >= width - lengths[:, None]).long()

    @torch.inference_mode()
    def run(self) -> list[Draw]:
        """Write all rows to their ends."""
        copies = self._sampling.copies
        cache = DynamicCache()
        logits = self._forward(cache, self._ids, self._attended)
        cache.batch_repeat_interleave(copies)
        logits = logits.repeat_interleave(copies, 0)
        attended = self._attended.repeat_interleave(copies, 0)
        live = list(range(len(self._tokens)))
        for step in range(self._sampling.limit):
            tokens, logprobs = self._choose(logits, live, self._sampling.limit - step)
            self._take(live, tokens.tolist(), logprobs.tolist())
            kept = [place for place, row in enumerate(live) if not self._ended[row]]
            if not kept:
                break
            if (len(live) - len(kept)) * _COMPACT >= len(live):
                places = torch.tensor(kept, device=tokens.device)
                cache.batch_select_indices(places)
                tokens, attended = tokens[places], attended[places]
                live = [live[place] for place in kept]
            attended = torch.cat([attended, attended.new_ones(len(live), 1)], 1)
            logits = self._forward(cache, tokens[:, None], attended)
        return [
            Draw(*parts) for parts in zip(self._tokens, self._logprobs, self._ended, strict=True)
        ]

    def _forward(
        self, cache: DynamicCache, ids: torch.Tensor, attended: torch.Tensor
    ) -> torch.Tensor:
        """The logits of the next token, (rows, vocabulary), as float32."""
        places = attended.cumsum(1) - 1
        out = self._model(
            input_ids=ids,
            attention_mask=attended,
            position_ids=places[:, -ids.shape[1] :].clamp(min=0),
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: cache},
        )
        return out.logits[:, -1].float()

    def _choose(
        self, logits: torch.Tensor, live: list[int], left: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """A token of each row and its log-probability."""
        logits = self._masked(logits, live, left)
        if self._sampling.temperature == 0:
            return logits.argmax(-1), logits.new_zeros(len(live))
        logprobs = (logits / self._sampling.temperature).log_softmax(-1)
        # The place of the largest of these has the distribution of the logits (Gumbel, 1954).
        noise = torch.empty_like(logprobs).exponential_(generator=self._generator).log()
        tokens = (logprobs - noise).argmax(-1)
        return tokens, logprobs.gather(1, tokens[:, None])[:, 0]

    def _masked(self, logits: torch.Tensor, live: list[int], left: int) -> torch.Tensor:
        if self._states[live[0]] is None:
            return logits
        bits = np.zeros((len(live), -(-logits.shape[1] // 32)), dtype=np.int32)
        for place, row in enumerate(live):
            state = self._states[row]
            if state is not None and not self._ended[row]:
                state.fill_bitmask(bits, place, left=left)
            else:
                bits[place] = -1
        words = torch.from_numpy(bits).to(logits.device)
        shifts = torch.arange(32, device=logits.device, dtype=torch.int32)
        flags = (words[:, :, None] >> shifts & 1).flatten(1)[:, : logits.shape[1]]
        return logits.masked_fill(flags == 0, float("-inf"))

    def _take(self, live: list[int], tokens: list[int], logprobs: list[float]) -> None:
        """Note the tokens of the rows that have not ended."""
        for row, token, logprob in zip(live, tokens, logprobs, strict=True):
            if self._ended[row]:
                continue
            self._logprobs[row].append(logprob)
            state = self._states[row]
            if state is not None:
                state.advance(token)
            if token == self._eos:
                self._ended[row] = True
            else:
                self._tokens[row].append(token)
