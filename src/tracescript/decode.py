"""Text to model: `loads`, by hand-written code that takes the common road fast.

A line is read by itself into a template, in which references are still distances;
lines come again and again, so templates are remembered. Then the templates are
filled in, from the first line to the last.

A line is cut into its parts at the markers, and each part is read by itself. The
grammar is unambiguous and every part is checked in full, so a line that is read
this way is read as the grammar reads it. What this module cannot read goes to
`reference.parse`, which reads it or raises the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeAlias, cast

from tracescript._memo import Memo
from tracescript.encode import HEADER
from tracescript.literals import (
    is_float,
    is_int,
    is_name,
    is_reference,
    is_string,
    match_run,
    match_string,
    parse_float,
    parse_int,
    unquote,
)
from tracescript.model import MAX_DEPTH, NULL, RV, Decision, Input, Instruction, Trace, Value, bare
from tracescript.scope import Scope, ScopeError

__all__ = ["Unreadable", "loads", "read_fast", "read_line", "read_value"]

_word = re.compile(r'[^][{}" ]+').match
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
        (value,) = _VALUES[text]
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
            inst, decided = read_line(line, scope)
            if decided:
                decisions.append(Decision(len(insts), decided[0]))
            insts.append(inst)
    except (IndexError, ScopeError, ValueError):
        raise Unreadable from None
    return Trace(tuple(insts), tuple(decisions))


def read_line(line: str, scope: Scope) -> tuple[Instruction, tuple[Value, ...]]:
    """Read the line of one instruction, without its end, and define its outputs in the scope.

    Returns:
        The instruction, and its decision as a tuple of none or one.

    Raises:
        Unreadable, IndexError, ScopeError, ValueError: the line is wrong, or a rare one.
    """
    kind, inputs, fill, attrs, runs, decided = _LINES[line]
    if fill is not None:
        inputs = fill(inputs, scope.values)
    return Instruction(kind, inputs, attrs, _define(runs, scope)), decided


class _Back(NamedTuple):
    """A reference: the list of values, and the position in it counted from its end."""

    letter: str
    position: int


_Values: TypeAlias = "dict[str, list[RV]]"
_Runs: TypeAlias = "tuple[tuple[str, int], ...]"
_Fill: TypeAlias = Callable[[Any, _Values], "tuple[Any, ...]"]


class _Template(NamedTuple):
    """A line as it reads by itself.

    Attributes:
        kind: the kind.
        inputs: the inputs, with a `_Back` for each reference.
        fill: puts values in the place of references; None if there are none.
        attrs: the attributes.
        runs: the outputs: runs of a letter and a count, or a written-out name and 0.
        decided: the decision, as a tuple of none or one.
    """

    kind: str
    inputs: tuple[Any, ...]
    fill: _Fill | None
    attrs: tuple[Value, ...]
    runs: _Runs
    decided: tuple[Value, ...]


def _read_line(line: str) -> _Template:
    head, equals, decision = line.partition(" = ")
    head, arrow, outputs = head.partition(" -> ")
    head, bar, attrs = head.partition(" | ")
    try:
        # The common road: all inputs are words, and no string holds what looks like a marker.
        kind, *words = head.split(" ")
        inputs = tuple([_INPUTS[word] for word in words])
        return _Template(
            _KINDS[kind],
            inputs,
            _fill_for(inputs),
            _VALUES[attrs] if bar else (),
            _RUNS[outputs] if arrow else (),
            _decided(decision) if equals else (),
        )
    except Unreadable:
        return _read_exactly(line)


def _read_exactly(line: str) -> _Template:
    """Read a line whatever its inputs are and its strings hold."""
    cut = _exact_cut().fullmatch(line)
    if cut is None:
        raise Unreadable
    head, attrs, outputs, decision = cut.groups()
    kind, rest = _cut_kind(head)
    inputs = _items(rest[1:], _INPUTS) if rest else ()
    return _Template(
        kind,
        inputs,
        _fill_for(inputs),
        _VALUES[attrs] if attrs is not None else (),
        _RUNS[outputs] if outputs is not None else (),
        _decided(decision) if decision is not None else (),
    )


def _fill_for(inputs: tuple[Any, ...]) -> _Fill | None:
    types: set[type] = {type(item) for item in inputs}
    if types == {_Back}:
        return _fill_references
    return None if types.isdisjoint((_Back, tuple)) else _fill


def _fill_references(inputs: tuple[_Back, ...], values: _Values) -> tuple[RV, ...]:
    return tuple([values[letter][position] for letter, position in inputs])


def _fill(inputs: tuple[Any, ...], values: _Values) -> tuple[Any, ...]:
    filled: list[Any] = []
    for item in inputs:
        if type(item) is _Back:
            filled.append(values[item.letter][item.position])
        else:
            filled.append(_fill(cast("Any", item), values) if type(item) is tuple else item)
    return tuple(filled)


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
    values = _VALUES[text]
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
    if not is_name(text):
        raise Unreadable
    return text


def _define(runs: _Runs, scope: Scope) -> tuple[str, ...]:
    if not runs:
        return ()
    if len(runs) == 1 and runs[0][1]:
        return scope.define(*runs[0])
    names: list[str] = []
    for output, count in runs:
        names += scope.define(output, count) if count else scope.define_named(output)
    return tuple(names)


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
            run = match_run(text, position)
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


def _items(text: str, words: Memo[Any]) -> tuple[Any, ...]:
    """Read items, one blank apart, up to the end of the text.

    Args:
        text: the items.
        words: what reads the simple ones, and so says whether they are inputs or plain values.
    """
    items: list[Any] = []
    position = 0
    while True:
        item, position = _item(text, position, words, 0)
        items.append(item)
        if position == len(text):
            return tuple(items)
        position = _skip(text, position, " ")


def _item(text: str, position: int, words: Memo[Any], depth: int) -> tuple[Any, int]:
    """Read the item at a position; give it and the position behind it."""
    first = text[position : position + 1]
    if first == "[":
        return _list(text, position + 1, words, depth)
    if first == "{":
        return _dict(text, position + 1, depth)
    match = match_string(text, position + text.startswith('@"', position))
    if match is None:
        match = _word(text, position)
    if match is None:
        raise Unreadable
    return words[text[position : match.end()]], match.end()


def _list(text: str, position: int, words: Memo[Any], depth: int) -> tuple[Any, int]:
    if depth >= MAX_DEPTH:
        raise Unreadable
    items: list[Input] = []
    while not text.startswith("]", position):
        if items:
            position = _skip(text, position, " ")
        item, position = _item(text, position, words, depth + 1)
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
        entries[key], position = _item(text, position, _SCALARS, depth + 1)
    return entries, position + 1


def _skip(text: str, position: int, separator: str) -> int:
    if not text.startswith(separator, position):
        raise Unreadable
    return position + len(separator)


def _scalar(word: str) -> Value:
    if word[:1] == '"':
        return _string(word)
    if word in _KEYWORDS:
        return _KEYWORDS[word]
    if is_int(word):
        return parse_int(word)
    if is_float(word):
        return parse_float(word)
    raise Unreadable


def _simple_input(word: str) -> Input | _Back:
    if is_reference(word):
        return _Back(word[0], -parse_int(word[2:]))
    if word == "@null":
        return NULL
    return bare(_string(word[1:])) if word[:1] == "@" else _scalar(word)


def _string(word: str) -> str:
    if not is_string(word):
        raise Unreadable
    return unquote(word)


_KINDS = Memo(_kind)
_SCALARS: Memo[Any] = Memo(_scalar)
_INPUTS: Memo[Any] = Memo(_simple_input)
_VALUES: Memo[tuple[Any, ...]] = Memo(partial(_items, words=_SCALARS))
_RUNS = Memo(_runs)
_LINES = Memo(_read_line, longest=128)
