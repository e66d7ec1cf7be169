"""The goals of a line, from its kind to its end.

Nothing here is written down about a kind: that comes from the table of instructions.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tracescript.encode import HEADER
from tracescript.instructions import LETTERS, Form
from tracescript.literals import unquote
from tracescript.masks.factors import Brackets
from tracescript.masks.goals import Goal, Line, Need, Rules, Thread, Way, best, push
from tracescript.masks.lexemes import ANY_INT, MOST_OUTPUTS, IntDomain, Lexeme, Want, run_of
from tracescript.masks.task import NameOf
from tracescript.masks.values import (
    Exactly,
    Items,
    Text,
    read_value,
    value_wants,
    value_ways,
)

__all__ = ["Arrow", "End", "Header", "Start"]

_MOST_FACTORS = 64
"""More than any tile has; the bound keeps a decision finite."""

_MOST_CANDIDATES = 64
"""More than a choice has."""

_NAMED: dict[str, NameOf] = {"name": "block", "func_name": "function"}
"""What the attributes of a kind that finds a block are the names of."""


class Header(Goal, frozen=True):
    """The header of the script."""

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read the header."""
        return [(Start(Line()),)] if word.text == HEADER else []

    def ways(self, rules: Rules) -> list[Way]:
        """The header alone: an empty trace is one."""
        return [(Need(1), None)]


class Start(Goal, frozen=True):
    """The beginning of a line: a kind, or the end of the script."""

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read a kind of the release."""
        kind = rules.kinds.get(word.text) if word.type == "kind" else None
        if kind is None:
            return []
        return [
            thread
            for form in range(len(kind.forms))
            for thread in push(Inputs(Line(kind.name, form), 0), below, rules)
        ]

    def ways(self, rules: Rules) -> list[Way]:
        """Nothing: no line has begun."""
        return [(Need(0), None)]


def _form(line: Line, rules: Rules) -> Form:
    return rules.kinds[line.kind].forms[line.form]


class Inputs(Goal, frozen=True):
    """The input at a position; of a slot that repeats, the positions are one."""

    position: int

    def closed(self, rules: Rules) -> list[Goal]:
        """An input if there is a place for one, and the attributes if all are there."""
        form = _form(self.line, rules)
        here: list[Goal] = [self] if form.slot(self.position) else []
        if self.position < form.least_inputs:
            return here
        return here + (Bar(self.line) if form.attrs else Outputs(self.line)).closed(rules)

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read the first word of an input."""
        slot = _form(self.line, rules).slot(self.position)
        assert slot is not None
        return read_value(word, slot, self, below, rules, is_input=True, spaced=True)

    def wants(self, rules: Rules) -> list[Want]:
        """What the input can be."""
        slot = _form(self.line, rules).slot(self.position)
        assert slot is not None
        return value_wants(slot, spaced=True, is_input=True)

    def took(self, value: Any, rules: Rules) -> Goal:
        """The next input."""
        kind, form = rules.kinds[self.line.kind], _form(self.line, rules)
        line = self.line
        if kind.outputs.count == "factors":
            line = msgspec.structs.replace(line, inputs=line.inputs + 1)
        if rules.tracked and kind.loops == "looks up" and isinstance(value, int):
            line = msgspec.structs.replace(line, block=value)
        return Inputs(line, min(self.position + 1, len(form.inputs)))

    def ways(self, rules: Rules) -> list[Way]:
        """The least inputs, and the rest of the line."""
        slot = _form(self.line, rules).slot(self.position)
        assert slot is not None
        ways = value_ways(slot, rules, spaced=True, is_input=True)
        return _then(ways, self, rules)


def _then(ways: list[Way], taker: Goal, rules: Rules) -> list[Way]:
    """Ways to read a value, each with the ways to finish the line after it."""
    return best(
        (need.plus(rest), None)
        for need, value in ways
        for goal in _shortest(taker.took(value, rules), rules)
        for rest, _ in rules.ways(goal)
    )


def _shortest(goal: Goal, rules: Rules) -> list[Goal]:
    """The goals that a shortest way goes on with: no input that may be left out."""
    goals = goal.closed(rules)
    return goals[1:] if isinstance(goals[0], Inputs) and len(goals) > 1 else goals


