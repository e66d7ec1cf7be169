"""Live TVM: the only package here that imports it; the extra `tvm` brings the one it needs."""

from tracescript.errors import IllegalToken, RefusedToken, ReplayError, WorkloadError
from tracescript.tvm.database import (
    TraceDatabase,
    decode_database,
    decode_workloads,
    encode_database,
    encode_workloads,
    module_texts,
)
from tracescript.tvm.intrinsics import import_intrinsics
from tracescript.tvm.oracle import Oracle, OracleState
from tracescript.tvm.python_source import python_source
from tracescript.tvm.rehearsal import end_rehearsals
from tracescript.tvm.replay import replay
from tracescript.tvm.tasks import task_of
from tracescript.tvm.traces import from_tvm, to_tvm
from tracescript.tvm.workloads import module_of, workload_of

__all__ = [
    "IllegalToken",
    "Oracle",
    "OracleState",
    "RefusedToken",
    "ReplayError",
    "TraceDatabase",
    "WorkloadError",
    "decode_database",
    "decode_workloads",
    "encode_database",
    "encode_workloads",
    "end_rehearsals",
    "from_tvm",
    "import_intrinsics",
    "module_of",
    "module_texts",
    "python_source",
    "replay",
    "task_of",
    "to_tvm",
    "workload_of",
]
