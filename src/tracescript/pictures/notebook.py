"""Pictures in notebooks: pieces of HTML without scripts, which may stand on a page many times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tracescript.dependencies import TraceGraph
from tracescript.difference import DecisionChange, Difference
from tracescript.encode import dumps, write_value
from tracescript.literals import format_int
from tracescript.model import Decision, Instruction, Trace
from tracescript.pictures.markup import decision_html, span_html
from tracescript.pictures.sides import row_svg, side_of, value_gutter
from tracescript.pictures.spans import Line, lines_of, spans_of

__all__ = ["difference_html", "graph_html", "trace_html"]

_ROWS = 500
"""Rows that are shown; of more it says how many."""


def trace_html(trace: Trace) -> str:
    """A trace as coloured text.

    Raises:
        TraceShapeError: the trace holds what no trace can hold.
    """
    # It says where. What follows relies on the limits of a trace.
    dumps(trace)
    return _table([_line_cells(line, trace.insts) for line in lines_of(trace)])


def graph_html(graph: TraceGraph) -> str:
    """A trace beside its graph.

    Raises:
        TraceShapeError: the trace holds what no trace can hold.
    """
    dumps(graph.trace)
    side = side_of(graph)
    gutter = value_gutter(side, [line.inst for line in side.lines])
    return _table(
        [
            f'<td class="lines" width="{gutter.width}">{row_svg(side, gutter, row, line.inst)}</td>'
            + _line_cells(line, graph.trace.insts)
            for row, line in enumerate(side.lines)
        ]
    )


def difference_html(difference: Difference) -> str:
    """What is different: decisions, then instructions that changed, went, came and moved.

    References are the names that they have in their own trace.
    """
    rows = [_decision_cells(change) for change in difference.decisions]
    for changed in difference.changed:
        rows.append(_inst_cells("removed", changed.a, changed.old))
        rows.append(_inst_cells("added", changed.b, changed.new))
    rows += [_inst_cells("removed", each.index, each.inst) for each in difference.removed]
    rows += [_inst_cells("added", each.index, each.inst) for each in difference.added]
    rows += [_cells(str(a), f"is instruction {b} now") for a, b in difference.moved]
    return _table(rows or [_cells("", "no difference")])


def _table(rows: Sequence[str]) -> str:
    shown = "".join([f"<tr>{row}</tr>\n" for row in rows[:_ROWS]])
    rest = f"<p>and {len(rows) - _ROWS:,} more</p>\n" if len(rows) > _ROWS else ""
    # Notebooks have rules for tables that come later; a style of its own is with each picture.
    return (
        f'<div class="tracescript">\n<style>\n{_style()}</style>\n'
        f"<table>\n<tbody>\n{shown}</tbody>\n</table>\n{rest}</div>\n"
    )


def _cells(number: str, text: str, status: str = "same") -> str:
    return f'<td class="num">{number}</td><td class="{status}">{text}</td>'


def _line_cells(line: Line, insts: Sequence[Instruction]) -> str:
    text = "".join([span_html(span, insts) for span in line.all_spans()])
    return _cells("" if line.inst is None else str(line.inst), text)


def _inst_cells(status: str, index: int, inst: Instruction) -> str:
    text = "".join([span_html(span, (inst,)) for span in spans_of(0, inst, {})])
    return _cells(str(index), text, status)


def _decision_cells(change: DecisionChange) -> str:
    old, new = (_decision(each) for each in (change.old, change.new))
    index = change.new or change.old
    return _cells("" if index is None else format_int(index.index), f"{old} becomes {new}")


def _decision(decision: Decision | None) -> str:
    if decision is None:
        return "none"
    return decision_html(write_value(decision.value))


@lru_cache
def _style() -> str:
    return Path(__file__).with_name("notebook.css").read_text(encoding="utf-8")
