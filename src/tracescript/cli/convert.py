"""`tracescript encode` and `tracescript decode`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tracescript.cli.options import Commands, add_files, positive
from tracescript.cli.progress import progress_bar
from tracescript.files import Summary, decode_file, encode_file
from tracescript.files.output import name_of

__all__ = ["add_commands"]


def add_commands(commands: Commands) -> None:
    """Add both subcommands."""
    encode = commands.add_parser(
        "encode",
        help="write JSON logs as .trace files",
        description="Write JSON logs as .trace files. decode gives back the very bytes.",
    )
    add_files(encode, "a JSON log")
    encode.add_argument(
        "--strict",
        action="store_true",
        help="refuse lines that are no records instead of carrying them verbatim",
    )
    decode = commands.add_parser(
        "decode",
        help="write the JSON logs that .trace files stand for",
        description="Write the JSON logs that .trace files stand for, byte for byte.",
    )
    add_files(decode, "a .trace file")
    for parser, run in ((encode, _encode), (decode, _decode)):
        parser.add_argument(
            "-o",
            "--output",
            default="-",
            help="the file to write, or a folder for several (default: standard output)",
        )
        parser.add_argument(
            "-j", "--jobs", type=positive, default=1, help="processes to use (default: 1)"
        )
        parser.add_argument("-q", "--quiet", action="store_true", help="no summary")
        parser.set_defaults(run=run, parser=parser)


def _encode(options: argparse.Namespace) -> int:
    for file, target in _targets(options, ".trace"):
        with progress_bar(file) as progress:
            summary = encode_file(
                file, target, strict=options.strict, jobs=options.jobs, progress=progress
            )
        _report(file, summary, options)
    return 0


def _decode(options: argparse.Namespace) -> int:
    for file, target in _targets(options, ".json"):
        with progress_bar(file) as progress:
            summary = decode_file(file, target, jobs=options.jobs, progress=progress)
        _report(file, summary, options)
    return 0


def _targets(options: argparse.Namespace, suffix: str) -> list[tuple[str, str]]:
    """Which file goes where."""
    files: list[str] = options.files
    folder = Path(options.output)
    if not folder.is_dir():
        if len(files) > 1:
            options.parser.error("several files need -o FOLDER, a folder that exists")
        return [(files[0], options.output)]
    targets = [(file, str(folder / (_stem(file) + suffix))) for file in files]
    names = [target for _, target in targets]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        options.parser.error(f"two files would be written to {min(twice)}")
    return targets


def _stem(file: str) -> str:
    return "stdin" if file == "-" else Path(file).stem


def _report(file: str, summary: Summary, options: argparse.Namespace) -> None:
    if options.quiet:
        return
    parts = [f"{summary.records} records"] if summary.records or not summary.traces else []
    if summary.traces:
        parts.append(f"{summary.traces} bare traces")
    if summary.blank:
        parts.append(f"{summary.blank} blank lines")
    if summary.verbatim:
        lines = ", ".join(map(str, summary.verbatim_lines))
        more = ", ..." if summary.verbatim > len(summary.verbatim_lines) else ""
        parts.append(f"{summary.verbatim} lines carried verbatim (line {lines}{more})")
    sizes = f"{summary.bytes_in:,} bytes -> {summary.bytes_out:,}"
    print(f"{name_of(file)}: {', '.join(parts)}; {sizes}", file=sys.stderr)
