"""One device, and the workloads that kernels are judged on there.

A workload is prepared once: inputs are drawn, the exact reference is computed, the plain kernel
must be found right and every fake wrong. Then kernels are run, judged and timed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

import torch

from tracescript.workloads import Workload
from training.evaluate import judge
from training.evaluate.ends import End, Kernel
from training.evaluate.inputs import SETS, STYLES, InputSet, UnfitError, draw, torch_dtype
from training.evaluate.reference import (
    exact,
    narrowest,
    only_moves,
    outputs,
    parameters,
    reduction_length,
)
from training.evaluate.results import Latency, Stage

SECONDS_TIMED = 0.03
"""Roughly how long a kernel is timed in all."""

MIN_RUNS, MAX_RUNS = 9, 60

CACHED_BYTES = 24 << 30
"""Workloads are kept prepared as long as their tensors fit here."""

CLOCK_EVERY = 25
"""The fixed kernel is timed again after so many kernels."""


class Judged(NamedTuple):
    """What a bench found about a kernel."""

    stage: Stage
    reason: str
    error: float | None = None
    latency: Latency | None = None


class _Case(NamedTuple):
    """One set of inputs, what comes out, and the arrays of the end."""

    inputs: list[torch.Tensor]
    references: list[torch.Tensor]
    arguments: list[Any]


class _Prepared(NamedTuple):
    cases: list[_Case]
    places: list[int]
    """Which parameters are outputs."""
    allowed: list[float]
    """The tolerance of each output."""
    poisoned: list[torch.Tensor]
    """What each output holds before a run."""
    moves: bool
    """Whether the workload only moves elements."""
    bytes: int


class Bench:
    """Judges kernels on an end."""

    def __init__(self, end: End) -> None:
        self.end = end
        self._prepared: OrderedDict[str, _Prepared | UnfitError] = OrderedDict()
        self._first_clock = self._clock = end.clock()
        self._timed = 0

    def prepare(self, key: str, workload: Workload, exact_library: Path, plain: Path) -> str:
        """Get ready for the kernels of a workload; why it cannot be judged, or nothing.

        Args:
            key: the name of the workload.
            workload: the workload.
            exact_library: the library of the workload in float64.
            plain: the library of the workload in its own dtypes with a simple schedule.
        """
        try:
            ready: _Prepared | UnfitError = self._prepare(workload, exact_library, plain)
        except UnfitError as error:
            ready = error
        self._prepared[key] = ready
        self._forget(key)
        return str(ready) if isinstance(ready, UnfitError) else ""

    def knows(self, key: str) -> bool:
        """Whether a workload is prepared."""
        return key in self._prepared

    def measure(self, key: str, library: Path) -> Judged:
        """Run a kernel of a prepared workload on every input set, judge it, then time it."""
        prepared = self._prepared[key]
        self._prepared.move_to_end(key)
        if isinstance(prepared, UnfitError):
            return Judged("compiles", f"the workload cannot be judged: {prepared}")
        kernel = self.end.load(library)
        error = 0.0
        for case in prepared.cases:
            found, reason = self._run(kernel, prepared, case)
            error = max(error, found)
            if reason:
                return Judged("runs", reason, error)
        return self._timing(kernel, prepared, error)

    # Preparing.

    def _prepare(self, workload: Workload, exact_library: Path, plain: Path) -> _Prepared:
        _require_comparable(workload)
        reference, kernel = self.end.load(exact_library), self.end.load(plain)
        reasons: list[str] = []
        for style in STYLES:
            cases = [self._case(workload, inputs, style, reference) for inputs in SETS]
            prepared = self._with_poison(workload, cases)
            reason = self._unfit(prepared, kernel)
            if not reason:
                return prepared
            reasons.append(f"{style}: {reason}")
        raise UnfitError("; ".join(reasons))

    def _case(self, workload: Workload, inputs: InputSet, style: str, reference: Kernel) -> _Case:
        drawn = draw(workload, inputs, style, self.end.judge_device)
        left = iter(drawn)
        precise = parameters(exact(workload))
        places = outputs(workload)
        arrays: list[Any] = []
        own: list[Any] = []
        for place, (buffer, narrow) in enumerate(zip(precise, parameters(workload), strict=True)):
            if place in places:
                arrays.append(self._empty(buffer.shape, buffer.dtype))
                own.append(self._empty(narrow.shape, narrow.dtype))
            else:
                tensor = next(left)
                arrays.append(self.end.upload(tensor.to(torch_dtype(buffer.dtype))))
                own.append(self.end.upload(tensor))
        reference(*arrays)
        self.end.wait()
        found = [self.end.download(arrays[place]).clone() for place in places]
        return _Case(drawn, found, own)

    def _empty(self, shape: Sequence[int], dtype: str) -> Any:
        tensor = torch.empty(tuple(shape), dtype=torch_dtype(dtype), device=self.end.judge_device)
        judge.poison(tensor)
        return self.end.upload(tensor)

    def _unfit(self, prepared: _Prepared, plain: Kernel) -> str:
        """Why these inputs do not do; empty if they do."""
        for case in prepared.cases:
            if not all(bool(torch.isfinite(each).all()) for each in case.references):
                return "the reference is not finite"
            _, reason = self._run(plain, prepared, case)
            if reason:
                return f"the plain kernel is found wrong: {reason}"
        return self._undetected(prepared)

    def _undetected(self, prepared: _Prepared) -> str:
        """The first fake that would be found right, if there is one."""
        first, second, *_ = prepared.cases
        for number, place in enumerate(prepared.places):
            dtype = self.end.download(first.arguments[place]).dtype
            right, stale = (case.references[number].to(dtype) for case in (first, second))
            given = judge.copies(right, first.inputs)
            if prepared.moves:
                # To copy an input can be all there is to do.
                given = ((name, copy) for name, copy in given if not judge.same(copy, right))
            fakes = judge.fakes(right, stale, prepared.poisoned[number])
            # One after the other: each is as large as the output.
            for name, fake in chain(fakes, given):
                verdict = judge.judge(fake, first.references[number], prepared.allowed[number])
                if not verdict.reason:
                    return f"{name} would be found right"
        return ""

    def _with_poison(self, workload: Workload, cases: list[_Case]) -> _Prepared:
        places = outputs(workload)
        tolerance = judge.tolerance(
            torch_dtype(narrowest(workload) or "float64"), reduction_length(workload)
        )
        poisoned: list[torch.Tensor] = []
        allowed: list[float] = []
        for place in places:
            clean = torch.empty_like(self.end.download(cases[0].arguments[place]))
            judge.poison(clean)
            poisoned.append(clean)
            is_float = clean.dtype.is_floating_point
            allowed.append(tolerance if is_float else 0.0)
        tensors = [each for case in cases for each in (*case.inputs, *case.references)]
        size = sum(each.numel() * each.element_size() for each in tensors)
        return _Prepared(cases, places, allowed, poisoned, only_moves(workload), 2 * size)

    def _forget(self, newest: str) -> None:
        """Drop the workloads that were not used for longest, as long as memory is short."""
        sizes = {k: v.bytes for k, v in self._prepared.items() if isinstance(v, _Prepared)}
        total = sum(sizes.values())
        for key, size in sizes.items():
            if total <= CACHED_BYTES or key == newest:
                return
            del self._prepared[key]
            total -= size

    # Running.

    def _run(self, kernel: Kernel, prepared: _Prepared, case: _Case) -> tuple[float, str]:
        """Run once on poisoned outputs; the largest error, and what is wrong if something is."""
        self._poison(prepared, case)
        kernel(*case.arguments)
        self.end.wait()
        return self._verdict(prepared, case)

    def _poison(self, prepared: _Prepared, case: _Case) -> None:
        for place, clean in zip(prepared.places, prepared.poisoned, strict=True):
            self.end.overwrite(case.arguments[place], clean)

    def _verdict(self, prepared: _Prepared, case: _Case) -> tuple[float, str]:
        error = 0.0
        for number, place in enumerate(prepared.places):
            found = self.end.download(case.arguments[place])
            verdict = judge.judge(found, case.references[number], prepared.allowed[number])
            error = max(error, verdict.error)
            if verdict.reason:
                return error, f"output {number} is wrong: {verdict.reason}"
        given = [
            array for place, array in enumerate(case.arguments) if place not in prepared.places
        ]
        for number, (array, tensor) in enumerate(zip(given, case.inputs, strict=True)):
            if not judge.same(self.end.download(array), tensor):
                # Repaired, or the next kernel would be blamed.
                self.end.overwrite(array, tensor)
                return error, f"input {number} was overwritten"
        return error, ""

    def _timing(self, kernel: Kernel, prepared: _Prepared, error: float) -> Judged:
        """Time a kernel that was found right, and judge what the timed runs left behind."""
        sets = [case.arguments for case in prepared.cases]
        (first,) = self.end.time(kernel, sets[:1], 1)
        runs = int(min(max(SECONDS_TIMED / max(first, 1e-7), MIN_RUNS), MAX_RUNS))
        for case in prepared.cases:
            self._poison(prepared, case)
        seconds = self.end.time(kernel, sets, runs)
        for case in prepared.cases:
            worse, reason = self._verdict(prepared, case)
            error = max(error, worse)
            if reason:
                return Judged("correct", f"after the timed runs, {reason}", error)
        low, _, high = quantiles(seconds, n=4)
        latency = Latency(median(seconds), low, high, runs, self._drift())
        return Judged("measured", "", error, latency)

    def _drift(self) -> float:
        self._timed += 1
        if self._timed % CLOCK_EVERY == 0:
            self._clock = self.end.clock()
        return round(self._clock / self._first_clock, 4)


def _require_comparable(workload: Workload) -> None:
    """Integers that come from half floats (the place of a maximum) depend on how ties break."""
    params = parameters(workload)
    is_narrow = any(buffer.dtype in ("float16", "bfloat16") for buffer in workload.inputs)
    has_integers = any("int" in params[place].dtype for place in outputs(workload))
    if is_narrow and has_integers:
        raise UnfitError("integers computed from half floats depend on how ties break")
