"""A device behind TVM's RPC as the measuring end: kernels are built here, and run and timed there.

On the machine with the device `python -m tvm.exec.rpc_server --host 0.0.0.0 --port 9090` is enough:
TVM, and neither torch nor this repository. Whoever can reach the port can run code there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
import tvm
from tvm import te

from tracescript.tvm import workload_of
from tracescript.workloads import dumps
from training.evaluate.build import BuildJob, build, plain_library, target_of
from training.evaluate.ends import CPU_FLUSH_BYTES, FLUSH_BYTES
from training.evaluate.evaluator import SECONDS_PER_BUILD, SECONDS_PER_RUN, Evaluator
from training.evaluate.results import Result
from training.evaluate.rpc_session import (
    NO_SERVER,
    Library,
    NoServerError,
    RemoteArray,
    Server,
    Session,
)

SIDE = 256
"""The fixed kernel multiplies square matrices of this size."""


class RemoteKernel(NamedTuple):
    """A library on an end."""

    end: RemoteEnd
    library: Library

    def __call__(self, *arguments: RemoteArray) -> None:
        """Start it; a fault may come up in `RemoteEnd.wait` only."""
        self.end.call(self.library, arguments)


class RemoteEnd:
    """The end of a device that a server of TVM's RPC has; outputs are judged here, on the CPU.

    Args:
        server: where the device is.
        device: `cpu` or `cuda`.
        target: what kernels are compiled for, see `build.target_of`.
        seconds: how long a kernel may take with its timing, or the references of a workload. What
            takes longer than twice that is ended by the server.

    Raises:
        NoServerError: there is no server, or it does not answer for twice the seconds.
    """

    judge_device = "cpu"

    def __init__(
        self, server: Server, device: str, target: str, seconds: float = SECONDS_PER_RUN
    ) -> None:
        self._server, self._device, self._seconds = server, device, seconds
        self._session = Session(server, device, 2 * seconds)
        with tempfile.TemporaryDirectory() as folder:
            self._fixed = Library(_fixed_library(target, Path(folder)).read_bytes())
        self._sides = [RemoteArray(torch.ones(SIDE, SIDE)) for _ in range(3)]

    def load(self, library: Path) -> RemoteKernel:
        """Load the function `main` of a library, in a fresh session if this one has not long left.

        What a kernel wrote in an old session is lost; arrays are as they were last put there.
        """
        if self._session.age > self._seconds:
            # Ended first: the server has one session at a time.
            del self._session
            self._session = Session(self._server, self._device, 2 * self._seconds)
        content = Library(library.read_bytes())
        with self._session.asked():
            self._session.module(content)
        return RemoteKernel(self, content)

    def upload(self, tensor: torch.Tensor) -> RemoteArray:
        """Return an array that holds a copy of the tensor; it is sent when it is needed."""
        return RemoteArray(tensor)

    def download(self, array: RemoteArray) -> torch.Tensor:
        """Fetch what an array holds."""
        with self._session.asked():
            sent = self._session.array(array)
            here = tvm.runtime.empty(tuple(sent.shape), sent.dtype)
            sent.copyto(here)
        return torch.from_dlpack(here)

    def overwrite(self, array: RemoteArray, tensor: torch.Tensor) -> None:
        """Put the content of a tensor into an array."""
        array.tensor.copy_(tensor)
        with self._session.asked():
            self._session.send(array)

    def call(self, library: Library, arguments: Sequence[RemoteArray]) -> None:
        """Run a kernel."""
        with self._session.asked():
            main = self._session.module(library)["main"]
            main(*map(self._session.array, arguments))

    def wait(self) -> None:
        """Wait for the device; a fault of a kernel comes up here.

        Raises:
            RuntimeError: a kernel failed, or the session ended.
        """
        with self._session.asked():
            self._session.device.sync()

    def time(
        self, kernel: RemoteKernel, sets: Sequence[Sequence[RemoteArray]], runs: int
    ) -> list[float]:
        """Time by the server's own timers: device events on a GPU, its clock on a CPU.

        Unlike on `TorchEnd` all runs on one set of arrays follow each other, after one that is not
        timed. Before each run two buffers are copied that are as large as what `TorchEnd` writes:
        this empties the L2 of a GPU and 64 MiB of a CPU's caches, but neither a larger L3 nor the
        instruction cache. The device is idle when a run begins, so the time of a GPU includes a
        part of the launch.
        """
        flushed = CPU_FLUSH_BYTES if self._device == "cpu" else FLUSH_BYTES
        seconds: list[float] = []
        for number, arguments in enumerate(sets):
            repeat = len(range(number, runs, len(sets)))
            if not repeat:
                continue
            with self._session.asked():
                timed = self._session.module(kernel.library).time_evaluator(
                    "main", self._session.device, number=1, repeat=repeat, cache_flush_bytes=flushed
                )
                seconds.extend(timed(*map(self._session.array, arguments)).results)
        return seconds

    def clock(self) -> float:
        """The median time of a product of two matrices in TVM's simplest schedule."""
        return sorted(self.time(RemoteKernel(self, self._fixed), [self._sides], 5))[2]

    def card(self) -> str:
        """The name of the device, as far as the server knows it, and where it is."""
        with self._session.asked():
            return self._session.card()


def card(server: Server, device: str) -> str:
    """Ask for the name of a device, in a session that ends at once.

    Raises:
        NoServerError: nobody answers.
    """
    return Session(server, device, SECONDS_PER_RUN).card()


def evaluator(
    server: Server,
    device: str,
    target: str,
    *,
    builders: int | None = None,
    seconds_per_build: float = SECONDS_PER_BUILD,
    seconds_per_run: float = SECONDS_PER_RUN,
) -> Evaluator:
    """Return an evaluator that builds on this machine and measures on a server's device.

    What hangs there is ended by the server, after twice the time of a run at most. The evaluator's
    own limit is longer: it leaves room for that, and for waiting for a session of somebody else.
    """
    return Evaluator(
        target,
        partial(RemoteEnd, server, device, target, seconds_per_run),
        builders=builders,
        seconds_per_build=seconds_per_build,
        seconds_per_run=5 * seconds_per_run,
    )


def until_lost(results: Iterable[Result]) -> Iterator[Result]:
    """Yield results as long as there is a server.

    Without a server every candidate would fail, and that would say nothing about it.

    Raises:
        NoServerError: with the reason of the first result that only says that there is no server.
    """
    for result in results:
        if result.stage == "compiles" and result.reason.startswith(NO_SERVER):
            raise NoServerError(result.reason)
        yield result


def _fixed_library(target: str, folder: Path) -> Path:
    """Build the fixed kernel."""
    left, right = (te.placeholder((SIDE, SIDE), name=name) for name in "AB")
    axis = te.reduce_axis((0, SIDE))
    product = te.compute((SIDE, SIDE), lambda i, j: te.sum(left[i, axis] * right[axis, j], axis))
    function = te.create_prim_func([left, right, product]).with_attr("global_symbol", "main")
    prompt = dumps(workload_of(tvm.IRModule({"main": function})))
    kind = target_of(target)
    if kind.kind.name == "cuda":
        # Optional, and only for CUDA targets.
        from training.evaluate import cuda_source

        cuda_source.install(str(kind.attrs["arch"]))
    built = build(BuildJob("fixed", prompt, target, str(folder / "fixed.so")))
    if built.stage != "compiles":
        raise RuntimeError(f"the fixed kernel does not build: {built.reason}")
    return plain_library(folder / "fixed.so")
