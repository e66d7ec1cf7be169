"""Write the page of instruction kinds from the table: `python docs/_kinds.py [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from tracescript.instructions import ASPECTS, KINDS, RELEASES, Attr, Form, Kind, Slot, kinds

PAGE = Path(__file__).parent / "kinds.md"

_TOP = """\
# Instruction kinds

Every kind of instruction that TVM 0.8 to 0.27 registered, with what it takes and gives. This page
is written by `python docs/_kinds.py` from the table in `tracescript.instructions`, and so are the
strict grammars, by `python -m tracescript.strict`. `tracescript.check` reads the same table.

## Kinds and releases

A number is the form of the kind, counted in its section, that the releases have.
"""

_ASSUMPTIONS = """\
## How this is known

- TVM 0.25, 0.26 and 0.27 were asked: which kinds they register, which are pure, and with how many
  inputs and attributes an instruction is refused. The project's tests ask 0.27 again.
- What instructions look at and change was read off TVM 0.27 and is tested with it: that they
  change no more, by a look at the module before and after each instruction; that they look at no
  more, by putting instructions in another order and by leaving some out. For older releases it is
  assumed to be the same.
- Of older releases the numbers of kinds are known, and the pull request that brought a kind or a
  form. The release is the first that was cut after it was merged, by the release notes or by the
  dates. All numbers of kinds agree.
- Whether `TransformLayout` of 0.10 has the attribute `pad_value` already could not be found out:
  the table allows both forms.
- That `ComputeAt` and `ReverseComputeAt` have `index` from 0.10 on follows from dates alone.
- A boolean may be an integer: TVM's file writer turns `true` into `1`. For the same reason a
  probability may be an integer.
