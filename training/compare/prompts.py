"""What another model is asked, and how its answer is read.

It sees what ours sees, the text of the workload and the script to refine. What ours has learnt it
is told: the task and the language, and some worked examples of the training set.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import msgspec

from tracescript.instructions import LETTERS, Kind, Slot, kinds
from training.attempts import HeldOut
from training.data import files
from training.evaluate.allowed import ANNOTATIONS, KINDS, SCOPES
from training.model.sequences import rows

__all__ = [
    "TVM",
    "Example",
    "Examples",
    "Message",
    "instructions",
    "messages",
    "plain",
    "script_in",
]

TVM = "0.27"
"""The release that scripts are for."""

LONGEST = 4000
"""Characters of a script in an example. Those with index maps can be several times as long."""

Message = dict[str, str]
"""A turn of a chat: `role` and `content`."""

_HEADER = re.compile(r"^tracescript \d+[ \t\r]*$", re.MULTILINE)
_NAMES = re.compile(r'"[^"]*"')
_NUMBERS = re.compile(r"\d+")


class Example(msgspec.Struct, frozen=True):
    """A question with a good answer."""

    key: str
    """That of its workload."""
    prompt: str
    script: str
    given: str | None = None
    """The script that is refined; None is to construct one."""


class Examples:
    """The training set, to show some of it.

    Args:
        datasets: the folder of the data sets.

    Raises:
        OSError: a file is missing.
        ValueError: a file is none of Parquet.
    """

    def __init__(self, datasets: Path = files.DATASETS) -> None:
        self._known = {kind: _first_of_each(datasets, kind) for kind in ("construct", "refine")}
        prompts = {each.prompt for known in self._known.values() for each in known}
        self._facts = {prompt: (_names(prompt), _size(prompt)) for prompt in prompts}

    def near(self, question: HeldOut, count: int) -> list[Example]:
        """Those of the workloads that are most like the question's, the most like it last.

        Law: the same question and data sets give the same examples, all of the training set.

        Likeness is the share of names and dtypes that two workloads have in common, and among
        equals the difference of their sizes. Workloads of one family share the names of blocks.
        """
        names, size = _names(question.task.prompt), _size(question.task.prompt)

        def order(example: Example) -> tuple[float, float, str]:
            other_names, other_size = self._facts[example.prompt]
            likeness = len(names & other_names) / max(len(names | other_names), 1)
            return -likeness, abs(size - other_size), example.key

        return sorted(self._known[question.kind], key=order)[:count][::-1]


def messages(question: HeldOut, examples: Sequence[Example]) -> list[Message]:
    """A question as a chat: the task, the examples as turns of their own, the question."""
    chat = [_message("system", instructions())]
    for each in examples:
        chat.append(_message("user", _request(each.prompt, each.given)))
        chat.append(_message("assistant", each.script))
    return [*chat, _message("user", _request(question.task.prompt, question.given))]


def plain(chat: Sequence[Message]) -> str:
    r"""A chat for a model that knows no turns.

    >>> plain([{"role": "system", "content": "Add."}, {"role": "user", "content": "1 1"}])
    'Add.\n\n### user\n1 1\n\n### assistant\n'
    """
    system, *turns = chat
    parts = [f"### {each['role']}\n{each['content']}".rstrip("\n") for each in turns]
    return "\n\n".join([system["content"].rstrip("\n"), *parts, "### assistant\n"])


def instructions() -> str:
    """The text that explains the task, with each kind that the evaluator allows."""
    known = kinds(TVM)
    lines = [_kind(known[name]) for name in known if name in KINDS]
    text = Path(__file__).with_name("task.txt").read_text(encoding="utf-8")
    return text.format(
        tvm=TVM,
        kinds="\n".join(lines),
        scopes=", ".join(sorted(SCOPES)),
        annotations=", ".join(sorted(ANNOTATIONS)),
    )


def script_in(answer: str) -> str:
    r"""The script in an answer; empty if there is none.

    Law: `script_in(before + script + after) == script` for a script of TVM's kinds, if `before` is
    empty or ends with a newline, and `after` has no script, and is empty or begins with an empty
    line or a fence.

    The last script counts: what stands before it may be thoughts, or the code fence.

    >>> script_in("Sure!\n```\ntracescript 1\nEnterPostproc\n```\nIt does nothing.")
    'tracescript 1\nEnterPostproc\n'
    >>> script_in("I cannot.")
    ''
    """
    headers = list(_HEADER.finditer(answer))
    if not headers:
        return ""
    lines = (line.rstrip("\r") for line in answer[headers[-1].start() :].split("\n"))
    script = takewhile(lambda line: line.strip() and not line.startswith("```"), lines)
    return "".join(f"{line}\n" for line in script)


def _first_of_each(datasets: Path, kind: str) -> list[Example]:
    """An example of each workload: the first is the best script, or the largest gain."""
    found: dict[str, Example] = {}
    for row in rows(datasets, kind, "train"):
        example = Example(row["key"], row["prompt"], row["script"], row.get("given"))
        if max(len(example.script), len(example.given or "")) <= LONGEST:
            found.setdefault(example.key, example)
    return list(found.values())


def _names(prompt: str) -> frozenset[str]:
    return frozenset(_NAMES.findall(prompt))


def _size(prompt: str) -> float:
    """The sum of the logarithms of all numbers, which are extents for the most part."""
    return sum(math.log2(1 + int(number)) for number in _NUMBERS.findall(prompt))


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _request(prompt: str, given: str | None) -> str:
    if given is None:
        return f"Write a script for this workload.\n\n{prompt}"
    return (
        "Write a script for this workload whose kernel is faster than that of the given script."
        f"\n\n{prompt}\nThe given script:\n\n{given}"
    )


def _kind(kind: Kind) -> str:
    form = kind.forms[-1]
    head = " ".join([kind.name, *map(_slot, form.inputs)])
    attrs = f" | {' '.join(attr.name for attr in form.attrs)}" if form.attrs else ""
    return f"- {head}{attrs}{''.join(_outputs(kind))}: {kind.meaning}"


def _slot(slot: Slot) -> str:
    return f"<{' or '.join(slot.types)}>{'...' if slot.repeats else ''}"


def _outputs(kind: Kind) -> Iterator[str]:
    letter, count = LETTERS[kind.outputs.type], kind.outputs.count
    if count == 1:
        yield f" -> {letter}"
    elif isinstance(count, str):
        yield f" -> {letter}N"
