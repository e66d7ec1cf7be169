"""Write the strict grammars: for each release of TVM, the scripts that make sense in it.

The open grammar takes any trace. A strict one also knows the kinds of one release, the
types of their inputs and attributes, how many outputs they have and what they can decide.
What depends on other lines it cannot know: whether a reference is in scope, whether there
is one output for each factor. For that there are masks.

Law: a strict grammar takes the script of every trace that TVM of its release recorded, and
nothing that the open grammar refuses.

    python -m tracescript.strict            write them into grammar/strict
    python -m tracescript.strict --check    only see whether they are up to date
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from tracescript._grammar import grammar_text
from tracescript.instructions import (
    LETTERS,
    RELEASES,
    DecisionKind,
    Form,
    Kind,
    Outputs,
    Slot,
    kinds,
)

__all__ = ["main", "strict_grammar"]

_TOP = """\
// TraceScript, format 1, as TVM {release} writes it. Do not edit:
// `python -m tracescript.strict` makes this file from the table of kinds.
//
// A kind of instruction is a rule. What the grammar cannot know is what other lines
// say: a reference may be out of scope, and a number of outputs not the one it should be.
// The dialect is that of ../tracescript.lark, which is the definition of the language.

start: _HEADER instruction*
"""

_OPEN = dict(re.findall("^([A-Z_]+): (.+)$", grammar_text(), re.MULTILINE))
"""The terminals of the open grammar, which is where they are written down."""

_TERMINALS = {
    **{
        name: _OPEN[name]
        for name in ("_HEADER", "_NEWLINE", "_SPACE", "_BAR", "_ARROW", "_EQUALS", "_COLON")
    },
    # References, and outputs as runs.
    "BLOCK": "/b-[1-9][0-9]*/",
    "LOOP": "/l-[1-9][0-9]*/",
    "EXPR": "/v-[1-9][0-9]*/",
    "BLOCKS": "/b([1-9][0-9]+|[2-9])?/",
    "LOOPS": "/l([1-9][0-9]+|[2-9])?/",
    "EXPRS": "/v([1-9][0-9]+|[2-9])?/",
    "UNNAMED": r'"@\"_\""',
    # Decisions.
    "CANDIDATE": "/0|[1-9][0-9]*/",
    "FACTOR": "/[1-9][0-9]*/",
    "LOCATION": "/0|[1-9][0-9]*|-1|-2/",
    # Values.
    "INT": _OPEN["INT"],
    "FLOAT": _OPEN["FLOAT"],
    "BOOL": "/true|false/",
    "FLAG": "/true|false|0|1/",
    "NULL": _OPEN["NULL"],
    "STRING": _OPEN["STRING"],
    "INDEX_MAP": _OPEN["STRING"].replace('"', r'@"\{', 1),
}
"""Every terminal that some release needs, in the order of the file."""

_TERMINAL_OF = {
    "block": "BLOCK",
    "loop": "LOOP",
    "expr": "EXPR",
    "int": "INT",
    "float": "FLOAT",
    "bool": "BOOL",
    "str": "STRING",
    "none": "NULL",
    "null": "NULL",
    "index map": "INDEX_MAP",
}
_RUNS = {"block": "BLOCKS", "loop": "LOOPS", "expr": "EXPRS"}

_NAMES: dict[tuple[str, ...], str] = {
    ("block", "loop"): "place",
    ("expr", "int", "none"): "factor",
    ("float", "int"): "number",
    ("expr", "int", "float", "bool", "str", "none", "list", "dict"): "annotation",
}
"""Choices with a name of their own; any other is named after what there is to choose."""

_PLAIN = {
    "list": 'list: "[" (value (_SPACE value)*)? "]"',
    "dict": 'dict: "{" (pair (_SPACE pair)*)? "}"',
    "pair": "pair: STRING _COLON value",
    "value": "?value: list | dict | STRING | INT | FLOAT | BOOL | NULL",
}
"""What a dict holds: plain values, none of them a reference."""

_TILES = """\
sampled_tile: _ARROW EXPRS (_EQUALS tile)?
    | _ARROW UNNAMED (_SPACE EXPRS)? (_EQUALS unknown_tile)?
tile: "[" FACTOR (_SPACE FACTOR)* "]"

