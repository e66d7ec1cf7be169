"""Where tokens lead, and what they take for granted.

A token is a run of symbols. On the way over them a trail is kept of what has to be in scope
before, what is defined on the way, and what is taken for granted about a task.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from tracescript.masks.goals import Line, Need
from tracescript.masks.lexemes import Lexeme
from tracescript.masks.positions import Machine, Position, Step
from tracescript.masks.scope import CHANGES
from tracescript.masks.task import NameOf, Names

__all__ = ["Counts", "Demand", "LineEnd", "Outcome", "Trail", "Walker"]

Counts: TypeAlias = "tuple[int, int, int]"
"""How many blocks, loops and expressions."""


class Demand(NamedTuple):
    """What a token takes for granted about a task.

    Attributes:
        name: the name of a block or function that has to exist or, for `loops`, of the block
            whose loops are meant.
        whole: whether that is the whole name, or only its beginning.
        block: how far back the block is whose loops are meant, if it has no name here.
        loops: how many loops it has; None if nothing is said about that, "some" for any
            number but 0, and otherwise the beginning of a spelled-out number.
        of: what it is the name of.
    """

    name: str | None = None
    whole: bool = True
    block: int = 0
    loops: int | str | None = None
    of: NameOf = "block"


class LineEnd(NamedTuple):
    """A way to the end of the line after a token.

    Attributes:
        needed: what has to be in scope before the token.
        symbols: how many symbols there are to come.
    """

    needed: Counts
    symbols: int


class Outcome(NamedTuple):
    """Where a token leads.

    Attributes:
        position: the place after it.
        defined: how many blocks, loops and expressions it defines.
        ways: how the line can be finished; one of them has to be open.
        demands: what it takes for granted.
    """

    position: Position
    defined: Counts
    ways: tuple[LineEnd, ...]
    demands: tuple[Demand, ...]


class Trail(NamedTuple):
    """What the symbols from the position on have done."""

    needed: Counts = (0, 0, 0)
    defined: Counts = (0, 0, 0)
    blocks: tuple[str | None, ...] = ()
    changed: bool = False
    demands: tuple[Demand, ...] = ()


_PLACE = {"b": 0, "l": 1, "v": 2}


class Walker:
    """Steps over the symbols of tokens.

    Given names, what has none of them is not gone on with. That is for
    positions inside a name, where there would be no end of names otherwise.

    Attributes:
        machine: the steps between positions.
    """

    def __init__(self, machine: Machine, names: Names | None) -> None:
        self.machine = machine
        self._names = names

    def token(self, position: Position, symbols: tuple[int, ...]) -> Outcome | None:
        """Where the token of these symbols leads; None if it cannot stand there."""
        trail = Trail()
        for symbol in symbols:
            step = self.over(position, trail, symbol)
            if step is None:
                return None
            position, trail = step
        return self.outcome(position, trail)

    def over(self, position: Position, trail: Trail, symbol: int) -> tuple[Position, Trail] | None:
        """The position and trail after one symbol; None if it cannot stand there."""
        if self._names is not None and not self._may_be_name(position, symbol, self._names):
            return None
        step = self.machine.step(position, symbol)
        if step is None:
            return None
        after = self._follow(position, step, trail)
        if self._names is not None and not self._is_name(step.position, after, self._names):
            return None
        return step.position, after

    def _may_be_name(self, position: Position, symbol: int, names: Names) -> bool:
        """Whether a symbol inside a name goes on as some name does."""
        if position.name is None:
            return True
        # With a quote the name may end.
        more, _, _ = self.machine.symbols[symbol].text.partition('"')
        return names.of(position.names).begins(position.name + more)

    def _is_name(self, position: Position, trail: Trail, names: Names) -> bool:
        """Whether there can be what has been named so far."""
        if position.name is not None and not names.of(position.names).begins(position.name):
            return False
        named = [(names.of(d.of), d.name) for d in trail.demands if d.whole]
        return all(name is None or known.have(name) for known, name in named)

    def outcome(self, position: Position, trail: Trail) -> Outcome:
        """Where a token leads whose symbols left this trail."""
        demands = trail.demands
        if self.machine.rules.tracked:
            demands += _unfinished(position, trail)
        ways = tuple([LineEnd(_needed(trail, need), need.symbols) for need in position.needs])
        return Outcome(position, trail.defined, ways, demands)

    def _follow(self, position: Position, step: Step, trail: Trail) -> Trail:
        for line, word in step.words:
            if word.type == "ref":
                place = _PLACE[word.text]
                least = word.number - trail.defined[place]
                if least > trail.needed[place]:
                    trail = trail._replace(needed=_set(trail.needed, place, least))
            elif word.type == "run":
                trail = self._define(line, word, trail)
            elif self.machine.rules.tracked:
                trail = self._track(line, word, trail)
        before, after = position.line, step.position.line
        if after.name is not None and before.name is None:
            trail = _with(trail, Demand(after.name))
        if after.function is not None and before.function is None:
            trail = _with(trail, Demand(after.function, of="function"))
        return trail

    def _define(self, line: Line, word: Lexeme, trail: Trail) -> Trail:
        place = _PLACE[word.text]
        if line.block:
            trail = _with_loops(line, word.number, trail)
        if word.text == "b" and self.machine.rules.tracked:
            trail = trail._replace(blocks=trail.blocks + (line.name,) * word.number)
        return trail._replace(
            defined=_set(trail.defined, place, trail.defined[place] + word.number)
        )

    def _track(self, line: Line, word: Lexeme, trail: Trail) -> Trail:
        if word.type == "kind":
            effect = self.machine.rules.kinds[word.text].loops
            return trail._replace(changed=trail.changed or effect in CHANGES)
        if line.block and word.type == "mark":
            # Either the line ends without outputs, or they come now.
            return _with_loops(line, 0 if word.text == "\n" else "some", trail)
        return trail


def _with_loops(line: Line, count: int | str, trail: Trail) -> Trail:
    """Demand that a block has so many loops, if anything is known about it."""
    if trail.changed:
        return trail
    within = line.block <= len(trail.blocks)
    name = trail.blocks[-line.block] if within else None
    if within and name is None:
        return trail
    block = 0 if within else line.block - len(trail.blocks)
    return _with(trail, Demand(name, block=block, loops=count))


def _with(trail: Trail, demand: Demand) -> Trail:
    return trail._replace(demands=(*trail.demands, demand))


def _unfinished(position: Position, trail: Trail) -> tuple[Demand, ...]:
    """What a name or a number demands that has only been begun."""
    if position.name is not None:
        return (Demand(position.name, whole=False, of=position.names),)
    if position.line.block and position.spelled:
        alone = trail._replace(demands=())
        return _with_loops(position.line, position.spelled, alone).demands
    return ()


def _needed(trail: Trail, need: Need) -> Counts:
    """What is needed before the symbols of a trail if this is needed after them."""
    later = (need.b, need.l, need.v)
    before, between = trail.needed, trail.defined
    return (
        max(before[0], later[0] - between[0]),
        max(before[1], later[1] - between[1]),
        max(before[2], later[2] - between[2]),
    )


def _set(numbers: Counts, place: int, number: int) -> Counts:
    changed = list(numbers)
    changed[place] = number
    return (changed[0], changed[1], changed[2])
