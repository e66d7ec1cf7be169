"""Every error that TraceScript raises on bad input, under one root.

Each error keeps what it knows as attributes and builds its text in `__str__`,
so that a program can read the place and a person can read the sentence.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "IllegalToken",
    "MigrationError",
    "ModelError",
    "Refusal",
    "RefusedToken",
    "ReplayError",
    "TokenizerError",
    "TraceFileError",
    "TraceScriptError",
    "TraceShapeError",
    "TraceSyntaxError",
    "TraceVersionError",
    "WorkloadError",
]

_WINDOW = 60
"""Characters of the offending line shown on each side of the place."""


class TraceScriptError(Exception):
    """Root of all errors about scripts, traces and logs.

    Catch this one to catch them all; nothing else comes out of TraceScript for
    bad input.
    """

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it for the processes that errors are sent between, and for `copy`."""
        return _rebuild, (type(self), self.args, self.__dict__.copy())


class _Mismatch(TraceScriptError):
    """Something else stands in a place than has to."""

    def __init__(self, place: str, expected: str, found: str) -> None:
        super().__init__(place, expected, found)
        self.place = place
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{self.place}: expected {self.expected}, found {self.found}"


class TraceSyntaxError(TraceScriptError):
    """A text is not a script. Mend the place that `line` and `column` name.

    Attributes:
        message: what is wrong, in one sentence.
        line: the line, counted from 1.
        column: the column, counted from 1 in code points.
        source_line: the text of that line.
        expected: what could stand at that place, in words; may be empty.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int,
        column: int,
        source_line: str = "",
        expected: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.source_line = source_line
        self.expected = expected

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.explanation}"

    @property
    def explanation(self) -> str:
        """The message, the place with a caret under it, and what was expected there."""
        lines = [self.message]
        if self.source_line:
            start = max(0, self.column - 1 - _WINDOW)
            shown = self.source_line[start : self.column - 1 + _WINDOW]
            # A character that a terminal would act on must not move the caret.
            shown = "".join(char if char.isprintable() else "\ufffd" for char in shown)
            lines += ["    " + shown, "    " + " " * (self.column - 1 - start) + "^"]
        if self.expected:
            lines.append("expected " + _any_of(self.expected))
        return "\n".join(lines)


class TraceVersionError(TraceSyntaxError):
    """A script says that it has a format version this release cannot read.

    Attributes:
        version: the version that the header names.
    """

    def __init__(self, version: str, *, supported: int, source_line: str) -> None:
        super().__init__(
            f"the script has format version {version}; this release reads version {supported}. "
            "Upgrade tracescript, or encode the trace again",
            line=1,
            column=len("tracescript ") + 1,
            source_line=source_line,
        )
        self.version = version


class TraceShapeError(TraceScriptError):
    """A value does not have the shape of a trace. Mend what `path` names.

    Attributes:
        path: where, as a JSON path: `$[0][17][3]` is the outputs of instruction 17.
        expected: what stands there in a trace.
        found: what stands there now.
    """

    def __init__(self, path: str, expected: str, found: str) -> None:
        super().__init__(path, expected, found)
        self.path = path
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{self.path}: expected {self.expected}, found {self.found}"


class TraceFileError(TraceScriptError):
    """A log or a `.trace` file cannot be read or may not be written as asked.

    Attributes:
        message: what is wrong, in one sentence.
        file: the name of the file as it was given.
        line: the line of the file, counted from 1.
    """

    def __init__(self, message: str, *, file: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class TokenizerError(_Mismatch):
    """A text, a list of ids or a vocabulary is none that a tokenizer can use.

    Attributes:
        place: where: `text`, `ids`, or the name of a file and the entry in it.
        expected: what stands there in a good one.
        found: what stands there now.
    """


class IllegalToken(TraceScriptError):
    """A token may not come next. The state that refused it is as it was before.

    Attributes:
        token: the id of the token.
        found: its text, or what is wrong with the id.
        place: how many tokens came before it.
        line: the line of the script so far.
    """

    def __init__(self, token: int, found: str, place: int, line: str) -> None:
        super().__init__(token, found, place, line)
        self.token = token
        self.found = found
        self.place = place
        self.line = line

    def __str__(self) -> str:
        return (
            f"token {self.token} ({self.found}) cannot come next at place {self.place}, "
            f"after {self.line!r}; allowed_tokens() gives those that can"
        )


class RefusedToken(IllegalToken):
    """A token ends a line that TVM refuses. The state that refused it is as it was before.

    Attributes:
        reason: what TVM says, in one line.
    """

    def __init__(self, token: int, found: str, place: int, line: str, reason: str) -> None:
        super().__init__(token, found, place, line)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"token {self.token} ({self.found}) cannot come next at place {self.place}, "
            f"after {self.line!r}: {self.reason}"
        )


class ReplayError(TraceScriptError):
    """A trace cannot be applied. Mend the instruction, or apply it to the module it is of.

    Attributes:
        inst: the position of the instruction, None if it is not one of them that is at fault.
        text: the instruction as a script writes it; empty without one.
        reason: what is wrong with it, in one line: TVM's words, or what `check` says.
    """

    def __init__(self, reason: str, *, inst: int | None = None, text: str = "") -> None:
        super().__init__(reason)
        self.inst = inst
        self.text = text
        self.reason = reason

    def __str__(self) -> str:
        if self.inst is None:
            return self.reason
        return f"instruction {self.inst}, `{_shortened(self.text)}`: {self.reason}"


class Refusal(NamedTuple):
    """One reason why a trace cannot be migrated.

    Attributes:
        path: where, as a path into the JSON form of the trace; it may go on into the text of an
            index map, with the number of a node.
        reason: what stands in the way.
        advice: what to do about it.
    """

    path: str
    reason: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}; {self.advice}"


class MigrationError(TraceScriptError):
    """A trace cannot be taken to another release of TVM. Nothing of it was changed.

    Attributes:
        to: the release.
        refusals: every place that stands in the way, in the order of the trace.
    """

    def __init__(self, to: str, refusals: tuple[Refusal, ...]) -> None:
        super().__init__(to, refusals)
        self.to = to
        self.refusals = refusals

    def __str__(self) -> str:
        reasons = "".join(f"\n    {refusal}" for refusal in self.refusals)
        return f"the trace cannot be migrated to TVM {self.to}:{reasons}"


class WorkloadError(_Mismatch):
    """A module has no form as a workload, or a workload is none. Mend what `place` names.

    Attributes:
        place: where: a block, a buffer, or an attribute, by its name.
        expected: what stands there in a workload.
        found: what stands there now.
    """


class ModelError(_Mismatch):
    """A model is not there, or is none that can propose scripts.

    Attributes:
        place: where: a folder, a file, or what is asked of the model.
        expected: what stands there, or would be done.
        found: what stands there now.
    """


def _shortened(text: str) -> str:
    return text if len(text) <= 2 * _WINDOW else text[: 2 * _WINDOW] + "..."


def _rebuild(
    cls: type[TraceScriptError], args: tuple[object, ...], state: dict[str, object]
) -> TraceScriptError:
    """Make an error again without its constructor, which may take keywords."""
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


def _any_of(choices: tuple[str, ...]) -> str:
    if len(choices) == 1:
        return choices[0]
    return ", ".join(choices[:-1]) + " or " + choices[-1]
