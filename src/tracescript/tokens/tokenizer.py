"""The class `Tokenizer`: text to ids and back, at the level of symbols or of phrases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import as_file, files
from operator import index
from typing import TYPE_CHECKING, Literal, SupportsIndex, TypeAlias

from tracescript.errors import TokenizerError
from tracescript.files.output import File, name_of
from tracescript.model import Trace
from tracescript.tokens.phrases import check_phrases, read_phrases, write_phrases
from tracescript.tokens.symbols import (
    BOS,
    EOS,
    PAD,
    SYMBOL_COUNT,
    SYMBOLS,
    split_symbols,
)
from tracescript.tokens.trie import merge, new_trie

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["Level", "Tokenizer"]

Level: TypeAlias = Literal["symbol", "phrase"]
"""One token a symbol, or one token a phrase of symbols."""

_LEVELS = ("symbol", "phrase")
_PHRASES = "phrases.json"


class Tokenizer:
    r"""Turns any text into ids and ids back into the same text.

    Laws, for every text that UTF-8 can hold:

    - `decode(encode(text)) == text`;
    - the `parts` of the ids, one after the other, are the ids of the symbol level;
    - the ids of the symbol level are the first ids of every phrase level.

    `Tokenizer.default()` gives the one that comes with the package, `Tokenizer.load` one from
    a file, `Tokenizer.train` a new one. A tokenizer does not change, and can be pickled, for the
    processes of a data loader for instance.

    Args:
        phrases: the texts of the phrases, in the order of their ids; none is the symbol level.
        place: what to call the phrases in an error.

    Raises:
        TokenizerError: a text cannot be a phrase.

    >>> tokenizer = Tokenizer(["GetLoops b-1 -> l3\n"])
    >>> tokenizer.encode("GetLoops b-1 -> l3\n") == [tokenizer.vocab_size - 1]
    True
    """

    pad_id: int = PAD
    """The id of `<pad>`, which stands for nothing."""
    bos_id: int = BOS
    """The id of `<bos>`, which a model may see before a text."""
    eos_id: int = EOS
    """The id of `<eos>`, which a model may write after a text."""

    def __init__(self, phrases: Iterable[str] = (), *, place: str = "phrases") -> None:
        texts = tuple(phrases)
        parts = check_phrases(texts, place)
        self._phrases = texts
        self._bytes = SYMBOLS + tuple(text.encode() for text in texts)
        self._parts = tuple((number,) for number in range(SYMBOL_COUNT)) + parts
        self._trie = new_trie(enumerate(parts, SYMBOL_COUNT)) if parts else None

    @classmethod
    def default(cls, level: Level = "phrase") -> Tokenizer:
        """Give the tokenizer that comes with the package; the same object each time.

        Args:
            level: `phrase`, about a tenth of the tokens, or `symbol`, one token a symbol.
        """
        if level not in _LEVELS:
            raise TokenizerError("level", "symbol or phrase", repr(level))
        return _default(level)

    @classmethod
    def load(cls, path: File) -> Tokenizer:
        """Read a tokenizer that `save` has written.

        Args:
            path: a path, `-` for standard input, or an open binary file.

        Raises:
            TokenizerError: the file is no vocabulary that this release can use.
            OSError: the file cannot be read.
        """
        return cls(read_phrases(path), place=f"{name_of(path)}: phrases")

    @classmethod
    def train(
        cls,
        scripts: Iterable[Trace | str],
        vocab_size: int = 4096,
        *,
        progress: Callable[[str], object] | None = None,
    ) -> Tokenizer:
        """Learn the phrases that make some scripts short.

        Needs Hugging Face `tokenizers`. No phrase holds a decision value.

        Args:
            scripts: traces, or scripts as text.
            vocab_size: the most ids that the new tokenizer may have.
            progress: is told in a few words what is being done.
        """
        # Optional, and only for training.
        from tracescript.tokens.train import train_phrases

        return cls(train_phrases(scripts, vocab_size, progress=progress))

    @property
    def level(self) -> Level:
        """`symbol` where there are no phrases, else `phrase`."""
        return "phrase" if self._phrases else "symbol"

    @property
    def vocab_size(self) -> int:
        """The number of ids; they are 0 and up."""
        return len(self._bytes)

    @property
    def phrases(self) -> tuple[str, ...]:
        """The texts of the phrases, in the order of their ids."""
        return self._phrases

    def encode(self, text: str) -> list[int]:
        """Give the ids of a text, without special tokens; `decode` gives back the text.

        Raises:
            TokenizerError: the text has a lone surrogate, which UTF-8 cannot hold.
        """
        try:
            symbols = split_symbols(text.encode())
        except UnicodeEncodeError as error:
            found = f"{text[error.start]!r} at character {error.start}"
            raise TokenizerError("text", "a text that UTF-8 can hold", found) from None
        return merge(symbols, self._trie) if self._trie else symbols

    def decode(self, ids: Iterable[int]) -> str:
        """Give the text of some ids; special tokens stand for nothing.

        Raises:
            TokenizerError: an id is out of range, or the bytes of the tokens are not UTF-8.
        """
        numbers = ids if isinstance(ids, Sequence) else list(ids)
        texts = self._bytes
        try:
            data = b"".join([texts[number] for number in numbers])
        except (IndexError, TypeError):
            raise self._no_id(numbers) from None
        if numbers and min(numbers) < 0:
            raise self._no_id(numbers)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            found = f"{data[error.start : error.end]!r} at byte {error.start}"
            raise TokenizerError("ids", "tokens whose bytes are UTF-8", found) from None

    def _no_id(self, ids: Sequence[int]) -> TokenizerError:
        place, found = next(
            (place, number) for place, number in enumerate(ids) if not self._is_id(number)
        )
        expected = f"an id from 0 to {self.vocab_size - 1}"
        return TokenizerError(f"ids[{place}]", expected, repr(found))

    def token_bytes(self, token: int) -> bytes:
        """The bytes that one id stands for; none for a special token."""
        return self._bytes[self._known(token)]

    def parts(self, token: int) -> tuple[int, ...]:
        """The symbol-level ids that an id stands for; those of a symbol are itself."""
        return self._parts[self._known(token)]

    def _known(self, token: int) -> int:
        if not self._is_id(token):
            raise self._no_id([token])
        return token

    def _is_id(self, value: object) -> bool:
        # The integers of numpy and torch are ids, too.
        return isinstance(value, SupportsIndex) and 0 <= index(value) < self.vocab_size

    def save(self, path: File) -> None:
        """Write the vocabulary to a file, all of it or none.

        Law: `load` gives a tokenizer with the same ids.

        Args:
            path: a path, `-` for standard output, or an open binary file.
        """
        write_phrases(path, self._phrases)

    def to_huggingface(
        self, folder: str | os.PathLike[str] | None = None
    ) -> PreTrainedTokenizerFast:
        """Make a Hugging Face tokenizer with the same ids for every text.

        Needs `transformers`.

        Args:
            folder: where to write the files that `AutoTokenizer.from_pretrained` reads.
        """
        # Optional, and only for this.
        from tracescript.tokens.hf import to_huggingface

        return to_huggingface(self, folder)

    def __reduce__(self) -> tuple[object, ...]:
        # By its phrases: the tree that is made of them is deeper than pickle goes.
        return type(self), (self._phrases,)

    def __repr__(self) -> str:
        return f"<Tokenizer: {self.vocab_size} ids, {self.level} level>"


@cache
def _default(level: Level) -> Tokenizer:
    if level == "symbol":
        return Tokenizer()
    with as_file(files("tracescript.tokens") / _PHRASES) as path:
        return Tokenizer.load(path)
