"""The attempts of a model in a file that an interrupted run goes on from, and what they took."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tqdm import tqdm

from training.attempts import GIVEN, Attempt, HeldOut, facts_path, given, summary
from training.compare.prompts import Message, script_in
from training.data import files
from training.evaluate.results import RowFile, Run

__all__ = ["Answer", "Job", "Record", "left"]


class Answer(msgspec.Struct, frozen=True):
    """What a model said."""

    text: str
    ended: bool
    """Whether it came to its end; one that did not has no script."""
    tokens: int
    """Of the answer, thoughts and the end included; 0 if the server does not say."""
    prompt_tokens: int


class Totals(msgspec.Struct):
    """What the attempts of a file took, over all runs."""

    requests: int = 0
    """Those that were sent, repeated ones too."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    errors: dict[str, int] = {}
    """Questions that were asked in vain, by what went wrong."""


class Job(NamedTuple):
    """A question that is to be asked once."""

    question: HeldOut
    chat: list[Message]


class Record:
    """A file of attempts and, beside it, `.run.json` with the conditions and what it took.

    Law: an attempt is in the file when the call that adds it returns.

    Args:
        path: of the attempts.
        label: who writes them.
        settings: what has to be the same for all attempts of a file.
        about: what else is told of them.

    Raises:
        OSError: a file cannot be read or written.
        ValueError: there are files of something else, or attempts of another label or with other
            settings; they stay as they are.
    """

    def __init__(
        self, path: Path, label: str, settings: dict[str, Any], about: dict[str, Any]
    ) -> None:
        self._facts_path = facts_path(path)
        self._label, self._about = label, {"label": label, **settings, **about}
        self._totals = _earlier(self._facts_path, {"label": label, **settings})
        self._file = RowFile(path, Attempt, partial(_require_by, label, path))
        self.attempts = [*self._file.rows]
        """All that the file has."""

    @contextmanager
    def running(self, run: Run, total: int) -> Iterator[None]:
        """Show progress, and write the conditions now and at the end, however that comes.

        Args:
            run: where and with what; of several runs the last one is told.
            total: questions that are to be asked.
        """
        self._write_facts(run)
        begin = time.monotonic()
        with closing(self._file), tqdm(total=total, unit="script") as self._bar:
            try:
                yield
            finally:
                self._totals.seconds += time.monotonic() - begin
                self._write_facts(run)

    def add_given(self, asked: Sequence[HeldOut]) -> None:
        """Add the scripts that the questions give and that are not there yet."""
        there = {_slot(each) for each in self.attempts if each.source == GIVEN}
        for each in given(asked):
            if _slot(each) not in there:
                self._add(each)

    def sent(self) -> None:
        """Count a request."""
        self._totals.requests += 1

    def took(self, job: Job, answer: Answer) -> None:
        """Add an answer."""
        self._totals.prompt_tokens += answer.prompt_tokens
        self._totals.completion_tokens += answer.tokens
        script = script_in(answer.text)
        tokens, ended = answer.tokens, answer.ended
        self._add(job.question.attempt(script, self._label, tokens=tokens, ended=ended))
        self._bar.update()

    def failed(self, reason: str) -> None:
        """Count a question that was asked in vain."""
        self._totals.errors[reason] = self._totals.errors.get(reason, 0) + 1

    def facts(self) -> dict[str, Any]:
        """What the attempts are, and what they took."""
        own = [each for each in self.attempts if each.source == self._label]
        return {
            **self._about,
            "masked": False,
            **msgspec.to_builtins(self._totals),
            **summary(own, self._totals.seconds),
        }

    def _add(self, attempt: Attempt) -> None:
        self._file.add(attempt)
        self.attempts.append(attempt)

    def _write_facts(self, run: Run) -> None:
        facts = msgspec.json.encode({"run": run, **self.facts()})
        files.write(self._facts_path, msgspec.json.format(facts) + b"\n")


def left(asked: Sequence[HeldOut], done: Iterable[Attempt], copies: int) -> list[HeldOut]:
    """The questions that are still to be asked, each as often as attempts are missing.

    The first copies of all come first, so a run that stops early has asked all alike.

    Args:
        asked: all questions.
        done: what is there; given scripts do not count.
        copies: attempts of each question.
    """
    counts = Counter(_slot(each) for each in done if each.source != GIVEN)
    return [
        question
        for copy in range(copies)
        for question in asked
        if counts[question.kind, question.split, question.task.key] <= copy
    ]


def _slot(attempt: Attempt) -> tuple[str, str, str]:
    return attempt.kind, attempt.split, attempt.workload


def _require_by(label: str, path: Path, attempts: Sequence[Attempt]) -> None:
    for number, each in enumerate(attempts, 1):
        if each.source not in (label, GIVEN):
            raise ValueError(
                f"{path}, line {number}: an attempt by {each.source!r}, expected {label!r};"
                " name another --out"
            )


def _earlier(path: Path, settings: dict[str, Any]) -> Totals:
    """What earlier runs took; their settings have to be the same."""
    if not path.is_file():
        return Totals()
    content = path.read_bytes()
    try:
        facts = msgspec.json.decode(content, type=dict[str, Any])
        totals = msgspec.json.decode(content, type=Totals)
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path}: {error}") from None
    for name, value in settings.items():
        if facts.get(name) != value:
            raise ValueError(
                f"{path}: its attempts were made with {name} {facts.get(name)!r}, expected"
                f" {value!r}; name another --out"
            )
    return totals
