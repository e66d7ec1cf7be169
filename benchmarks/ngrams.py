"""A model of scripts that takes a second to train: which token follows the last ones, by counting.

It knows nothing of the workload it writes for. It stands in for a language model where what
matters is how far grammar, masks and oracle carry a weak one.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence


class NGrams:
    """Counts of the tokens that follow the last ones, up to `order` - 1 of them."""

    def __init__(self, order: int) -> None:
        self._order = order
        self._counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)

    def learn(self, scripts: Iterable[Sequence[int]]) -> None:
        """Count the tokens of scripts, each from its first to `<eos>`."""
        for tokens in scripts:
            for place, token in enumerate(tokens):
                for known in range(min(self._order, place + 1)):
                    self._counts[tuple(tokens[place - known : place])][token] += 1

    def draw(self, before: Sequence[int], allowed: Sequence[int] | None, rng: random.Random) -> int:
        """Draw the next token, by the longest context that has seen one of those allowed.

        Args:
            before: the tokens so far.
            allowed: the tokens that may come; None is all of them.
            rng: where chance comes from.
        """
        may = None if allowed is None else set(allowed)
        for known in range(min(self._order - 1, len(before)), -1, -1):
            context = tuple(before[len(before) - known :])
            seen = self._counts.get(context, {})
            fits = {t: n for t, n in seen.items() if may is None or t in may}
            if fits:
                return rng.choices(list(fits), weights=list(fits.values()))[0]
        assert allowed is not None
        return rng.choice(list(allowed))
