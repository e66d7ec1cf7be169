"""MetaSchedule's CUDA design spaces, sampled and post-processed, but neither built nor run.

Every record keeps `run_secs` null. Of each sketch a few random samples that pass all
post-processors are kept; of some sketches also one sample from before post-processing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import tvm
from tvm import te
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.testing import te_workload
from tvm.s_tir.schedule import Trace
from tvm.target import Target

TARGET = "nvidia/nvidia-h100"
MOST_TRIES = 60


class Space(NamedTuple):
    """One workload and how many samples of its design space to record."""

    workload: str
    arguments: tuple[int | str, ...]
    rules: str
    """`cuda`, or `cuda-tensorcore`."""
    passing: int
    """Samples to keep that pass the post-processors, for all sketches together."""
    raw: int
    """Samples to keep from before post-processing."""

    def module(self) -> tvm.IRModule:
        """The workload as a TIR module with one function, `main`."""
        func = te.create_prim_func(getattr(te_workload, self.workload)(*self.arguments))
        func = func.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
        return tvm.IRModule({"main": func})


HALF = ("float16", "float32")

SPACES = (
    Space("batch_matmul_nkkm", (1, 128, 128, 128), "cuda", passing=5, raw=1),
    Space("conv1d_nlc", (1, 256, 64, 128, 3, 2, 1), "cuda", passing=5, raw=1),
    Space("conv2d_nhwc", (1, 14, 14, 256, 256, 3, 1, 1), "cuda", passing=5, raw=1),
    Space("depthwise_conv2d_nhwc", (1, 112, 112, 32, 3, 1, 1), "cuda", passing=5, raw=1),
    Space("conv2d_nhwc_bn_relu", (1, 28, 28, 128, 256, 1, 2, 0), "cuda", passing=5, raw=1),
    Space("transpose_batch_matmul", (1, 128, 12, 64), "cuda", passing=5, raw=1),
    Space("norm_bmn", (1, 256, 256), "cuda", passing=5, raw=1),
    Space("softmax_mn", (256, 256), "cuda", passing=5, raw=1),
    Space("matmul", (1024, 1024, 1024, *HALF), "cuda-tensorcore", passing=6, raw=3),
    Space("matmul_relu", (512, 512, 512, *HALF), "cuda-tensorcore", passing=3, raw=1),
)


def record(work_dir: Path, seed: int) -> Path:
    """Commit every kept sample to one JSONDatabase and return the file of its records."""
    database = ms.database.JSONDatabase(work_dir=str(work_dir))
    target = Target(TARGET)
    for space in SPACES:
        _record_space(space, target, database, seed)
        print(f"  {space.workload} ({space.rules}): {len(database)} records", file=sys.stderr)
    return work_dir / "database_tuning_record.json"


def _record_space(space: Space, target: Target, database: ms.Database, seed: int) -> None:
    module = space.module()
    workload = database.commit_workload(module)
    arguments = ms.arg_info.ArgInfo.from_prim_func(module["main"])
    for sch in _samples(space, module, target, seed):
        record = ms.database.TuningRecord(sch.trace, workload, None, target, arguments)
        database.commit_tuning_record(record)


def _samples(space: Space, module: tvm.IRModule, target: Target, seed: int) -> Iterator[Schedule]:
    rules = ms.space_generator.PostOrderApply(
        sch_rules=space.rules, postprocs=space.rules, mutator_probs=space.rules
    )
    context = ms.TuneContext(
        module, target=target, space_generator=rules, rand_state=seed, num_threads=1
    )
    sketches = list(context.generate_design_space())
    for index in range(space.raw):
        yield _resampled(sketches[index % len(sketches)], module, seed + index)
    yield from _passing(sketches, context, space.passing, seed)


def _resampled(sketch: Schedule, module: tvm.IRModule, seed: int) -> Schedule:
    """Replay the sketch's instructions and let TVM make every decision anew."""
    sch = Schedule(module, seed=seed, debug_mask="none", error_render_level="none")
    Trace(sketch.trace.insts, {}).apply_to_schedule(sch, remove_postproc=True)
    return sch


def _passing(
    sketches: list[Schedule], context: ms.TuneContext, count: int, seed: int
) -> Iterator[Schedule]:
    """Try the sketches in turn and yield the first `count` samples that pass."""
    found = 0
    for attempt in range(MOST_TRIES * count):
        sch = _resampled(sketches[attempt % len(sketches)], context.mod, seed + attempt)
        if not _postprocess(sch, context):
            continue
        yield sch
        found += 1
        if found == count:
            return


def _postprocess(sch: Schedule, context: ms.TuneContext) -> bool:
    sch.enter_postproc()
    return all(postproc.apply(sch) for postproc in context.space_generator.postprocs)
