"""From a workload to its schedules: module, design space, random samples, post-processing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import tvm
from tvm import te
from tvm.s_tir import Schedule, ScheduleError
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule import postproc
from tvm.s_tir.meta_schedule import schedule_rule as rule
from tvm.s_tir.schedule import Trace
from tvm.target import Target

from training.workloads import operators
from training.workloads.workload import TARGETS, Workload

Rules = tuple[Any, Any]
"""Schedule rules and post-processors, as `PostOrderApply` takes them."""

ReuseType = rule.multi_level_tiling.ReuseType


class Sample(NamedTuple):
    """One schedule of a workload."""

    schedule: Schedule
    passed: bool
    """Whether it went through all post-processors; if not, it was made without them."""


def module(workload: Workload) -> tvm.IRModule:
    """Return the workload as a TIR module with one function, `main`."""
    build = getattr(operators, workload.family, None)
    build = build or operators.from_te_workload(workload.family)
    with target(workload.target):
        outputs = list(build(*workload.arguments))
    inputs = _placeholders(outputs)
    func = te.create_prim_func([*inputs, *outputs])
    func = func.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
    if workload.layout_free and len(inputs) > 1:
        func = func.with_attr("layout_free_buffers", [1])
    return tvm.IRModule({"main": func})


def _placeholders(outputs: list[te.Tensor]) -> list[te.Tensor]:
    """Return the inputs that the outputs depend on, in the order in which they are used."""
    found: list[te.Tensor] = []
    for tensor in outputs:
        if isinstance(tensor.op, te.PlaceholderOp):
            found.append(tensor)
        found.extend(_placeholders(list(tensor.op.input_tensors)))
    return list(dict.fromkeys(found))


def samples(workload: Workload, mod: tvm.IRModule, passing: int, tries: int) -> Iterator[Sample]:
    """Yield one or two samples without post-processing, then up to `passing` that pass it."""
    context = _context(workload, mod)
    sketches = list(context.generate_design_space())
    raw = 1 + workload.seed % 2
    for attempt in range(raw + tries):
        sketch = sketches[(workload.seed + attempt) % len(sketches)]
        is_raw = attempt < raw
        schedule = _attempt(sketch, context, workload.seed + attempt, postprocess=not is_raw)
        if schedule is None:
            continue
        yield Sample(schedule, passed=not is_raw)
        passing -= not is_raw
        if not passing:
            return


@lru_cache
def target(name: str) -> Target:
    """Return the target of that name."""
    return Target(TARGETS[name][0])


def _context(workload: Workload, mod: tvm.IRModule) -> ms.TuneContext:
    rules, postprocs = SPACES[workload.rules]()
    generator = ms.space_generator.PostOrderApply(
        sch_rules=rules, postprocs=postprocs, mutator_probs={}
    )
    return ms.TuneContext(
        mod,
        target=target(workload.target),
        space_generator=generator,
        rand_state=workload.seed,
        num_threads=1,
    )


def _attempt(
    sketch: Schedule, context: ms.TuneContext, seed: int, *, postprocess: bool
) -> Schedule | None:
    """Return the sketch with every decision made anew, or None where TVM refuses it."""
    schedule = Schedule(context.mod, seed=seed, debug_mask="none", error_render_level="none")
    try:
        Trace(sketch.trace.insts, {}).apply_to_schedule(schedule, remove_postproc=True)
        if postprocess and not _postprocess(schedule, context):
            return None
    except ScheduleError:
        return None
    return schedule


def _postprocess(schedule: Schedule, context: ms.TuneContext) -> bool:
    schedule.enter_postproc()
    return all(step.apply(schedule) for step in context.space_generator.postprocs)


def _named(kind: str) -> Callable[[], Rules]:
    return lambda: (kind, kind)


def _inline() -> rule.ScheduleRule:
    return rule.AutoInline(
        into_producer=True,
        into_consumer=True,
        inline_const_tensor=True,
        disallow_if_then_else=False,
        require_injective=False,
        require_ordered=False,
    )


def _gpu_postprocs(*more: postproc.Postproc) -> list[postproc.Postproc]:
    return [
        postproc.DisallowDynamicLoop(),
        postproc.RewriteCooperativeFetch(),
        postproc.RewriteUnboundBlock(),
        postproc.RewriteParallelVectorizeUnroll(),
        postproc.RewriteReductionBlock(),
        *more,
        postproc.VerifyGPUCode(),
    ]


def _gpu_tiles() -> dict[str, Any]:
    return {
        "tile_binds": ["blockIdx.x", "threadIdx.x"],
        "max_innermost_factor": 16,
        "vector_load_lens": [1, 2, 4],
        "reuse_read": ReuseType(req="must", levels=[3], scope="shared"),
        "reuse_write": ReuseType(req="may", levels=[2], scope="local"),
    }


def _gpu_other_tiles() -> Rules:
    rules = [
        rule.MultiLevelTiling(structure="SSRS", **_gpu_tiles()),
        _inline(),
        rule.CrossThreadReduction(thread_extents=[16, 64, 256]),
        rule.ParallelizeVectorizeUnroll(-1, -1, [0, 32, 128], unroll_explicit=False),
        rule.AutoBind(max_threadblocks=128, thread_extents=[64, 128, 256]),
    ]
    return rules, _gpu_postprocs()


def _gpu_auto_bind() -> Rules:
    rules = [_inline(), rule.AutoBind(max_threadblocks=256, thread_extents=[32, 64, 128, 256])]
    return rules, _gpu_postprocs()


def _dp4a() -> Rules:
    rules = [
        rule.MultiLevelTilingWithIntrin(
            "dp4a_s8s8s32",
            structure="SSSRRSRS",
            tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
            max_innermost_factor=64,
            vector_load_lens=[1, 2, 3, 4],
            reuse_read=ReuseType(req="must", levels=[4], scope="shared"),
            reuse_write=ReuseType(req="must", levels=[3], scope="local"),
        ),
        _inline(),
        rule.ParallelizeVectorizeUnroll(-1, -1, [0, 16, 64, 512, 1024], unroll_explicit=True),
        rule.AutoBind(max_threadblocks=256),
    ]
    return rules, _gpu_postprocs(postproc.RewriteTensorize())


def _tensor_core(groups: list[dict[str, str]], shared: str, write: ReuseType) -> Rules:
    rules = [
        rule.MultiLevelTilingTensorCore(
            groups,
            structure="SSSRRSRS",
            tile_binds=["blockIdx.y", "blockIdx.x", "threadIdx.y"],
            max_innermost_factor=4,
            vector_load_lens=[1, 2, 3, 4, 8, 16],
            reuse_read=ReuseType(req="must", levels=[4], scope=shared),
            reuse_write=write,
            use_software_pipeline=shared == "shared.dyn",
        ),
        *_gpu_other_tiles()[0],
    ]
    return rules, _gpu_postprocs(postproc.RewriteTensorize())


def _cuda_mma() -> Rules:
    """Tensor cores by `mma` with 16-bit inputs, which the default rules leave out."""
    groups = [
        {
            "init": f"mma_init_m16n8k8_{out}",
            "load_a": "mma_load_m16n8k8_f16_A_shared_dyn",
            "load_b": "mma_load_m16n8k8_f16_B_shared_dyn",
            "compute": f"mma_sync_m16n8k8_f16f16{out}",
            "store": f"mma_store_m16n8k8_{out}_global",
        }
        for out in ("f16", "f32")
    ]
    return _tensor_core(groups, "shared.dyn", ReuseType(req="no", levels=[2], scope="local"))


def _cuda_int8() -> Rules:
    """Tensor cores by `wmma` with 8-bit inputs."""
    from tvm.s_tir.tensor_intrin.cuda import get_wmma_intrin_group  # slow: `import_intrinsics`

    group = get_wmma_intrin_group("shared", "shared", "int8", "int32", trans_b=True)
    write = ReuseType(req="must", levels=[2], scope="shared")
    return _tensor_core([group], "shared", write)


def _cpu_postprocs() -> list[postproc.Postproc]:
    return [
        postproc.DisallowDynamicLoop(),
        postproc.RewriteParallelVectorizeUnroll(),
        postproc.RewriteReductionBlock(),
        postproc.RewriteLayout(),
    ]


def _cpu_other_tiles() -> Rules:
    rules = [
        _inline(),
        rule.MultiLevelTiling(
            structure="SSRS",
            max_innermost_factor=32,
            reuse_write=ReuseType(req="may", levels=[1], scope="global"),
        ),
        rule.ParallelizeVectorizeUnroll(8, 32, [0, 8, 32, 128], unroll_explicit=False),
    ]
    return rules, _cpu_postprocs()


def _cpu_rfactor() -> Rules:
    rules = [
        _inline(),
        rule.AddRFactor(max_jobs_per_core=8, max_innermost_factor=32),
        rule.ParallelizeVectorizeUnroll(16, 16, [0, 16, 64, 512], unroll_explicit=True),
        rule.RandomComputeLocation(),
    ]
    return rules, _cpu_postprocs()


SPACES: dict[str, Callable[[], Rules]] = {
    "cuda": _named("cuda"),
    "cuda-tensorcore": _named("cuda-tensorcore"),
    "llvm": _named("llvm"),
    "from-target": _named("from-target"),
    "gpu-other-tiles": _gpu_other_tiles,
    "gpu-auto-bind": _gpu_auto_bind,
    "dp4a": _dp4a,
    "cuda-mma": _cuda_mma,
    "cuda-int8": _cuda_int8,
    "cpu-other-tiles": _cpu_other_tiles,
    "cpu-rfactor": _cpu_rfactor,
}
"""The rules of a design space; TVM's own sets, and others that people build from its parts."""
