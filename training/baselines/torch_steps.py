"""What the PyTorch functions of all families are made with: their parts, and what follows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn import functional

Program = Callable[..., Tensor]
"""Takes the inputs of a workload and returns its output."""

Value = TypeVar("Value")


class MissingError(Exception):
    """Torch has no operator for a workload; says which one it would take."""


def pick(table: Mapping[str, Value], name: str) -> Value:
    """Return what a table has for a name.

    Raises:
        MissingError: it has nothing.
    """
    if name not in table:
        raise MissingError(f"no program of torch for {name!r}")
    return table[name]


WITH_INPUT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "mul": torch.mul,
    "sub": torch.sub,
    "max": torch.maximum,
    "residual": torch.add,
    "gate": torch.mul,
}
"""Steps of a chain that take an input of their own, already of a shape that is broadcast."""

ALONE: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "leaky": lambda out: functional.leaky_relu(out, 0.1),
    "clip": lambda out: torch.clamp(out, 0.0, 6.0),
    "sigmoid": torch.sigmoid,
    "silu": functional.silu,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "sqrt": lambda out: torch.sqrt(torch.abs(out)),
    "scale": lambda out: out * 0.125,
    "half": lambda out: out.to(torch.float16),
    "cast": lambda out: out.to(torch.float16 if out.dtype == torch.float32 else torch.float32),
    "gelu": functional.gelu,
    "hardswish": functional.hardswish,
    "negate": torch.neg,
    "flat": lambda out: out.flatten(1),
}
"""The other steps."""


def chain(out: Tensor, after: str, inputs: Sequence[Tensor]) -> Tensor:
    """Apply the steps that the words of `after` name; the inputs are theirs, in order."""
    place = 0
    for step in after.split():
        if step in WITH_INPUT:
            out = WITH_INPUT[step](out, inputs[place])
            place += 1
        else:
            out = ALONE[step](out)
    return out


def followed(compute: Program, count: int, after: str) -> Program:
    """Return a program of so many inputs, and a chain with inputs of its own."""
    return lambda *inputs: chain(compute(*inputs[:count]), after, inputs[count:])
