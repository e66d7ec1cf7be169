"""The same tokens in Hugging Face's formats; needs `transformers`.

A text is first cut by the one expression that finds the longest entry at each place, then each
piece is looked up as a whole. Bytes are spelled in GPT-2's alphabet, so that no text is
unknown and every engine that reads byte-level tokenizers reads this one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracescript.tokens.pattern import WORD, Entry, trie_pattern
from tracescript.tokens.symbols import FIRST_BYTE, FIRST_SYMBOL, SPECIALS, SYMBOL_COUNT, SYMBOLS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

    from tracescript.tokens.tokenizer import Tokenizer

__all__ = ["add_to", "to_huggingface"]


def to_huggingface(
    tokenizer: Tokenizer, folder: str | os.PathLike[str] | None = None
) -> PreTrainedTokenizerFast:
    """Make a Hugging Face tokenizer; law: it gives every text the ids that `encode` gives.

    The names of special tokens in a text are text, as for `encode`.

    Args:
        tokenizer: whose ids to use.
        folder: where to write the files that `AutoTokenizer.from_pretrained` reads.
    """
    # Optional, and slow to import.
    from transformers import PreTrainedTokenizerFast

    pad, bos, eos = SPECIALS
    made: Any = PreTrainedTokenizerFast(
        tokenizer_object=_backend(tokenizer),
        pad_token=pad,
        bos_token=bos,
        eos_token=eos,
        split_special_tokens=True,
        clean_up_tokenization_spaces=False,
    )
    if folder is not None:
        made.save_pretrained(folder)
    return made


def _backend(tokenizer: Tokenizer) -> Any:
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    spell = _alphabet()
    texts = [tokenizer.token_bytes(number) for number in range(tokenizer.vocab_size)]
    vocabulary: dict[str, int] = dict(zip(SPECIALS, range(FIRST_BYTE), strict=True))
    vocabulary |= {spell(texts[number]): number for number in range(FIRST_BYTE, len(texts))}
    backend: Any = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=[], ignore_merges=True))
    pattern = trie_pattern(_entries(tokenizer)) + r"|[\s\S]"
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(
        [tokenizers.AddedToken(name, special=True, normalized=False) for name in SPECIALS]
    )
    return backend


def _entries(tokenizer: Tokenizer) -> list[Entry]:
    """All tokens of two characters or more, with the guards of their first and last symbol."""
    entries: list[Entry] = []
    for number in range(FIRST_SYMBOL, tokenizer.vocab_size):
        text = tokenizer.token_bytes(number).decode()
        parts = tokenizer.parts(number)
        entries.append((text, _guarded(parts[0], 0), _guarded(parts[-1], -1)))
    return entries


def _guarded(symbol: int, place: int) -> bool:
    text = SYMBOLS[symbol].decode("latin-1")
    return len(text) > 1 and text[place] in WORD


def add_to(tokenizer: PreTrainedTokenizerBase) -> int:
    """Add symbols as whole tokens to a pretrained byte-level tokenizer, such as Qwen's.

    A symbol is added if the tokenizer has no token for it yet. Laws: scripts and all other
    texts come back exactly; ids that existed stay what they were; adding twice adds nothing.
    An added token is cut out of every text, so numbers in prose become other tokens, too.

    Returns:
        The number of tokens added, by which the embeddings of a model must grow.
    """
    from tokenizers import AddedToken

    spell = _alphabet()
    known = tokenizer.get_vocab()
    texts = [SYMBOLS[number] for number in range(FIRST_SYMBOL, SYMBOL_COUNT)]
    names = [text.decode() for text in texts if spell(text) not in known]
    added: Any = [
        AddedToken(name, normalized=False, single_word=False, lstrip=False, rstrip=False)
        for name in names
        if name not in known
    ]
    return tokenizer.add_tokens(added)


def _alphabet() -> Callable[[bytes], str]:
    """GPT-2's spelling of bytes as printable characters."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {byte: chr(byte) for byte in printable}
    table |= {byte: chr(256 + number) for number, byte in enumerate(others)}

    def spell(text: bytes) -> str:
        return "".join([table[byte] for byte in text])

    return spell
