"""Small TIR modules, one for each shape of program that a schedule primitive asks for."""

from __future__ import annotations

from tvm import IRModule
from tvm.script import from_source
from tvm.script import tirx as T

# The bodies are TVMScript, read by TVM's parser; buffers have capital names, as everywhere in TVM.


@T.prim_func(s_tir=True)
def _two_steps(A: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")) -> None:
    B = T.sblock_alloc_buffer((128, 128), "float32")
    for i, j in T.grid(128, 128):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(128, 128):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func(s_tir=True)
def _odd_names(A: T.Buffer((16, 16), "float32"), E: T.Buffer((16, 16), "float32")) -> None:
    B = T.sblock_alloc_buffer((16, 16), "float32")
    C = T.sblock_alloc_buffer((16, 16), "float32")
    D = T.sblock_alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.sblock('a "quoted" \\ block'):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 16):
        with T.sblock("блок_é_块"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(16, 16):
        with T.sblock("A_reindex_shared.dyn_wmma.matrix_a_o"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)
    for i, j in T.grid(16, 16):
        with T.sblock("b0"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = D[vi, vj] + B[vi, vj]


@T.prim_func(s_tir=True)
def _matmul_relu(
    A: T.Buffer((64, 64), "float32"),
    B: T.Buffer((64, 64), "float32"),
    D: T.Buffer((64, 64), "float32"),
) -> None:
    C = T.sblock_alloc_buffer((64, 64), "float32")
    for i, j, k in T.grid(64, 64, 64):
        with T.sblock("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(64, 64):
        with T.sblock("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@T.prim_func(s_tir=True)
def _matmul_bias(
    A: T.Buffer((16, 16), "float32"),
    B: T.Buffer((16, 16), "float32"),
    bias: T.Buffer((16,), "float32"),
    D: T.Buffer((16, 16), "float32"),
) -> None:
    C = T.sblock_alloc_buffer((16, 16), "float32")
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 16):
        with T.sblock("bias"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + bias[vj]


@T.prim_func(s_tir=True)
def _uneven_matmul(
    A: T.Buffer((127, 127), "float32"),
    B: T.Buffer((127, 127), "float32"),
    C: T.Buffer((127, 127), "float32"),
) -> None:
    for i, j, k in T.grid(127, 127, 127):
        with T.sblock("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func(s_tir=True)
def _row_sum(A: T.Buffer((32, 32, 32), "float32"), B: T.Buffer((32,), "float32")) -> None:
    for i, j, k in T.grid(32, 32, 32):
        with T.sblock("sum"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj, vk]


@T.prim_func(s_tir=True)
def _transpose(A: T.Buffer((32, 16), "float32"), B: T.Buffer((16, 32), "float32")) -> None:
    for i, j in T.grid(16, 32):
        with T.sblock("transpose"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * T.float32(2)


@T.prim_func(s_tir=True)
def _padding(x: T.Buffer((128,), "int32"), y: T.Buffer((140,), "int32")) -> None:
    for i in range(140):
        with T.sblock("pad"):
            vi = T.axis.remap("S", [i])
            y[vi] = T.if_then_else(vi >= 6 and vi < 134, x[vi - 6], 0)


@T.prim_func(s_tir=True)
def _two_pools(A: T.Buffer((12, 12), "int8"), C: T.Buffer((8, 8), "int8")) -> None:
    B = T.sblock_alloc_buffer((10, 10), "int8")
    for i, j, u, v in T.grid(10, 10, 3, 3):
        with T.sblock("first"):
            vi, vj, vu, vv = T.axis.remap("SSRR", [i, j, u, v])
            with T.init():
                B[vi, vj] = T.int8(-128)
            B[vi, vj] = T.max(B[vi, vj], A[vi + vu, vj + vv])
    for i, j, u, v in T.grid(8, 8, 3, 3):
        with T.sblock("second"):
            vi, vj, vu, vv = T.axis.remap("SSRR", [i, j, u, v])
            with T.init():
                C[vi, vj] = T.int8(-128)
            C[vi, vj] = T.max(C[vi, vj], B[vi + vu, vj + vv])


@T.prim_func(s_tir=True)
def _in_place(data: T.Buffer((64,), "int32")) -> None:
    for _ in T.serial(1):
        with T.sblock("update"):
            T.reads(data[0:64])
            T.writes(data[0:64])
            T.evaluate(T.call_extern("int32", "update_in_place", data.data))


@T.prim_func(s_tir=True)
def _resize(A: T.Buffer((1, 3, 40, 40), "float32"), B: T.Buffer((1, 3, 80, 80), "float32")) -> None:
    for n, c, i, j in T.grid(1, 3, 80, 80):
        with T.sblock("resize"):
            vn, vc, vi, vj = T.axis.remap("SSSS", [n, c, i, j])
            B[vn, vc, vi, vj] = A[vn, vc, vi // 4 + vj // 4, vj // 2]


@T.prim_func(s_tir=True)
def _side_by_side(
    A: T.Buffer((32, 32), "float32"),
    B: T.Buffer((32, 32), "float32"),
    C: T.Buffer((32, 32), "float32"),
) -> None:
    for i in T.serial(32):
        for j in T.serial(32):
            with T.sblock("left"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in T.serial(32):
            with T.sblock("right"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)


@T.prim_func(s_tir=True)
def _gather(
    data: T.Buffer((16, 16), "float32"),
    index: T.Buffer((16,), "int32"),
    out: T.Buffer((16, 16), "float32"),
) -> None:
    for i, j in T.grid(16, 16):
        with T.sblock("gather"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(data[0:16, vj], index[vi])
            T.writes(out[vi, vj])
            out[vi, vj] = data[index[vi], vj]


@T.prim_func(s_tir=True)
def copy_4x4_desc(a: T.handle, b: T.handle) -> None:
    """What the tensor intrinsic of `_primitives.py` computes."""
    A = T.match_buffer(a, (4, 4), "float32", offset_factor=1)
    B = T.match_buffer(b, (4, 4), "float32", offset_factor=1)
    with T.sblock("root"):
        T.reads(A[0:4, 0:4])
        T.writes(B[0:4, 0:4])
        for i, j in T.grid(4, 4):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func(s_tir=True)
def copy_4x4_impl(a: T.handle, b: T.handle) -> None:
    """How it computes it: one call to an external function that nobody links."""
    A = T.match_buffer(a, (4, 4), "float32", offset_factor=1)
    B = T.match_buffer(b, (4, 4), "float32", offset_factor=1)
    with T.sblock("root"):
        T.reads(A[0:4, 0:4])
        T.writes(B[0:4, 0:4])
        T.evaluate(T.call_extern("int32", "copy_4x4", A.data, B.data))


def _module(**functions: object) -> IRModule:
    return IRModule(
        {name: func.with_attr("global_symbol", name) for name, func in functions.items()}
    )


def _parsed_again(module: IRModule) -> IRModule:
    """Replace the path of this file, which would enter the traces, by the name `<str>`."""
    return from_source(module.script())


TWO_STEPS = _module(main=_two_steps)
ODD_NAMES = _module(main=_odd_names)
MATMUL_RELU = _module(main=_matmul_relu)
MATMUL_BIAS = _module(main=_matmul_bias)
UNEVEN_MATMUL = _module(main=_uneven_matmul)
ROW_SUM = _module(main=_row_sum)
TRANSPOSE = _module(main=_transpose)
PADDING = _module(main=_padding)
TWO_POOLS = _module(main=_two_pools)
IN_PLACE = _module(main=_in_place)
RESIZE = _module(main=_resize)
SIDE_BY_SIDE = _module(main=_side_by_side)
GATHER = _parsed_again(_module(main=_gather))
TWO_FUNCTIONS = _module(main=_two_steps, helper=_transpose)
