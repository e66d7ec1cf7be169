"""The network: a small decoder of the Llama family, made from scratch."""

from __future__ import annotations

from transformers import LlamaConfig, LlamaForCausalLM

from tracescript.tokens import Tokenizer

__all__ = ["LONGEST", "SIZES", "make"]

LONGEST = 2048
"""Tokens of a prompt, a given script and a script together; longer examples are left out."""

SIZES = {
    "toy": {"hidden_size": 64, "num_hidden_layers": 2, "heads": 2, "intermediate_size": 160},
    "small": {"hidden_size": 384, "num_hidden_layers": 8, "heads": 6, "intermediate_size": 960},
}
"""Shapes by name. `small` has 15.1 M parameters, 30 MB in `bfloat16`."""


def make(size: str, tokenizer: Tokenizer) -> LlamaForCausalLM:
    """A network with random weights, from torch's global seed.

    Args:
        size: one of `SIZES`.
        tokenizer: its ids are the network's; embeddings and the last layer share weights.
    """
    shape = dict(SIZES[size])
    heads = shape.pop("heads")
    config = LlamaConfig(
        vocab_size=tokenizer.vocab_size,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=LONGEST,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_id,
        eos_token_id=tokenizer.eos_id,
        pad_token_id=tokenizer.pad_id,
        **shape,
    )
    return LlamaForCausalLM(config)
