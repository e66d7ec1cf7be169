"""Which instructions of two traces are the same ones.

They are matched by keys, from the strictest to the loosest, each time in the gaps that are left
between the pairs so far. As in the differencing of syntax trees by Falleri and others,
"Fine-grained and accurate source code differencing" (2014), what is alike in every respect
comes first. What has changed is then recognised by its place: by what it is applied to, or at
last by its content alone. Whenever such a pair is found, more may be alike that depends on it.

But for `common_subsequence`, the time is linear up to a logarithm.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from tracescript.difference.keys import Numbers, exact_keys, keys_with_users, role_keys
from tracescript.difference.partners import Partners
from tracescript.difference.parts import Pair
from tracescript.difference.side import Side
from tracescript.difference.subsequence import common_subsequence

__all__ = ["Matches", "match"]


class Matches(NamedTuple):
    """The instructions that two traces have in common, as pairs in the order of the second.

    Attributes:
        kept: those that are the same.
        moved: those that are the same, but stand in another order.
        changed: those that are not what they were.
    """

    kept: list[Pair]
    moved: list[Pair]
    changed: list[Pair]


def match(a: Side, b: Side) -> Matches:
    """Find the instructions that two traces have in common.

    Laws: if the traces are the same but for names, all instructions are kept. What is found
    is the same whichever of the traces comes first.
    """
    # Of several matches that are equally good, it is always the same one that is taken.
    if b.order < a.order:
        turned = _match(b, a)
        return Matches(*(sorted([(i, j) for j, i in pairs], key=_new) for pairs in turned))
    return _match(a, b)


def _match(a: Side, b: Side) -> Matches:
    found = Partners(a, b)
    _match_exactly(found)
    _match_by_role(found, a.lines, b.lines)
    _match_exactly(found)
    _match_by_role(found, a.kinds, b.kinds)
    _match_exactly(found)
    _match_by_line(found)
    _match_exactly(found)
    matches = Matches([], [], [])
    for pair in found.pairs():
        if found.same(pair):
            (matches.moved if pair[1] in found.moved else matches.kept).append(pair)
        elif pair[1] in found.moved:
            # What is gone from here and is not the same there is not the one that went.
            found.part(pair)
        else:
            matches.changed.append(pair)
    return matches


def _new(pair: Pair) -> int:
    return pair[1]


def _match_exactly(found: Partners) -> None:
    """Match what is alike, with all that it depends on; first what has users that are alike."""
    if None not in found.to_a or None not in found.to_b:
        return
    numbers = Numbers()
    old = exact_keys(found.a, found.to_b, numbers)
    new = exact_keys(found.b, found.names_of_pairs(), numbers)
    used = keys_with_users(found.a, old), keys_with_users(found.b, new)
    _match_in_place(found, *used)
    _match_in_place(found, old, new)
    _match_moved(found, *used)
    _match_moved(found, old, new)


def _match_in_place(found: Partners, old: list[Hashable], new: list[Hashable]) -> None:
    pairs: list[Pair] = []
    for lefts, rights in found.gaps():
        pairs += _common(lefts, rights, [old[i] for i in lefts], [new[j] for j in rights])
    for pair in pairs:
        found.join(pair)
    for pair in pairs:
        if not found.may_be_same(pair):
            found.part(pair)


def _match_moved(found: Partners, old: list[Hashable], new: list[Hashable]) -> None:
    """Match what is alike and stands elsewhere, if it is clear which is which.

    It is if both traces have as many of a key.
    """
    places: defaultdict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for i, partner in enumerate(found.to_b):
        if partner is None:
            places[old[i]][0].append(i)
    for j, partner in enumerate(found.to_a):
        if partner is None:
            places[new[j]][1].append(j)
    for lefts, rights in places.values():
        if len(lefts) != len(rights):
            continue
        for pair in zip(lefts, rights, strict=True):
            if found.may_be_same(pair):
                found.join(pair)
                found.moved.add(pair[1])


def _match_by_role(found: Partners, old: list[str], new: list[str]) -> None:
    """Match what is alike in part, and is applied to the same."""
    own = found.names_of_pairs()
    for lefts, rights in found.gaps():
        numbers = Numbers()
        a = role_keys(found.a, old, lefts, found.to_b, numbers)
        b = role_keys(found.b, new, rights, own, numbers)
        for pair in _common(lefts, rights, a, b):
            found.join(pair)
            own[pair[1]] = pair[1]


def _match_by_line(found: Partners) -> None:
    """Match what is alike in itself, whatever it is applied to."""
    for lefts, rights in found.gaps():
        lines = [found.a.lines[i] for i in lefts], [found.b.lines[j] for j in rights]
        for pair in _common(lefts, rights, *lines):
            found.join(pair)


def _common(
    lefts: list[int], rights: list[int], old: Sequence[Hashable], new: Sequence[Hashable]
) -> list[Pair]:
    return [(lefts[i], rights[j]) for i, j in common_subsequence(old, new)]
