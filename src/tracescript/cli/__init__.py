"""The command `tracescript`: one module for each of its subcommands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from tracescript.cli import (
    check,
    convert,
    diff,
    grammar,
    graph,
    migrate,
    propose,
    replay,
    show,
    stats,
    tokens,
)
from tracescript.errors import TraceScriptError

__all__ = ["main"]

_MODULES = (
    convert,
    show,
    diff,
    graph,
    check,
    migrate,
    replay,
    propose,
    stats,
    tokens,
    grammar,
)
"""In the order of the help."""

_DESCRIPTION = """\
TraceScript: the exact, compact text form of TVM MetaSchedule traces.

A file is a JSON log (database_tuning_record.json, or one bare trace a line) or a
.trace file; '-' is standard input or output.
"""

_EPILOG = """\
exit status: 0 all is well, 1 the input is at fault, 2 the command line is,
130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status.

    Args:
        arguments: the words after `tracescript`; by default those of the process.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except TraceScriptError as error:
        return _fail(str(error), 1)
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _fail(message: str, status: int) -> int:
    print(f"tracescript: {message}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tracescript",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('tracescript')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in _MODULES:
        module.add_commands(commands)
    return parser
