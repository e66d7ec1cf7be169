"""Batches of about as many tokens each, of sequences that are about as long.

transformers batches by count alone; scripts differ in length by a factor of a hundred, so a batch
that fits the long ones would leave the device idle with the short ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

__all__ = ["TokenBatches"]

NEIGHBOURS = 64
"""Sequences are sorted by length among so many batches' worth, so that batches differ."""


class TokenBatches:
    """Places of sequences, batch by batch; another order each epoch.

    Law: an epoch has each place once, and the same seed and epoch give the same batches.

    Args:
        lengths: the tokens of each sequence.
        tokens: of a batch at most, padding included; a longer sequence is a batch of its own.
        seed: of the order.
    """

    def __init__(self, lengths: Sequence[int], tokens: int, seed: int = 0) -> None:
        self.lengths = lengths
        self.tokens = tokens
        self.seed = seed
        self.epoch = 0
        self.batch_size = 1
        """What accelerate asks for; batches have no common size."""
        self.drop_last = False

    def set_epoch(self, epoch: int) -> None:
        """Take the order of that epoch from now on."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        order = random.Random(f"{self.seed} {self.epoch}")
        places = list(range(len(self.lengths)))
        order.shuffle(places)
        mean = max(sum(self.lengths) // max(len(self.lengths), 1), 1)
        window = max(NEIGHBOURS * self.tokens // mean, 1)
        batches: list[list[int]] = []
        for begin in range(0, len(places), window):
            near = sorted(places[begin : begin + window], key=self.lengths.__getitem__)
            batches += self._cut(near)
        order.shuffle(batches)
        return iter(batches)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _cut(self, places: list[int]) -> Iterator[list[int]]:
        batch: list[int] = []
        for place in places:
            if batch and self.lengths[place] * (len(batch) + 1) > self.tokens:
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch
