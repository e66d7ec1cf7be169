"""Random decisions for a sketch, most of which a GPU has room for.

TVM draws a tile of a loop by giving each of its prime factors to any of the parts. For products
and convolutions only about one try of eight keeps the limits of a GPU that way: the parts inside a
block of threads are too large. Here the outermost part gets more, and what is bound to threads is
counted before TVM sees it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from tvm.s_tir.schedule import Trace

WEIGHTS = (0, 1, 2, 4)
"""By how much more than each other part the outermost one gets; one of them for each draw."""

DRAWS = 1000
"""How often decisions are drawn before the limits on threads are given up."""

LEAST_THREADS, MOST_THREADS, MOST_VIRTUAL = 32, 1024, 8

Decisions = dict[Any, list[int]]


class _Tile(NamedTuple):
    """A tile that is to be decided."""

    instruction: Any
    parts: int
    most_inner: int
    """The most that the innermost part may be; -1 for no limit."""
    extent: int


class Sketch:
    """A sketch, of which the tiles are drawn here and all other decisions by TVM."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        decided = trace.decisions
        self._tiles = [
            _Tile(inst, int(inst.attrs[0]), int(inst.attrs[1]), _product(decided[inst]))
            for inst in trace.insts
            if inst.kind.name == "SamplePerfectTile"
        ]
        self._bound = list(_bound(trace))

    def draw(self, rng: Random) -> Trace:
        """Return the sketch with tiles decided at random."""
        weight = rng.choice(WEIGHTS)
        for _ in range(DRAWS):
            parts = [draw_tile(rng, tile, weight) for tile in self._tiles]
            if self._fits(parts):
                break
        decisions = {tile.instruction: part for tile, part in zip(self._tiles, parts, strict=True)}
        return Trace(self._trace.insts, decisions)

    def _fits(self, parts: list[list[int]]) -> bool:
        """Whether every loop that is bound to threads has an extent that it may have."""
        return all(
            _is_allowed(thread, math.prod(parts[tile][place] for tile, place in factors))
            for thread, factors in self._bound
        )


def draw_tile(rng: Random, tile: _Tile, weight: int) -> list[int]:
    """Give each prime factor of the extent to a part; the outermost one has so many more lots."""
    factors = list(_primes(tile.extent))
    while True:
        parts = [1] * tile.parts
        for factor in factors:
            parts[max(rng.randrange(tile.parts + weight) - weight, 0)] *= factor
        if parts[-1] <= tile.most_inner or tile.most_inner < 0:
            return parts


def _bound(trace: Trace) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield each thread that a loop of tiles is bound to, and the parts of tiles it is made of."""
    made: dict[Any, list[tuple[int, int]]] = {}
    tiles = 0
    for inst in trace.insts:
        kind = inst.kind.name
        if kind == "SamplePerfectTile":
            made |= {output: [(tiles, place)] for place, output in enumerate(inst.outputs)}
            tiles += 1
        elif kind == "Split":
            factors = list(inst.inputs[1:])
            made |= {
                output: made.get(factor, []) if factor is not None else []
                for output, factor in zip(inst.outputs, factors, strict=True)
            }
        elif kind == "Fuse":
            made[inst.outputs[0]] = [part for loop in inst.inputs for part in made.get(loop, [])]
        elif kind == "Bind" and made.get(inst.inputs[0]):
            yield str(inst.attrs[0]), made[inst.inputs[0]]


def _is_allowed(thread: str, extent: int) -> bool:
    if thread == "vthread.x":
        return extent <= MOST_VIRTUAL
    if thread == "threadIdx.x":
        return LEAST_THREADS <= extent <= MOST_THREADS
    # A warp is below it, for tensor cores.
    return thread != "threadIdx.y" or extent <= MOST_THREADS // LEAST_THREADS


def _product(parts: Any) -> int:
    return math.prod(int(part) for part in parts)


def _primes(number: int) -> Iterator[int]:
    """Yield the prime factors."""
    factor = 2
    while factor * factor <= number:
        while number % factor == 0:
            yield factor
            number //= factor
        factor += 1
    if number > 1:
        yield number
