"""`tracescript replay`: does TVM still take the records of a log?"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from tracescript.cli.options import Commands, add_timeout
from tracescript.errors import ReplayError
from tracescript.files import Record
from tracescript.files.output import name_of
from tracescript.files.read import Item, iter_items

__all__ = ["add_commands"]

_WORKLOADS = ("database_workload.json", "database_workload.b85")


def add_commands(commands: Commands) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "replay",
        help="apply the records of a log to their workloads; needs TVM",
        description="Apply the records of a log to their workloads, in a process of its own, which "
        "may die without harm, and name every record that TVM does not take: the instruction "
        "and the reason. Needs TVM, the extra `tvm`.",
    )
    parser.add_argument("file", metavar="FILE", help="a JSON log or a .trace file")
    parser.add_argument(
        "-w",
        "--workloads",
        metavar="FILE",
        help=f"the file of the workloads (default: {' or '.join(_WORKLOADS)} beside the log)",
    )
    parser.add_argument(
        "-n", "--record", type=int, metavar="N", help="only the N-th record, from 0"
    )
    parser.add_argument(
        "--show", action="store_true", help="print each scheduled module, as TVMScript"
    )
    add_timeout(parser, "a record")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary")
    parser.set_defaults(run=_replay, parser=parser)


def _replay(options: argparse.Namespace) -> int:
    if find_spec("tvm") is None:
        print("tracescript: replay needs TVM: pip install 'tracescript[tvm]'", file=sys.stderr)
        return 1
    from tracescript.tvm import module_texts

    name, modules = name_of(options.file), list(module_texts(_workloads(options)))
    number = replayed = refused = 0
    for item in iter_items(options.file):
        number += item.record is not None
        if options.record is not None and (item.record is None or number - 1 != options.record):
            continue
        fault = _fault(item, name, modules, options)
        if fault is not None:
            print(fault, flush=True)
        refused += fault is not None
        replayed += fault is None and item.record is not None
    if options.record is not None and not 0 <= options.record < number:
        print(f"tracescript: {name} has {number} records", file=sys.stderr)
        return 1
    if not options.quiet:
        print(f"{name}: {replayed} records replayed, {refused} refused", file=sys.stderr)
    return 1 if refused else 0


def _fault(item: Item, name: str, modules: list[str], options: argparse.Namespace) -> str | None:
    """Replay what stands at one place of the log, and say what is wrong with it."""
    if item.record is None:
        return None if item.error is None else str(item.error)
    try:
        _replay_record(item.record, modules, options)
    except ReplayError as error:
        return f"{name}:{item.line}: {error}"
    return None


def _workloads(options: argparse.Namespace) -> str:
    """The file of the workloads."""
    folder = Path(options.file).parent
    beside = [str(folder / name) for name in _WORKLOADS if (folder / name).is_file()]
    if options.workloads is None and not beside:
        options.parser.error(f"there is no {' or '.join(_WORKLOADS)} in {folder}; name one with -w")
    return options.workloads or beside[0]


def _replay_record(record: Record, modules: list[str], options: argparse.Namespace) -> None:
    from tracescript.tvm import replay

    index = record.workload
    if index is None or not 0 <= index < len(modules):
        has = "none" if index is None else f"workload {index}"
        raise ReplayError(f"expected a record of one of {len(modules)} workloads, found {has}")
    schedule = replay(record.trace, modules[index], isolated=True, timeout=options.timeout)
    if options.show:
        print(schedule.mod.script())
