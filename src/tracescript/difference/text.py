"""A difference for people to read, like a unified diff of the listings of both traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from tracescript.dependencies.scope import resolve
from tracescript.difference.difference import Difference
from tracescript.difference.references import renamed, sources_of
from tracescript.encode import write_value
from tracescript.listing import Style, paint, show_instruction
from tracescript.literals import format_int
from tracescript.model import RV, Instruction, Trace, bare

__all__ = ["show_difference"]

_CONTEXT = 3
"""So many lines are shown before and behind one that has a mark."""

_STYLES: dict[str, Style] = {"-": "old", "+": "new", "<": "moved", ">": "moved"}


class _Row(NamedTuple):
    """A line to show: its mark, a blank if it has none, and what stands behind that."""

    mark: str
    text: str


def show_difference(difference: Difference, a: Trace, *, colour: bool = False) -> Iterator[str]:
    r"""The lines that show what is different from a trace, with a mark in front of each.

    `-` is what was removed or has changed, `+` what was added or what became of it, `~` an
    instruction with another decision, `<` one that has moved, where it was, and `>` the same
    where it is now. Names are those of the new trace; what only the old one has is called
    `old_` and its name there. Of long runs without a mark there is only how long they are.

    Raises:
        TraceShapeError: as `Difference.apply`.

    >>> from tracescript import loads
    >>> from tracescript.difference import diff
    >>> text = "tracescript 1\n{}Sample -> v = {}\nUse v-1\n"
    >>> a, b = loads(text.format("Find -> b\n", 0)), loads(text.format("", 1))
    >>> for line in show_difference(diff(a, b), a):
    ...     print(line)
    - Find -> old_b0
    ~ Sample -> v0 = 0 -> 1
      Use v0
    """
    rows = list(_Listing(difference, a, difference.apply(a), colour).rows())
    near = {
        place
        for number, row in enumerate(rows)
        if row.mark != " "
        for place in range(number - _CONTEXT, number + _CONTEXT + 1)
    }
    for is_near, group in groupby(enumerate(rows), key=lambda item: item[0] in near):
        run = [row for _, row in group]
        if is_near:
            yield from [_line(row, colour) for row in run]
        else:
            yield paint(f"# {len(run)} alike", "comment", colour)
    if difference.decision_order:
        yield paint("# the decisions stand in another order", "comment", colour)
    if difference.is_empty and difference.renamed:
        yield paint("# some names differ", "comment", colour)


def _line(row: _Row, colour: bool) -> str:
    line = f"{row.mark} {row.text}"
    return paint(line, _STYLES[row.mark], colour) if row.mark in _STYLES else line


class _Listing:
    """Both traces as one list of rows."""

    def __init__(self, difference: Difference, a: Trace, b: Trace, colour: bool) -> None:
        changed = [(change.a, change.b) for change in difference.changed]
        self._in_place = sorted([*difference.kept, *changed])
        self._changed = {j for _, j in changed}
        self._moved = difference.moved
        self._old = _in_new_names(a, b, dict([*self._in_place, *self._moved]))
        self._new = b.insts
        self._decisions = _decisions(a), _decisions(b)
        self._colour = colour

    def rows(self) -> Iterator[_Row]:
        """All rows, in the order of both traces."""
        gone, come = ({pair[side] for pair in self._moved} for side in (0, 1))
        start = (0, 0)
        for end in [*self._in_place, (len(self._old), len(self._new))]:
            for i in range(start[0], end[0]):
                yield self._old_row("<" if i in gone else "-", i)
            for j in range(start[1], end[1]):
                yield self._new_row(">" if j in come else "+", j)
            if end[1] < len(self._new):
                yield from self._both(*end)
            start = end[0] + 1, end[1] + 1
        yield from self._of_no_instruction()

    def _both(self, i: int, j: int) -> Iterator[_Row]:
        if j in self._changed:
            yield self._old_row("-", i)
            yield self._new_row("+", j)
            return
        line = show_instruction(self._new[j], colour=self._colour)
        old, new = self._decisions[0].get(i, []), self._decisions[1].get(j, [])
        if old == new:
            yield _Row(" ", " = ".join([line, *map(self._paint_decision, new)]))
            return
        change = [self._paint_decision(" = ".join(values) or "none") for values in (old, new)]
        yield _Row("~", f"{line} = {' -> '.join(change)}")

    def _old_row(self, mark: str, i: int) -> _Row:
        values = self._decisions[0].get(i, [])
        return _Row(mark, " = ".join([show_instruction(self._old[i]), *values]))

    def _new_row(self, mark: str, j: int) -> _Row:
        values = self._decisions[1].get(j, [])
        return _Row(mark, " = ".join([show_instruction(self._new[j]), *values]))

    def _of_no_instruction(self) -> Iterator[_Row]:
        counts = len(self._old), len(self._new)
        old, new = (
            {index: values for index, values in found.items() if not 0 <= index < count}
            for found, count in zip(self._decisions, counts, strict=True)
        )
        for mark, found, other in (("-", old, new), ("+", new, old)):
            for index, values in found.items():
                if other.get(index) != values:
                    title = f"# decision {format_int(index)}, of no instruction: "
                    yield _Row(mark, title + " ".join(values))

    def _paint_decision(self, text: str) -> str:
        return paint(text, "decision", self._colour)


def _decisions(trace: Trace) -> dict[int, list[str]]:
    """The texts of the decisions by the index that they name."""
    found: dict[int, list[str]] = {}
    for decision in trace.decisions:
        found.setdefault(decision.index, []).append(write_value(decision.value))
    return found


def _in_new_names(a: Trace, b: Trace, to_b: Mapping[int, int]) -> list[Instruction]:
    """The instructions of the old trace in the names of the new one."""
    scope = resolve(a)
    names = [
        _names(inst.outputs, b.insts[to_b[i]].outputs if i in to_b else ())
        for i, inst in enumerate(a.insts)
    ]
    return [
        renamed(
            inst,
            names[i],
            {name: names[one][output] for name, (one, output) in sources_of(scope, i).items()},
        )
        for i, inst in enumerate(a.insts)
    ]


def _names(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """The new names of the outputs of an instruction, with a mark on those that it lost."""
    names = list(new[: len(old)]) + ["old_" + name for name in old[len(new) :]]
    # A name that would mean something else, such as None, is one that nothing can refer to.
    return tuple(
        [
            name if type(bare(name)) is RV else f"old_{was}"
            for name, was in zip(names, old, strict=True)
        ]
    )
