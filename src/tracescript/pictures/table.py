"""The table of a page: in each row lines of the script beside their part of the graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from tracescript.dependencies import InstNode
from tracescript.pictures.comparison import Comparison, Fate
from tracescript.pictures.gutter import Gutter
from tracescript.pictures.sides import Side, line_html, link, order_gutter, row_svg, value_gutter

__all__ = ["one_trace", "two_traces"]

_NUMBER = 38
"""Pixels that the number of an instruction takes."""
_WIDE = 150
"""A graph that takes more pixels leaves a small screen no room for the script."""


class _Column(msgspec.Struct, frozen=True):
    """One trace of a table.

    Attributes:
        side: the trace.
        lines: the position of the line in each row; None in a row without one.
        values: the graph of the values.
        orders: the graph of the order.
    """

    side: Side
    lines: Sequence[int | None]
    values: Gutter
    orders: Gutter


def one_trace(side: Side) -> str:
    """The table of one trace."""
    column = _column(side, range(len(side.lines)))
    rows = [f"<tr>{_cells(column, row, '')}</tr>\n" for row in range(len(side.lines))]
    return _table([column], "", rows)


def two_traces(left: Side, right: Side, comparison: Comparison, titles: tuple[str, str]) -> str:
    """The table of two traces; the titles are HTML."""
    columns = (
        (_column(left, [row.left for row in comparison.rows]), "left", comparison.left),
        (_column(right, [row.right for row in comparison.rows]), "right", comparison.right),
    )
    heads = "".join([f'<th class="ordered"></th><th colspan="3">{title}</th>' for title in titles])
    rows: list[str] = []
    for row in range(len(comparison.rows)):
        cells = [_compared(column, row, name, fates) for column, name, fates in columns]
        rows.append(f"<tr>{''.join(cells)}</tr>\n")
    return _table([each[0] for each in columns], f"<thead><tr>{heads}</tr></thead>\n", rows)


def _compared(column: _Column, row: int, name: str, fates: Mapping[int, Fate]) -> str:
    line = column.lines[row]
    if line is None:
        return _cells(column, row, f" {name} gap")
    fate = fates[line]
    return _cells(column, row, f" {name} {fate.status}", fate.differs)


def _column(side: Side, lines: Sequence[int | None]) -> _Column:
    insts = [None if line is None else side.lines[line].inst for line in lines]
    return _Column(side, lines, value_gutter(side, insts), order_gutter(side, insts))


def _table(columns: Collection[_Column], head: str, rows: Iterable[str]) -> str:
    """A table; the columns with the graph say how wide they are, the lines share the rest."""
    found = [
        f'<col class="lines" width="{column.values.width}">'
        f'<col class="lines ordered" width="{column.orders.width}"><col width="{_NUMBER}"><col>'
        for column in columns
    ]
    wide = max([column.values.width for column in columns]) > _WIDE
    return (
        f"<table class='{'wide' if wide else 'slim'}'>\n<colgroup>{''.join(found)}</colgroup>\n"
        f"{head}<tbody>\n{''.join(rows)}</tbody>\n</table>"
    )


def _cells(column: _Column, row: int, classes: str, differs: frozenset[int] = frozenset()) -> str:
    """The cells of a row: the graph of the values, that of the order, a number and a line."""
    side, position = column.side, column.lines[row]
    line = None if position is None else side.lines[position]
    inst = None if line is None else line.inst
    number = place = ""
    if inst is not None:
        number = f'<a class="num" {link(side, InstNode(inst))}>{inst}</a>'
        place = f' data-n="{side.numbers[InstNode(inst)]}"'
    gutters = "".join(
        [
            f'<td class="lines{name}{classes}">{row_svg(side, gutter, row, inst)}</td>'
            for name, gutter in (("", column.values), (" ordered", column.orders))
        ]
    )
    text = "" if line is None else line_html(side, line, differs)
    return (
        f'{gutters}<td class="num{classes}">{number}</td>'
        f'<td class="code{classes}"{place}>{text}</td>'
    )
