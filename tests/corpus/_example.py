"""What an example is: a module, and the primitives to call on a schedule of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tvm import IRModule
from tvm.s_tir import Schedule

Steps = Callable[[Schedule], None]


class Example(NamedTuple):
    """One program to record."""

    name: str
    module: IRModule
    steps: Steps

    def schedule(self, seed: int) -> Schedule:
        """Run the steps on a fresh schedule and return it."""
        sch = Schedule(self.module, seed=seed, debug_mask="none", error_render_level="none")
        self.steps(sch)
        return sch


def register(into: list[Example], module: IRModule) -> Callable[[Steps], Steps]:
    """Append the decorated function to `into` as one example on `module`."""

    def append(steps: Steps) -> Steps:
        into.append(Example(steps.__name__, module, steps))
        return steps

    return append
