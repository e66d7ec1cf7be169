"""Is an output right? Norms against a float64 reference, and fakes that must be caught.

Everything is relative to the reference, so neither zeros nor a small scale slip through: an output
is right if it is finite, its error in the 2-norm is at most `tolerance` of the reference's norm,
and no element is off by more than `ELEMENT` times that, measured against the element itself and
the root mean square of the reference. Integers must be equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

ELEMENT = 16.0
"""How much further than the whole one element may be off."""

ROUNDOFF = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11}
ROUNDOFF[torch.bfloat16] = 2.0**-8

LEAST = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 5e-3, torch.bfloat16: 4e-2}
"""Room for approximate functions; below the error of tf32 for float32 (3e-4)."""


class Verdict(NamedTuple):
    """How far an output is from the reference."""

    error: float
    """The relative error in the 2-norm; infinite if an element is not finite."""
    reason: str
    """Why it is wrong; empty if it is right."""


def tolerance(dtype: torch.dtype, length: int) -> float:
    """The largest relative error of a right output of a sum of so many terms.

    Rounding errors of a sum grow with the square root of its length, as a rule (Higham, *Accuracy
    and Stability of Numerical Algorithms*, 2.8); twice that is allowed.

    Args:
        dtype: the narrowest float that anything is computed in.
        length: the number of terms.

    >>> tolerance(torch.float32, 4096)
    0.0001
    >>> tolerance(torch.float16, 4096)
    0.0625
    """
    return max(LEAST[dtype], 2 * ROUNDOFF[dtype] * length**0.5)


def judge(out: torch.Tensor, reference: torch.Tensor, allowed: float) -> Verdict:
    """Compare an output with the reference; `allowed` is the tolerance, unused for integers."""
    if not out.dtype.is_floating_point:
        wrong = int((_plain(out) != _plain(reference)).sum())
        error = wrong / max(out.numel(), 1)
        return Verdict(error, f"{wrong} of {out.numel()} integers differ" if wrong else "")
    found = out.to(torch.float64)
    if not bool(torch.isfinite(found).all()):
        count = int((~torch.isfinite(found)).sum())
        return Verdict(float("inf"), f"{count} of {out.numel()} elements are not finite")
    difference = (found - reference).abs_()
    norm = float(torch.linalg.vector_norm(reference))
    off = float(torch.linalg.vector_norm(difference))
    error = off / norm if norm else (0.0 if off == 0 else float("inf"))
    if error > allowed:
        return Verdict(error, f"relative error {error:.2g}, allowed {allowed:.2g}")
    mean = norm / max(reference.numel(), 1) ** 0.5
    worst = float((difference / (reference.abs() + mean)).max()) if norm else 0.0
    if worst > ELEMENT * allowed:
        return Verdict(error, f"an element is off by {worst:.2g} of its size")
    return Verdict(error, "")


def fakes(
    right: torch.Tensor, stale: torch.Tensor, poison: torch.Tensor
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield outputs that a cheating kernel would leave; every one of them must be judged wrong.

    Args:
        right: what the kernel should compute, in the output's dtype.
        stale: what it should compute from the inputs of another seed.
        poison: what the buffer holds before the run.
    """
    yield "zeros", torch.zeros_like(right)
    middle = right.flatten()[right.numel() // 2]
    yield "a constant", middle.expand(right.shape).clone()
    yield "an untouched buffer", poison
    written = max(right.numel() * 3 // 1000, 1)
    if written < right.numel():
        yield "0.3% written", _part(right, poison, written)
        yield "0.3% written over zeros", _part(right, torch.zeros_like(right), written)
    yield "the result of another seed", stale


def copies(right: torch.Tensor, inputs: list[torch.Tensor]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the inputs of the same dtype, copied into the output again and again until it is full.

    They are fakes, too, unless the workload does nothing but move elements.
    """
    for number, tensor in enumerate(inputs):
        if tensor.dtype == right.dtype:
            times = -(-right.numel() // max(tensor.numel(), 1))
            flat = tensor.flatten().repeat(min(times, 1 << 20))[: right.numel()]
            if flat.numel() == right.numel():
                yield f"input {number} copied", flat.reshape(right.shape)


def _part(right: torch.Tensor, rest: torch.Tensor, count: int) -> torch.Tensor:
    fake = rest.clone().flatten()
    fake[:count] = right.flatten()[:count]
    return fake.reshape(right.shape)


def poison(tensor: torch.Tensor) -> None:
    """Overwrite a tensor with what no kernel leaves by chance: NaN, or for integers a pattern."""
    raw = tensor.reshape(-1).view(torch.uint8)
    raw.fill_(0xFF if tensor.dtype.is_floating_point else 0xA5)


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors hold the same bits."""
    return torch.equal(left.reshape(-1).view(torch.uint8), right.reshape(-1).view(torch.uint8))


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """As int64, because torch compares few of the unsigned dtypes."""
    return tensor.to(torch.int64)
