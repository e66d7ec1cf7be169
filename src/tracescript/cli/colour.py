"""Whether a command prints in colours."""

from __future__ import annotations

import argparse
import os
import sys

__all__ = ["add_colour", "in_colour"]


def add_colour(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours; auto is on a terminal, unless NO_COLOR is set",
    )


def in_colour(options: argparse.Namespace) -> bool:
    """What the option says, on this terminal."""
    on_terminal = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return options.color == "always" or (options.color == "auto" and on_terminal)
