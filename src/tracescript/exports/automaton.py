"""Finite automata over bytes: what a terminal takes, byte by byte."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tracescript.exports.nodes import Chars, Choice, Node, Repeat, Sequence, Text

__all__ = ["Automaton", "automaton_of"]

_ASCII = 128
_NOT_ASCII = (
    ((0xC2, 0xDF), (0x80, 0xBF)),
    ((0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)),
    ((0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)),
    ((0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)),
)
"""What UTF-8 writes for a character that is not ASCII, as ranges of bytes."""


class Automaton(msgspec.Struct, frozen=True):
    """States are numbers, 0 is the first; none of them is a dead end unless it is the first.

    Attributes:
        ways: for each state, the next one for each byte that may come.
        ends: the states in which a text may end.
    """

    ways: tuple[dict[int, int], ...]
    ends: frozenset[int]

    def after(self, data: bytes, state: int = 0) -> int | None:
        """The state after some bytes, None where they may not come."""
        for byte in data:
            following = self.ways[state].get(byte)
            if following is None:
                return None
            state = following
        return state

    def takes(self, data: bytes) -> bool:
        """Whether these bytes are a whole text."""
        return self.after(data) in self.ends

    def without(self, words: Iterable[bytes]) -> Automaton:
        """The automaton that takes the same texts except some."""
        trie: list[dict[int, int]] = [{}]
        last: set[int] = set()
        for word in words:
            node = 0
            for byte in word:
                if byte not in trie[node]:
                    trie[node][byte] = len(trie)
                    trie.append({})
                node = trie[node][byte]
            last.add(node)
        # A state here is one of the automaton and one of the trie, -1 outside of it.
        numbers = {(0, 0): 0}
        ways: list[dict[int, int]] = []
        for state, node in (states := [(0, 0)]):
            ways.append({})
            for byte, following in self.ways[state].items():
                pair = (following, trie[node].get(byte, -1) if node >= 0 else -1)
                if pair not in numbers:
                    numbers[pair] = len(states)
                    states.append(pair)
                ways[-1][byte] = numbers[pair]
        ends = {
            number
            for (state, node), number in numbers.items()
            if state in self.ends and node not in last
        }
        return _minimal(ways, ends)


def automaton_of(node: Node) -> Automaton:
    """The automaton for a terminal.

    Raises:
        ValueError: a class names characters that are not ASCII, or the terminal names another.
    """
    net = _Net()
    end = net.add(node, 0)
    first = net.closure({0})
    numbers = {first: 0}
    ways: list[dict[int, int]] = []
    for states in (found := [first]):
        ways.append({})
        for byte, reached in net.after(states).items():
            following = net.closure(reached)
            if following not in numbers:
                numbers[following] = len(found)
                found.append(following)
            ways[-1][byte] = numbers[following]
    return _minimal(ways, {number for states, number in numbers.items() if end in states})


class _Net:
    """A nondeterministic automaton under construction."""

    def __init__(self) -> None:
        self.free: list[set[int]] = [set()]
        self.steps: list[list[tuple[int, int, int]]] = [[]]

    def state(self) -> int:
        self.free.append(set())
        self.steps.append([])
        return len(self.free) - 1

    def add(self, node: Node, start: int) -> int:
        """Add what a node takes from a state on; the state in which it ends."""
        match node:
            case Text(text):
                return self._span([(byte, byte) for byte in text.encode()], start)
            case Chars(ranges, negated):
                return self._chars(ranges, negated, start)
            case Sequence(items):
                for item in items:
                    start = self.add(item, start)
                return start
            case Choice(items):
                end = self.state()
                for item in items:
                    self.free[self.add(item, start)].add(end)
                return end
            case Repeat(item, least, most):
                return self._repeat(item, least, most, start)
            case _:
                raise ValueError(f"terminal: expected texts and patterns, found {node}")

    def _span(self, spans: Iterable[tuple[int, int]], start: int) -> int:
        for low, high in spans:
            following = self.state()
            self.steps[start].append((low, high, following))
            start = following
        return start

    def _chars(self, ranges: tuple[tuple[str, str], ...], negated: bool, start: int) -> int:
        spans = [(ord(low), ord(high)) for low, high in ranges]
        if any(high >= _ASCII for _, high in spans):
            raise ValueError(f"terminal: expected a class of ASCII characters, found {ranges}")
        end = self.state()
        for byte in range(_ASCII):
            if any(low <= byte <= high for low, high in spans) != negated:
                self.steps[start].append((byte, byte, end))
        for span in _NOT_ASCII if negated else ():
            self.free[self._span(span, start)].add(end)
        return end

    def _repeat(self, item: Node, least: int, most: int | None, start: int) -> int:
        for _ in range(least):
            start = self.add(item, start)
        end = self.state()
        if most is None:
            # A state of its own: nothing before it may be entered again.
            loop = self.state()
            self.free[start].add(loop)
            self.free[self.add(item, loop)].add(loop)
            self.free[loop].add(end)
            return end
        for _ in range(most - least):
            self.free[start].add(end)
            start = self.add(item, start)
        self.free[start].add(end)
        return end

    def after(self, states: Iterable[int]) -> dict[int, set[int]]:
        """The states after one more byte, for each that may come."""
        reached: dict[int, set[int]] = {}
        for state in states:
            for low, high, following in self.steps[state]:
                for byte in range(low, high + 1):
                    reached.setdefault(byte, set()).add(following)
        return reached

    def closure(self, states: set[int]) -> frozenset[int]:
        waiting = list(states)
        while waiting:
            more = self.free[waiting.pop()] - states
            states |= more
            waiting += more
        return frozenset(states)


def _minimal(ways: list[dict[int, int]], ends: set[int]) -> Automaton:
    """The smallest automaton that takes the same texts."""
    useful = _leading_to(ways, ends)
    ways = [
        {byte: following for byte, following in way.items() if following in useful} for way in ways
    ]
    classes = [int(state in ends) for state in range(len(ways))]
    while True:
        marks = [
            (classes[state], tuple(sorted((byte, classes[to]) for byte, to in way.items())))
            for state, way in enumerate(ways)
        ]
        numbers = {mark: number for number, mark in enumerate(dict.fromkeys(marks))}
        finer = [numbers[mark] for mark in marks]
        if len(numbers) == len(set(classes)):
            break
        classes = finer
    return _renumbered(ways, ends, finer)


def _leading_to(ways: list[dict[int, int]], ends: set[int]) -> set[int]:
    before: dict[int, set[int]] = {}
    for state, way in enumerate(ways):
        for following in way.values():
            before.setdefault(following, set()).add(state)
    useful, waiting = set(ends), list(ends)
    while waiting:
        more = before.get(waiting.pop(), set[int]()) - useful
        useful |= more
        waiting += more
    return useful


def _renumbered(ways: list[dict[int, int]], ends: set[int], classes: list[int]) -> Automaton:
    """One state for each class that is in reach, in the order in which they are reached."""
    numbers = {classes[0]: 0}
    minimal: list[dict[int, int]] = []
    for state in (states := [0]):
        minimal.append({})
        for byte, following in sorted(ways[state].items()):
            mark = classes[following]
            if mark not in numbers:
                numbers[mark] = len(states)
                states.append(following)
            minimal[-1][byte] = numbers[mark]
    return Automaton(
        tuple(minimal), frozenset(number for number, state in enumerate(states) if state in ends)
    )
