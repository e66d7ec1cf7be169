"""A short real MetaSchedule tuning run on this machine's CPU.

MetaSchedule's own `LocalBuilder` starts fresh processes for every batch, and each spends longer
on importing TVM's tensor intrinsics than its 30 s limit allows. Builder and runner below do
their work in this process instead: the "artifact path" is a key into a table of built modules.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import tvm
from tvm import te
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.builder.local_builder import default_build
from tvm.s_tir.meta_schedule.runner.local_runner import (
    LocalRunnerFuture,
    default_alloc_argument,
    default_run_evaluator,
)
from tvm.s_tir.meta_schedule.testing import te_workload
from tvm.target import Target

TARGET = {"kind": "llvm", "num-cores": 2}
TRIALS_PER_TASK = 10


class Task(NamedTuple):
    """One workload to tune: a function of `te_workload` and its arguments."""

    name: str
    arguments: tuple[int, ...]

    def module(self) -> tvm.IRModule:
        """The workload as a TIR module with one function, `main`."""
        func = te.create_prim_func(getattr(te_workload, self.name)(*self.arguments))
        return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


TASKS = (
    Task("batch_matmul_nkkm", (1, 64, 64, 64)),
    Task("conv2d_nhwc_bn_relu", (1, 14, 14, 16, 32, 3, 1, 1)),
    Task("softmax_mn", (64, 256)),
    Task("norm_bmn", (1, 128, 128)),
)


class InProcess:
    """Builds candidates and times them, all in this process."""

    def __init__(self) -> None:
        self._built: dict[str, tvm.runtime.Module] = {}
        self._config = ms.runner.EvaluatorConfig(
            number=2, repeat=3, min_repeat_ms=5, enable_cpu_cache_flush=False
        )

    def build(self, item: ms.builder.BuilderInput) -> ms.builder.BuilderResult:
        """Build one candidate; a failed build is a result too."""
        try:
            module = default_build(item.mod, item.target, None)
        except Exception as error:
            return ms.builder.BuilderResult(None, str(error))
        key = f"module-{len(self._built)}"
        self._built[key] = module
        return ms.builder.BuilderResult(key, None)

    def run(self, item: ms.runner.RunnerInput) -> ms.runner.RunnerFuture:
        """Time one built candidate; a failed run is a result too."""
        try:
            seconds = self._seconds(item)
        except Exception as error:
            return LocalRunnerFuture(None, str(error))
        return LocalRunnerFuture(seconds, None)

    def _seconds(self, item: ms.runner.RunnerInput) -> list[float]:
        device = tvm.runtime.device(str(item.device_type), 0)
        shapes = [info.as_json() for info in item.args_info]
        arguments = default_alloc_argument(device, shapes, 1)
        module = self._built[str(item.artifact_path)]
        return default_run_evaluator(module, device, self._config, arguments)


@derived_object
class _Builder(ms.builder.PyBuilder):
    def __init__(self, process: InProcess) -> None:
        super().__init__()
        self.process = process

    def build(self, build_inputs: list[ms.builder.BuilderInput]) -> list[ms.builder.BuilderResult]:
        return [self.process.build(item) for item in build_inputs]


@derived_object
class _Runner(ms.runner.PyRunner):
    def __init__(self, process: InProcess) -> None:
        super().__init__()
        self.process = process

    def run(self, runner_inputs: list[ms.runner.RunnerInput]) -> list[ms.runner.RunnerFuture]:
        return [self.process.run(item) for item in runner_inputs]


def record(work_dir: Path, seed: int) -> Path:
    """Tune every task into one JSONDatabase and return the file of its records."""
    database = ms.database.JSONDatabase(work_dir=str(work_dir))
    process = InProcess()
    for task in TASKS:
        _tune(task, database, process, work_dir, seed)
        print(f"  {task.name}: {len(database)} records so far", file=sys.stderr)
    return work_dir / "database_tuning_record.json"


def _tune(task: Task, database: ms.Database, process: InProcess, work_dir: Path, seed: int) -> None:
    ms.tir_integration.tune_tir(
        task.module(),
        Target(TARGET),
        str(work_dir),
        max_trials_global=TRIALS_PER_TASK,
        num_trials_per_iter=TRIALS_PER_TASK // 2,
        builder=_Builder(process),
        runner=_Runner(process),
        database=database,
        cost_model=ms.cost_model.RandomModel(seed=seed),
        measure_callbacks=[ms.measure_callback.AddToDatabase()],
        strategy=ms.search_strategy.EvolutionarySearch(population_size=32, init_min_unmeasured=16),
        num_tuning_cores=1,
        seed=seed,
    )
