"""The steps of a Llama model for many scripts at once, each at a place of its own.

The caches of transformers hold rows that go on in step, so a batch lasts as long as its longest
script, and each step waits for some hundred kernels to be launched. Here a row that has ended
takes the next prompt at once, and on a GPU a step is one launch of a recorded graph. The modules
of the model compute; only the cache and what reads it are our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

__all__ = ["Decoder"]

_STRIDE = 128
"""A step reads the cache up to a multiple of so many places."""


class Decoder:
    """A cache with a slot for each script, and the steps that fill it.

    Law: the logits are those of the model for the tokens of a slot so far.

    Args:
        model: a `LlamaForCausalLM` with as many key-value heads as heads.
        slots: scripts at once.
        length: tokens of the longest of them, prompt included.

    Raises:
        ValueError: the model shares key-value heads.
    """

    def __init__(self, model: Any, slots: int, length: int) -> None:
        config = model.config
        if config.num_key_value_heads != config.num_attention_heads:
            raise ValueError("expected a model with as many key-value heads as heads")
        self._model = model
        # Older releases of transformers have another name for it.
        names = signature(model.model.forward).parameters
        self._cache_name = "cache" if "cache" in names else "past_key_values"
        self._heads = config.num_attention_heads
        self._width = config.hidden_size // self._heads
        self._length = -(-length // _STRIDE) * _STRIDE
        shape = (config.num_hidden_layers, 2, slots, self._heads, self._length, self._width)
        self._all_places = torch.arange(self._length, device=model.device)
        self._take(torch.zeros(shape, dtype=model.dtype, device=model.device))

    def _take(self, cache: Tensor) -> None:
        self._cache = cache
        self._rows = torch.arange(cache.shape[2], device=cache.device)
        self._tokens = torch.zeros_like(self._rows)
        self._places = torch.zeros_like(self._rows)
        self._graphs: dict[int, tuple[Any, Tensor]] = {}

    def keep(self, slots: Sequence[int]) -> None:
        """Go on with some slots alone, which are numbered anew in their order.

        A step takes as long as there are slots, whether they are free or not.
        """
        # Graphs hold the memory that they were recorded with.
        self._graphs.clear()
        self._take(self._cache[:, :, torch.tensor(slots, device=self._cache.device)])

    def fill(self, prompts: Sequence[Sequence[int]], slots: Sequence[Sequence[int]]) -> Tensor:
        """Begin scripts.

        Args:
            prompts: tokens, at least one each.
            slots: for each prompt, the slots that begin with it.

        Returns:
            The logits of the next token, (prompts, vocabulary).
        """
        device = self._model.device
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
        width = int(lengths.max())
        # Filled up at the right, where what comes before does not see it.
        ids = torch.tensor([[*each, *[0] * (width - len(each))] for each in prompts], device=device)
        cache = DynamicCache()
        out = self._model.model(input_ids=ids, use_cache=True, **{self._cache_name: cache})
        rows = torch.tensor([row for row, each in enumerate(slots) for _ in each], device=device)
        places = torch.tensor([slot for each in slots for slot in each], device=device)
        for number, layer in enumerate(cache.layers):
            self._cache[number, 0, places, :, :width] = layer.keys[rows]
            self._cache[number, 1, places, :, :width] = layer.values[rows]
        last = out.last_hidden_state[torch.arange(len(prompts), device=device), lengths - 1]
        return self._model.lm_head(last)

    def step(self, tokens: Sequence[int], places: Sequence[int]) -> Tensor:
        """Go on by a token in every slot.

        Args:
            tokens: the token of each slot.
            places: where in its sequence it stands. A slot that is free may have any token and
                place; it is filled anew before it is used.

        Returns:
            The logits of the next token, (slots, vocabulary); the next step overwrites them.
        """
        self._tokens.copy_(torch.tensor(tokens))
        self._places.copy_(torch.tensor(places))
        reach = -(-(max(places) + 1) // _STRIDE) * _STRIDE
        if self._tokens.device.type != "cuda":
            return self._step(reach)
        if reach not in self._graphs:
            self._graphs[reach] = self._record(reach)
        graph, logits = self._graphs[reach]
        graph.replay()
        return logits

    def _record(self, reach: int) -> tuple[Any, Tensor]:
        """Record a step as a graph; what it writes meanwhile is what the step itself writes."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                self._step(reach)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = self._step(reach)
        return graph, logits

    def _step(self, reach: int) -> Tensor:
        model = self._model.model
        hidden = model.embed_tokens(self._tokens)
        cos, sin = model.rotary_emb(hidden, self._places[:, None])
        turn = cos.transpose(0, 1)[0][:, None], sin.transpose(0, 1)[0][:, None]
        hides = (self._all_places[:reach] > self._places[:, None])[:, None]
        for number, layer in enumerate(model.layers):
            attended = self._attend(number, layer, layer.input_layernorm(hidden), turn, hides)
            hidden = hidden + attended
            hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
        return self._model.lm_head(model.norm(hidden))

    def _attend(
        self, number: int, layer: Any, hidden: Tensor, turn: tuple[Tensor, Tensor], hides: Tensor
    ) -> Tensor:
        attention = layer.self_attn
        parts = [attention.q_proj, attention.k_proj, attention.v_proj]
        query, key, value = (part(hidden).view(-1, self._heads, self._width) for part in parts)
        keys, values = self._cache[number]
        keys[self._rows, :, self._places] = _turned(key, *turn)
        values[self._rows, :, self._places] = value
        query = _turned(query, *turn) * self._width**-0.5
        scores = torch.einsum("shd,shld->shl", query, keys[:, :, : hides.shape[-1]])
        shares = scores.float().masked_fill(hides, float("-inf")).softmax(-1).to(hidden.dtype)
        found = torch.einsum("shl,shld->shd", shares, values[:, :, : hides.shape[-1]])
        return attention.o_proj(found.flatten(1))


def _turned(vectors: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding (Su et al., arXiv:2104.09864), halves against halves."""
    left, right = vectors.chunk(2, -1)
    return vectors * cos + torch.cat([-right, left], -1) * sin