// What TVM decides if the extent is no constant; the outer factor has no name then.
unknown_tile: "[" "-1" (_SPACE "1")* "]"
"""
_SAMPLED: dict[DecisionKind, str] = {
    "categorical": '_ARROW "v" (_EQUALS CANDIDATE)?',
    "compute location": '_ARROW "l" (_EQUALS LOCATION)?',
    "tile": "sampled_tile",
    "partitioned tile": "sampled_tile",
}


def strict_grammar(tvm: str) -> str:
    r"""The text of the grammar of one release.

    Raises:
        ValueError: the table of kinds does not know the release.

    >>> print(*[line for line in strict_grammar("0.27").split("\n") if line[:5] == "split"])
    split: "Split" _SPACE LOOP _SPACE factor (_SPACE factor)* _BAR FLAG _SPACE FLAG _ARROW LOOPS
    """
    rows = kinds(tvm).values()
    values = _Values()
    lines = [f"// {row.meaning}\n{_rule_name(row)}: {_line(row, values)}\n" for row in rows]
    names = "\n    | ".join(map(_rule_name, rows))
    rules = [
        f"instruction: _kind _NEWLINE\n\n_kind: {names}\n",
        *lines,
        _TILES,
        "".join(f"{rule}\n" for rule in values.rules.values()),
    ]
    used = {"_HEADER", *re.findall(r"\w+", "\n".join(rules))}
    terminals = [f"{name}: {text}\n" for name, text in _TERMINALS.items() if name in used]
    return "\n".join([_TOP.format(release=tvm), *rules, "".join(terminals)])


def _rule_name(kind: Kind) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.name).lower()


def _line(kind: Kind, values: _Values) -> str:
    """The alternatives of a kind, one for each form."""
    end = _SAMPLED.get(kind.decision) or _outputs(kind.outputs)
    parts = [(f'"{kind.name}"', _form(form, values), end) for form in kind.forms]
    return "\n    | ".join([" ".join(filter(None, part)) for part in parts])


def _form(form: Form, values: _Values) -> str:
    inputs = [
        f"(_SPACE {values.of(slot)})*" if slot.repeats else f"_SPACE {values.of(slot)}"
        for slot in form.inputs
    ]
    attrs = " _SPACE ".join(values.of(attr.slot) for attr in form.attrs)
    return " ".join([*inputs, *(["_BAR", attrs] if attrs else [])])


def _outputs(outputs: Outputs) -> str:
    if outputs.count == "any":
        return f"(_ARROW {_RUNS[outputs.type]})?"
    if not isinstance(outputs.count, int):
        return f"_ARROW {_RUNS[outputs.type]}"
    if outputs.count == 0:
        return ""
    count = "" if outputs.count == 1 else outputs.count
    return f'_ARROW "{LETTERS[outputs.type]}{count}"'


class _Values:
    """The rules for what may stand in a slot, each written once."""

    def __init__(self) -> None:
        self.rules: dict[str, str] = {}

    def of(self, slot: Slot) -> str:
        """The terminal or the rule of a slot."""
        if slot.is_flag:
            return "FLAG"
        choices = [self._choice(word, slot) for word in slot.types]
        if len(choices) == 1:
            return choices[0]
        name = _NAMES.get(slot.types) or "_or_".join(choices).lower()
        self.rules[name] = f"?{name}: {' | '.join(choices)}"
        return name

    def _choice(self, word: str, slot: Slot) -> str:
        if word == "list":
            item = self.of(slot.items) if slot.items else _NAMES[slot.types]
            name = f"{item.lower()}_list"
            self.rules[name] = f'{name}: "[" ({item} (_SPACE {item})*)? "]"'
            return name
        if word == "dict":
            self.rules.update(_PLAIN)
        return _TERMINAL_OF.get(word, word)


def main(arguments: list[str] | None = None) -> int:
    """Write the grammars, or with `--check` compare them; 1 if one was not up to date."""
    parser = argparse.ArgumentParser(
        prog="python -m tracescript.strict",
        description="Write the strict grammar of each release of TVM from the table of kinds.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path("grammar/strict"), help="where they are"
    )
    options = parser.parse_args(arguments)
    stale = 0
    for tvm in RELEASES:
        path: Path = options.folder / f"tvm-{tvm}.lark"
        text = strict_grammar(tvm)
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if options.check:
            sys.stderr.write(f"{path} is not what the table of kinds says\n")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path}\n")
    return int(options.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
