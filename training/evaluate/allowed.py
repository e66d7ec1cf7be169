"""Which instructions a script may hold, if its speed is to count.

Most kinds change how a kernel computes, not what. The kinds that can change what it computes or
how exactly (`UnsafeSetDType`, `UnsafeHideBufferAccess`, `Tensorize` with any intrinsic) are not
here, and neither are annotations that carry source code, such as `pragma_import_c`. It is a list of
what is allowed, so what a later TVM adds is refused until somebody has looked at it.
"""

from __future__ import annotations

from collections.abc import Callable

from tracescript import Instruction, Trace

KINDS = frozenset(
    {
        *("SamplePerfectTile", "SampleCategorical", "SampleComputeLocation"),
        *("SamplePartitionedTile", "GetSBlock", "GetLoops", "GetProducers", "GetConsumers"),
        *("GetChildBlocks", "GetOutputBlocks", "Split", "Fuse", "Reorder", "AddUnitLoop"),
        *("Bind", "Parallel", "Vectorize", "Unroll", "CacheRead", "CacheWrite", "ReIndex"),
        *("ComputeAt", "ReverseComputeAt", "ComputeInline", "ReverseComputeInline", "RFactor"),
        *("DecomposeReduction", "StorageAlign", "TransformLayout", "TransformBlockLayout"),
        *("Blockize", "PadEinsum", "SetScope", "Annotate", "Unannotate"),
    }
)

ANNOTATIONS = frozenset(
    {
        *("meta_schedule.auto_tensorize", "meta_schedule.auto_tensorize_init"),
        *("meta_schedule.cooperative_fetch", "meta_schedule.tiling_structure"),
        "meta_schedule.thread_extent_low_inclusive",
        "meta_schedule.thread_extent_high_inclusive",
        *("meta_schedule.unroll_explicit", "meta_schedule.unroll_implicit"),
        *("meta_schedule.parallel", "meta_schedule.vectorize", "meta_schedule.inline_rule"),
        "meta_schedule.random_compute_producer",
        *("software_pipeline_stage", "software_pipeline_order", "software_pipeline_async_stages"),
        *("warp_execution", "schedule_rule"),
    }
)

SCOPES = frozenset(
    {
        *("global", "shared", "shared.dyn", "local"),
        *("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"),
    }
)

INTRINSICS = ("wmma_load_", "wmma_sync_", "wmma_fill_", "wmma_store_")
"""Tensor-core intrinsics of TVM; the numerical check judges their precision."""


def forbidden(trace: Trace) -> str | None:
    r"""Say what in a trace is not allowed, or None.

    >>> from tracescript import loads
    >>> forbidden(loads('tracescript 1\nGetSBlock | "C" "main" -> b\n'))
    >>> script = 'tracescript 1\nGetSBlock | "C" "main" -> b\nUnsafeSetDType b-1 | 0 "float16"\n'
    >>> forbidden(loads(script))
    'instruction 1: the kind UnsafeSetDType is not allowed'
    """
    for number, inst in enumerate(trace.insts):
        if inst.kind not in KINDS:
            return f"instruction {number}: the kind {inst.kind} is not allowed"
        reason = _CHECKS.get(inst.kind, _anything)(inst)
        if reason:
            return f"instruction {number}: {reason}"
    return None


def _anything(_: Instruction) -> str | None:
    return None


def _annotation(inst: Instruction) -> str | None:
    key = inst.attrs[0] if inst.attrs else None
    if key not in ANNOTATIONS:
        return f"the annotation {key!r} is not allowed"
    value = inst.inputs[1] if len(inst.inputs) > 1 else None
    if "tensorize" in str(key) and not str(value).startswith(INTRINSICS):
        return f"the intrinsic {value!r} is not allowed"
    return None


def _scope(inst: Instruction) -> str | None:
    scope = inst.attrs[-1] if inst.attrs else None
    return None if scope in SCOPES else f"the scope {scope!r} is not allowed"


_CHECKS: dict[str, Callable[[Instruction], str | None]] = {
    "Annotate": _annotation,
    "CacheRead": _scope,
    "CacheWrite": _scope,
    "SetScope": _scope,
}
