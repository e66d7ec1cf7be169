"""From a script to a library: the stages of the funnel that need no device.

Runs in forked processes that imported TVM once; a script that kills or hangs one costs its own
result only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec
import tvm
from tvm.target import Target

from tracescript import Trace, TraceScriptError, loads
from tracescript.check import check
from tracescript.proposals import sampled_part
from tracescript.tvm import ReplayError, from_tvm, import_intrinsics, module_of, replay
from tracescript.tvm.postprocess import Postprocessors
from tracescript.workloads import Workload
from tracescript.workloads import loads as loads_workload
from training.evaluate.allowed import forbidden
from training.evaluate.reference import exact, plain
from training.evaluate.results import UNCOMPILED, Stage

RELEASE = "0.27"

SEED = 1
"""For what a post-processor draws, if one ever does."""


class BuildJob(msgspec.Struct, frozen=True):
    """A script to build for a workload, or what the workload is judged by."""

    key: str
    prompt: str
    target: str
    """What `target_of` takes."""
    library: str
    """The file to write."""
    script: str | None = None
    """None for the two libraries of the reference: `library` and the same with `.plain.so`."""


class Built(msgspec.Struct, frozen=True):
    """How far a build came."""

    stage: Stage
    reason: str = ""


class _StopError(Exception):
    def __init__(self, stage: Stage, reason: object) -> None:
        super().__init__(" ".join(str(reason).split())[-400:])
        self.stage: Stage = stage


def build(job: BuildJob) -> Built:
    """Build a script, or the libraries of a reference; `compiles` if that went well."""
    return build_with(_scheduled, job)


def build_with(make: Callable[[str, str, str], tvm.IRModule], job: BuildJob) -> Built:
    """Build what `make` makes of script, prompt and target, or the libraries of a reference."""
    return _reached(job.prompt, partial(_build, make, job), Built("compiles"))


def screened(script: str, prompt: str, target: str) -> Built:
    """How far a script comes without a compiler: `passes` is the best."""
    make = partial(_scheduled, script, prompt, target)
    return _reached(prompt, make, Built("passes", UNCOMPILED))


def _reached(prompt: str, make: Callable[[], object], end: Built) -> Built:
    """The end, or where `make` stops before it."""
    try:
        _require_workload(prompt)
        make()
    except _StopError as stop:
        return Built(stop.stage, str(stop))
    return end


def plain_library(library: str | Path) -> Path:
    """The file of the plain kernel beside that of the exact one."""
    return Path(library).with_suffix(".plain.so")


@lru_cache
def target_of(text: str) -> Target:
    """Return the target of a tag, or of a JSON object.

    >>> target_of('{"kind": "llvm", "num-cores": 2}').kind.name
    'llvm'
    """
    return Target(msgspec.json.decode(text) if text.startswith("{") else text)


@lru_cache(maxsize=256)
def workload_of_prompt(prompt: str) -> Workload:
    """Parse a prompt."""
    return loads_workload(prompt)


@lru_cache(maxsize=256)
def module_of_prompt(prompt: str) -> tvm.IRModule:
    """The module that a prompt stands for; nobody may change it."""
    return module_of(workload_of_prompt(prompt))


def scheduled_module(script: str, prompt: str, target: str) -> tvm.IRModule | None:
    """The module that a script makes of a workload, or None if it does not come so far."""
    try:
        return _scheduled(script, prompt, target)
    except _StopError:
        return None


def _require_workload(prompt: str) -> None:
    try:
        module_of_prompt(prompt)
    except TraceScriptError as error:
        raise _StopError("given", f"the workload: {error}") from error


def _build(make: Callable[[str, str, str], tvm.IRModule], job: BuildJob) -> None:
    if job.script is None:
        _build_reference(job)
    else:
        _export(make(job.script, job.prompt, job.target), job.target, job.library)


def _scheduled(script: str, prompt: str, target: str) -> tvm.IRModule:
    trace = sampled_part(_parsed(script))
    _require_checked(trace)
    schedule = _replayed(trace, prompt)
    _postprocess(schedule, target)
    return schedule.mod


def _build_reference(job: BuildJob) -> None:
    workload = workload_of_prompt(job.prompt)
    target = target_of(job.target)
    for version, library in (
        (exact(workload), job.library),
        (workload, plain_library(job.library)),
    ):
        try:
            module = plain(version, target)
        except Exception as error:
            raise _StopError("given", error) from error
        _export(module, job.target, str(library))


def _parsed(script: str) -> Trace:
    try:
        return loads(script)
    except TraceScriptError as error:
        raise _StopError("given", error) from error


def _require_checked(trace: Trace) -> None:
    problems = [each for each in check(trace, tvm=RELEASE) if each.severity == "error"]
    if problems:
        raise _StopError("parses", problems[0].message)
    decided = {each.index for each in trace.decisions}
    for number, inst in enumerate(trace.insts):
        if inst.kind.startswith("Sample") and number not in decided:
            raise _StopError("parses", f"instruction {number}: {inst.kind} has no decision")
    reason = forbidden(trace)
    if reason:
        raise _StopError("parses", reason)


def _replayed(trace: Trace, prompt: str) -> Any:
    try:
        schedule = replay(trace, module_of_prompt(prompt), seed=SEED)
    except ReplayError as error:
        raise _StopError("checks", error.reason) from error
    if from_tvm(schedule.trace).decisions != trace.decisions:
        raise _StopError("checks", "TVM replaces a decision that does not fit")
    return schedule


def _postprocess(schedule: Any, target: str) -> None:
    try:
        _postprocessors(target).apply(schedule)
    except ReplayError as error:
        raise _StopError("replays", error.reason) from error


@lru_cache
def _postprocessors(target: str) -> Postprocessors:
    """Those of a target do not depend on the workload."""
    return Postprocessors(_smallest(), target_of(target))


def _smallest() -> tvm.IRModule:
    from tvm import te

    tensor = te.placeholder((1,), name="A")
    function = te.create_prim_func([tensor, te.compute((1,), lambda i: tensor[i] + 1.0)])
    return tvm.IRModule({"main": function.with_attr("global_symbol", "main")})


def compile_smallest(library: str) -> None:
    """Compile next to nothing, so that all is loaded that compiling and exporting needs."""
    import_intrinsics()
    _export(_smallest(), '{"kind": "llvm"}', library)


def _export(module: tvm.IRModule, target: str, library: str) -> None:
    """Compile a module and write it as a shared library."""
    try:
        built = tvm.compile(module, target=target_of(target))
        _require_device_code(built.mod, target_of(target))
        built.export_library(library)
    except Exception as error:
        raise _StopError("passes", f"compiler: {error}") from error


def _require_device_code(module: Any, target: Target) -> None:
    """Without a GPU's driver TVM leaves the source as it is; it is compiled for the verdict."""
    has_runtime = tvm.get_global_func("ffi.Module.load_from_bytes.cuda", allow_missing=True)
    if target.kind.name != "cuda" or has_runtime is not None:
        return
    # Optional, and only for CUDA targets.
    from training.evaluate.cuda_source import cubin

    for kernels in module.imports:
        cubin(kernels.inspect_source(), str(target.attrs["arch"]))
