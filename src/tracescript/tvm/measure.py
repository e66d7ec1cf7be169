"""Whether the kernel of a scheduled module is right, and how long it takes.

It is compared with the *plain* kernel, the workload with the simplest schedule, on the same random
inputs. That finds what goes wrong in a schedule in practice. `training/evaluate` judges more
strictly: against float64, on several inputs, and with controls that must be found wrong.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf, prod
from statistics import median
from typing import Any

import numpy as np
import tvm
from tvm.s_tir import dlight

from tracescript.tvm.inputs import STYLES, Unmeasurable, draw, numpy_dtype
from tracescript.tvm.reasons import reason_of
from tracescript.tvm.workloads import module_of
from tracescript.workloads import Buffer, Cast, Workload
from tracescript.workloads.sharing import Parts, expressions

__all__ = ["Bench", "Broken", "Unmeasurable", "compare", "device_of", "tolerance"]

_SEED = 1

_SECONDS = 0.3
"""Roughly how long a kernel is timed in all."""

_MIN_RUNS, _MAX_RUNS = 5, 50

_FLUSH = {"cpu": 1 << 25, "gpu": 1 << 28}
"""Bytes that are copied before each timed run, so that caches hold nothing of the inputs."""

_ELEMENT = 16.0
"""How much further than the whole one element may be off."""

_LEAST = {"float64": 1e-9, "float32": 1e-4, "float16": 5e-3, "bfloat16": 4e-2}
"""Room for approximate functions; below the error of tf32 for float32 (3e-4)."""

_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}

_GPUS = ("cuda", "rocm", "vulkan", "metal", "opencl")


class Broken(Exception):
    """A kernel cannot be built, or not run; the text is the reason, in one line."""


class Bench:
    """Builds, judges and times the kernels of one workload on the device of a target.

    Args:
        workload: the workload.
        target: the `tvm.target.Target`.

    Raises:
        Unmeasurable: there is no such device here, or the plain kernel cannot be run on it.
    """

    def __init__(self, workload: Workload, target: Any) -> None:
        self._workload = workload
        self._target = target
        self._device = device_of(target)
        self._allowed = tolerance(workload)
        _require_comparable(workload)
        made = [place for place in workload.params if place >= len(workload.inputs)]
        self._outputs = {place: _poisoned(workload.buffers[place]) for place in made}
        try:
            self._prepare(self.build(_plain(workload, target)))
        except Broken as error:
            raise Unmeasurable(f"the plain kernel fails: {error}") from None

    def build(self, module: Any) -> Any:
        """Build the kernel of a scheduled module, a `tvm.IRModule`.

        Raises:
            Broken: TVM, or a compiler that it calls, does not take it.
        """
        name = self._workload.name
        # A function without it is of no use outside of its module.
        public = tvm.IRModule({name: module[name].with_attr("global_symbol", name)})
        with _breaking():
            return tvm.compile(public, target=self._target).jit()

    def fault(self, kernel: Any) -> str:
        """Run a kernel once: what is wrong with its outputs, or nothing.

        Raises:
            Broken: it does not come to an end.
        """
        found = self._run(kernel, self._inputs)
        for number, (output, reference) in enumerate(zip(found, self._expected, strict=True)):
            reason = compare(output, reference, self._allowed)
            if reason:
                return f"output {number}: {reason}"
        return ""

    def seconds(self, kernel: Any) -> float:
        """The median of the times that runs of a kernel take, caches flushed before each.

        Raises:
            Broken: one of them does not come to an end.
        """
        timer = partial(kernel.time_evaluator, self._workload.name, self._device, number=1)
        flush = _FLUSH["cpu" if self._target.kind.name == "llvm" else "gpu"]
        with _breaking():
            arrays = self._arrays(self._inputs)
            (first,) = timer()(*arrays).results
            runs = int(min(max(_SECONDS / max(first, 1e-7), _MIN_RUNS), _MAX_RUNS))
            return median(timer(repeat=runs, cache_flush_bytes=flush)(*arrays).results)

    def _prepare(self, plain: Any) -> None:
        """Draw inputs, and keep what the plain kernel makes of them."""
        for style in STYLES:
            self._inputs = draw(self._workload, style, _SEED)
            self._expected = self._run(plain, self._inputs)
            if all(_is_finite(each) for each in self._expected):
                return
        raise Unmeasurable("on random inputs the plain kernel gives infinities or NaN")

    def _run(self, kernel: Any, inputs: Sequence[Any]) -> list[Any]:
        with _breaking():
            arrays = self._arrays(inputs)
            kernel[self._workload.name](*arrays)
            self._device.sync()
            pairs = zip(self._workload.params, arrays, strict=True)
            return [array.numpy() for place, array in pairs if place in self._outputs]

    def _arrays(self, inputs: Sequence[Any]) -> list[Any]:
        """The arguments of a kernel; outputs hold what no kernel leaves by chance."""
        values = dict(enumerate(inputs)) | self._outputs
        return [tvm.runtime.tensor(values[place], self._device) for place in self._workload.params]


@contextmanager
def _breaking() -> Generator[None]:
    """Make any error of TVM's, which are of a dozen types, one of the kernel."""
    try:
        yield
    except Exception as error:
        raise Broken(reason_of(error)) from None


