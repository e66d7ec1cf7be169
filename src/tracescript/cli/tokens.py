"""`tracescript tokens train` and `tracescript tokens count`."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tracescript.cli.options import Commands, add_files, positive
from tracescript.encode import dumps
from tracescript.errors import TokenizerError
from tracescript.files.output import name_of, writing
from tracescript.files.read import iter_items
from tracescript.model import Trace
from tracescript.tokens import Tokenizer

__all__ = ["add_commands"]

_VOCABULARY = 4096


def add_commands(commands: Commands) -> None:
    """Add the subcommand, which has subcommands of its own."""
    parser = commands.add_parser(
        "tokens",
        help="count tokens, or train a tokenizer",
        description="Count the tokens of traces, or learn tokens from your own logs.",
    )
    own = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_count(own)
    _add_train(own)


def _add_count(commands: Commands) -> None:
    parser = commands.add_parser(
        "count",
        help="count the tokens of each trace",
        description="Count the tokens of each trace as a script, at the level of phrases and at "
        "that of symbols.",
    )
    add_files(parser, "a JSON log or a .trace file")
    parser.add_argument(
        "--tokenizer", metavar="PATH", help="what train has written (default: the one built in)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one object a file")
    parser.set_defaults(run=_count)


def _add_train(commands: Commands) -> None:
    parser = commands.add_parser(
        "train",
        help="learn a tokenizer from logs",
        description="Learn the phrases that make the scripts of these logs short. Needs the "
        "package tokenizers. tracescript.tokens.Tokenizer.load reads the result.",
    )
    add_files(parser, "a JSON log or a .trace file")
    parser.add_argument("-o", "--output", required=True, help="the file to write")
    parser.add_argument(
        "--vocab",
        type=positive,
        default=_VOCABULARY,
        metavar="N",
        help=f"the most tokens it may have (default: {_VOCABULARY})",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="do not say what is going on")
    parser.set_defaults(run=_train, parser=parser)


def _count(options: argparse.Namespace) -> int:
    tokenizer = (
        Tokenizer.load(options.tokenizer) if options.tokenizer is not None else Tokenizer.default()
    )
    symbols = Tokenizer.default("symbol")
    for file in options.files:
        lengths: list[tuple[int, int]] = []
        skipped = _Skipped(file)
        for trace in _traces(file, skipped):
            script = dumps(trace)
            lengths.append((len(tokenizer.encode(script)), len(symbols.encode(script))))
        report = {
            "file": file,
            "traces": len(lengths),
            "other_lines": skipped.number,
            "tokens": _distribution([tokens for tokens, _ in lengths]),
            "symbols": _distribution([symbols for _, symbols in lengths]),
        }
        print(json.dumps(report) if options.json else _table(name_of(file), report))
    return 0


def _train(options: argparse.Namespace) -> int:
    output = Path(options.output)
    if output.exists() and any(
        Path(file).exists() and output.samefile(file) for file in options.files
    ):
        # Unlike a log that is encoded in its place, this one would be lost.
        options.parser.error(f"{output} is one of the logs to learn from")
    tell: Callable[[str], object] = _ignore if options.quiet else _tell
    try:
        # The file is opened first: whoever has waited for the training shall have it.
        with writing(options.output) as stream:
            scripts = _scripts(options.files, tell)
            tokenizer = Tokenizer.train(scripts, options.vocab, progress=tell)
            tokenizer.save(stream)
    except ModuleNotFoundError as error:
        print(f"tracescript: training needs the package {error.name}", file=sys.stderr)
        return 1
    tell(f"{options.output}: {tokenizer.vocab_size} tokens")
    return 0


def _scripts(files: list[str], tell: Callable[[str], object]) -> Iterator[str]:
    total = 0
    for file in files:
        number = 0
        skipped = _Skipped(file)
        for trace in _traces(file, skipped):
            yield dumps(trace)
            number += 1
        tell(f"{name_of(file)}: {number} traces, {skipped.number} other lines")
        total += number
    if not total:
        place = ", ".join(map(name_of, files))
        raise TokenizerError(place, "a trace to learn from", "none")


class _Skipped:
    """Counts the lines of a file that are no records, which are passed over."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.number = 0


def _traces(file: str, skipped: _Skipped) -> Iterator[Trace]:
    for item in iter_items(file):
        if item.record is not None:
            yield item.record.trace
        elif item.error is not None:
            skipped.number += 1


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _ignore(_: str) -> None:
    pass


def _distribution(lengths: list[int]) -> dict[str, float]:
    lengths = sorted(lengths) or [0]
    last = len(lengths) - 1
    return {
        "total": sum(lengths),
        "p10": lengths[round(0.1 * last)],
        "median": statistics.median(lengths),
        "p90": lengths[round(0.9 * last)],
        "max": lengths[-1],
    }


def _table(file: str, report: dict[str, Any]) -> str:
    lines = [f"{file}: {report['traces']} traces, {report['other_lines']} other lines"]
    names = list(report["tokens"])
    lines.append(" " * 10 + "".join([f"{name:>10}" for name in names]))
    lines += [
        f"  {row:<8}" + "".join([f"{report[row][name]:>10g}" for name in names])
        for row in ("tokens", "symbols")
    ]
    return "\n".join(lines)