class _Mark(Goal, frozen=True):
    """A mark that stands before a part of the line."""

    def _mark(self) -> tuple[str, Goal]:
        raise NotImplementedError

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read the mark."""
        mark, goal = self._mark()
        return push(goal, below, rules) if word.is_mark(mark) else []

    def ways(self, rules: Rules) -> list[Way]:
        """The mark, and the rest of the line."""
        goals = self._mark()[1].closed(rules)
        return best((Need(1).plus(need), None) for goal in goals for need, _ in rules.ways(goal))


class Bar(_Mark, frozen=True):
    """The mark before the attributes."""

    def _mark(self) -> tuple[str, Goal]:
        return " |", Attrs(self.line, 0)


class Attrs(Goal, frozen=True):
    """The attribute at a position."""

    position: int

    def closed(self, rules: Rules) -> list[Goal]:
        """The outputs, after the last attribute."""
        attrs = _form(self.line, rules).attrs
        return [self] if self.position < len(attrs) else Outputs(self.line).closed(rules)

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read the first word of an attribute."""
        return read_value(
            word,
            _form(self.line, rules).attrs[self.position].slot,
            self,
            below,
            rules,
            is_input=False,
            spaced=True,
            integers=self._integers(rules),
            inside=self._inside(word, rules),
        )

    def wants(self, rules: Rules) -> list[Want]:
        """What the attribute can be."""
        slot = _form(self.line, rules).attrs[self.position].slot
        return value_wants(slot, spaced=True, is_input=False, integers=self._integers(rules))

    def took(self, value: Any, rules: Rules) -> Goal:
        """The next attribute; what the value says about outputs and decision is kept."""
        kind, line = rules.kinds[self.line.kind], self.line
        if kind.decision != "none" and isinstance(value, int):
            line = msgspec.structs.replace(line, numbers=(*line.numbers, value))
        named = self._names(rules) if value is not None else None
        if named is not None:
            name = unquote(f'"{value}"')
            changed = {"name": name} if named == "block" else {"function": name}
            line = msgspec.structs.replace(line, **changed)
        return Attrs(line, self.position + 1)

    def ways(self, rules: Rules) -> list[Way]:
        """The shortest attribute, and the rest of the line."""
        slot = _form(self.line, rules).attrs[self.position].slot
        inside = self._inside(Lexeme("open", True, "["), rules)
        if inside is not None:
            (rest, length), *_others = rules.ways(inside)
            return _then([(Need(1).plus(rest), length)], self, rules)
        integers = self._integers(rules)
        ways = value_ways(slot, rules, spaced=True, is_input=False, integers=integers)
        return _then(ways, self, rules)

    def _integers(self, rules: Rules) -> IntDomain:
        """How many factors there can be, and what they can be asked to be."""
        if _form(self.line, rules).attrs[self.position].slot.is_flag:
            return IntDomain(0, 1)
        decision = rules.kinds[self.line.kind].decision
        if decision not in ("tile", "partitioned tile") or not rules.counts:
            return ANY_INT
        if self.position == 0:
            return IntDomain(1, _MOST_FACTORS)
        if decision == "tile":
            return IntDomain(-1)
        return IntDomain(0, self.line.numbers[0]) if self.position == 1 else IntDomain(1)

    def _inside(self, word: Lexeme, rules: Rules) -> Goal | None:
        """What is special about the inside of an attribute: its length, or that it is a name."""
        kind = rules.kinds[self.line.kind]
        if word.text == '"':
            named = self._names(rules)
            return None if named is None else Text(self.line, named)
        if kind.decision != "categorical" or not rules.counts:
            return None
        items = _form(self.line, rules).attrs[self.position].slot.items
        assert items is not None
        if self.position == 0:
            return Items(self.line, items, False, least=1, most=_MOST_CANDIDATES, counted=True)
        length = self.line.numbers[0]
        return Items(self.line, items, False, least=length, most=length)

    def _names(self, rules: Rules) -> NameOf | None:
        """What the attribute is the name of, if that is of interest."""
        if not rules.tracked or rules.kinds[self.line.kind].loops != "finds":
            return None
        return _NAMED[_form(self.line, rules).attrs[self.position].name]


class Outputs(Goal, frozen=True):
    """The outputs, if there are any."""

    def closed(self, rules: Rules) -> list[Goal]:
        """The mark before them, or what follows, or either."""
        count = _output_count(self.line, rules)
        after = After(self.line).closed(rules)
        if count == 0:
            return after
        arrow: list[Goal] = [Arrow(self.line)]
        return arrow + after if count is None else arrow


def _output_count(line: Line, rules: Rules) -> int | None:
    """How many outputs there have to be; None if there may be any number."""
    count = rules.kinds[line.kind].outputs.count
    if isinstance(count, int):
        return count
    if count == "any" or not rules.counts:
        return None
    return line.inputs - 1 if count == "factors" else line.numbers[0]


class Arrow(_Mark, frozen=True):
    """The mark before the outputs."""

    def _mark(self) -> tuple[str, Goal]:
        return " ->", Run(self.line)


