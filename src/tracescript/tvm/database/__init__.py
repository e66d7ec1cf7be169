"""A MetaSchedule database of `.trace` files, and TVM's own files turned into it and back."""

from tracescript.tvm.database.convert import decode_database, encode_database
from tracescript.tvm.database.trace_database import TraceDatabase
from tracescript.tvm.database.workloads import decode_workloads, encode_workloads, module_texts

__all__ = [
    "TraceDatabase",
    "decode_database",
    "decode_workloads",
    "encode_database",
    "encode_workloads",
    "module_texts",
]
