"""Modules of live TVM as workloads, and the other way round."""

from tracescript.tvm.workloads.convert import module_of, workload_of

__all__ = ["module_of", "workload_of"]
