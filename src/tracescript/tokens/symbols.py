"""The fixed vocabulary: the texts that are one token, and the rule for where they may stand.

Ids are, in this order, three special tokens, the 256 bytes, and the symbols: texts of two
characters or more that mean one thing in a script. A symbol that follows a blank in a script
has that blank in front: ` l-1`, ` ->`, ` "main"`.

Law: the ids of one `VOCABULARY_VERSION` never change. Whoever adds a symbol, or an instruction
kind to `tracescript.instructions`, makes a new version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracescript.encode import HEADER
from tracescript.instructions import KINDS
from tracescript.literals import format_float
from tracescript.tokens.pattern import WORD, trie_pattern

__all__ = [
    "BOS",
    "EOS",
    "FIRST_BYTE",
    "FIRST_SYMBOL",
    "PAD",
    "SPECIALS",
    "SYMBOLS",
    "SYMBOL_COUNT",
    "SYMBOL_ID",
    "VOCABULARY_VERSION",
    "split_symbols",
]

VOCABULARY_VERSION = 1
"""Which set of symbols, in which order."""

SPECIALS = ("<pad>", "<bos>", "<eos>")
"""The names of the special tokens. None of them is ever made from text."""

PAD, BOS, EOS = range(len(SPECIALS))
FIRST_BYTE = len(SPECIALS)
FIRST_SYMBOL = FIRST_BYTE + 256

_REFERENCES = {"l": 64, "b": 32, "v": 32}
"""The longest distance that is one token, for each letter."""

_REFERENCES_IN_LISTS = 8
"""The same at the start of a list, where a reference has no blank in front."""

_RUNS = {"b": 8, "l": 16, "v": 8}
_INTEGERS = 256
_SMOOTH_INTEGERS = 1024
_LARGE_INTEGERS = 65536
_FRACTIONS = 8
_INDENTS = 12
_KEYWORDS = ("true", "false", "null")

# Frozen with the version, unlike the texts in the table of kinds, which may grow.
_SCOPES = (
    "global",
    "shared",
    "shared.dyn",
    "local",
    "warp",
    "wmma.matrix_a",
    "wmma.matrix_b",
    "wmma.accumulator",
    "m16n8k8.matrixA",
    "m16n8k8.matrixB",
    "m16n8k8.matrixC",
    "metal.simdgroup",
    "global.texture",
)
_ANNOTATIONS = (
    "meta_schedule.auto_tensorize",
    "meta_schedule.auto_tensorize_init",
    "meta_schedule.cache_type",
    "meta_schedule.cooperative_fetch",
    "meta_schedule.inline_rule",
    "meta_schedule.layout_rewrite_preproc",
    "meta_schedule.parallel",
    "meta_schedule.random_compute_producer",
    "meta_schedule.tensor_core_enabled",
    "meta_schedule.thread_extent_high_inclusive",
    "meta_schedule.thread_extent_low_inclusive",
    "meta_schedule.tiling_structure",
    "meta_schedule.unroll_explicit",
    "meta_schedule.unroll_implicit",
    "meta_schedule.vectorize",
    "meta_schedule.warp_execution",
    "double_buffer_scope",
    "layout_free_placeholders",
    "permuted_layout",
    "pragma_auto_unroll_max_step",
    "pragma_unroll_explicit",
    "software_pipeline_async_stages",
    "software_pipeline_order",
    "software_pipeline_stage",
    "tir.manifest_shared_memory_local_stage",
    "vector_bytes",
    "warp_execution",
)
_TILINGS = ("SSRSRS", "SSSRRSRS", "SSSSRRSRS", "SSSRRS", "SSRSSR", "SRSRS", "SSR", "SSRS", "SRS")
_DTYPES = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "bfloat16"),
)


def _strings() -> Iterator[str]:
    yield from ("main", "root", "read", "write")
    for axis in ("blockIdx", "threadIdx", "vthread"):
        yield from (f"{axis}.{letter}" for letter in "xyz")
    yield from ("vthread", *_SCOPES, *_ANNOTATIONS, *_TILINGS, *_DTYPES)


def _integers() -> Iterator[int]:
    """Small ones all; larger ones that have no prime factor above 5; powers of two."""
    yield from (-1, -2, *range(_INTEGERS + 1))
    for number in range(_INTEGERS + 1, _SMOOTH_INTEGERS + 1):
        rest = number
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            yield number
    for base in (2, 3):
        yield from _doubled(base * _SMOOTH_INTEGERS // 2)


def _doubled(number: int) -> Iterator[int]:
    while number <= _LARGE_INTEGERS:
        if number > _SMOOTH_INTEGERS:
            yield number
        number *= 2


def _floats() -> Iterator[float]:
    """The fractions that probabilities usually are, and zero."""
    yield 0.0
    fractions = {part / whole for whole in range(1, _FRACTIONS + 1) for part in range(1, whole + 1)}
    yield from sorted(fractions | {0.1, 0.05, 1 / 9, 1 / 16})


def _words() -> Iterator[str]:
    """The words that follow a blank, or the bracket of a list or dict."""
    yield from _KEYWORDS
    yield from (str(number) for number in _integers())
    yield from (format_float(number) for number in _floats())


def _symbols() -> Iterator[str]:
    yield HEADER
    yield from sorted(KINDS)
    yield from (" |", " ->", " =", " [", " {", ": ", ' "', ' @"', " @null")
    # Inside strings: index maps are JSON, most of it quotes, newlines and indentation.
    yield from ('\\"', *("\\n" + " " * indent for indent in range(0, _INDENTS, 2)))
    for letter, longest in _REFERENCES.items():
        yield from (f" {letter}-{distance}" for distance in range(1, longest + 1))
        yield from (f"{letter}-{distance}" for distance in range(1, _REFERENCES_IN_LISTS + 1))
    for letter, longest in _RUNS.items():
        yield f" {letter}"
        yield from (f" {letter}{length}" for length in range(2, longest + 1))
    for word in _words():
        yield f" {word}"
        if len(word) > 1:
            yield word
    yield from (f' "{text}"' for text in _strings())


_TEXTS = tuple(_symbols())

SYMBOLS: tuple[bytes, ...] = (
    *(b"" for _ in SPECIALS),
    *(bytes([byte]) for byte in range(256)),
    *(text.encode() for text in _TEXTS),
)
"""What each id of the symbol level stands for; a special token stands for no bytes."""

SYMBOL_COUNT = len(SYMBOLS)

SYMBOL_ID: dict[bytes, int] = {
    text: number for number, text in enumerate(SYMBOLS) if number >= FIRST_BYTE
}
"""The id of each byte and symbol."""

_find = re.compile(
    trie_pattern([(text, text[0] in WORD, text[-1] in WORD) for text in _TEXTS]).encode("latin-1")
    + rb"|[\x00-\xff]"
).findall


def split_symbols(text: bytes) -> list[int]:
    """The symbol-level ids of a text, by the rule of longest match; law: joined, they are it."""
    return list(map(SYMBOL_ID.__getitem__, _find(text)))
