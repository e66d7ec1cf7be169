"""Random inputs of a workload that its kernels can be compared on."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from tracescript.workloads import Workload
from tracescript.workloads.limits import index_limits

__all__ = ["STYLES", "Style", "Unmeasurable", "draw"]

Style: TypeAlias = Literal["normal", "positive"]

STYLES: tuple[Style, ...] = ("normal", "positive")
"""Roots and logarithms want positive inputs."""

_MOST = 100
"""Integers that are no indices are below this, which every dtype can hold."""


class Unmeasurable(Exception):
    """Kernels of a workload cannot be compared; the text says why."""


def draw(workload: Workload, style: Style, seed: int) -> list[Any]:
    """A numpy array for each input of the workload, in their order.

    The same arguments give the same arrays. Floats are normal, or the magnitudes of such plus 0.1.
    Integers that the workload uses as indices are valid ones; others are below 100.

    Raises:
        Unmeasurable: an index is computed from integers in a way that has no known bounds, or
            numpy does not know a dtype.
    """
    limits = _limits(workload)
    generator = np.random.default_rng(seed)
    drawn: list[Any] = []
    for place, buffer in enumerate(workload.inputs):
        dtype = numpy_dtype(buffer.dtype)
        if "float" in buffer.dtype:
            values = generator.standard_normal(buffer.shape)
            values = np.abs(values) + 0.1 if style == "positive" else values
        else:
            most = 2 if buffer.dtype == "bool" else limits.get(place, _MOST)
            values = generator.integers(0, most, buffer.shape)
        # Of no dimensions, they are no arrays.
        drawn.append(np.asarray(values).astype(dtype))
    return drawn


def numpy_dtype(name: str) -> Any:
    """The dtype of a name of TVM's; importing TVM has taught numpy `bfloat16` and the like.

    Raises:
        Unmeasurable: numpy has none.
    """
    try:
        return np.dtype(name)
    except TypeError:
        raise Unmeasurable(f"numpy has no {name}") from None


def _limits(workload: Workload) -> dict[int, int]:
    """What `index_limits` says of the inputs; nothing else may be an index."""
    try:
        limits = index_limits(workload)
    except ValueError as error:
        raise Unmeasurable(str(error)) from None
    if any(place >= len(workload.inputs) for place in limits):
        raise Unmeasurable("an index is the result of a computation")
    return limits
