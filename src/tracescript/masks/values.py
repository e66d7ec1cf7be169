"""The goals inside a line: inputs and attributes, and the lists, dicts and strings in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from tracescript.instructions import LETTERS, RVType, Slot
from tracescript.literals import unquote
from tracescript.masks.goals import Goal, Need, Rules, Thread, Way, best, push
from tracescript.masks.lexemes import ANY_INT, IntDomain, Lexeme, Want
from tracescript.masks.strings import CLOSED, read_string, rest_of_string
from tracescript.model import MAX_DEPTH

__all__ = ["Dict", "Exactly", "Items", "Text", "read_value", "value_wants", "value_ways"]

_TYPE_OF: dict[str, RVType] = {letter: name for name, letter in LETTERS.items()}
_PLAIN = Slot(("int", "float", "bool", "str", "null", "list", "dict"))
_OPENED = {'"': "str", '@"': "index map", "[": "list", "{": "dict"}
_COMMON = {"true": "bool", "false": "bool", "inf": "float", "-inf": "float", "nan": "float"}
_PLAIN_WORDS = {**_COMMON, "null": "null"}
# Among the inputs, "null" is TVM's None; a JSON null TVM never writes there.
_INPUT_WORDS = {**_COMMON, "null": "none"}


def type_of(word: Lexeme, is_input: bool) -> str:
    """The type of a value as the table has it, from its first word."""
    if word.type in ("int", "float"):
        return word.type
    if word.type == "ref":
        return _TYPE_OF[word.text]
    if word.type == "word":
        return (_INPUT_WORDS if is_input else _PLAIN_WORDS).get(word.text, "")
    return "str" if word.type == "string" else _OPENED.get(word.text, "")


def read_value(
    word: Lexeme,
    slot: Slot,
    taker: Goal,
    below: Thread,
    rules: Rules,
    *,
    is_input: bool,
    spaced: bool,
    integers: IntDomain = ANY_INT,
    inside: Goal | None = None,
) -> list[Thread]:
    """Read the first word of a value.

    Args:
        word: the word.
        slot: what may stand there.
        taker: the goal that takes the value.
        below: the goals below that one.
        rules: what is enforced.
        is_input: whether it is an input or inside one.
        spaced: whether a blank stands before it.
        integers: the integers that may stand there.
        inside: the goal inside a list or string, if it is a special one.
    """
    if word.spaced != spaced or type_of(word, is_input) not in slot.types:
        return []
    if word.type == "int":
        return push(taker.took(word.number, rules), below, rules) if word.number in integers else []
    if word.type == "open":
        return _enter(word, slot, taker, below, rules, is_input, inside)
    value = word.number if word.type == "ref" else word.text
    return push(taker.took(value, rules), below, rules)


def _enter(
    word: Lexeme,
    slot: Slot,
    taker: Goal,
    below: Thread,
    rules: Rules,
    is_input: bool,
    inside: Goal | None,
) -> list[Thread]:
    if word.text in ("[", "{") and len(below) >= MAX_DEPTH:
        return []
    line = taker.line
    goal: Goal
    if word.text == "[":
        goal = inside or Items(line, slot.items or slot, is_input)
    elif word.text == "{":
        goal = Dict(line)
    elif word.text == '"':
        goal = inside or Text(line)
    else:
        goal = Text(line, "map")
    return push(goal, (*below, taker), rules)


def value_wants(
    slot: Slot, *, spaced: bool, integers: IntDomain = ANY_INT, is_input: bool
) -> list[Want]:
    """The words a value can be that bytes can spell."""
    wants: list[Want] = []
    for name, letter in LETTERS.items():
        if name in slot.types:
            wants.append(Want("ref", spaced, letter, IntDomain(low=1)))
    if "int" in slot.types:
        wants.append(Want("int", spaced, "", integers))
    if "float" in slot.types:
        wants += [Want("float", spaced), *_words(spaced, "inf", "-inf", "nan")]
    if "bool" in slot.types:
        wants += _words(spaced, "true", "false")
    if "none" in slot.types or (not is_input and "null" in slot.types):
        wants += _words(spaced, "null")
    return wants


def _words(spaced: bool, *texts: str) -> list[Want]:
    return [Want("word", spaced, text) for text in texts]


def value_ways(
    slot: Slot, rules: Rules, *, spaced: bool, is_input: bool, integers: IntDomain = ANY_INT
) -> list[Way]:
    """The shortest values of a slot."""
    return best(_value_ways(slot, rules, " " if spaced else "", is_input, integers))


def _value_ways(
    slot: Slot, rules: Rules, blank: str, is_input: bool, integers: IntDomain
) -> Iterator[Way]:
    if "int" in slot.types:
        number = integers.least()
        yield Need(rules.cost(f"{blank}{number}")), number
    if not is_input and "null" in slot.types:
        yield Need(rules.cost(blank + "null")), "null"
    for name, text, more in _SHORTEST:
        if name in slot.types:
            yield Need(rules.cost(blank + text) + more), text
    for name, letter in LETTERS.items():
        if name in slot.types:
            need = Need(rules.cost(f"{blank}{letter}-1"))
            yield need._replace(**{letter: 1}), 1


# A type, the first word of a short value of it, and how many symbols follow that.
_SHORTEST = (
    ("bool", "true", 0),
    ("none", "null", 0),
    ("float", "0.5", 0),
    ("str", '"', 1),
    ("list", "[", 1),
    ("dict", "{", 1),
    ("index map", '@"', 2),
)


class Items(Goal, frozen=True):
    """The next item of a list, or its end.

    Attributes:
        slot: what an item may be.
        is_input: whether the list is an input.
        count: how many items there are; stays at 1 where that does not matter.
        least: how many more there have to be at least.
        most: how many more there may be, None for any number.
        counted: whether the number of items matters to what follows the list.
    """

    slot: Slot
    is_input: bool
    count: int = 0
    least: int = 0
    most: int | None = None
    counted: bool = False

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read the end of the list, or the first word of an item."""
        if word.is_mark("]"):
            return [] if self.least else push(below[-1].took(self.count, rules), below[:-1], rules)
        if self.most == 0:
            return []
        return read_value(
            word, self.slot, self, below, rules, is_input=self.is_input, spaced=self.count > 0
        )

    def wants(self, rules: Rules) -> list[Want]:
        """What an item can be."""
        if self.most == 0:
            return []
        return value_wants(self.slot, spaced=self.count > 0, is_input=self.is_input)

    def took(self, value: Any, rules: Rules) -> Goal:
        """The list with one item more."""
        return Items(
            self.line,
            self.slot,
            self.is_input,
            self.count + 1 if self.counted else 1,
            max(0, self.least - 1),
            None if self.most is None else self.most - 1,
            self.counted,
        )

    def ways(self, rules: Rules) -> list[Way]:
        """As many items as have to be, and the bracket."""
        need = Need(1)
        bare = min(self.least, 1) if self.count == 0 else 0
        for spaced, number in ((False, bare), (True, self.least - bare)):
            if number:
                (one, _), *_others = value_ways(
                    self.slot, rules, spaced=spaced, is_input=self.is_input
                )
                need = need.plus(one._replace(symbols=one.symbols * number))
        return [(need, self.count + self.least)]


