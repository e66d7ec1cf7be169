"""A page to explore a trace with, or to compare two: `to_html`."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import get_args

import msgspec

from tracescript.dependencies import TraceGraph, graph
from tracescript.difference import diff
from tracescript.encode import dumps
from tracescript.errors import TraceShapeError
from tracescript.model import Trace
from tracescript.pictures.comparison import Comparison, Status, compare
from tracescript.pictures.counts import summary
from tracescript.pictures.decisions import decision_changes, decision_groups
from tracescript.pictures.markup import text_html
from tracescript.pictures.relations import Relations, relate
from tracescript.pictures.sides import side_of
from tracescript.pictures.table import one_trace, two_traces

__all__ = ["MAX_NODES", "to_html"]

MAX_NODES = 2_000
"""Nodes of a trace in a page: what is related to what grows with the square of their number."""


def to_html(
    trace: Trace, other: Trace | None = None, *, title: str = "Trace", other_title: str = "Other"
) -> str:
    """Make a page that shows a trace beside its graph, or two traces beside each other.

    The page is one file. It needs no network, and its Content-Security-Policy forbids it any,
    as it forbids every script but its own. A fragment of its address selects a node by its key
    (`key_of`), such as `#d3`; those of the other trace begin with `b.`, as in `#b.i17`. Then
    what it influences and what it depends on is marked; `&orders` after the key also follows
    what instructions change in the module, `&only` hides the rest.

    Laws: the page can be encoded as UTF-8. What it marks for a node is what
    `TraceGraph.influences` and `depends_on` say. In a comparison the lines that it marks are
    those that `tracescript.diff` names, and the marked decisions likewise.

    Args:
        trace: the trace.
        other: a second trace to compare it with.
        title: what to call the trace.
        other_title: what to call the second one.

    Raises:
        TraceShapeError: a trace holds what no trace can hold, or has more than `MAX_NODES`
            instructions, random variables and decisions.
    """
    left = side_of(_graph(trace))
    if other is None:
        table, decisions = one_trace(left), decision_groups(left)
        return _page("one", title, summary(left.graph), decisions, table, relate([left]))
    right = side_of(_graph(other), "b.", first=len(left.numbers))
    compared = compare(left.lines, right.lines, diff(trace, other))
    headings = (_heading(title, left.graph), _heading(other_title, right.graph))
    table = two_traces(left, right, compared, headings)
    peers = [(left.numbers[one], right.numbers[two]) for one, two in compared.peers.items()]
    both = f"{title} and {other_title}"
    decisions = decision_changes(left, right, compared)
    return _page("two", both, _fates(compared), decisions, table, relate([left, right], peers))


def _graph(trace: Trace) -> TraceGraph:
    # It says where a trace is none. What follows relies on the limits of a trace.
    dumps(trace)
    found = len(trace.decisions) + sum([1 + len(inst.outputs) for inst in trace.insts])
    if found > MAX_NODES:
        what = "instructions, random variables and decisions in a page"
        raise TraceShapeError("$", f"at most {MAX_NODES} {what}", str(found))
    return graph(trace)


def _heading(title: str, graph: TraceGraph) -> str:
    return f'{text_html(title)} <span class="counts">{summary(graph)}</span>'


def _fates(compared: Comparison) -> str:
    """Say how many lines of two traces differ."""
    fates = [fate.status for fate in compared.left.values()]
    fates += [fate.status for fate in compared.right.values() if fate.status == "added"]
    found = [f"{fates.count(status):,} {status}" for status in get_args(Status)]
    return ", ".join([each for each in found if not each.startswith("0 ")])


def _page(
    mode: str, title: str, counts: str, decisions: str, table: str, relations: Relations
) -> str:
    style, script = _file("page.css"), _file("page.js")
    return Template(_file("page.html")).substitute(
        title=text_html(title),
        mode=mode,
        counts=counts,
        decisions=decisions,
        table=table,
        data=msgspec.json.encode(relations).decode(),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
    )


@lru_cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What a Content-Security-Policy names an inline script or style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