class Run(Goal, frozen=True):
    """The outputs; `unknown` says that the first is there and has no value."""

    unknown: bool = False

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read a run of the right letter and length."""
        if word.type == "run":
            return self._read_run(word, below, rules)
        if self._may_be_unknown(rules) and word.text == '@"' and word.spaced:
            rest = _output_count(self.line, rules) != 1
            after: Goal = Run(self.line, True) if rest else After(self.line, True)
            return [(*below, Exactly(self.line, '_"', after))]
        return []

    def wants(self, rules: Rules) -> list[Want]:
        """A run of the right letter and length."""
        count = self._count(rules)
        domain = (
            IntDomain(1, MOST_OUTPUTS) if count is None else IntDomain(values=frozenset({count}))
        )
        letter = LETTERS[rules.kinds[self.line.kind].outputs.type]
        return [Want("run", True, letter, domain)]

    def ways(self, rules: Rules) -> list[Way]:
        """The run, and the rest of the line."""
        count = self._count(rules) or 1
        letter = LETTERS[rules.kinds[self.line.kind].outputs.type]
        need = Need(rules.cost(run_of(letter, count)))
        line = msgspec.structs.replace(self.line, block=0)
        goals = After(line, self.unknown).closed(rules)
        return best((need.plus(rest), None) for goal in goals for rest, _ in rules.ways(goal))

    def _read_run(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        kind, count = rules.kinds[self.line.kind], self._count(rules)
        fits = word.text == LETTERS[kind.outputs.type] and count in (None, word.number)
        line = self.line
        if kind.decision == "none":
            # Nothing that was said matters any more, and equal positions are one.
            line = Line(kind.name)
        elif not rules.counts and kind.outputs.count == "first attribute":
            # Without the law of counts, the outputs alone say how many factors there are.
            line = msgspec.structs.replace(line, inputs=word.number)
        return push(After(line, self.unknown), below, rules) if fits else []

    def _count(self, rules: Rules) -> int | None:
        count = _output_count(self.line, rules)
        return count - 1 if count is not None and self.unknown else count

    def _may_be_unknown(self, rules: Rules) -> bool:
        """TVM gives the name _ to the outer factor of a loop whose extent is no constant."""
        return not self.unknown and rules.kinds[self.line.kind].outputs.count == "first attribute"


class After(Goal, frozen=True):
    """What follows the outputs: a decision or the end of the line."""

    unknown: bool = False

    def closed(self, rules: Rules) -> list[Goal]:
        """The end, and the mark of a decision if the kind samples."""
        end: list[Goal] = [End(self.line if self.line.block else Line())]
        samples = rules.kinds[self.line.kind].decision != "none"
        return [*end, Equals(self.line, self.unknown)] if samples else end


class Equals(_Mark, frozen=True):
    """The mark before the decision."""

    unknown: bool

    def _mark(self) -> tuple[str, Goal]:
        return " =", Decision(self.line, self.unknown)


class Decision(Goal, frozen=True):
    """The decision."""

    unknown: bool

    def closed(self, rules: Rules) -> list[Goal]:
        """Of a tile a list of factors, otherwise one integer."""
        end = End(Line())
        if rules.kinds[self.line.kind].decision in ("tile", "partitioned tile"):
            return [Brackets(self.line, end, self.unknown)]
        return [Choice(self.line)]


class Choice(Goal, frozen=True):
    """A decision that is one integer: the index of a candidate, or a place."""

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read the integer."""
        fits = word.type == "int" and word.spaced and word.number in self._integers(rules)
        return [(*below, End(Line()))] if fits else []

    def wants(self, rules: Rules) -> list[Want]:
        """An integer that is no symbol."""
        return [Want("int", True, "", self._integers(rules))]

    def ways(self, rules: Rules) -> list[Way]:
        """The integer and the end of the line."""
        return [(Need(rules.cost(f" {self._integers(rules).least()}") + 1), None)]

    def _integers(self, rules: Rules) -> IntDomain:
        if not rules.domains:
            return ANY_INT
        if rules.kinds[self.line.kind].decision == "compute location":
            return IntDomain(_INLINE)
        return IntDomain(0, self.line.numbers[0] - 1 if rules.counts else None)


_INLINE = -2
"""The least compute location."""


class End(Goal, frozen=True):
    """The end of the line."""

    def read(self, word: Lexeme, below: Thread, rules: Rules) -> list[Thread]:
        """Read the line break."""
        return [(Start(Line()),)] if word.is_mark("\n") else []

    def ways(self, rules: Rules) -> list[Way]:
        """The line break; where loops are looked up, there are some as a rule."""
        return [(Need(3 if self.line.block else 1), None)]
