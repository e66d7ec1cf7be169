"""Which questions are asked next: more of those that are sometimes answered right."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

__all__ = ["Chooser"]

KEPT = 0.9
"""So much of what was counted of a kind still counts when it is asked again: a model changes."""

LEAST = 0.05
"""Added to the weight of each kind, so that none is left out."""


class Chooser:
    """Chooses among questions by their kinds.

    A group of answers that are all right or all wrong teaches GRPO nothing. How often a group has
    both goes by p * (1 - p), where p is the share of right answers; so a question of a kind is
    drawn with a weight of that, as far as p is known, and `LEAST`.

    Laws: no question comes twice in a step, nor again before the others of its kind; the same
    arguments and calls give the same questions.

    Args:
        kinds: of each question, in the order of their numbers.
        seed: of the draws.
        fits: whether a question can be asked at all; asked when its turn comes, then remembered.
    """

    def __init__(self, kinds: Sequence[Hashable], seed: int, fits: Callable[[int], bool]) -> None:
        self._kinds = kinds
        self._fits = fits
        self._chance = random.Random(seed)
        self._waiting: dict[Hashable, list[int]] = defaultdict(list)
        for number, kind in enumerate(kinds):
            self._waiting[kind].append(number)
        for numbers in self._waiting.values():
            self._chance.shuffle(numbers)
        self._right: dict[Hashable, float] = defaultdict(float)
        self._answers: dict[Hashable, float] = defaultdict(float)

    def choose(self, count: int) -> list[int]:
        """The numbers of so many questions.

        Raises:
            ValueError: there are not so many that fit.
        """
        chosen = dict[int, None]()
        full = set[Hashable]()
        while len(chosen) < count:
            open_ = [kind for kind in self._waiting if self._waiting[kind] and kind not in full]
            if not open_:
                raise ValueError(f"{len(chosen)} questions fit, {count} are to be asked")
            (kind,) = self._chance.choices(open_, [self._weight(kind) for kind in open_])
            waiting = self._waiting[kind]
            number = waiting.pop(0)
            if number in chosen:
                waiting.insert(0, number)
                full.add(kind)
            elif self._fits(number):
                waiting.append(number)
                chosen[number] = None
        return list(chosen)

    def learn(self, number: int, answers: Sequence[bool]) -> None:
        """Take note of which answers to a question were right."""
        kind = self._kinds[number]
        self._right[kind] = KEPT * self._right[kind] + sum(answers)
        self._answers[kind] = KEPT * self._answers[kind] + len(answers)

    def _weight(self, kind: Hashable) -> float:
        # As if one right and one wrong answer had been seen before.
        share = (self._right[kind] + 1) / (self._answers[kind] + 2)
        return len(self._waiting[kind]) * (share * (1 - share) + LEAST)
