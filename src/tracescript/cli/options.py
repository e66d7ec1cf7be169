"""Options that several subcommands share."""

from __future__ import annotations

import argparse
from typing import Protocol

__all__ = ["Commands", "add_files", "positive"]


class Commands(Protocol):
    """Where a module adds its subcommands."""

    def add_parser(
        self,
        name: str,
        *,
        help: str,  # noqa: A002 - argparse's name
        description: str,
    ) -> argparse.ArgumentParser:
        """Add one subcommand."""
        ...


def add_files(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the files to read."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=f"{what}, or - for standard input")


def add_timeout(parser: argparse.ArgumentParser, what: str) -> None:
    """Add how long the other process may take for one thing."""
    parser.add_argument(
        "--timeout",
        type=positive,
        default=60,
        metavar="SECONDS",
        help=f"how long {what} may take (default: 60)",
    )


def positive(text: str) -> int:
    """Read an option that is an integer above 0."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
