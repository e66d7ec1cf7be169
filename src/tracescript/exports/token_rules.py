"""Write what an automaton takes as rules over token ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from tracescript.exports.automaton import Automaton

__all__ = ["automaton_rules", "disjoint", "grouped", "id_set"]

_Goal = Literal["first", "again", "last"]
"""Where a rule leads: anywhere to the end, back to the hub, or to the end without the hub."""


def id_set(ids: Iterable[int]) -> str:
    """One token of some, as llguidance and xgrammar write it.

    >>> id_set([7, 3, 4, 5])
    '<[3-5,7]>'
    """
    runs: list[list[int]] = []
    for number in sorted(ids):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [f"{low}-{high}" if high > low else f"{low}" for low, high in runs]
    return f"<[{','.join(texts)}]>"


def disjoint(rules: Mapping[str, str]) -> dict[str, str]:
    """The same rules, written so that any two sets in them are equal or have no token in common.

    llguidance takes a token for the first set that it is in, and forgets the others
    (1.9.1; its pull request 381 is about that). A set that others cut across becomes a rule
    `set_N`, a choice of parts.
    """
    texts = dict.fromkeys(_SET.findall("\n".join(rules.values())))
    sets = {text: _ids(text) for text in texts}
    of: dict[int, list[str]] = {}
    for text, ids in sets.items():
        for number in ids:
            of.setdefault(number, []).append(text)
    parts: dict[tuple[str, ...], list[int]] = {}
    for number, memberships in sorted(of.items()):
        parts.setdefault(tuple(memberships), []).append(number)
    names: dict[str, str] = {}
    added: dict[str, str] = {}
    for text in texts:
        choice = [id_set(ids) for memberships, ids in parts.items() if text in memberships]
        names[text] = choice[0] if len(choice) == 1 else f"set_{len(added) + 1}"
        if len(choice) > 1:
            added[names[text]] = " | ".join(choice)
    return {
        name: _SET.sub(lambda match: names[match[0]], body) for name, body in rules.items()
    } | added


_SET = re.compile(r"<\[[0-9,-]+\]>")


def _ids(text: str) -> list[int]:
    bounds = [run.partition("-") for run in text[2:-2].split(",")]
    return [number for low, _, high in bounds for number in range(int(low), int(high or low) + 1)]


def grouped(text: str) -> str:
    """An expression that a quantifier can follow."""
    return f"({text})" if " " in text else text


def automaton_rules(name: str, automaton: Automaton, tokens: Mapping[int, bytes]) -> dict[str, str]:
    """The rules for all sequences of tokens whose bytes are a text of the automaton.

    Args:
        name: the name of the first rule; the others have it in front of theirs.
        automaton: it takes at least one text, not the empty one.
        tokens: the bytes of each token that may be used.
    """
    writer = _Writer(name, automaton, tokens)
    writer.rule(0, "first")
    return dict(reversed(writer.rules.items()))


class _Writer:
    """Loops become `*`: engines are slow, or limited, where a rule ends in itself.

    The states of a string form loops through one of them, the hub; a number has none.
    """

    def __init__(self, name: str, automaton: Automaton, tokens: Mapping[int, bytes]) -> None:
        self.name = name
        self.rules: dict[str, str] = {}
        self._ends = automaton.ends
        self._ways: list[dict[int, list[int]]] = []
        for state in range(len(automaton.ways)):
            way: dict[int, list[int]] = {}
            for token, data in tokens.items():
                following = automaton.after(data, state)
                if following is not None:
                    way.setdefault(following, []).append(token)
            self._ways.append(way)
        self._hub = self._find_hub()

    def _find_hub(self) -> int | None:
        for hub in (None, *range(len(self._ways))):
            graph = {
                state: [to for to in way if to not in (state, hub)]
                for state, way in enumerate(self._ways)
                if state != hub
            }
            try:
                TopologicalSorter(graph).prepare()
            except CycleError:
                continue
            return hub
        raise ValueError(f"{self.name}: expected loops through one state, found others")

    def rule(self, state: int, goal: _Goal) -> str:
        """The name of the rule from a state to a goal; none if there is no way."""
        number = f"_{state}" if state else ""
        name = self.name + number + ("" if goal == "first" else f"_{goal}")
        if name in self.rules:
            return name
        body = self._body(state, goal)
        if not body:
            return ""
        self.rules[name] = body
        return name

    def _body(self, state: int, goal: _Goal) -> str:
        is_end = goal != "again" and state in self._ends
        loops = [self._loop(state)]
        if state == self._hub:
            loops += self._alternatives(state, "again")
            goal = "last"
        ways = self._alternatives(state, goal)
        return self._joined(loops, ways, is_end) if ways or is_end else ""

    def _joined(self, loops: list[str], ways: list[str], is_end: bool) -> str:
        """Any number of the loops, then one of the ways, or the end."""
        again = " | ".join(filter(None, loops))
        parts = [f"{grouped(again)}*"] if again else []
        if ways:
            end = " | ".join(ways)
            is_choice = again and len(ways) > 1
            parts.append(grouped(end) + "?" if is_end else f"({end})" if is_choice else end)
        return " ".join(parts)

    def _loop(self, state: int) -> str:
        return id_set(self._ways[state][state]) if state in self._ways[state] else ""

    def _alternatives(self, state: int, goal: _Goal) -> list[str]:
        ways: list[str] = []
        for to, tokens in self._ways[state].items():
            if to != state:
                rest = self._rest(to, goal)
                if rest is not None:
                    ways.append(f"{id_set(tokens)} {rest}".rstrip())
        return ways

    def _rest(self, state: int, goal: _Goal) -> str | None:
        """What follows after a state is reached; None if it is not on a way to the goal."""
        if state == self._hub and goal != "first":
            return "" if goal == "again" else None
        if state in self._ends and not self._ways[state]:
            return None if goal == "again" else ""
        return self.rule(state, goal) or None
