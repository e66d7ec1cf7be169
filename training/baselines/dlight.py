r"""Judge the kernels of dlight's default schedules, which TVM compiles with unless it is tuned.

    python -m training.baselines.dlight --out dlight.jsonl --target nvidia/nvidia-h100 \
        --device cuda

The rules are those of TVM's own pipeline for CUDA, in its order; the first one that takes a kernel
schedules it. A rule that raises is passed over, where TVM itself would stop. On a CPU TVM has no
such pipeline: there the two rules of `dlight.cpu` are tried, and what they do not take runs as it
is written. Results are appended; an interrupted run goes on.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import tvm
from tvm.s_tir import dlight

from tracescript.tvm import module_of
from training.baselines.judging import Method, judge, parser
from training.baselines.tasks import chosen
from training.evaluate.build import build_with, target_of, workload_of_prompt
from training.evaluate.ends import TorchEnd
from training.evaluate.recording import left
from training.evaluate.results import Candidate, ResultFile, files_or_exit

SOURCE = "dlight"

RULES = {
    "cuda": (
        dlight.gpu.Matmul,
        dlight.gpu.GEMV,
        dlight.gpu.Reduction,
        dlight.gpu.GeneralReduction,
        dlight.gpu.Fallback,
    ),
    "llvm": (dlight.cpu.GEMV, dlight.cpu.Reduction),
}
"""The rules by the kind of the target."""


def default_module(_: str, prompt: str, target: str) -> tvm.IRModule:
    """Return a workload as dlight schedules it; there is no script."""
    goal = target_of(target)
    module = module_of(workload_of_prompt(prompt))
    with goal:
        made = (_applied(rule(), module) for rule in RULES[goal.kind.name])
        return next((each for each in made if each is not None), module)


def _applied(rule: Any, module: tvm.IRModule) -> tvm.IRModule | None:
    """The module as one rule schedules it; None if it does not take it."""
    try:
        made = dlight.ApplyDefaultSchedule(rule)(module)
    except Exception:
        return None
    return made if "tirx.is_scheduled" in made["main"].attrs else None


METHOD = Method(partial(build_with, default_module), TorchEnd)


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    options = parser("dlight", __doc__).parse_args(arguments)
    with files_or_exit("dlight"):
        workloads = chosen(options)
        file = ResultFile(options.out)
    kernels = [Candidate(each.key, SOURCE, SOURCE) for each in workloads]
    judge("dlight", options, workloads, left(kernels, file.results), file, METHOD)


if __name__ == "__main__":
    main()
