"""Reads kernels and tries scripts: what the process of `tracescript.proposals.Trials` runs."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from functools import cached_property, lru_cache
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

import msgspec
from tvm.target import Target

from tracescript import workloads
from tracescript.decode import loads
from tracescript.encode import dumps
from tracescript.errors import ReplayError, WorkloadError
from tracescript.json_trace import value_to_json
from tracescript.model import Trace
from tracescript.proposals.asking import TARGET
from tracescript.proposals.trial import (
    Answer,
    Begun,
    Ended,
    Kernel,
    NoKernel,
    Passed,
    Question,
    Read,
    Ready,
    Try,
)
from tracescript.tvm.hazards import KNOWN
from tracescript.tvm.intrinsics import import_intrinsics
from tracescript.tvm.kernels import read_json, read_tvmscript
from tracescript.tvm.measure import Bench, Broken, Unmeasurable
from tracescript.tvm.postprocess import Postprocessors
from tracescript.tvm.python_source import python_source
from tracescript.tvm.reasons import reason_of, replay_error
from tracescript.tvm.replay import replay
from tracescript.tvm.traces import from_tvm
from tracescript.tvm.workloads import module_of, workload_of
from tracescript.workloads import Attribute, Workload

__all__ = ["answers", "serve"]

_SEED = 1
"""For what post-processors sample."""

_TargetText: TypeAlias = "str | tuple[Attribute, ...]"
"""A tag, JSON, or what a workload has."""


def serve(handle: int) -> None:
    """Answer the questions that come through a pipe, until it closes."""
    # Ctrl-C is for the process that asks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = Connection(handle)
    # Now, since no script is to wait for it.
    import_intrinsics()
    pipe.send_bytes(msgspec.json.encode(Ready()))
    while True:
        try:
            question = msgspec.json.decode(pipe.recv_bytes(), type=Question)
        except EOFError:
            return
        for answer in answers(question):
            pipe.send_bytes(msgspec.json.encode(answer))


def answers(question: Question) -> Iterator[Answer]:
    """The answers to a question, one after the other."""
    if isinstance(question, Try):
        yield from _tried(question)
        return
    try:
        yield Kernel(workloads.dumps(_read(question)))
    except WorkloadError as error:
        yield NoKernel(error.place, error.expected, error.found)


def _read(question: Read) -> Workload:
    text, file, function = question.text, question.file, question.function
    own: _TargetText | None = None
    if question.form == "workload":
        workload = workloads.loads(text)
        if function not in (None, workload.name):
            raise WorkloadError(file, f'a function "{function}"', workload.name)
        module, own = module_of(workload), workload.target
    else:
        read = read_tvmscript if question.form == "TVMScript" else read_json
        module = read(text, file, function)
    return workload_of(module, _plain_target(question.target or own or TARGET))


def _plain_target(target: _TargetText) -> str | dict[str, Any]:
    """A target as `workload_of` takes it, if TVM knows it."""
    try:
        if isinstance(target, tuple):
            plain = {each.key: value_to_json(each.value) for each in target}
        else:
            plain = json.loads(target) if target.startswith("{") else target
        Target(plain)
    except Exception as error:
        # TVM raises errors of many types.
        wanted = "a tag of TVM's, or a target as JSON"
        raise WorkloadError("the target", wanted, reason_of(error)) from None
    return plain


def _tried(question: Try) -> Iterator[Answer]:
    yield Begun("applying")
    try:
        case = _case(question.workload)
        schedule = case.scheduled(loads(question.script))
    except ReplayError as error:
        yield Ended("refused", str(error))
        return
    yield _passed(from_tvm(schedule.trace))
    if not question.measure:
        yield Ended("not measured")
        return
    yield Begun("preparing")
    try:
        bench = case.bench
    except Unmeasurable as error:
        yield Ended("not measured", str(error))
        return
    yield from _measured(bench, schedule.mod)


def _passed(trace: Trace) -> Passed:
    try:
        python = python_source(trace)
    except ValueError:
        python = ""
    return Passed(dumps(trace), python)


def _measured(bench: Bench, module: Any) -> Iterator[Answer]:
    yield Begun("building")
    try:
        kernel = bench.build(module)
    except Broken as error:
        yield Ended("does not build", str(error))
        return
    yield Begun("running")
    try:
        fault = bench.fault(kernel)
        seconds = None if fault else bench.seconds(kernel)
    except Broken as error:
        yield Ended("does not run", str(error))
        return
    yield Ended("wrong", fault) if fault else Ended("right", seconds=seconds)


class _Case:
    """A workload that scripts are tried on."""

    def __init__(self, workload: Workload) -> None:
        assert workload.target is not None
        self._workload = workload
        self._module = module_of(workload)
        self._target = Target(_plain_target(workload.target))
        self._postprocessors = Postprocessors(self._module, self._target)

    @cached_property
    def bench(self) -> Bench:
        return Bench(self._workload, self._target)

    def scheduled(self, trace: Trace) -> Any:
        """The schedule that a script and the post-processors make.

        Raises:
            ReplayError: they do not, or it must not be run.
        """
        _require_no_code(trace)
        schedule = replay(trace, self._module, seed=_SEED)
        if from_tvm(schedule.trace).decisions != trace.decisions:
            raise ReplayError("TVM takes another decision than the script says")
        self._postprocessors.apply(schedule)
        return schedule


@lru_cache(maxsize=1)
def _case(workload: str) -> _Case:
    return _Case(workloads.loads(workload))


def _require_no_code(trace: Trace) -> None:
    """Refuse annotations that MetaSchedule does not make: some carry source code to be built."""
    (form,) = KNOWN["Annotate"].forms
    known = form.attrs[0].slot.texts
    for place, inst in enumerate(trace.insts):
        if inst.kind == "Annotate" and inst.attrs[:1] and inst.attrs[0] not in known:
            reason = f"the annotation {inst.attrs[0]!r} is none that MetaSchedule makes"
            raise replay_error(trace, place, reason)
