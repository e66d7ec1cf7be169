"""Read a kernel and try scripts on it, in a process that may die or hang without harm."""

from __future__ import annotations

from types import TracebackType

from msgspec.json import decode, encode
from msgspec.structs import replace

from tracescript import workloads
from tracescript._child import Child, Lost
from tracescript.encode import dumps
from tracescript.errors import ReplayError, TraceFileError, TraceSyntaxError, WorkloadError
from tracescript.files.output import name_of, reading
from tracescript.model import Trace
from tracescript.proposals.trial import (
    Begun,
    Ended,
    Form,
    Kernel,
    NoKernel,
    Passed,
    Read,
    Stage,
    Trial,
    Try,
    Verdict,
)

__all__ = ["Trials"]

_CODE = "import sys; from tracescript.tvm.trial_server import serve; serve(int(sys.argv[1]))"

_START = 300.0
"""Seconds that a new process may take to import TVM."""

_LOST: dict[Stage, tuple[Verdict, str]] = {
    "applying": ("refused", "TVM"),
    "preparing": ("not measured", "the plain kernel"),
    "building": ("does not build", "TVM"),
    "running": ("does not run", "the kernel"),
}
"""What it means that the process is lost in a stage, and who is to blame."""


class Trials:
    """A kernel, and a process that tries scripts on it.

    TVM is started in the process alone, at once, so that there is time for something else until
    `workload` is asked for. It is a context manager that ends the process.

    Args:
        file: TVMScript (`.py`), TVM's JSON (`.json`), or the text of a workload. A TVMScript
            file is run, as any program is: TVM's parser evaluates what stands in its functions.
        function: the name of the function, None if there is only one.
        target: what to schedule for: a tag of TVM's, or JSON. By default it is that of the text of
            a workload, else an H100.
        measure: whether to build and run kernels, where there is a device for the target.
        timeout: how many seconds a script may take, all told.

    Raises:
        OSError: the file cannot be read.
        WorkloadError: it is no text.
        TraceFileError: it is no workload.
    """

    def __init__(
        self,
        file: str,
        *,
        function: str | None = None,
        target: str | None = None,
        measure: bool = True,
        timeout: float = 60.0,
    ) -> None:
        form, text = _content(file)
        self._read = Read(form, text, file, function, target)
        self._timeout = timeout
        self._unmeasured = None if measure else ""
        self._workload: workloads.Workload | None = None
        self._child = Child(_CODE, _START)
        self._is_ready = False

    def __enter__(self) -> Trials:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._child.is_usable:
            return
        if kind is None:
            self._child.end()
        else:
            self._child.kill()

    @property
    def workload(self) -> workloads.Workload:
        """The kernel as a workload, with its target.

        Raises:
            WorkloadError: the file is no kernel that has such a form, or there is no such target.
        """
        if self._workload is None:
            self._workload = self._read_kernel()
        return self._workload

    def run(self, trace: Trace) -> Trial:
        """Try a script on the kernel: what comes before the part of the post-processors.

        Raises:
            WorkloadError: as for `workload`.
            ReplayError: the process cannot be started again.
        """
        question = Try(workloads.dumps(self.workload), dumps(trace), self._unmeasured is None)
        trial = self._tried(question)
        if trial.verdict == "not measured":
            # It is the same for every script, and to find it out may take long.
            self._unmeasured = self._unmeasured or trial.reason
            return replace(trial, reason=self._unmeasured)
        if trial.verdict == "does not run":
            # A GPU may be of no more use to the process.
            self._child.end()
        return trial

    def _tried(self, question: Try) -> Trial:
        child = self._ready_child()
        child.ask(encode(question), self._timeout)
        stage: Stage = "applying"
        passed = Passed("", "")
        try:
            while not isinstance(answer := _answer(child), Ended):
                if isinstance(answer, Begun):
                    stage = answer.stage
                else:
                    passed = answer
        except Lost as lost:
            verdict, who = _LOST[stage]
            answer = Ended(verdict, f"{who} {lost}")
        return Trial(
            verdict=answer.verdict,
            reason=answer.reason,
            seconds=answer.seconds,
            script=passed.script,
            python=passed.python,
        )

    def _read_kernel(self) -> workloads.Workload:
        child = self._ready_child()
        child.ask(encode(self._read), self._timeout)
        try:
            answer: Kernel | NoKernel = decode(child.answer(), type=Kernel | NoKernel)
        except Lost as lost:
            found = f"one that TVM {lost} of"
            raise WorkloadError(self._read.file, "a kernel", found) from None
        if isinstance(answer, NoKernel):
            raise WorkloadError(answer.place, answer.expected, answer.found)
        return workloads.loads(answer.workload)

    def _ready_child(self) -> Child:
        if not self._child.is_usable:
            self._child, self._is_ready = Child(_CODE, _START), False
        if not self._is_ready:
            try:
                self._child.answer()
            except Lost as lost:
                raise ReplayError(f"the process with TVM does not start: it {lost}") from None
            self._is_ready = True
        return self._child


def _content(file: str) -> tuple[Form, str]:
    """What a file of a kernel holds, by its name, and its text."""
    try:
        with reading(file) as stream:
            text = stream.read().decode()
    except UnicodeDecodeError as error:
        raise WorkloadError(name_of(file), "a text in UTF-8", str(error)) from None
    if file.endswith(".py"):
        return "TVMScript", text
    if file.endswith(".json"):
        return "JSON", text
    try:
        workloads.loads(text)
    except TraceSyntaxError as error:
        raise TraceFileError(error.explanation, file=name_of(file), line=error.line) from None
    return "workload", text


def _answer(child: Child) -> Begun | Passed | Ended:
    return decode(child.answer(), type=Begun | Passed | Ended)
