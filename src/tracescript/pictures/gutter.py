"""The graph beside the script: an SVG for each row, with lines that pass and lines that end.

A row may be higher than one line of text. Lines that pass go all the way down in percent; what
belongs to the node of the row stands at its top.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from tracescript.pictures.lanes import RowLanes, lay_out
from tracescript.pictures.roles import Role

__all__ = ["Gutter", "draw", "gutter_of"]

_LANE = 11
"""Pixels from lane to lane."""
_MARGIN = 9
_MIDDLE = 11
"""Pixels from the top of a row to its node: half a line of text."""
_BEND = 8
"""The radius of the corners of lines."""

_SHAPES: Mapping[Role, str] = {
    "sample": '<path class="sample" data-n="{n}" d="M{left} {y}l6-6 6 6-6 6z"/>',
    "look": '<circle class="look" data-n="{n}" cx="{x}" cy="{y}" r="3"/>',
    "change": '<circle class="change" data-n="{n}" cx="{x}" cy="{y}" r="4"/>',
    "mark": '<path class="mark" data-n="{n}" d="M{left} {y}h12"/>',
    "unknown": '<path class="unknown" data-n="{n}" d="M{left} {y}m2-4h8v8h-8z"/>',
}


class Gutter(msgspec.Struct, frozen=True):
    """The lines of all rows, and how they look.

    Attributes:
        rows: what is in which lane, row by row.
        width: the pixels that all rows need.
        colours: for each instruction the class of the line that begins there.
        numbers: for each instruction its number, for the script of a page.
    """

    rows: Sequence[RowLanes]
    width: int
    colours: Sequence[str]
    numbers: Sequence[int]


def gutter_of(
    rows: Sequence[int | None],
    edges: Iterable[tuple[int, int]],
    colours: Sequence[str],
    numbers: Sequence[int],
) -> Gutter:
    """Lay out the lines of some rows; each has an instruction or none."""
    lanes = lay_out(rows, edges)
    used = [lane for row in lanes for lane, _ in row.passes]
    used += [row.node for row in lanes if row.node is not None]
    return Gutter(lanes, 2 * _MARGIN + _LANE * max(used, default=0), colours, numbers)


def draw(gutter: Gutter, position: int, node: tuple[int, Role] | None) -> str:
    """Draw the row at a position; its node is an instruction that has a role."""
    row = gutter.rows[position]
    parts = [_vertical(gutter, lane, source, 0) for lane, source in row.passes]
    if node is not None and row.node is not None:
        parts += _node(gutter, row, row.node, *node)
    return f'<svg width="{gutter.width}" aria-hidden="true">{"".join(parts)}</svg>'


def _node(gutter: Gutter, row: RowLanes, lane: int, inst: int, role: Role) -> Iterator[str]:
    for end, source in row.ends:
        place = f'data-s="{gutter.numbers[source]}" data-t="{gutter.numbers[inst]}"'
        yield f'<path class="{gutter.colours[source]}" {place} d="{_bend(end, lane)}"/>'
    if row.starts:
        yield _vertical(gutter, lane, inst, _MIDDLE)
    x = _x(lane)
    yield _SHAPES[role].format(n=gutter.numbers[inst], x=x, y=_MIDDLE, left=x - 6)


def _vertical(gutter: Gutter, lane: int, source: int, top: int) -> str:
    """The line of an instruction, from a place in a row down to its end."""
    x, start = _x(lane), f' y1="{top}"' if top else ""
    place = f'class="{gutter.colours[source]}" data-s="{gutter.numbers[source]}"'
    return f'<line {place} x1="{x}" x2="{x}"{start} y2="100%"/>'


def _bend(start: int, end: int) -> str:
    """The path from the top of one lane to the middle of another."""
    left, right = _x(start), _x(end)
    if left == right:
        return f"M{left} 0V{_MIDDLE}"
    turn = _BEND if left < right else -_BEND
    return f"M{left} 0V{_MIDDLE - _BEND}Q{left} {_MIDDLE} {left + turn} {_MIDDLE}H{right}"


def _x(lane: int) -> int:
    return _MARGIN + _LANE * lane
