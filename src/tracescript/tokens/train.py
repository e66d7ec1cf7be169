"""Learn phrases from scripts.

Byte-pair encoding over symbols proposes; what a text then costs under the real rule, the
longest match, decides. Pairs of neighbouring tokens are added and the least useful phrases
dropped, in turns, until the vocabulary has its size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, TypeAlias

from tracescript.encode import dumps
from tracescript.errors import TokenizerError
from tracescript.model import Trace
from tracescript.tokens.phrases import MAX_VOCABULARY, fault_of
from tracescript.tokens.symbols import SYMBOL_COUNT, SYMBOLS, split_symbols
from tracescript.tokens.trie import TOKEN, insert, merge, new_trie

__all__ = ["pieces", "train_phrases"]

Symbols: TypeAlias = tuple[int, ...]
Progress: TypeAlias = Callable[[str], object]

# A symbol as one character, for a trainer that knows texts only.
_PRIVATE = 0xE000

_CANDIDATES = 3
"""How many phrases are proposed for each one that is wanted."""

_KEPT = 0.9
"""The share of the phrases that one round of pruning keeps."""

_TURNS = 12
_FRESH = 0.15
"""The share of phrases that each turn tries anew."""

_LONG = 1000
"""From so many symbols on, a script counts once; shorter ones count more often, up to"""

_HEAVIEST = 8

(_NEWLINE,) = split_symbols(b"\n")
(_EQUALS,) = split_symbols(b" =")
(_LIST,) = split_symbols(b" [")
(_CLOSE,) = split_symbols(b"]")


def train_phrases(
    scripts: Iterable[Trace | str], vocab_size: int, *, progress: Progress | None = None
) -> list[str]:
    """Learn the phrases that make scripts short, longest first.

    Law: the same scripts in the same order give the same phrases.
    """
    wanted = vocab_size - SYMBOL_COUNT
    if not 0 < wanted <= MAX_VOCABULARY - SYMBOL_COUNT:
        expected = f"a number from {SYMBOL_COUNT + 1} to {MAX_VOCABULARY}"
        raise TokenizerError("vocab_size", expected, str(vocab_size))
    tell = progress or _ignore
    counts = _count(scripts)
    tell(f"{len(counts)} different pieces of {counts.total()}")
    corpus = [(list(piece), count) for piece, count in counts.items() if len(piece) > 1]
    chosen = _propose(counts, wanted * _CANDIDATES)
    tell(f"{len(chosen)} proposals")
    chosen = _prune(corpus, chosen, wanted, tell)
    for _ in range(_TURNS):
        chosen = _grow(corpus, chosen, int(wanted * _FRESH))
        chosen = _prune(corpus, chosen, wanted, tell)
    return sorted(map(_text, chosen), key=lambda text: (-len(text), text))


def _ignore(_: str) -> None:
    pass


def _count(scripts: Iterable[Trace | str]) -> Counter[Symbols]:
    """Count the pieces of scripts; long scripts count for little more than short ones."""
    counts: Counter[Symbols] = Counter()
    for script in scripts:
        text = script if isinstance(script, str) else dumps(script)
        symbols = split_symbols(text.encode())
        weight = min(_HEAVIEST, 1 + _LONG // (len(symbols) + 1))
        for piece in pieces(symbols):
            counts[piece] += weight
    return counts


def pieces(symbols: list[int]) -> list[Symbols]:
    r"""What is left of a script when its decision values are cut out.

    >>> [_text(piece) for piece in pieces(split_symbols(b"A -> v2 = [8 4]\nB = 3\n"))]
    ['A -> v2 = [', ']\nB =', '\n']
    """
    found: list[Symbols] = []
    start = place = 0
    while True:
        try:
            place = symbols.index(_EQUALS, place) + 1
            end = symbols.index(_NEWLINE, place)
        except ValueError:
            break
        if symbols[place] == _LIST:
            place += 1
        found.append(tuple(symbols[start:place]))
        while symbols[end - 1] == _CLOSE:
            end -= 1
        start = place = end
    found.append(tuple(symbols[start:]))
    return found


def _propose(counts: Counter[Symbols], number: int) -> list[Symbols]:
    """The phrases of byte-pair encoding that may be phrases at all."""
    # Optional, and only for training.
    from tokenizers import Tokenizer, models, trainers

    model: Any = Tokenizer(models.BPE())
    trainer: Any = trainers.BpeTrainer(
        vocab_size=SYMBOL_COUNT + number, min_frequency=2, show_progress=False
    )
    words: list[str] = []
    for piece, count in counts.items():
        words += [_characters(piece)] * count
    model.train_from_iterator(words, trainer)
    vocabulary: dict[str, int] = model.get_vocab()
    found = [tuple(ord(char) - _PRIVATE for char in word) for word in sorted(vocabulary)]
    return [phrase for phrase in found if _is_phrase(phrase)]


def _grow(corpus: list[tuple[list[int], int]], chosen: list[Symbols], number: int) -> list[Symbols]:
    """Add the pairs of neighbouring tokens that are most frequent."""
    parts = _parts(chosen)
    trie = new_trie(enumerate(chosen, SYMBOL_COUNT))
    pairs: Counter[tuple[int, int]] = Counter()
    for piece, count in corpus:
        tokens = merge(piece, trie)
        for pair in pairwise(tokens):
            pairs[pair] += count
    known = set(chosen)
    fresh: list[Symbols] = []
    for left, right in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        if len(fresh) == number:
            break
        phrase = parts[left] + parts[right]
        if phrase not in known and _is_phrase(phrase):
            known.add(phrase)
            fresh.append(phrase)
    return chosen + fresh


def _prune(
    corpus: list[tuple[list[int], int]], chosen: list[Symbols], wanted: int, tell: Progress
) -> list[Symbols]:
    """Drop the phrases whose loss costs least, a part of them at a time."""
    while True:
        uses, total = _uses(corpus, chosen)
        tell(f"{len(chosen)} phrases, {total} tokens")
        gains = _gains(chosen, uses)
        number = max(wanted, int(len(chosen) * _KEPT))
        order = sorted(range(len(chosen)), key=lambda place: (-gains[place], chosen[place]))
        kept = [chosen[place] for place in order[:number] if gains[place] > 0]
        if len(kept) <= wanted:
            return kept
        chosen = kept


def _uses(corpus: list[tuple[list[int], int]], chosen: list[Symbols]) -> tuple[list[int], int]:
    """How often each phrase is used, and the number of tokens."""
    trie = new_trie(enumerate(chosen, SYMBOL_COUNT))
    uses = [0] * (SYMBOL_COUNT + len(chosen))
    for piece, count in corpus:
        for token in merge(piece, trie):
            uses[token] += count
    return uses[SYMBOL_COUNT:], sum(uses)


def _gains(chosen: list[Symbols], uses: list[int]) -> list[int]:
    """How many tokens more there would be without each phrase."""
    trie = new_trie()
    ends = [insert(trie, SYMBOL_COUNT + number, phrase) for number, phrase in enumerate(chosen)]
    gains: list[int] = []
    for number, phrase in enumerate(chosen):
        token = ends[number].pop(TOKEN)
        gains.append(uses[number] * (len(merge(list(phrase), trie)) - 1))
        ends[number][TOKEN] = token
    return gains


def _is_phrase(phrase: Symbols) -> bool:
    """Whether symbols that stood together somewhere always are what their text is cut into."""
    symbols: list[int] = []
    return fault_of(_text(phrase), symbols) is None and tuple(symbols) == phrase


def _parts(chosen: list[Symbols]) -> list[Symbols]:
    return [(number,) for number in range(SYMBOL_COUNT)] + chosen


def _characters(piece: Symbols) -> str:
    return "".join([chr(_PRIVATE + symbol) for symbol in piece])


def _text(phrase: Symbols) -> str:
    return b"".join([SYMBOLS[symbol] for symbol in phrase]).decode("latin-1")
