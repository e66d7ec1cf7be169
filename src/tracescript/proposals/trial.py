"""What becomes of a script, and what a process that tries scripts is asked and answers."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = [
    "Answer",
    "Begun",
    "Ended",
    "Form",
    "Kernel",
    "NoKernel",
    "Passed",
    "Question",
    "Read",
    "Ready",
    "Stage",
    "Trial",
    "Try",
    "Verdict",
]

Verdict: TypeAlias = Literal[
    "refused", "not measured", "does not build", "does not run", "wrong", "right"
]
"""`refused`: TVM does not apply it, or MetaSchedule's post-processors of the target refuse it, or
it must not be run. `not measured`: it passes them, and nobody knows more. `does not build`, `does
not run`: the compiler refuses the kernel, or it dies or takes too long. `wrong`: its outputs are
not those of the workload. `right`: they are, and it was timed."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a script.

    Attributes:
        verdict: how far it came.
        reason: why it came no further; empty if it is right.
        seconds: how long its kernel takes, if it is right.
        script: the script with what the post-processors add, if it passes them, else empty. Law:
            `replay` makes of the module what was built.
        python: the same as Python, which needs nothing but TVM; empty where there is none.
    """

    verdict: Verdict
    reason: str = ""
    seconds: float | None = None
    script: str = ""
    python: str = ""


Form: TypeAlias = Literal["TVMScript", "JSON", "workload"]
"""What a file of a kernel holds."""

Stage: TypeAlias = Literal["applying", "preparing", "building", "running"]
"""What the process is at; `preparing` is all that is done once for a workload."""


# Questions.


class Read(msgspec.Struct, frozen=True, tag=True):
    """Read a kernel; the answer is a `Kernel` or `NoKernel`."""

    form: Form
    text: str
    file: str
    function: str | None
    target: str | None


class Try(msgspec.Struct, frozen=True, tag=True):
    """Try a script: answers are any `Begun`, perhaps one `Passed`, and at last one `Ended`."""

    workload: str
    script: str
    measure: bool


Question: TypeAlias = Read | Try


# Answers.


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The process has imported what it needs."""


class Kernel(msgspec.Struct, frozen=True, tag=True):
    """The text of a workload, its target in it."""

    workload: str


class NoKernel(msgspec.Struct, frozen=True, tag=True):
    """The parts of a `WorkloadError`."""

    place: str
    expected: str
    found: str


class Begun(msgspec.Struct, frozen=True, tag=True):
    """A stage has begun; if nothing follows, the process has died in it."""

    stage: Stage


class Passed(msgspec.Struct, frozen=True, tag=True):
    """The script passes the post-processors."""

    script: str
    python: str


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The verdict."""

    verdict: Verdict
    reason: str = ""
    seconds: float | None = None


Answer: TypeAlias = Ready | Kernel | NoKernel | Begun | Passed | Ended