_KEPT = 16
"""So many characters of a key are kept: a position of its own for each beginning of a key that any
token has would be far too many."""

_LONG = "\udfff"
"""Stands for a key that is longer; it is no character that a key can have. A dict gets one such
key, for nobody would know whether two of them were the same."""


class Dict(Goal, frozen=True):
    """The next key of a dict, or its end; `seen` are the keys so far."""

    seen: frozenset[str] = frozenset()

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read the end of the dict, or the beginning of a key."""
        if word.is_mark("}"):
            return push(below[-1].took(0, rules), below[:-1], rules)
        if word.spaced != bool(self.seen):
            return []
        if word.type == "string":
            return _after_key(self, word.text, below)
        if word.type == "open" and word.text == '"':
            return [(*below, self, Text(self.line, "key", taken=self.seen))]
        return []

    def took(self, value: Any, rules: Rules) -> Goal:
        """The dict after a value; its key is among `seen` already."""
        return self

    def ways(self, rules: Rules) -> list[Way]:
        """The brace."""
        return [(Need(1), 0)]


class _Colon(Goal, frozen=True):
    """What follows a key."""

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        return [(*below, _Entry(self.line))] if word.is_mark(": ") else []

    def ways(self, rules: Rules) -> list[Way]:
        (need, _), *_others = rules.ways(_Entry(self.line))
        return [(Need(1).plus(need), 0)]


class _Entry(Goal, frozen=True):
    """The value of a key."""

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        return read_value(word, _PLAIN, below[-1], below[:-1], rules, is_input=False, spaced=False)

    def wants(self, rules: Rules) -> list[Want]:
        return value_wants(_PLAIN, spaced=False, is_input=False)

    def ways(self, rules: Rules) -> list[Way]:
        return value_ways(_PLAIN, rules, spaced=False, is_input=False)


def _after_key(goal: Dict, raw: str, below: Thread) -> list[Thread]:
    key = _kept(raw)
    if key in goal.seen:
        return []
    return [(*below, Dict(goal.line, goal.seen | {key}), _Colon(goal.line))]


def _kept(raw: str) -> str:
    """What is kept of a key."""
    if raw == _LONG:
        return _LONG
    key = unquote(f'"{raw}"')
    return key if len(key) <= _KEPT else _LONG


class Text(Goal, frozen=True):
    """The inside of a string, and its closing quote.

    Attributes:
        rule: what the text must be; that of a key, or of the name of a block or function, is kept.
        state: where in the string, as `strings` has it.
        raw: the bytes so far, as Latin-1, where they are kept.
        taken: the keys that a key must differ from.
    """

    rule: Literal["free", "map", "key", "block", "function"] = "free"
    state: str = ""
    raw: str = ""
    taken: frozenset[str] = frozenset()

    def read_bytes(self, data: bytes, below: Thread, rules: Rules) -> list[Thread]:
        """The threads after some bytes, which may close the string but not go on after it."""
        state = read_string(self.state, data)
        if state is None or (self.rule == "map" and data[:1] != b"{"):
            return []
        if self.rule in ("free", "map"):
            if state != CLOSED:
                return [(*below, Text(self.line, "free", state))]
            return push(below[-1].took(None, rules), below[:-1], rules)
        raw = self.raw if self.raw == _LONG else self.raw + data.decode("latin-1")
        if state != CLOSED:
            whole = self.rule == "key" and state == "" and raw != _LONG
            if whole and _kept(_decoded(raw)) == _LONG:
                raw = _LONG
            return [(*below, Text(self.line, self.rule, state, raw, self.taken))]
        text = raw if raw == _LONG else _decoded(raw[:-1])
        if self.rule == "key":
            dict_goal = below[-1]
            assert isinstance(dict_goal, Dict)
            return _after_key(dict_goal, text, below[:-1])
        return push(below[-1].took(text, rules), below[:-1], rules)

    def ways(self, rules: Rules) -> list[Way]:
        """The rest of the character, and the quote."""
        if self.rule == "map":
            return [(Need(2), "")]
        rest = rest_of_string(self.state)
        if self.rule != "key":
            return [(Need(len(rest)), "")]
        more = self._to_another_key(rest)
        (colon, _), *_others = rules.ways(_Colon(self.line))
        return [] if more is None else [(Need(len(rest) + more).plus(colon), "")]

    def _to_another_key(self, rest: bytes) -> int | None:
        """How many letters make the key differ from those that there are; None if none do."""
        begun = self.raw == _LONG
        text = _LONG if begun else _decoded(self.raw + rest[:-1].decode("latin-1"))
        key = _LONG if begun else _kept(text)
        more = 0
        while key in self.taken:
            if key == _LONG:
                return None
            more += 1
            key = _kept(text + "a" * more)
        return more


def _decoded(raw: str) -> str:
    """The bytes of whole characters as text."""
    return raw.encode("latin-1").decode()


class Exactly(Goal, frozen=True):
    """The rest of a text that is given; `after` is what follows it."""

    rest: str
    after: Goal

    def read_bytes(self, data: bytes, below: Thread, rules: Rules) -> list[Thread]:
        """The threads after some bytes of the text."""
        text = data.decode("latin-1")
        if not self.rest.startswith(text):
            return []
        if text == self.rest:
            return push(self.after, below, rules)
        return [(*below, Exactly(self.line, self.rest[len(text) :], self.after))]

    def ways(self, rules: Rules) -> list[Way]:
        """The rest byte by byte, and what follows."""
        need = Need(len(self.rest))
        goals = self.after.closed(rules)
        return best((need.plus(other), value) for g in goals for other, value in rules.ways(g))
