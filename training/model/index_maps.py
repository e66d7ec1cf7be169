"""Phrases for the index maps of tensor-core scripts.

They are JSON of 565 to 4,248 characters, of which a few numbers are to be chosen: sizes, and the
numbers of random variables. What lies between these is the same over and over, so that it is taken
as it is, and a frequent map as a whole: each token of a map is a choice. Byte-pair merges would cut
it into pieces that depend on what else is frequent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from tracescript.tokens.phrases import MAX_PHRASE, fault_of

CHOICE = re.compile(r'((?<=\\"value\\"):\d+|(?<=\\"value\\": )\d+|(?<=\\")v\d+(?=\\"))')
"""What is to be chosen in an index map: the value of an integer, the name of a variable."""


def phrases_of_maps(scripts: Iterable[str], uses: int) -> list[str]:
    """The pieces of index maps that are used so often, and the parts of the other maps."""
    maps = Counter(text for each in scripts for text in index_maps(each))
    wholes = _frequent(maps, uses, pieces)
    rest = Counter({text: n for text, n in maps.items() if not wholes.issuperset(pieces(text))})
    parts = _frequent(rest, uses, parts_of_map)
    return sorted(part for part in wholes | parts if fault_of(part, []) is None)


def _frequent(maps: Counter[str], uses: int, cut: Callable[[str], Iterable[str]]) -> set[str]:
    """What index maps are cut into, if so many of them or more are."""
    counts: Counter[str] = Counter()
    for text, count in maps.items():
        for part in set(cut(text)):
            counts[part] += count
    return {part for part, count in counts.items() if count >= uses}


def index_maps(script: str) -> Iterator[str]:
    r"""The index maps of a script, each as it stands between its quotes.

    >>> list(index_maps('TransformLayout b-1 @"{\\"a\\":1}" | 0 1 null true\n'))
    ['{\\"a\\":1}']
    """
    for line in script.split("\n"):
        kind = line.split(" ", 1)[0]
        if kind in ("TransformLayout", "TransformBlockLayout") and '"{' in line:
            yield line[line.index('"{') + 1 : line.rindex('}"') + 1]


def pieces(text: str) -> Iterator[str]:
    """An index map in as few pieces as phrases can be, each of whole parts.

    A choice begins a piece and does not end it: its number might go on.
    """
    piece = choice = ""
    for part in parts_of_map(text):
        if part[-1:].isdigit():
            choice = part
            continue
        if len(piece) + len(choice) + len(part) > MAX_PHRASE:
            yield piece
            piece = ""
        piece += choice + part
        choice = ""
    yield piece


def parts_of_map(text: str) -> Iterator[str]:
    r"""What is to be chosen in an index map, and what lies between; law: joined, they are it.

    >>> list(parts_of_map(r'{\"value\":7}},{\"data\":\"v35\"}'))
    ['{\\"value\\"', ':7', '}},{\\"data\\":\\"', 'v35', '\\"}']
    """
    for part in CHOICE.split(text):
        rest = part
        while len(rest) > MAX_PHRASE:
            end = rest.rindex("},", 0, MAX_PHRASE) + 1
            yield rest[:end]
            rest = rest[end:]
        yield rest


def without(script: str, known: set[str]) -> Iterator[str]:
    """What is left of a script when the known parts of its index maps are cut out."""
    rest = script
    for text in index_maps(script):
        before, rest = rest.split(text, 1)
        yield before
        if not known.issuperset(pieces(text)):
            yield from [part for part in parts_of_map(text) if part not in known]
    yield rest
