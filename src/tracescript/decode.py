"""Text to model: `loads`, by hand-written code that takes the common road fast.

A line is cut into its parts at the markers, and each part is read by itself.
The grammar is unambiguous and every part is checked in full, so a line that is
read this way is read as the grammar reads it. What this module cannot read goes
to `reference.parse`, which reads it or raises the error.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Any

from tracescript._memo import Memo
from tracescript.encode import HEADER
from tracescript.literals import match_string, parse_float, parse_int, unquote
from tracescript.model import MAX_DEPTH, NULL, Decision, Input, Instruction, Trace, Value, bare
from tracescript.scope import Scope, ScopeError

__all__ = ["Unreadable", "loads", "read_fast", "read_value"]

_word = re.compile(r'[^][{}" ]+')
_is_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_is_reference = re.compile(r"[blv]-[1-9][0-9]*").fullmatch
_run = re.compile(r"[blv](?:[1-9][0-9]+|[2-9])?")
_is_int = re.compile(r"0|-?[1-9][0-9]*").fullmatch
_is_float = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:e[+-]?[0-9]+)?|e[+-]?[0-9]+)|-?inf|nan"
).fullmatch
_is_late = re.compile(r"@(0|-?[1-9][0-9]*) = (.+)").fullmatch

# One part of a line: a text without the markers, except inside strings.
_PART = r'[^" ]*(?:(?:"[^"\\]*(?:\\.[^"\\]*)*"| (?![|=] |-> ))[^" ]*)*'

_KEYWORDS: dict[str, Value] = {"true": True, "false": False, "null": None}


class Unreadable(Exception):
    """The fast road ends here: the text is wrong, or rare enough for the reference parser."""


def loads(script: str) -> Trace:
    r"""Read a script.

    Laws: `loads(dumps(trace)) == trace` for every trace, and `dumps(loads(script)) == script`
    for every canonical script. A script need not be canonical: `1e-5` reads as `1e-05` does.

    Raises:
        TraceVersionError: the header names a format version that this release cannot read.
        TraceSyntaxError: the text is not a script; the error has the line, the column and
            what was expected there.

    >>> loads('tracescript 1\nGetSBlock | "C" "main" -> b\n').insts[0].outputs
    ('b0',)
    """
    try:
        return read_fast(script)
    except Unreadable:
        # Imported late: to build the parser takes longer than most programs read.
        from tracescript.reference import parse

        return parse(script)


def read_value(text: str) -> Value:
    """Read one plain value, as it stands after the keys of a `.trace` file.

    Law: `read_value(write_value(value))` is the value.

    Raises:
        TraceSyntaxError: the text is not one value.
    """
    try:
        (value,) = _items(text, None)
    except (Unreadable, ValueError):
        from tracescript.reference import parse_value

        return parse_value(text)
    return value


def read_fast(script: str) -> Trace:
    """Read a script, or raise `Unreadable` without saying why."""
    if not script.startswith(HEADER) or script[-1] != "\n":
        raise Unreadable
    scope = Scope()
    insts: list[Instruction] = []
    decisions: list[Decision] = []
    lines = script[len(HEADER) : -1].split("\n") if len(script) > len(HEADER) else []
    try:
        for number, line in enumerate(lines):
            if line[:1] == "@":
                decisions += [_late_decision(line) for line in lines[number:]]
                break
            inst, decision = _line(line, scope)
            if decision:
                decisions.append(Decision(len(insts), decision[0]))
            insts.append(inst)
    except (ScopeError, ValueError):
        raise Unreadable from None
    return Trace(tuple(insts), tuple(decisions))


def _line(line: str, scope: Scope) -> tuple[Instruction, tuple[Value, ...]]:
    """Read one instruction, and its decision as a tuple of none or one."""
    head, equals, decision = line.partition(" = ")
    head, arrow, outputs = head.partition(" -> ")
    head, bar, attrs = head.partition(" | ")
    try:
        # The common road: all inputs are words, and no string holds what looks like a marker.
        kind, *words = head.split(" ")
        name = _KINDS[kind]
        inputs: list[Input] = []
        for word in words:
            reference = _REFERENCES[word]
            if reference is None:
                inputs.append(_INPUTS[word])
            else:
                letter, position = reference
                inputs.append(scope.values[letter][position])
        values = _values(attrs) if bar else ()
        decided = _decided(decision) if equals else ()
        runs = _RUNS[outputs] if arrow else ()
    except (Unreadable, IndexError):
        return _exact_line(line, scope)
    return Instruction(name, tuple(inputs), values, _define(runs, scope)), decided


def _exact_line(line: str, scope: Scope) -> tuple[Instruction, tuple[Value, ...]]:
    """Read one instruction whatever its inputs are and its strings hold."""
    cut = _exact_cut().fullmatch(line)
    if cut is None:
        raise Unreadable
    head, attrs, outputs, decision = cut.groups()
    kind, rest = _cut_kind(head)
    inputs = _items(rest[1:], scope) if rest else ()
    values = _values(attrs) if attrs is not None else ()
    decided = _decided(decision) if decision is not None else ()
    # Last, since it changes the scope.
    runs = _RUNS[outputs] if outputs is not None else ()
    return Instruction(kind, inputs, values, _define(runs, scope)), decided


def _cut_kind(head: str) -> tuple[str, str]:
    """The kind, and the inputs with the blank before them."""
    if head[:1] != '"':
        kind, blank, rest = head.partition(" ")
        return _KINDS[kind], blank + rest
    string = match_string(head)
    if string is None or head[string.end() : string.end() + 1] not in ("", " "):
        raise Unreadable
    return unquote(string[0]), head[string.end() :]


def _decided(text: str) -> tuple[Value, ...]:
    values = _values(text)
    if len(values) != 1:
        raise Unreadable
    return values


@lru_cache(maxsize=1)
def _exact_cut() -> re.Pattern[str]:
    # Compiled late: few programs ever need it.
    part = rf"({_PART})"
    return re.compile(rf"{part}(?: \| {part})?(?: -> {part})?(?: = {part})?", re.DOTALL)


def _late_decision(line: str) -> Decision:
    late = _is_late(line)
    if late is None:
        raise Unreadable
    return Decision(parse_int(late[1]), _decided(late[2])[0])


def _kind(text: str) -> str:
    if not _is_name(text):
        raise Unreadable
    return text


def _define(runs: tuple[tuple[str, int], ...], scope: Scope) -> tuple[str, ...]:
    if len(runs) == 1 and runs[0][1]:
        return scope.define(*runs[0])
    names: list[str] = []
    for output, count in runs:
        names += scope.define(output, count) if count else scope.define_named(output)
    return tuple(names)


def _reference(word: str) -> tuple[str, int] | None:
    """The letter and the list position, counted from the end, of a reference; None for another."""
    return (word[0], -parse_int(word[2:])) if _is_reference(word) else None


def _runs(text: str) -> tuple[tuple[str, int], ...]:
    """Read outputs: runs of a letter and a count, or a written-out name and 0."""
    runs: list[tuple[str, int]] = []
    position = 0
    while True:
        if text[position : position + 1] == "@":
            string = match_string(text, position + 1)
            if string is None:
                raise Unreadable
            runs.append((unquote(string[0]), 0))
            position = string.end()
        else:
            run = _run.match(text, position)
            if run is None:
                raise Unreadable
            letter = run[0][0]
            if runs and runs[-1][0] == letter and runs[-1][1]:
                raise Unreadable
            runs.append((letter, parse_int(run[0][1:] or "1")))
            position = run.end()
        if position == len(text):
            return tuple(runs)
        if text[position] != " ":
            raise Unreadable
        position += 1


def _values(text: str) -> tuple[Value, ...]:
    """Read plain values, one blank apart."""
    # A dict can be changed, so it may not be shared through the memo.
    return _items(text, None) if "{" in text else _VALUES[text]


def _items(text: str, scope: Scope | None) -> tuple[Any, ...]:
    """Read inputs, or plain values where there is no scope, up to the end of the text."""
    items: list[Input] = []
    position = 0
    while True:
        item, position = _item(text, position, scope, 0)
        items.append(item)
        if position == len(text):
            return tuple(items)
        position = _skip(text, position, " ")


def _item(text: str, position: int, scope: Scope | None, depth: int) -> tuple[Any, int]:
    """Read the item at a position; give it and the position behind it."""
    first = text[position : position + 1]
    if first == "[":
        return _list(text, position + 1, scope, depth)
    if first == "{":
        return _dict(text, position + 1, depth)
    if first == '"' or text.startswith('@"', position):
        string = match_string(text, position + (first == "@"))
        if string is None or (first == "@" and scope is None):
            raise Unreadable
        value = unquote(string[0])
        return (bare(value) if first == "@" else value), string.end()
    word = _word.match(text, position)
    if word is None:
        raise Unreadable
    if scope is None:
        return _SCALARS[word[0]], word.end()
    reference = _REFERENCES[word[0]]
    if reference is None:
        return _INPUTS[word[0]], word.end()
    letter, back = reference
    return scope.resolve(letter, -back), word.end()


def _list(text: str, position: int, scope: Scope | None, depth: int) -> tuple[Any, int]:
    if depth >= MAX_DEPTH:
        raise Unreadable
    items: list[Input] = []
    while not text.startswith("]", position):
        if items:
            position = _skip(text, position, " ")
        item, position = _item(text, position, scope, depth + 1)
        items.append(item)
    return tuple(items), position + 1


def _dict(text: str, position: int, depth: int) -> tuple[dict[str, Value], int]:
    if depth >= MAX_DEPTH:
        raise Unreadable
    entries: dict[str, Value] = {}
    while not text.startswith("}", position):
        if entries:
            position = _skip(text, position, " ")
        string = match_string(text, position)
        if string is None:
            raise Unreadable
        key = unquote(string[0])
        if key in entries:
            raise Unreadable
        position = _skip(text, string.end(), ": ")
        entries[key], position = _item(text, position, None, depth + 1)
    return entries, position + 1


def _skip(text: str, position: int, separator: str) -> int:
    if not text.startswith(separator, position):
        raise Unreadable
    return position + len(separator)


def _scalar(word: str) -> Value:
    if word in _KEYWORDS:
        return _KEYWORDS[word]
    if _is_int(word):
        return parse_int(word)
    if _is_float(word):
        return parse_float(word)
    raise Unreadable


def _input_word(word: str) -> Input:
    """Read an input that holds no blank and is no reference."""
    if word == "@null":
        return NULL
    is_bare = word[:1] == "@"
    string = match_string(word, is_bare)
    if string is None or string.end() != len(word):
        return _scalar(word)
    value = unquote(string[0])
    return bare(value) if is_bare else value


_KINDS = Memo(_kind)
_REFERENCES = Memo(_reference)
_INPUTS = Memo(_input_word)
_SCALARS = Memo(_scalar)
_VALUES = Memo(partial(_items, scope=None))
_RUNS = Memo(_runs)
