r"""Measure the ceilings of a device, and how fast no kernel of a workload can be.

    python -m training.baselines.roofline --out roofline.json --target nvidia/nvidia-h100 \
        --device cuda

A roofline has two bounds: the least bytes of a workload over the bandwidth, and its operations over
the rate of the arithmetic; the larger one is the bound of the workload.

- Bytes are those of the inputs and outputs, each moved once. What is read at computed places, such
  as the table of an embedding, counts as far as it is read: n random reads of m elements leave out
  exp(-n/m) of them. A stride can leave out more, which is not considered.
- Operations are those of the workload's text, as TVM counts them; zeros that a padding adds are
  among them. Transposed convolutions multiply mostly zeros if they have a stride: those are not.

The ceilings are those of `ceilings`. The share that a kernel reaches is its bound over its time.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from tracescript.workloads import Block, Load, Workload
from tracescript.workloads import loads as loads_workload
from training.baselines.ceilings import Ceilings, Sizes, ceilings_of, measure
from training.baselines.tasks import Listed, add_workloads, chosen
from training.data import files
from training.evaluate.card import command_of, run_facts
from training.evaluate.ends import TorchEnd
from training.evaluate.inputs import torch_dtype
from training.evaluate.reference import expressions, parameters
from training.evaluate.results import files_or_exit

Arithmetic = Literal["int8", "float16", "float32"]


class Cost(msgspec.Struct, frozen=True):
    """What a workload takes at least."""

    bytes: float
    operations: float
    arithmetic: Arithmetic
    """The fastest one that its dtypes allow."""


def bound(cost: Cost, ceilings: Ceilings) -> float:
    """Return the seconds below which no kernel of a workload is.

    >>> ceilings = Ceilings(bandwidth=4e12, float32=5e13, float16=8e14, int8=1.6e15)
    >>> bound(Cost(4e9, 1e9, "float32"), ceilings)
    0.001
    """
    return max(
        cost.bytes / ceilings.bandwidth, cost.operations / getattr(ceilings, cost.arithmetic)
    )


def cost_of(listed: Listed) -> Cost:
    """Return what a workload of the list takes at least."""
    workload = loads_workload(listed.prompt)
    dtypes = {buffer.dtype for buffer in workload.buffers}
    operations = listed.flops * _met(listed)
    return Cost(least_bytes(workload), operations, _arithmetic(dtypes))


def _met(listed: Listed) -> float:
    """The share of the multiplications that are not with zeros between elements of an input."""
    if listed.family == "conv2d_transpose":
        _, length, _, _, size, stride = listed.arguments
        return met_share(length, size, stride, (size - 1) // 2) ** 2
    if listed.family == "conv2d_transpose_nhwc":
        _, height, width, _, _, *window = listed.arguments
        return met_share(height, *window) * met_share(width, *window)
    return 1.0


def met_share(length: int, size: int, stride: int, padding: int) -> float:
    """Return how many of the pairs of output and tap meet an element, in one dimension.

    Element i and tap r of a transposed convolution meet in the output i * stride + r - padding.

    >>> met_share(2, 2, 2, 0)  # each of four outputs has two taps, of which one meets an element
    0.5
    """
    outputs = (length - 1) * stride - 2 * padding + size
    places = (i * stride + r - padding for i in range(length) for r in range(size))
    return sum(0 <= place < outputs for place in places) / (outputs * size)


def least_bytes(workload: Workload) -> float:
    """Return the bytes of inputs and outputs, of each as much as is read or written."""
    return sum(
        math.prod(buffer.shape) * torch_dtype(buffer.dtype).itemsize * _touched(workload, place)
        for buffer, place in zip(parameters(workload), workload.params, strict=True)
    )


def _arithmetic(dtypes: set[str]) -> Arithmetic:
    if dtypes & {"int8", "uint8"}:
        return "int8"
    return "float16" if dtypes & {"float16", "bfloat16"} else "float32"


def _touched(workload: Workload, place: int) -> float:
    """The share of a buffer that is read: all of it, unless it is only read at loaded places."""
    reads = list(_reads(workload, place))
    if not reads or not all(is_gathered for _, is_gathered in reads):
        return 1.0
    read = sum(count for count, _ in reads)
    return 1 - math.exp(-read / math.prod(workload.buffers[place].shape))


def _reads(workload: Workload, place: int) -> Iterator[tuple[int, bool]]:
    """How often each load of a buffer reads an element, and whether at a place that is loaded."""
    for block in workload.blocks:
        for load in _loads(block):
            if load.buffer == place:
                inner = (each for index in load.indices for each in expressions(index))
                yield _iterations(block), any(isinstance(each, Load) for each in inner)


def _loads(block: Block) -> Iterator[Load]:
    for output in block.outputs:
        for each in expressions(output.value):
            if isinstance(each, Load):
                yield each


def _iterations(block: Block) -> int:
    return math.prod(axis.extent for axis in block.axes if isinstance(axis.extent, int))


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    options = _parser().parse_args(arguments)
    with files_or_exit("roofline"):
        workloads = chosen(options)
    costs = {each.key: cost_of(each) for each in workloads}
    run = run_facts(options.device, command_of("training.baselines.roofline"))
    sizes = Sizes(options.bytes, options.side, options.elements, options.steps)
    found = measure(TorchEnd(options.device), options.target, sizes)
    ceilings = ceilings_of(found)
    report = {
        "run": msgspec.to_builtins(run),
        "found": found,
        "ceilings": msgspec.to_builtins(ceilings),
        "costs": {key: msgspec.to_builtins(cost) for key, cost in costs.items()},
        "seconds": {key: bound(cost, ceilings) for key, cost in costs.items()},
    }
    files.write(options.out, json.dumps(report, indent=1).encode() + b"\n")
    for name, rate in found.items():
        print(f"{name:16} {rate / 1e12:9.3f} T/s")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.baselines.roofline", description=(__doc__ or "").splitlines()[0]
    )
    add_workloads(parser)
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--target", required=True, help="a tag or JSON of TVM")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="(%(default)s)")
    parser.add_argument("--bytes", type=int, default=1 << 30, help="of a copy (%(default)s)")
    parser.add_argument("--side", type=int, default=8192, help="of matrices (%(default)s)")
    parser.add_argument("--elements", type=int, default=1 << 22, help="chains (%(default)s)")
    parser.add_argument("--steps", type=int, default=1 << 12, help="of each (%(default)s)")
    return parser


if __name__ == "__main__":
    main()