- The index map of an attribute is JSON inside a string. The table does not look into it.
"""

_WORDS = {
    "block": "block",
    "loop": "loop",
    "expr": "expression",
    "int": "integer",
    "float": "float",
    "bool": "boolean",
    "str": "string",
    "none": "None",
    "null": "null",
    "list": "list",
    "dict": "dict",
    "index map": "index map",
}

_DECISIONS = {
    "none": "",
    "categorical": "the index of a candidate, from 0",
    "tile": "a list of n positive integers, the last at most `max_innermost_factor` unless that "
    "is -1; `[-1 1 ... 1]` if the extent of the loop is no constant",
    "partitioned tile": "a list of n positive integers; the product of those from `partition_pos` "
    "on is a multiple of `innerpart_factor`; `[-1 1 ... 1]` if the extent of the loop is no "
    "constant",
    "compute location": "the index of a loop, -1 for where the block is, -2 to inline it",
}

_ASPECTS = {
    "blocks": "which blocks there are, and their names; with a block come and go the loops that "
    "are around it alone",
    "loops": "which loops are around the blocks that stay, in which order, and how blocks are "
    "bound to them",
    "extents": "the extents of the loops that stay",
    "loop kinds": "the kinds and thread bindings of loops",
    "loop annotations": "the annotations of loops",
    "block annotations": "the annotations of blocks",
    "dataflow": "what blocks compute, read and write, and in which order they stand",
    "buffers": "the shapes, layouts, data types and memory scopes of buffers, and where they are "
    "allocated",
    "own annotation": "one annotation: that of the first input, under the key that is the first "
    "attribute",
}

_LOOKS_AND_CHANGES = """\
The module has these aspects. What an instruction looks at is all that can make a difference to
what it defines, to what it changes, and to whether TVM takes it; what its random variables stand
for is not counted. A kind that the table does not have may look at everything and change
everything. The [dependency graph](graph.md) is built on this."""

_COUNTS = {
    "any": "any number of {}s",
    "factors": "one {} for each factor",
    "first attribute": "n {}s",
}


def page() -> str:
    """The text of the page."""
    sections = [section for kind in KINDS.values() for section in _section(kind)]
    return "\n".join(
        [_TOP, *_overview(), "", *sections, *_aspects(), "", *_texts(), "", _ASSUMPTIONS]
    )


def _overview() -> Iterator[str]:
    """A row for each kind, a column for each run of releases that are alike."""
    runs = [list(run) for _, run in groupby(RELEASES, kinds)]
    heads = [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    yield _row(["kind", *heads])
    yield _row(["---"] * (1 + len(runs)))
    for name, kind in KINDS.items():
        tables = [kinds(run[0]) for run in runs]
        cells = [_numbers(kind, table.get(name)) for table in tables]
        yield _row([f"[{name}](#{name.lower()})", *cells])
    yield _row(["all", *(str(len(kinds(run[0]))) for run in runs)])


def _numbers(kind: Kind, present: Kind | None) -> str:
    forms = present.forms if present else ()
    return ", ".join(str(1 + kind.forms.index(form)) for form in forms)


def _section(kind: Kind) -> Iterator[str]:
    yield f"## {kind.name}\n"
    yield f"{kind.meaning}\n"
    yield f"- Outputs: {_outputs(kind)}."
    if kind.decision != "none":
        yield f"- Decision: {_DECISIONS[kind.decision]}."
    yield f"- Pure: {'yes, it leaves the module as it is' if kind.pure else 'no'}."
    yield f"- Looks at: {_listed(kind.looks)}."
    yield f"- Changes: {_listed(kind.changes)}.\n"
    yield _row(["form", "TVM", "inputs", "attributes"])
    yield _row(["---"] * 4)
    for number, form in enumerate(kind.forms, 1):
        yield _row([str(number), _range(form), _inputs(form), _attrs(form.attrs)])
    yield ""


def _outputs(kind: Kind) -> str:
    word, count = _WORDS[kind.outputs.type], kind.outputs.count
    if isinstance(count, int):
        return ["none", f"one {word}", f"two {word}s"][count]
    return _COUNTS[count].format(word)


def _range(form: Form) -> str:
    return form.since if form.since == form.until else f"{form.since} to {form.until}"


def _inputs(form: Form) -> str:
    return "; ".join(_slot(slot) for slot in form.inputs) or "none"


def _attrs(attrs: Iterable[Attr]) -> str:
    return "; ".join(f"`{attr.name}`: {_slot(attr.slot)}" for attr in attrs) or "none"


def _slot(slot: Slot, plural: str = "") -> str:
    *others, last = [_choice(word, slot) + plural for word in slot.types]
    text = f"{', '.join(others)} or {last}" if others else last
    return f"any number of: {text}" if slot.repeats else text


def _choice(word: str, slot: Slot) -> str:
    if word != "list":
        return _WORDS[word]
    return f"list of {_slot(slot.items, 's')}" if slot.items else "list of the same"


def _listed(aspects: tuple[str, ...]) -> str:
    """Some aspects; what is left out is said where that is shorter."""
    missing = [aspect for aspect in ASPECTS if aspect not in aspects]
    if not missing:
        return "everything"
    if len(missing) < len(aspects):
        return f"everything but {', '.join(missing)}"
    return ", ".join(aspects) or "nothing"


def _aspects() -> Iterator[str]:
    yield "## What instructions look at and change\n"
    yield f"{_LOOKS_AND_CHANGES}\n"
    yield _row(["aspect", "what it is"])
    yield _row(["---"] * 2)
    yield from [_row([aspect, _ASPECTS[aspect]]) for aspect in (*ASPECTS, "own annotation")]


def _texts() -> Iterator[str]:
    """Known strings, by the name of the place that they stand in."""
    yield "## Known strings\n"
    yield "TVM is known to write these; other strings are as good.\n"
    known = {
        f"`{attr.name}`": attr.slot.texts
        for kind in KINDS.values()
        for form in kind.forms
        for attr in form.attrs
        if attr.slot.texts
    }
    (hiding,) = KINDS["UnsafeHideBufferAccess"].forms
    known["the second input of `UnsafeHideBufferAccess`"] = hiding.inputs[1].texts
    yield _row(["place", "strings"])
    yield _row(["---"] * 2)
    for name, texts in sorted(known.items()):
        yield _row([name, " ".join(f"`{text}`" for text in texts)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
