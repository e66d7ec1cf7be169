"""Measuring ends: where kernels are loaded, run and timed.

An end holds tensors of its own and gives them back as torch tensors, which are judged. `TorchEnd`
is this machine's CPU or GPU; `training.evaluate.rpc` is a device behind TVM's RPC.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
import tvm

from training.evaluate.card import processor

Kernel = Callable[..., Any]
"""A loaded kernel; it takes an array of the end for each parameter."""

FLUSH_BYTES = 1 << 28
"""Written before each timed run on a GPU: more than twice the L2 of any card so far."""

CPU_FLUSH_BYTES = 1 << 25


class End(Protocol):
    """What a bench needs of a device."""

    judge_device: str
    """The torch device on which inputs are drawn and outputs judged."""

    def load(self, library: Path) -> Kernel:
        """Load the function `main` of a library."""
        ...

    def upload(self, tensor: torch.Tensor) -> Any:
        """Return an array of the end that holds a copy of the tensor."""
        ...

    def download(self, array: Any) -> torch.Tensor:
        """Return what an array holds."""
        ...

    def overwrite(self, array: Any, tensor: torch.Tensor) -> None:
        """Put the content of a tensor into an array."""
        ...

    def wait(self) -> None:
        """Wait until all that was started is done.

        Raises:
            RuntimeError: a kernel failed.
        """
        ...

    def time(self, kernel: Kernel, sets: Sequence[Sequence[Any]], runs: int) -> list[float]:
        """Run the kernel so often, with the sets in turn, and return the seconds of each run.

        Caches are flushed before each run.
        """
        ...

    def clock(self) -> float:
        """The seconds of a fixed kernel, to see whether the clock of the device drifts."""
        ...

    def card(self) -> str:
        """The name of the device."""
        ...


class TorchEnd:
    """This machine's CPU (`cpu`) or its GPU (`cuda`), with torch's tensors as arrays."""

    def __init__(self, device: str) -> None:
        self.judge_device = device
        self._is_cuda = device.startswith("cuda")
        size = FLUSH_BYTES if self._is_cuda else CPU_FLUSH_BYTES
        self._flushed = torch.zeros(size // 4, dtype=torch.int32, device=device)
        side = 2048 if self._is_cuda else 384
        self._fixed = torch.ones((side, side), device=device)

    def load(self, library: Path) -> Kernel:
        """Load the function `main` of a library."""
        return tvm.runtime.load_module(str(library))["main"]

    def upload(self, tensor: torch.Tensor) -> torch.Tensor:
        """Copy a tensor."""
        return tensor.to(self.judge_device, copy=True).contiguous()

    def download(self, array: torch.Tensor) -> torch.Tensor:
        """Return the tensor itself."""
        return array

    def overwrite(self, array: torch.Tensor, tensor: torch.Tensor) -> None:
        """Copy in place."""
        array.copy_(tensor)

    def wait(self) -> None:
        """Synchronize; a fault of a kernel comes up here."""
        if self._is_cuda:
            torch.cuda.synchronize()

    def time(self, kernel: Kernel, sets: Sequence[Sequence[Any]], runs: int) -> list[float]:
        """Time by device events on a GPU, by the host's clock on a CPU."""
        if not self._is_cuda:
            return [self._host_time(kernel, sets[i % len(sets)]) for i in range(runs)]
        begins = [torch.cuda.Event(enable_timing=True) for _ in range(runs)]
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(runs)]
        for number in range(runs):
            arguments = sets[number % len(sets)]
            self.flush()
            begins[number].record()
            kernel(*arguments)
            ends[number].record()
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) / 1e3 for begin, end in zip(begins, ends, strict=True)]

    def flush(self) -> None:
        """Fill the caches with other data.

        On a GPU that takes longer than the host needs to queue a launch, so the device never waits.
        """
        self._flushed.zero_()

    def _host_time(self, kernel: Kernel, arguments: Sequence[Any]) -> float:
        self.flush()
        begin = time.perf_counter()
        kernel(*arguments)
        return time.perf_counter() - begin

    def clock(self) -> float:
        """The median time of a product of two matrices."""

        def product(*_: Any) -> None:
            torch.mm(self._fixed, self._fixed)

        return sorted(self.time(product, [()], 5))[2]

    def card(self) -> str:
        """The name of the GPU or of the processor."""
        return torch.cuda.get_device_name() if self._is_cuda else processor()
