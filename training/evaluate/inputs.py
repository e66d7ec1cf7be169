"""Seeded inputs of a workload: floats of a style and a scale, integers that are valid indices."""

from __future__ import annotations

from typing import NamedTuple

import torch

from tracescript.workloads import Workload
from tracescript.workloads.limits import index_limits
from training.evaluate.reference import parameters


class InputSet(NamedTuple):
    """What one set of inputs is drawn from."""

    seed: int
    scale: float


SETS = (InputSet(1, 1.0), InputSet(2, 0.25), InputSet(3, 2.0))
"""Several seeds, and scales over which a wrong kernel with a fixed tolerance would slip through."""

STYLES = ("normal", "positive", "near one")
"""Tried in this order: roots and variances want positive inputs, long products inputs near one."""


class UnfitError(Exception):
    """A workload that cannot be judged, and why."""


def draw(workload: Workload, inputs: InputSet, style: str, device: str) -> list[torch.Tensor]:
    """Draw a tensor for each parameter that is an input, on the device.

    The same arguments give the same tensors on the same kind of device. Floats are drawn in double
    precision and then rounded, so that ties are rare.

    Raises:
        UnfitError: an index is computed from integers in a way that has no known bounds.
    """
    generator = torch.Generator(device).manual_seed(inputs.seed)
    try:
        limits = index_limits(workload)
    except ValueError as error:
        raise UnfitError(str(error)) from None
    drawn: list[torch.Tensor] = []
    for buffer, place in zip(parameters(workload), workload.params, strict=True):
        if place >= len(workload.inputs):
            continue
        dtype = torch_dtype(buffer.dtype)
        if dtype.is_floating_point:
            drawn.append(_floats(buffer.shape, inputs.scale, style, generator, device).to(dtype))
        else:
            low, high = _range(buffer.dtype, limits.get(place))
            whole = torch.randint(low, high, buffer.shape, generator=generator, device=device)
            drawn.append(whole.to(dtype))
    return drawn


def torch_dtype(name: str) -> torch.dtype:
    """Return torch's dtype of TVM's name.

    >>> torch_dtype("float16")
    torch.float16
    """
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise UnfitError(f"torch has no {name}")
    return dtype


def _floats(
    shape: tuple[int, ...], scale: float, style: str, generator: torch.Generator, device: str
) -> torch.Tensor:
    normal = torch.randn(shape, generator=generator, device=device, dtype=torch.float64)
    if style == "normal":
        return normal * scale
    if style == "positive":
        return (normal.abs() + 0.1) * scale
    return 1 + normal * 0.01 * scale


def _range(dtype: str, limit: int | None) -> tuple[int, int]:
    """The half-open range to draw integers from; full for narrow ones and for packed bits."""
    if limit is not None:
        return 0, limit
    if dtype == "bool":
        return 0, 2
    if dtype in ("int8", "uint8", "uint32"):
        info = torch.iinfo(torch_dtype(dtype))
        return info.min, info.max + 1
    return (0 if dtype.startswith("u") else -100), 100
