"""Places in a script, and the steps between them, symbol by symbol.

A position is what may come next, apart from how many values are in scope: there are few of
them, they are shared by all sequences, and each remembers the steps that were taken from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from tracescript.masks.factors import Factors
from tracescript.masks.goals import Line, Need, Rules, Thread, best
from tracescript.masks.lexemes import Lexeme, Want, lexeme
from tracescript.masks.line import End, Header, Start
from tracescript.masks.task import NameOf
from tracescript.masks.values import Exactly, Text

__all__ = ["Machine", "Position", "Step", "Symbol"]


class Symbol(NamedTuple):
    """One symbol, or one byte.

    Attributes:
        data: its bytes.
        text: its text; of a byte that is no character by itself, Latin-1 has it.
        word: the word that it is, None if it is only part of one.
    """

    data: bytes
    text: str
    word: Lexeme | None

    @classmethod
    def of(cls, data: bytes) -> Symbol:
        """The symbol of these bytes."""
        text = data.decode("latin-1")
        return cls(data, text, lexeme(text) if text.isascii() else None)


class Step(NamedTuple):
    """What a symbol leads to.

    Attributes:
        position: the place after it.
        words: the words that it completes, each with the line as it was before it.
    """

    position: Position
    words: tuple[tuple[Line, Lexeme], ...]


class Position:
    """A place in a script; `Machine` makes one object for each.

    Attributes:
        threads: what may be read next.
        origin: if bytes are spelling a word, the place where it began.
        spelled: the bytes of it so far.
        needs: what it takes to finish the line.
        line: what is known of the line.
        name: the beginning of the name of a block or function, if that is where this is.
        names: what it is the name of.
        asks: a task has something to say about what comes next.
        may_end_line: the line lacks nothing.
        begins_line: a line has been finished and none begun.
    """

    __slots__ = (
        "asks",
        "begins_line",
        "line",
        "may_end_line",
        "name",
        "names",
        "needs",
        "origin",
        "spelled",
        "steps",
        "threads",
        "wants",
    )

    def __init__(
        self, threads: frozenset[Thread], origin: Position | None, spelled: str, rules: Rules
    ) -> None:
        self.threads = threads
        self.origin = origin
        self.spelled = spelled
        self.steps: dict[int, Step | None] = {}
        goals = [goal for *_, goal in threads]
        self.name: str | None = None
        self.names: NameOf = "block"
        for goal in goals:
            if isinstance(goal, Text) and (goal.rule == "block" or goal.rule == "function"):
                self.name, self.names = goal.raw, goal.rule
        self.asks = self.name is not None or any(
            isinstance(g, Factors) and g.pending for g in goals
        )
        self.may_end_line = any(isinstance(goal, End) for goal in goals)
        self.begins_line = any(isinstance(goal, Start) for goal in goals)
        self.needs: tuple[Need, ...] = ()
        some = next(iter(threads), None)
        self.line = some[0].line if some else origin.line if origin else Line()
        # One word must not be spelled in two ways, so what is a symbol is not spelled.
        self.wants: frozenset[Want] = frozenset(
            want for thread in threads for want in thread[-1].wants(rules)
        )


class Machine:
    """The steps between positions, for one set of symbols and one set of rules."""

    def __init__(self, symbols: Iterable[bytes], rules: Rules) -> None:
        self.rules = rules
        self.symbols = [Symbol.of(data) for data in symbols]
        self._classes = _classes(self.symbols)
        self._positions: dict[tuple[frozenset[Thread], Position | None, str], Position] = {}
        start = self._intern({(Header(Line()),)}, None, "")
        assert start is not None
        self.start: Position = start

    def step(self, position: Position, symbol: int) -> Step | None:
        """The step over a symbol; None if it cannot stand there."""
        try:
            return position.steps[symbol]
        except KeyError:
            step = position.steps[symbol] = self._step(position, symbol)
            return step

    @property
    def size(self) -> int:
        """How many positions are kept."""
        return len(self._positions)

    def forget(self) -> None:
        """Keep no position but the first; those that sequences hold stay what they are."""
        self._positions.clear()
        self.start.steps.clear()

    def candidates(self, position: Position) -> Iterable[int]:
        """Symbols that there may be a step over: all that there are, and some more."""
        goals = [goal for *_, goal in position.threads]
        if any(isinstance(goal, Text | Exactly) for goal in goals):
            return range(len(self.symbols))
        classes = self._classes
        found = {number for name in ("mark", "open", "string") for number in classes[name].values()}
        for kind, goal in (("header", Header), ("kind", Start)):
            if any(isinstance(one, goal) for one in goals):
                found.update(classes[kind].values())
        after = self._complete(position)
        if after is not None:
            found.update(self.candidates(after.position))
        origins = [] if position.origin is None else [position.origin]
        for want in {want for place in (position, *origins) for want in place.wants}:
            found.update(classes["byte"].values())
            words = classes[f"{want.type}{want.spaced}{want.text}"]
            values = want.domain.values
            if values is None:
                found.update(words.values())
            else:
                found.update(words[value] for value in values if value in words)
        return found

    def is_spelled(self, text: str, beginning: str) -> bool:
        """Whether a word has to be spelled in bytes, and these are the first of them."""
        return text not in self.rules.symbols and text.startswith(beginning)

    def replace(self, threads: Iterable[Thread]) -> Position:
        """The position of other threads, from which there has to be a way to the end."""
        made = self._intern(set(threads), None, "")
        assert made is not None
        return made

    def _step(self, position: Position, number: int) -> Step | None:
        symbol = self.symbols[number]
        if not symbol.data:
            # A special token stands for nothing and is no part of a script.
            return None
        threads, is_word = self._read(position.threads, symbol)
        words: tuple[tuple[Line, Lexeme], ...] = ()
        if is_word and symbol.word is not None:
            words = ((position.line, symbol.word),)
        origin, spelled = self._spell(position, symbol)
        after = self._complete(position)
        step = self.step(after.position, number) if after is not None else None
        if after is not None and step is not None:
            threads |= step.position.threads
            words = (*after.words, *step.words)
            if step.position.origin is not None:
                origin, spelled = step.position.origin, step.position.spelled
        made = self._intern(threads, origin, spelled)
        return None if made is None else Step(made, words)

    def _read(self, threads: Iterable[Thread], symbol: Symbol) -> tuple[set[Thread], bool]:
        """The threads after a symbol, and whether it is read as a word, not as part of a text."""
        after: set[Thread] = set()
        is_word = False
        for *below, goal in threads:
            if isinstance(goal, Text | Exactly):
                after.update(goal.read_bytes(symbol.data, tuple(below), self.rules))
            elif symbol.word is not None:
                read = goal.read(symbol.word, tuple(below), self.rules)
                is_word = is_word or bool(read)
                after.update(read)
        return after, is_word

    def _spell(self, position: Position, symbol: Symbol) -> tuple[Position | None, str]:
        """The word that this byte begins or goes on with, if there is one."""
        if len(symbol.text) > 1:
            return None, ""
        begun = (
            [] if position.origin is None else [(position.origin, position.spelled + symbol.text)]
        )
        for origin, spelled in (*begun, (position, symbol.text)):
            if any(want.completion(spelled, self.rules.symbols) for want in origin.wants):
                return origin, spelled
        return None, ""

    def _complete(self, position: Position) -> Step | None:
        """The place after the word that has been spelled, if it is whole and no symbol."""
        origin, text = position.origin, position.spelled
        word = lexeme(text)
        if origin is None or word is None or text in self.rules.symbols:
            return None
        return self._after_word(origin, word)

    def _after_word(self, origin: Position, word: Lexeme) -> Step | None:
        threads = {
            after
            for *below, goal in origin.threads
            for after in goal.read(word, tuple(below), self.rules)
        }
        made = self._intern(threads, None, "")
        return None if made is None else Step(made, ((origin.line, word),))

    def _intern(
        self, threads: set[Thread], origin: Position | None, spelled: str
    ) -> Position | None:
        """The one object of a place; None if nothing can be finished from there."""
        if not threads and origin is None:
            return None
        key = (frozenset(threads), origin, spelled)
        known = self._positions.get(key)
        if known is None:
            known = Position(*key, self.rules)
            known.needs = tuple(self._needs(known))
            self._positions[key] = known
        return known if known.needs else None

    def _needs(self, position: Position) -> list[Need]:
        ways = [(need, None) for thread in position.threads for need in self._finish(thread)]
        ways += [(need, None) for need in self._finish_spelling(position)]
        return [need for need, _ in best(ways)]

    def _finish(self, thread: Thread) -> list[Need]:
        """What it takes to finish all goals of a thread."""
        *below, goal = thread
        if not below:
            return [need for need, _ in self.rules.ways(goal)]
        return [
            need.plus(rest)
            for need, value in self.rules.ways(goal)
            for rest in self._finish_below(tuple(below), value)
        ]

    def _finish_below(self, below: Thread, value: object) -> list[Need]:
        taker = below[-1].took(value, self.rules)
        return [
            need for goal in taker.closed(self.rules) for need in self._finish((*below[:-1], goal))
        ]

    def _finish_spelling(self, position: Position) -> list[Need]:
        origin, needs = position.origin, list[Need]()
        if origin is None:
            return needs
        for want in origin.wants:
            text = want.completion(position.spelled, self.rules.symbols)
            word = lexeme(text) if text is not None else None
            step = self._after_word(origin, word) if word is not None else None
            if text is None or word is None or step is None:
                continue
            here = Need(len(text) - len(position.spelled))
            if word.type == "ref":
                here = here._replace(**{word.text: word.number})
            needs += [here.plus(need) for need in step.position.needs]
        return needs


def _classes(symbols: list[Symbol]) -> dict[str, dict[object, int]]:
    """The symbols by what they are, as far as a position can tell which it takes."""
    classes: dict[str, dict[object, int]] = defaultdict(dict)
    for number, symbol in enumerate(symbols):
        word = symbol.word
        if len(symbol.data) == 1:
            classes["byte"][symbol.text] = number
        if word is None:
            continue
        if word.type in ("mark", "open", "string", "header", "kind"):
            classes[word.type][symbol.text] = number
        elif word.type in ("ref", "run"):
            classes[f"{word.type}{word.spaced}{word.text}"][word.number] = number
        elif word.type == "int":
            classes[f"int{word.spaced}"][word.number] = number
        else:
            text = word.text if word.type == "word" else ""
            classes[f"{word.type}{word.spaced}{text}"][word.text] = number
    return classes