def device_of(target: Any) -> Any:
    """The device of this machine that runs what is built for a target.

    Raises:
        Unmeasurable: there is none.
    """
    kind = str(target.kind.name)
    if kind == "llvm":
        return tvm.cpu()
    device: Any = tvm.device(kind) if kind in _GPUS else None
    if device is None or not device.exist:
        raise Unmeasurable("no device")
    wanted = str(target.attrs.get("arch", ""))
    if kind == "cuda":
        found = "sm_" + str(device.compute_version).replace(".", "")
        # The letter stands for features of one architecture, which it has.
        if wanted.rstrip("af") != found:
            raise Unmeasurable(f"no device: the target is {wanted}, and here is {found}")
    return device


def tolerance(workload: Workload) -> float:
    """The largest relative error, in the 2-norm, of a right output against the plain kernel's.

    It goes by the narrowest float that anything is computed in, and the longest sum. Rounding
    errors of a sum grow with the square root of its length, as a rule (Higham, *Accuracy and
    Stability of Numerical Algorithms*, 2.8); twice that is allowed to each of the two kernels.

    Raises:
        Unmeasurable: it computes in a float that this knows no tolerance for.
    """
    dtypes = {output.buffer.dtype for block in workload.blocks for output in block.outputs}
    length = 1
    for block in workload.blocks:
        dtypes |= {each.dtype for each in Parts(expressions(block)).exprs if isinstance(each, Cast)}
        terms = [axis.extent for axis in block.axes if axis.kind == "R"]
        length = max(length, prod([each for each in terms if isinstance(each, int)]))
    floats = [dtype for dtype in dtypes if "float" in dtype]
    unknown = [dtype for dtype in floats if dtype not in _LEAST]
    if unknown:
        raise Unmeasurable(f"no tolerance is known for {min(unknown)}")
    return max([max(_LEAST[each], 4 * _ROUNDOFF[each] * length**0.5) for each in floats], default=0)


def compare(output: Any, reference: Any, allowed: float) -> str:
    """What is wrong with an output, in a few words; nothing if it is right.

    Args:
        output: a numpy array.
        reference: another one of the same shape and dtype, without infinities and NaN.
        allowed: the tolerance of floats; integers must be equal.
    """
    if output.dtype.kind in "biu":
        wrong = int((output != reference).sum())
        return f"{wrong} of {output.size} integers differ" if wrong else ""
    found, wanted = output.astype(np.float64), reference.astype(np.float64)
    if not _is_finite(found):
        return f"{int((~np.isfinite(found)).sum())} of {found.size} elements are not finite"
    off, norm = np.abs(found - wanted), float(np.linalg.norm(wanted))
    error = float(np.linalg.norm(off))
    if error > allowed * norm:
        return f"relative error {error / norm if norm else inf:.2g}, allowed {allowed:.2g}"
    mean = norm / max(wanted.size, 1) ** 0.5
    worst = float((off / (np.abs(wanted) + mean)).max()) if norm else 0.0
    if worst > _ELEMENT * allowed:
        return f"an element is off by {worst:.2g} of its size"
    return ""


def _poisoned(buffer: Buffer) -> Any:
    poison = float("nan") if "float" in buffer.dtype else 0x55
    return np.full(buffer.shape, poison).astype(numpy_dtype(buffer.dtype))


def _plain(workload: Workload, target: Any) -> Any:
    """The module with the simplest schedule: on a GPU one thread for an element, by dlight."""
    module = module_of(workload)
    if target.kind.name == "llvm":
        return module
    schedule: Any = dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())
    with target:
        return schedule(module)


def _require_comparable(workload: Workload) -> None:
    """Integers that come from half floats, such as the place of a maximum, go by how ties break."""
    is_narrow = any(buffer.dtype in ("float16", "bfloat16") for buffer in workload.inputs)
    made = [place for place in workload.params if place >= len(workload.inputs)]
    if is_narrow and any("int" in workload.buffers[place].dtype for place in made):
        raise Unmeasurable("integers that are computed from half floats go by how ties break")


def _is_finite(array: Any) -> bool:
    return bool(np.isfinite(array.astype(np.float64)).all())
