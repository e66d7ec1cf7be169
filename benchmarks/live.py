"""Live TVM traces, for TVM's side of the comparison. Imports TVM, which takes seconds."""

from __future__ import annotations

import json
import sys
from typing import Any, NamedTuple

import tvm
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Trace
from workloads import OWN, Located, Log, median, own_logs

from tracescript import from_json, to_json
from tracescript.tvm import from_tvm, to_tvm

__all__ = ["Replay", "build", "holds", "replays"]


class Replay(NamedTuple):
    """A recorded trace together with the module that it was recorded on."""

    name: str
    located: Located
    module: tvm.IRModule

    def schedule(self) -> Schedule:
        """Start a schedule of the module, with nothing applied to it."""
        return Schedule(self.module, debug_mask="none", error_render_level="none")


def build(value: Any) -> Trace:
    """Build the trace that a JSON value describes, with no module: nothing is applied.

    Raises:
        ReplayError: TVM cannot hold this trace.
    """
    return to_tvm(from_json(value))


def holds(trace: Trace, value: Any) -> bool:
    """Tell whether TVM gives back exactly this JSON for the trace, and all of it is JSON."""
    try:
        return json.dumps(to_json(from_tvm(trace))) == json.dumps(value, allow_nan=False)
    except ValueError:
        return False


def replays() -> list[Replay]:
    """Choose the median of our CPU and of our CUDA records, with their modules rebuilt.

    Records that need tensor intrinsics are left out: to import those takes half a minute.
    """
    sys.path.insert(0, str(OWN))
    import _cuda
    import _llvm

    logs = {log.name: log for log in own_logs()}
    cpu = [task.module() for task in _llvm.TASKS]
    gpu = [space.module() for space in _cuda.SPACES if space.rules == "cuda"]
    return [
        _replay("CPU", logs["llvm.tuning_record.json"], cpu),
        _replay("CUDA", logs["cuda.tuning_record.json"], gpu),
    ]


def _replay(name: str, log: Log, modules: list[tvm.IRModule]) -> Replay:
    lines = (OWN / log.name).read_bytes().splitlines()
    workloads = {
        f"{log.name}:{number}": json.loads(line)[0] for number, line in enumerate(lines, 1)
    }
    fitting = [trace for trace in log.traces if workloads[trace.place] < len(modules)]
    chosen = median(fitting)
    return Replay(name, chosen, modules[workloads[chosen.place]])
