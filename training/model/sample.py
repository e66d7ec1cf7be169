"""Sampling scripts in batches, with masks or without.

A batch never waits for its longest script: a row that has ended takes the next prompt, and when
there is none, the batch gets smaller. Masks are made while the device computes, and travel to it as
bits.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from tracescript.masks import TaskInfo
from training.model.decoder import Decoder
from training.model.masks import Begun, Masks, Taken

__all__ = ["Draw", "Request", "Sampling", "sample", "unpacked"]

_REFILL = 16
"""New prompts are taken when one row in so many is free."""

_FEWEST = 64
"""So many rows take no longer than one; more are let go when half of them have nothing to do."""


class Request(msgspec.Struct, frozen=True):
    """What the model is asked, and what the masks of its answers know.

    Attributes:
        ids: the tokens in front of a script.
        task: the workload that a script has to fit; None is any.
    """

    ids: list[int]
    task: TaskInfo | None = None


class Draw(msgspec.Struct, frozen=True):
    """A script as it was sampled.

    Attributes:
        ids: its tokens, without the end.
        logprobs: of its tokens, the end included, under the distribution that was sampled from.
        ended: whether it came to its end within the limit.
        masks: which of the tokens could come, in bits, one row for each of `logprobs`; empty
            without masks, and unless they were to be kept.
    """

    ids: list[int]
    logprobs: list[float]
    ended: bool
    masks: list[NDArray[np.int32]] = []


class Sampling(msgspec.Struct, frozen=True):
    """How scripts are sampled.

    Attributes:
        copies: scripts of each request.
        temperature: of the distribution; 0 takes the most likely token.
        limit: tokens of a script, the end included.
        rows: scripts that are written at once.
        keep_masks: whether the draws keep their masks.
    """

    copies: int = 1
    temperature: float = 1.0
    limit: int = 512
    rows: int = 1024
    keep_masks: bool = False


def sample(
    model: Any,
    requests: Sequence[Request],
    sampling: Sampling,
    *,
    eos: int,
    masks: Masks | None = None,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> list[list[Draw]]:
    """Sample scripts, `sampling.copies` for each request.

    Law: with masks, all of them end. The same seed, machine and sizes give the same scripts.

    Args:
        model: a Llama model of transformers; its device and dtype are taken as they are.
        requests: what is asked.
        sampling: how.
        eos: the id that ends a script.
        masks: makes the masks; None is without.
        seed: of the draws.
        progress: is told how many scripts have ended since it was told last.

    Returns:
        The scripts of each request, in the order of the requests.
    """
    if not requests:
        return []
    sampler = _Sampler(model, requests, sampling, eos, masks, seed)
    with _without_collections():
        while sampler.is_busy:
            ended = sampler.step()
            if ended and progress is not None:
                progress(ended)
    copies = sampling.copies
    done = [row.draw() for row in sampler.scripts]
    return [done[place * copies : (place + 1) * copies] for place in range(len(requests))]


@contextmanager
def _without_collections() -> Generator[None]:
    """Do not look for cycles of objects.

    Masks make none, but so many objects that looking at them takes longer than the masks.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Script:
    """A script that is being written."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.masks: list[NDArray[np.int32]] = []
        self.slot = -1
        """What it is called where masks are made: the row in which it began."""
        self.ended = False

    @property
    def place(self) -> int:
        """Where its last token stands in the sequence."""
        return len(self.request.ids) + len(self.ids) - 1

    def draw(self) -> Draw:
        return Draw(self.ids, self.logprobs, self.ended, self.masks)


class _Sampler:
    """Rows that are written at once, and the scripts that wait for a row."""

    def __init__(
        self,
        model: Any,
        requests: Sequence[Request],
        sampling: Sampling,
        eos: int,
        masks: Masks | None,
        seed: int,
    ) -> None:
        self._sampling = sampling
        self._eos = eos
        self._masks = masks
        self._device = model.device
        self._generator = torch.Generator(model.device).manual_seed(seed)
        self.scripts = [_Script(each) for each in requests for _ in range(sampling.copies)]
        rows = min(sampling.rows, len(self.scripts))
        longest = max(len(request.ids) for request in requests)
        self._decoder = Decoder(model, rows, longest + sampling.limit)
        self._rows: list[_Script | None] = [None] * rows
        self._waiting = deque(self.scripts)
        if masks is not None:
            masks.reset(rows)

    @property
    def is_busy(self) -> bool:
        """Whether there is something to write."""
        return bool(self._waiting) or any(self._rows)

    @torch.inference_mode()
    def step(self) -> int:
        """Write one token of each row; gives how many scripts have ended."""
        free = [row for row, script in enumerate(self._rows) if script is None]
        ended = 0
        if self._waiting and len(free) * _REFILL >= len(self._rows):
            ended += self._begin(free)
        running = [row for row, script in enumerate(self._rows) if script is not None]
        if not running:
            return ended
        if not self._waiting and _FEWEST < len(self._rows) >= 2 * len(running):
            self._decoder.keep(running)
            self._rows = [self._rows[row] for row in running]
            running = list(range(len(running)))
        tokens = [script.ids[-1] if script else self._eos for script in self._rows]
        places = [script.place if script else 0 for script in self._rows]
        return ended + self._take(self._decoder.step(tokens, places), {row: row for row in running})

    def _begin(self, free: list[int]) -> int:
        """Give free rows to scripts that wait, and write their first tokens."""
        new = {row: self._waiting.popleft() for row in free[: len(self._waiting)]}
        rows: dict[int, list[int]] = {}
        for row, script in new.items():
            self._rows[row] = script
            script.slot = row
            rows.setdefault(id(script.request), []).append(row)
        if self._masks is not None:
            limit = self._sampling.limit
            self._masks.update([Begun(row, each.request.task, limit) for row, each in new.items()])
        prompts = [new[group[0]].request.ids for group in rows.values()]
        logits = self._decoder.fill(prompts, list(rows.values()))
        counts = torch.tensor([len(group) for group in rows.values()], device=logits.device)
        in_order = [row for group in rows.values() for row in group]
        return self._take(logits.repeat_interleave(counts, 0), dict(enumerate(in_order)))

    def _take(self, logits: torch.Tensor, rows: dict[int, int]) -> int:
        """Choose the next token of rows; gives how many scripts have ended.

        Args:
            logits: has a line for each row, and perhaps others.
            rows: the row of a line, where a script is being written.
        """
        scripts = {line: script for line, row in rows.items() if (script := self._rows[row])}
        chosen = logits.float()
        if self._masks is not None:
            flags = self._flags(self._masks, scripts, *chosen.shape)
            chosen = chosen.masked_fill(~flags, float("-inf"))
        tokens, logprobs = self._choose(chosen)
        all_tokens, all_logprobs = tokens.tolist(), logprobs.tolist()
        taken: list[Taken] = []
        for line, script in scripts.items():
            token = all_tokens[line]
            script.logprobs.append(all_logprobs[line])
            script.ended = token == self._eos
            if not script.ended:
                script.ids.append(token)
            left = self._sampling.limit - len(script.logprobs)
            if script.ended or not left:
                self._rows[rows[line]] = None
            else:
                taken.append(Taken(script.slot, token, left))
        if self._masks is not None:
            self._masks.update(taken)
        return len(scripts) - len(taken)

    def _choose(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A token of each line and its log-probability."""
        if self._sampling.temperature == 0:
            return logits.argmax(-1), logits.new_zeros(len(logits))
        logprobs = (logits / self._sampling.temperature).log_softmax(-1)
        # The place of the largest of these has the distribution of the logits (Gumbel, 1954).
        noise = torch.empty_like(logprobs).exponential_(generator=self._generator).log()
        tokens = (logprobs - noise).argmax(-1)
        return tokens, logprobs.gather(1, tokens[:, None])[:, 0]

    def _flags(
        self, masks: Masks, scripts: dict[int, _Script], count: int, size: int
    ) -> torch.Tensor:
        """Which tokens may come, (lines, vocabulary)."""
        found = masks.bits([script.slot for script in scripts.values()])
        if self._sampling.keep_masks:
            for script, mask in zip(scripts.values(), found, strict=True):
                script.masks.append(mask)
        bits = np.full((count, found.shape[1]), -1, dtype=np.int32)
        bits[list(scripts)] = found
        return unpacked(torch.from_numpy(bits).to(self._device), size)


def unpacked(bits: torch.Tensor, size: int) -> torch.Tensor:
    """Masks of so many tokens, each a row of 32-bit words, as booleans (rows, tokens).

    >>> unpacked(torch.tensor([[5], [-1]], dtype=torch.int32), 4).tolist()
    [[True, False, True, False], [True, True, True, True]]
    """
    shifts = torch.arange(32, device=bits.device, dtype=torch.int32)
    return (bits[:, :, None] >> shifts & 1).flatten(1)[:, :size].bool()
