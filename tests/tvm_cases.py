"""Live modules and traces that TVM makes, for the tests that need it."""

import json
import sys
from functools import cache

import tvm
from tvm.script import tirx as T  # noqa: N812 - TVMScript's convention

from corpora import ROOT

sys.path.append(str(ROOT / "tests" / "corpus"))

import _annotations
import _cuda
import _llvm
import _primitives
import record  # noqa: F401 - for tests of the recordings

from tracescript import from_json

SEED = 2027
EXAMPLES = _primitives.EXAMPLES + _annotations.EXAMPLES + _annotations.UNLOADABLE


@cache
def example(name):
    return next(one for one in EXAMPLES if one.name == name)


@cache
def modules(log):
    """The workloads of one of the project's own logs, in its order."""
    return [case.module() for case in (_cuda.SPACES if log == "cuda" else _llvm.TASKS)]


@cache
def records(log):
    """The modules and traces of one of the project's own logs."""
    path = ROOT / "tests" / "corpus" / f"{log}.tuning_record.json"
    pairs = map(json.loads, path.read_text().splitlines())
    return [(modules(log)[workload], from_json(rest[0])) for workload, rest in pairs]


@cache
def dynamic_module():
    """A module whose only loop has an extent that is no constant."""
    return tvm.IRModule({"main": _dynamic})


@T.prim_func(s_tir=True)
def _dynamic(a: T.handle, n: T.int32) -> None:
    buffer = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        with T.sblock("A"):
            j = T.axis.remap("S", [i])
            buffer[j] = T.float32(0)
