"""What MetaSchedule does to a schedule before it builds it, and what it refuses to build."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

from typing import Any

from tvm.s_tir import meta_schedule as ms

from tracescript.errors import ReplayError
from tracescript.tvm.intrinsics import import_intrinsics
from tracescript.tvm.reasons import reason_of

__all__ = ["Postprocessors"]


class Postprocessors:
    """The post-processors that MetaSchedule takes for a target.

    Args:
        module: a workload; it stays as it is.
        target: the `tvm.target.Target`.

    Raises:
        ReplayError: MetaSchedule has none for the target.
    """

    def __init__(self, module: Any, target: Any) -> None:
        import_intrinsics()  # else the context does it, in half a minute
        generator = ms.space_generator.PostOrderApply(
            sch_rules="from-target", postprocs="from-target", mutator_probs={}
        )
        try:
            # It owns the post-processors, and must live as long as they do.
            self._context: Any = ms.TuneContext(
                module, target=target, space_generator=generator, num_threads=1
            )
        except Exception as error:
            # TVM raises errors of a dozen types.
            raise ReplayError(reason_of(error)) from None

    def apply(self, schedule: Any) -> None:
        """Apply them to a `tvm.s_tir.Schedule`, one after the other; its trace records it.

        Raises:
            ReplayError: one of them refuses the schedule, which is of no use then.
        """
        schedule.enter_postproc()
        for step in self._context.space_generator.postprocs:
            name = type(step).__name__
            try:
                passed = step.apply(schedule)
            except Exception as error:
                raise ReplayError(f"{name}: {reason_of(error)}") from None
            if not passed:
                raise ReplayError(f"refused by {name}")
