"""`tracescript grammar`: the grammar of scripts, for an engine that decodes by it."""

from __future__ import annotations

import argparse

from tracescript._grammar import grammar_text
from tracescript.cli.options import Commands
from tracescript.instructions import RELEASES

__all__ = ["add_commands"]

_NEWEST = RELEASES[-1]


def add_commands(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "grammar",
        help="print the grammar for an engine",
        description="Print the grammar of scripts, for an engine that lets a model write nothing "
        "else.",
    )
    parser.add_argument(
        "--tvm",
        metavar="RELEASE",
        choices=RELEASES,
        help="only what this release of TVM writes: " + ", ".join(RELEASES),
    )
    parser.add_argument(
        "--format",
        choices=("lark", "gbnf", "tokens"),
        default="lark",
        help="lark (the default) for llguidance and xgrammar; gbnf for llama.cpp and for engines "
        "that read EBNF; tokens for a model with our own symbol tokens, in Lark's form over "
        f"their ids (of TVM {_NEWEST} by default)",
    )
    parser.set_defaults(run=_grammar)


def _grammar(options: argparse.Namespace) -> int:
    # The last two are made from the first, with tools that take a while to load.
    if options.format == "gbnf":
        from tracescript.exports import to_gbnf

        text = to_gbnf(options.tvm)
    elif options.format == "tokens":
        from tracescript.exports import token_grammar
        from tracescript.tokens import Tokenizer

        text = token_grammar(Tokenizer.default("symbol"), options.tvm or _NEWEST)
    else:
        text = grammar_text(tvm=options.tvm)
    print(text, end="")
    return 0
