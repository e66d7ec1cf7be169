"""Workloads: what is scheduled, as data and as a short text; no TVM is needed."""

from tracescript.errors import WorkloadError
from tracescript.workloads.conversion import with_dtypes
from tracescript.workloads.inference import Dtypes
from tracescript.workloads.model import (
    MAX_NODES,
    MAX_TREE_DEPTH,
    Attribute,
    Axis,
    Block,
    Buffer,
    Cast,
    Const,
    Expr,
    Kind,
    Load,
    Op,
    Output,
    Reinterpret,
    Var,
    Workload,
)
from tracescript.workloads.operators import OPERATORS, Operator
from tracescript.workloads.read import loads
from tracescript.workloads.write import dumps

__all__ = [
    "MAX_NODES",
    "MAX_TREE_DEPTH",
    "OPERATORS",
    "Attribute",
    "Axis",
    "Block",
    "Buffer",
    "Cast",
    "Const",
    "Dtypes",
    "Expr",
    "Kind",
    "Load",
    "Op",
    "Operator",
    "Output",
    "Reinterpret",
    "Var",
    "Workload",
    "WorkloadError",
    "dumps",
    "loads",
    "with_dtypes",
]
