"""`tracescript construct` and `tracescript refine`: a model proposes schedules for a kernel."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tracescript.cli.options import Commands, add_timeout, positive
from tracescript.cli.progress import counted
from tracescript.errors import TraceFileError
from tracescript.files import iter_records
from tracescript.files.output import name_of, writing
from tracescript.model import Trace

if TYPE_CHECKING:
    from tracescript.proposals import Attempt, Proposal, Trials

__all__ = ["add_commands"]

_NEEDS = ("tvm", "torch", "transformers", "numpy")

_KERNEL = """\
KERNEL is a file: TVMScript (.py), the JSON that tvm.ir.save_json writes (.json), or the text of a
workload. A TVMScript file is run, as any program is, since TVM's parser evaluates what stands in
its functions; a text is only read."""


def add_commands(commands: Commands) -> None:
    """Add both subcommands."""
    construct = commands.add_parser(
        "construct",
        help="let a model write a schedule for a kernel; needs TVM and torch",
        description="Let a model write scripts for a kernel, try them, and write the best one. "
        f"{_KERNEL}",
    )
    refine = commands.add_parser(
        "refine",
        help="let a model write a faster schedule than a given one; needs TVM and torch",
        description="Let a model write scripts that are faster than a given one, try them all, "
        f"and write the best one. {_KERNEL}",
    )
    for parser, run in ((construct, _construct), (refine, _refine)):
        parser.add_argument("kernel", metavar="KERNEL", help="a file, see above")
        if parser is refine:
            parser.add_argument("script", metavar="SCRIPT", help="a script, a file of one record")
        _add_options(parser)
        parser.set_defaults(run=run)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--function", metavar="NAME", help="which one, if the file has several")
    parser.add_argument(
        "--target",
        metavar="TARGET",
        help="what to schedule for: a tag of TVM's, or a target as JSON (default: that of the "
        "text of a workload, else nvidia/nvidia-h100, for which the shipped model was trained)",
    )
    parser.add_argument(
        "--model",
        metavar="DIR",
        help="a folder of a model (default: the package tracescript_model)",
    )
    parser.add_argument(
        "-k", type=positive, default=8, metavar="N", help="scripts to draw (default: 8)"
    )
    parser.add_argument(
        "--temperature",
        type=_above_zero,
        default=1.0,
        metavar="T",
        help="the lower, the more alike the scripts are (default: 1)",
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="of the draws (default: 0)"
    )
    parser.add_argument(
        "--no-measure", action="store_true", help="build and run nothing; take the likeliest"
    )
    add_timeout(parser, "a script, all told,")
    parser.add_argument("--all", action="store_true", help="list what became of each script")
    parser.add_argument(
        "-o", "--output", default="-", help="the script to write (default: standard output)"
    )
    parser.add_argument(
        "--python", metavar="FILE", help="write the schedule as Python, which needs TVM alone"
    )


def _above_zero(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise ValueError(text)
    return number


def _seed(text: str) -> int:
    number = int(text)
    if not 0 <= number < 1 << 64:
        raise ValueError(text)
    return number


def _construct(options: argparse.Namespace) -> int:
    return _propose(options, None)


def _refine(options: argparse.Namespace) -> int:
    records = list(iter_records(options.script))
    if len(records) != 1:
        message = f"expected one script, found {len(records)} records"
        raise TraceFileError(message, file=name_of(options.script), line=1)
    return _propose(options, records[0].trace)


def _propose(options: argparse.Namespace, given: Trace | None) -> int:
    if not all(map(find_spec, _NEEDS)):
        print(
            "tracescript: this needs TVM, torch and transformers: pip install 'tracescript[model]'",
            file=sys.stderr,
        )
        return 1
    # Optional, and only for this.
    from tracescript.cli.attempts import listed, summary
    from tracescript.proposals import Proposer, Trials, best, model_folder

    folder = model_folder(options.model)
    with Trials(
        options.kernel,
        function=options.function,
        target=options.target,
        measure=not options.no_measure,
        timeout=options.timeout,
    ) as trials:
        # TVM starts meanwhile.
        proposer = Proposer(folder)
        workload, begin = trials.workload, time.monotonic()
        proposals = proposer.propose(
            workload, given, count=options.k, temperature=options.temperature, seed=options.seed
        )
        took = f"{time.monotonic() - begin:.1f} s"
        _say(f"{workload.name}: {options.k} drawn in {took}, {len(proposals)} different")
        attempts = _tried(trials, proposals, given)
    if options.all:
        for line in listed(attempts):
            _say(line)
    chosen = best(attempts)
    _say(summary(attempts, chosen))
    return 1 if chosen is None else _write(chosen, options)


def _tried(trials: Trials, proposals: Sequence[Proposal], given: Trace | None) -> list[Attempt]:
    """What became of the given script, if there is one, and then of the proposals."""
    from tracescript.proposals import Attempt, sampled_part

    start = [] if given is None else [Attempt(trials.run(sampled_part(given)))]
    return start + [
        Attempt(trials.run(each.trace), each.logprob, each.count)
        for each in counted(proposals, "scripts")
    ]


def _write(chosen: Attempt, options: argparse.Namespace) -> int:
    trial = chosen.trial
    with writing(options.output) as file:
        file.write(trial.script.encode())
    if options.python is None:
        return 0
    if not trial.python:
        _say("TVM's methods do not take what the script says, so there is no Python of it")
        return 1
    with writing(options.python) as file:
        file.write(trial.python.encode())
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr)
