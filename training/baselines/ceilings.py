"""What a device can do at most, measured: its bandwidth, and the rates of its arithmetic.

All are medians, by the timing of the evaluator, on random numbers: on equal ones a GPU draws less
power, and its clock is faster than workloads find it.

- The bandwidth is that of the faster one of a copy and a sum of a large tensor.
- float32 is the faster one of a product of matrices and a kernel of nothing but multiply-adds.
- float16 and int8 are products of matrices, which are the tensor cores' on a GPU.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec
import torch
import tvm
from tvm import te, tirx
from tvm.s_tir import Schedule

from training.evaluate.build import target_of
from training.evaluate.ends import Kernel, TorchEnd

THREADS, TOGETHER, UNROLLED = 256, 4, 32
"""Of the kernel of multiply-adds: threads a block, chains a thread, steps without a branch."""

RUNS = 15


class Ceilings(msgspec.Struct, frozen=True):
    """What a device can do, measured; operations and bytes a second."""

    bandwidth: float
    float32: float
    float16: float
    int8: float


class Sizes(NamedTuple):
    """How much is computed to find the ceilings."""

    bytes: int
    """Of the tensor that is copied."""
    side: int
    """Of the matrices."""
    elements: int
    """Chains of multiply-adds."""
    steps: int
    """Multiply-adds of each."""


def measure(end: TorchEnd, target: str, sizes: Sizes) -> dict[str, float]:
    """Return the bytes and operations a second that a device was seen to do, by what it did.

    Args:
        end: the device.
        target: what it compiles for.
        sizes: how much is computed.
    """
    device = end.judge_device
    floats = torch.rand(sizes.bytes // 4, device=device)
    copied = torch.empty_like(floats)
    found = {
        "copy": 2 * sizes.bytes / _seconds(end, copied.copy_, floats),
        "sum": sizes.bytes / _seconds(end, torch.sum, floats),
        "multiply-adds": _multiply_adds(end, target, sizes),
    }
    del floats, copied
    for dtype in (torch.float32, torch.float16, torch.int8):
        matrix = torch.randn((sizes.side, sizes.side), device=device).to(dtype)
        # Torch has no public name for the product of integers; its quantisation calls it so.
        multiply = torch._int_mm if dtype == torch.int8 else torch.mm  # noqa: SLF001
        name = str(dtype).removeprefix("torch.")
        found[f"{name} product"] = 2 * sizes.side**3 / _seconds(end, multiply, matrix, matrix.mT)
    return found


def ceilings_of(found: dict[str, float]) -> Ceilings:
    """Return the ceilings: of two ways to find one, the faster."""
    return Ceilings(
        bandwidth=max(found["copy"], found["sum"]),
        float32=max(found["float32 product"], found["multiply-adds"]),
        float16=found["float16 product"],
        int8=found["int8 product"],
    )


def _seconds(end: TorchEnd, kernel: Kernel, *arguments: Any) -> float:
    end.time(kernel, [arguments], 3)
    return median(end.time(kernel, [arguments], RUNS))


def _multiply_adds(end: TorchEnd, target: str, sizes: Sizes) -> float:
    """Multiply-adds of chains that leave no register, counted as two operations."""
    if target_of(target).kind.name == "cuda":
        # Optional, and only for CUDA targets.
        from training.evaluate import cuda_source

        cuda_source.install(str(target_of(target).attrs["arch"]))
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "chains.so"
        module = chains(sizes.elements, sizes.steps, target)
        tvm.compile(module, target=target_of(target)).export_library(str(library))
        kernel = end.load(library)
    given = torch.rand(sizes.elements, device=end.judge_device)
    seconds = _seconds(end, kernel, given, torch.empty_like(given))
    return 2 * sizes.elements * sizes.steps / seconds


def chains(elements: int, steps: int, target: str) -> tvm.IRModule:
    """Return a kernel in which each element is the end of a chain `total = total * x + x`."""
    x = te.placeholder((elements,), name="x")
    step = te.reduce_axis((0, steps), name="k")
    combine = te.comm_reducer(
        lambda total, each: total * each + each, lambda dtype: tirx.const(0, dtype), name="chain"
    )
    y = te.compute((elements,), lambda i: combine(x[i], axis=step), name="y")
    function = te.create_prim_func([x, y]).with_attr("global_symbol", "main")
    schedule = Schedule(tvm.IRModule({"main": function}))
    block = schedule.get_sblock("y")
    read = schedule.cache_read(block, 0, "local")
    written = schedule.cache_write(block, 0, "local")
    element, along = schedule.get_loops(block)
    group, thread, own = schedule.split(element, [None, THREADS, TOGETHER])
    outer, inner = schedule.split(along, [None, UNROLLED])
    schedule.reorder(group, thread, outer, inner, own)
    if target_of(target).kind.name == "cuda":
        schedule.bind(group, "blockIdx.x")
        schedule.bind(thread, "threadIdx.x")
        schedule.unroll(own)
    else:
        schedule.parallel(group)
        schedule.vectorize(own)
    schedule.unroll(inner)
    schedule.compute_at(read, thread)
    schedule.reverse_compute_at(written, thread)
    schedule.decompose_reduction(block, outer)
    return schedule.mod
