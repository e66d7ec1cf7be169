"""Kernels that cheat, for the evaluator to catch: each computes `relu` of a matrix, or pretends to.

On a GPU each element is a thread's work; on a CPU the same loops run one after the other.
"""

import tvm
from tvm import te
from tvm.script import from_source

ROWS, COLUMNS = 512, 256

HEAD = """
@T.prim_func(s_tir=True)
def main(x: T.Buffer(({rows}, {columns}), "float32"), y: T.Buffer(({rows}, {columns}), "float32")):
    T.func_attr({{"global_symbol": "main", "tirx.noalias": True}})
    for b in {rows_loop}:
        for t in {columns_loop}:
            with T.sblock("y"):
                i = T.axis.spatial({rows}, b)
                j = T.axis.spatial({columns}, t)
"""

RIGHT = "y[i, j] = T.max(x[i, j], T.float32(0))"

BODIES = {
    "zeros": "y[i, j] = T.float32(0)",
    "a constant": "y[i, j] = T.float32(0.4)",
    "the input": "y[i, j] = x[i, j]",
    "half precision": 'y[i, j] = T.Cast("float32", T.Cast("float16", T.max(x[i, j], 0.0)))',
    "a part": f"if i < {ROWS - 2}:\n    {RIGHT}",
    "nothing": f"if i > {ROWS}:\n    {RIGHT}",
    "one wrong element": f"{RIGHT}\nif i == 7 and j == 7:\n    y[i, j] = T.float32(-1)",
    "a shifted row": "y[i, j] = T.max(x[(i + 1) % 512, j], T.float32(0))",
    "its input too": f"{RIGHT}\nx[i, j] = T.float32(0)",
    "what was there": "y[i, j] = T.max(y[i, j], T.float32(0))",
}
"""What is left of `relu`; each must be found wrong."""

FAULTS = {
    "writes far outside": "y[i + 8000000, j] = x[i, j]",
    "never ends": (
        "for k, _ in T.grid(1000000000, 1000):\n"
        "    y[i, j] = T.max(x[i, j], y[i, j] * T.float32(0.5) + T.Cast('float32', k))"
    ),
}
"""What ends the process, or never ends: a GPU does some 10**9 iterations in seconds."""


def relu():
    """The workload that all of them pretend to be."""
    x = te.placeholder((ROWS, COLUMNS), name="x")
    y = te.compute((ROWS, COLUMNS), lambda i, j: te.max(x[i, j], 0.0), name="y")
    return _module(te.create_prim_func([x, y]))


def copy():
    """A workload whose right output is its input."""
    x = te.placeholder((ROWS, COLUMNS), name="x")
    return _module(te.create_prim_func([x, te.compute((ROWS, COLUMNS), lambda i, j: x[i, j])]))


def flip():
    """A workload whose output has the elements of its input in another order."""
    x = te.placeholder((ROWS, COLUMNS), name="x")
    y = te.compute((ROWS, COLUMNS), lambda i, j: x[ROWS - 1 - i, COLUMNS - 1 - j])
    return _module(te.create_prim_func([x, y]))


def large_clip():
    """A workload that leaves usual inputs as they are: nothing can tell it from a cheat."""
    x = te.placeholder((ROWS, COLUMNS), name="x")
    y = te.compute((ROWS, COLUMNS), lambda i, j: te.min(x[i, j], te.const(1e30, "float32")))
    return _module(te.create_prim_func([x, y]))


def kernel(body, gpu=False):
    """A kernel with this body."""
    loop = 'T.thread_binding({}, thread="{}")' if gpu else "range({})"
    source = HEAD.format(
        rows=ROWS,
        columns=COLUMNS,
        rows_loop=loop.format(ROWS, "blockIdx.x"),
        columns_loop=loop.format(COLUMNS, "threadIdx.x"),
    )
    lines = "".join(f"{' ' * 16}{line}\n" for line in body.splitlines())
    return tvm.IRModule({"main": from_source(source + lines)})


def _module(function):
    return tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
