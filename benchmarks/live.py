"""Live TVM traces, for TVM's side of the comparison. Imports TVM, which takes seconds."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any, NamedTuple

import tvm
from tvm import tirx
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import Instruction, InstructionKind, LoopRV, SBlockRV, Trace
from workloads import OWN, Located, Log, median, own_logs

__all__ = ["Replay", "build", "holds", "replays"]

_NEW = {"b": SBlockRV, "l": LoopRV, "v": partial(tirx.Var, "v", "int32")}
_MAP_IN_ATTRS = {"TransformBlockLayout"}


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
        Exception: TVM cannot hold this trace, or not under canonical names.
    """
    scope: dict[str, Any] = {}
    insts: list[Instruction] = []
    for kind, inputs, attrs, outputs in value[0]:
        used = [_input(item, scope) for item in inputs]
        plain = [_map(item) for item in attrs] if kind in _MAP_IN_ATTRS else attrs
        defined = [_NEW[name[0]]() for name in outputs]
        scope.update(zip(outputs, defined, strict=True))
        insts.append(Instruction(InstructionKind.get(kind), used, plain, defined))
    return Trace(insts, {insts[index]: decision for index, decision in value[1]})


def holds(trace: Trace, value: Any) -> bool:
    """Tell whether TVM gives back exactly this JSON for the trace, and all of it is JSON."""
    try:
        return json.dumps(_unbox(trace.as_json())) == json.dumps(value, allow_nan=False)
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


def _input(item: Any, scope: dict[str, Any]) -> Any:
    if isinstance(item, list):
        return [_input(inner, scope) for inner in item]
    if not isinstance(item, str):
        return item
    if len(item) >= 2 and item[0] == item[-1] == '"':
        return item[1:-1]
    if item == "None":
        return None
    return scope[item] if item[:1] != "{" else _map(item)


def _map(item: Any) -> Any:
    return tvm.ir.load_json(item) if isinstance(item, str) and item[:1] == "{" else item


def _unbox(value: Any) -> Any:
    if isinstance(value, tirx.IntImm):
        return bool(value.value) if str(value.ty) == "bool" else int(value.value)
    if isinstance(value, tirx.FloatImm):
        return float(value.value)
    if isinstance(value, list):
        return [_unbox(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _unbox(item) for key, item in value.items()}
    return str(value) if isinstance(value, str) else value
