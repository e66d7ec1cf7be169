"""`tracescript graph`: what depends on what in a trace, as text, JSON or a picture."""

from __future__ import annotations

import argparse
import json
import sys
from typing import NamedTuple

from tracescript.cli.options import Commands
from tracescript.dependencies import Node, TraceGraph, graph
from tracescript.files.output import name_of, writing
from tracescript.files.read import iter_items
from tracescript.model import Trace
from tracescript.pictures import node_of, to_dot, to_html, to_mermaid
from tracescript.pictures.report import graph_json, graph_text, node_json, node_text

__all__ = ["add_commands"]


class _Place(NamedTuple):
    """A trace, and where it stands."""

    trace: Trace
    name: str


def add_commands(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "graph",
        help="show what depends on what in a trace",
        description="Say what the decisions of a trace influence, or draw its dependency graph.",
    )
    parser.add_argument(
        "file", metavar="FILE", help="a JSON log or a .trace file, or - for standard input"
    )
    parser.add_argument(
        "-n", "--record", type=int, default=0, metavar="N", help="its N-th record, from 0"
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "dot", "mermaid", "html"),
        default="text",
        help="what to write: a report, JSON, a picture for Graphviz or Mermaid, or a page to "
        "open in a browser (default: text)",
    )
    parser.add_argument(
        "--what",
        metavar="NODE",
        help="only what this influences and depends on: a decision (d3), an instruction (i17) or "
        "the name of a random variable (l24); in a page, add #d3 to its address",
    )
    parser.add_argument(
        "--orders",
        action="store_true",
        help="also follow what instructions change in the module, not only random variables",
    )
    parser.add_argument(
        "--compare", metavar="FILE2", help="with --format html: a log with a second trace"
    )
    parser.add_argument(
        "-m", "--other", type=int, default=0, metavar="M", help="its M-th record, from 0"
    )
    parser.add_argument(
        "-o", "--output", default="-", help="the file to write (default: standard output)"
    )
    parser.set_defaults(run=_graph, parser=parser)


def _graph(options: argparse.Namespace) -> int:
    if options.compare is not None and options.format != "html":
        options.parser.error("--compare needs --format html; diff prints differences as text")
    if options.what is not None and options.format == "html":
        options.parser.error("a page shows all nodes: add # and a node to its address")
    place = _find(options.file, options.record)
    if place is None:
        return 1
    text = _page(place, options) if options.format == "html" else _text(place, options)
    if text is None:
        return 1
    with writing(options.output) as stream:
        # The name of a file may hold what UTF-8 cannot.
        stream.write(text.encode("utf-8", "replace"))
    return 0


def _find(file: str, number: int) -> _Place | None:
    """A record of a log; None, and a message, if there is none."""
    count = 0
    for item in iter_items(file):
        if item.record is None:
            continue
        if count == number:
            return _Place(item.record.trace, f"{name_of(file)}:{item.line}")
        count += 1
    print(f"tracescript: {name_of(file)} has {count} records", file=sys.stderr)
    return None


def _page(place: _Place, options: argparse.Namespace) -> str | None:
    """A page; None, and a message, if there is no second trace to compare with."""
    if options.compare is None:
        return to_html(place.trace, title=place.name)
    other = _find(options.compare, options.other)
    if other is None:
        return None
    return to_html(place.trace, other.trace, title=place.name, other_title=other.name)


def _text(place: _Place, options: argparse.Namespace) -> str | None:
    """What to write; None, and a message, if the trace has no such node."""
    made = graph(place.trace)
    if options.what is None:
        return _all(made, place.name, options)
    try:
        node = node_of(made, options.what)
    except ValueError as error:
        print(f"tracescript: {place.name}: {error}", file=sys.stderr)
        return None
    return _part(made, node, options)


def _all(made: TraceGraph, name: str, options: argparse.Namespace) -> str:
    """The whole graph."""
    orders: bool = options.orders
    if options.format == "text":
        head, *lines = graph_text(made, orders=orders)
        return "\n".join([f"{name}: {head}", *lines, ""])
    if options.format == "json":
        return json.dumps(graph_json(made, orders=orders)) + "\n"
    draw = to_dot if options.format == "dot" else to_mermaid
    return draw(made, orders=orders)


def _part(made: TraceGraph, node: Node, options: argparse.Namespace) -> str:
    """What has to do with one node."""
    orders: bool = options.orders
    if options.format == "text":
        return "\n".join([*node_text(made, node, orders=orders), ""])
    if options.format == "json":
        return json.dumps(node_json(made, node, orders=orders)) + "\n"
    draw = to_dot if options.format == "dot" else to_mermaid
    related = made.depends_on(node, orders=orders) + made.influences(node, orders=orders)
    return draw(made, only=(*related, node), orders=orders)
