"""Traces made by calling schedule primitives one by one, so that every instruction kind occurs.

Each function that carries `@example(...)` makes one trace.
"""

from __future__ import annotations

from functools import partial

import _modules as modules
from _example import Example, register
from tvm.s_tir import Schedule, TensorIntrin
from tvm.tirx import IndexMap, Var

COPY_4X4 = 'copy_4x4 "quoted"'
TensorIntrin.register(COPY_4X4, modules.copy_4x4_desc, modules.copy_4x4_impl)

EXAMPLES: list[Example] = []
example = partial(register, EXAMPLES)


# --- finding blocks and loops -------------------------------------------------------------


@example(modules.TWO_STEPS)
def nothing(sch: Schedule) -> None:
    """The empty trace."""


@example(modules.MATMUL_RELU)
def walk_blocks(sch: Schedule) -> None:
    root = sch.get_sblock("root")
    sch.get_child_blocks(root)
    matmul, relu = sch.get_sblock("matmul"), sch.get_sblock("relu", func_name="main")
    i, _, _ = sch.get_loops(matmul)
    sch.get_child_blocks(i)
    sch.get_consumers(matmul)
    sch.get_producers(relu)
    sch.get_producers(matmul)
    sch.get_output_blocks(root)


@example(modules.ODD_NAMES)
def odd_block_names(sch: Schedule) -> None:
    sch.get_loops(sch.get_sblock('a "quoted" \\ block'))
    sch.get_loops(sch.get_sblock("A_reindex_shared.dyn_wmma.matrix_a_o"))
    sch.get_consumers(sch.get_sblock("b0"))


@example(modules.TWO_FUNCTIONS)
def two_functions(sch: Schedule) -> None:
    sch.vectorize(sch.get_loops(sch.get_sblock("transpose", func_name="helper"))[-1])
    sch.work_on("helper")
    sch.parallel(sch.get_loops(sch.get_sblock("transpose"))[0])
    sch.work_on("main")
    sch.unroll(sch.get_loops(sch.get_sblock("C"))[0])


# --- sampling -----------------------------------------------------------------------------


@example(modules.MATMUL_RELU)
def sample_given_decisions(sch: Schedule) -> None:
    i, j, k = sch.get_loops(sch.get_sblock("matmul"))
    sch.sample_perfect_tile(i, n=4, max_innermost_factor=64, decision=[1, 4, 2, 8])
    sch.sample_perfect_tile(j, n=2, max_innermost_factor=-1, decision=[1, 64])
    sch.sample_partitioned_tile(k, n=3, partition_pos=1, innerpart_factor=4, decision=[2, 8, 4])
    sch.sample_categorical([0, 16, -64, 1 << 40], [0.1, 0.2, 0.3, 0.4], decision=2)
    sch.sample_categorical([7], [1.0], decision=0)
    sch.sample_categorical([1, 2, 3], [1 / 3, 1 / 6, 0.5], decision=1)
    sch.sample_categorical([1, 2], [0.0, 1e-10], decision=1)


@example(modules.MATMUL_RELU)
def sample_at_random(sch: Schedule) -> None:
    i, j, k = sch.get_loops(sch.get_sblock("matmul"))
    sch.sample_perfect_tile(i, n=2)
    sch.sample_perfect_tile(j, n=5, max_innermost_factor=8)
    sch.sample_partitioned_tile(k, n=2)
    sch.sample_partitioned_tile(k, n=4, partition_pos=2, innerpart_factor=2)
    sch.sample_categorical([0, 16, 64, 512], [0.25, 0.25, 0.25, 0.25])


@example(modules.TWO_STEPS)
def sample_locations(sch: Schedule) -> None:
    b = sch.get_sblock("B")
    sch.sample_compute_location(b, decision=-1)
    sch.sample_compute_location(b, decision=-2)
    sch.sample_compute_location(b, decision=0)
    sch.compute_at(b, sch.sample_compute_location(b, decision=1), preserve_unit_loops=True)


@example(modules.TWO_STEPS)
def sample_location_at_random(sch: Schedule) -> None:
    b = sch.get_sblock("B")
    for _ in range(4):
        sch.sample_compute_location(b)


# --- loops --------------------------------------------------------------------------------


@example(modules.TWO_STEPS)
def split_by_ints(sch: Schedule) -> None:
    i, j = sch.get_loops(sch.get_sblock("B"))
    _, i1 = sch.split(i, factors=[4, 32])
    sch.split(i1, factors=[None, 8, 1], preserve_unit_iters=False)
    sch.split(j, factors=[5, None], preserve_unit_iters=True, disable_predication=True)
    u, v = sch.get_loops(sch.get_sblock("C"))
    sch.split(u, factors=[128])
    sch.split(v, factors=[3, 7, 11])


@example(modules.TWO_STEPS)
def split_by_samples(sch: Schedule) -> None:
    i, j = sch.get_loops(sch.get_sblock("B"))
    i0, i1, i2 = sch.split(i, factors=sch.sample_perfect_tile(i, n=3, decision=[2, 4, 16]))
    factor = sch.sample_categorical([8, 16, 32], [0.25, 0.25, 0.5], decision=2)
    j0, j1 = sch.split(j, factors=[None, factor])
    sch.reorder(i0, j0, i1, j1, i2)
    sch.fuse(sch.fuse(i0, j0), i1, preserve_unit_iters=False)


@example(modules.TWO_STEPS)
def partition_loops(sch: Schedule) -> None:
    i, _ = sch.get_loops(sch.get_sblock("B"))
    sch.loop_partition(i, [2, 64])
    u, _ = sch.get_loops(sch.get_sblock("C"))
    factor = sch.sample_categorical([8, 16], [0.5, 0.5], decision=0)
    sch.loop_partition(u, [None, factor, 3], preserve_unit_iters=False)


@example(modules.SIDE_BY_SIDE)
def merge_loops(sch: Schedule) -> None:
    left, right = sch.get_sblock("left"), sch.get_sblock("right")
    sch.merge(sch.get_loops(left)[1], sch.get_loops(right)[1])


@example(modules.TWO_STEPS)
def unit_loops(sch: Schedule) -> None:
    b = sch.get_sblock("B")
    i, j = sch.get_loops(b)
    unit = sch.add_unit_loop(b)
    sch.fuse(sch.add_unit_loop(i), i)
    sch.fuse(j, unit, preserve_unit_iters=True)


@example(modules.TWO_STEPS)
def loop_kinds(sch: Schedule) -> None:
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.parallel(i)
    sch.vectorize(j)
    u, v = sch.get_loops(sch.get_sblock("C"))
    u0, u1, u2 = sch.split(u, factors=[2, None, 4])
    sch.bind(u0, "blockIdx.x")
    sch.bind(u1, "vthread.x")
    sch.bind(v, "threadIdx.x")
    sch.unroll(u2)


@example(modules.MATMUL_RELU)
def block_iterators(sch: Schedule) -> None:
    matmul = sch.get_sblock("matmul")
    sch.reorder_block_iter_var(matmul, [2, 0, 1])
    sch.reorder(*reversed(sch.get_loops(matmul)))


# --- copies of buffers --------------------------------------------------------------------


@example(modules.ODD_NAMES)
def cache_reads_and_writes(sch: Schedule) -> None:
    first = sch.get_sblock('a "quoted" \\ block')
    last = sch.get_sblock("b0")
    sch.cache_read(first, 0, "global")
    sch.cache_read(last, 1, "shared.dyn", consumer_blocks=[last])
    sch.cache_write(first, 0, "local", consumer_blocks=[last])
    sch.cache_write(last, "E", "")


@example(modules.TRANSPOSE)
def cache_reindexed(sch: Schedule) -> None:
    block = sch.get_sblock("transpose")
    sch.reindex_cache_read(block, 0, "shared", lambda i, j: (j, i))
    sch.reindex_cache_write(block, 0, "local", lambda i, j: (i // 2, i % 2, j))


@example(modules.TRANSPOSE)
def reindex(sch: Schedule) -> None:
    block = sch.get_sblock("transpose")
    sch.reindex(block, ("read", 0))
    sch.reindex(block, "B")


@example(modules.IN_PLACE)
def cache_in_place(sch: Schedule) -> None:
    sch.cache_inplace(sch.get_sblock("update"), 0, "local")


@example(modules.RESIZE)
def cache_index(sch: Schedule) -> None:
    sch.cache_index(sch.get_sblock("resize"), "global", cse_thresh=1)


@example(modules.RESIZE)
def cache_every_index(sch: Schedule) -> None:
    sch.cache_index(sch.get_sblock("resize"), "")


@example(modules.MATMUL_RELU)
def read_and_write_at(sch: Schedule) -> None:
    matmul = sch.get_sblock("matmul")
    i, j, k = sch.get_loops(matmul)
    i0, i1 = sch.split(i, factors=[8, 8])
    j0, j1 = sch.split(j, factors=[8, 8])
    k0, k1 = sch.split(k, factors=[8, 8])
    sch.reorder(i0, j0, k0, i1, j1, k1)
    sch.read_at(k0, matmul, 1, "shared.dyn")
    sch.write_at(j0, matmul, 0, "local")


# --- compute locations --------------------------------------------------------------------


@example(modules.TWO_STEPS)
def inline_forward(sch: Schedule) -> None:
    sch.compute_inline(sch.get_sblock("B"))


@example(modules.TWO_STEPS)
def inline_backward(sch: Schedule) -> None:
    sch.reverse_compute_inline(sch.get_sblock("C"))


@example(modules.MATMUL_RELU)
def move_blocks(sch: Schedule) -> None:
    matmul, relu = sch.get_sblock("matmul"), sch.get_sblock("relu")
    copy = sch.cache_read(matmul, 0, "global")
    i, j, _ = sch.get_loops(matmul)
    sch.compute_at(copy, j, preserve_unit_loops=True, index=-2)
    sch.compute_at(sch.cache_read(matmul, 1, "shared"), i, index=0)
    sch.reverse_compute_at(relu, i, preserve_unit_loops=False, index=-1)


# --- reductions ---------------------------------------------------------------------------


@example(modules.MATMUL_RELU)
def decompose_reduction(sch: Schedule) -> None:
    matmul = sch.get_sblock("matmul")
    sch.decompose_reduction(matmul, sch.get_loops(matmul)[1])


@example(modules.ROW_SUM)
def factor_reduction(sch: Schedule) -> None:
    _, j, _ = sch.get_loops(sch.get_sblock("sum"))
    sch.rfactor(j, factor_axis=-1)


@example(modules.ROW_SUM)
def factor_reduction_first(sch: Schedule) -> None:
    _, _, k = sch.get_loops(sch.get_sblock("sum"))
    sch.rfactor(k, factor_axis=0)


@example(modules.MATMUL_BIAS)
def fuse_epilogue(sch: Schedule) -> None:
    sch.fuse_reduction_epilogue(sch.get_sblock("matmul"), sch.get_sblock("bias"))


# --- properties of blocks and buffers -----------------------------------------------------


@example(modules.TWO_STEPS)
def buffer_properties(sch: Schedule) -> None:
    b = sch.get_sblock("B")
    sch.storage_align(b, buffer_index=0, axis=-2, factor=32, offset=8)
    sch.storage_align(b, buffer_index=0, axis=1, factor=1, offset=0)
    sch.set_scope(b, buffer_index=0, storage_scope="shared.dyn")
    sch.set_scope(b, "B_shared.dyn", "")
    sch.unsafe_set_dtype(b, buffer_index=0, dtype="float16")
    sch.unsafe_set_dtype(b, buffer_index=0, dtype="bfloat16")


@example(modules.GATHER)
def buffer_accesses(sch: Schedule) -> None:
    block = sch.get_sblock("gather")
    sch.annotate_buffer_access(block, 0, "write", lambda i, j: (i, (j, j + 1)))
    sch.annotate_buffer_access(block, 0, "read", lambda i, j: ((0, 16), (j - 1, j + 1)))
    sch.unsafe_hide_buffer_access(block, "read", [1])


@example(modules.GATHER)
def hide_two_accesses(sch: Schedule) -> None:
    sch.unsafe_hide_buffer_access(sch.get_sblock("gather"), "read", [0, 1])
    sch.unsafe_hide_buffer_access(sch.get_sblock("gather"), "write", [])


# --- whole blocks -------------------------------------------------------------------------


@example(modules.TWO_STEPS)
def blockize_loops(sch: Schedule) -> None:
    for name, keep in (("B", True), ("C", False)):
        i, j = sch.get_loops(sch.get_sblock(name))
        i0, i1 = sch.split(i, factors=[None, 16])
        j0, j1 = sch.split(j, factors=[None, 16])
        sch.reorder(i0, j0, i1, j1)
        sch.blockize(i1, preserve_unit_iters=keep)


@example(modules.SIDE_BY_SIDE)
def blockize_blocks(sch: Schedule) -> None:
    sch.blockize([sch.get_sblock("left"), sch.get_sblock("right")], preserve_unit_iters=False)


@example(modules.TWO_STEPS)
def tensorize(sch: Schedule) -> None:
    i, j = sch.get_loops(sch.get_sblock("B"))
    i0, i1 = sch.split(i, factors=[None, 4])
    j0, j1 = sch.split(j, factors=[None, 4])
    sch.reorder(i0, j0, i1, j1)
    sch.tensorize(i1, COPY_4X4)


@example(modules.TWO_STEPS)
def tensorize_block(sch: Schedule) -> None:
    i, j = sch.get_loops(sch.get_sblock("B"))
    i0, i1 = sch.split(i, factors=[None, 4])
    j0, j1 = sch.split(j, factors=[None, 4])
    sch.reorder(i0, j0, i1, j1)
    sch.tensorize(sch.blockize(i1), COPY_4X4, preserve_unit_iters=False)


@example(modules.TWO_STEPS)
def transform_layouts(sch: Schedule) -> None:
    b = sch.get_sblock("B")
    sch.transform_layout(b, ("write", 0), lambda i, j: (i // 16, j // 16, i % 16, j % 16))
    sch.transform_layout(b, "A", lambda v0, b1: (b1, v0), assume_injective_transform=True)
    sch.transform_block_layout(b, lambda i, j: (i * 128 + j,))


@example(modules.TWO_STEPS)
def transform_with_padding(sch: Schedule) -> None:
    b = sch.get_sblock("B")
    sch.transform_layout(b, ("write", 0), lambda i, j: (i // 5, i % 5, j), pad_value=0.5)
    sch.transform_layout(
        b,
        buffer="A",
        index_map=lambda i, j: (i // 7, j, i % 7),
        pad_value=lambda p, j, q: (p + q).astype("float32"),
    )


@example(modules.TWO_STEPS)
def transform_with_odd_variables(sch: Schedule) -> None:
    v3, odd = Var("v3", "int32"), Var('say "b0" / \\', "int32")
    sch.transform_layout(sch.get_sblock("B"), "B", IndexMap([v3, odd], [odd, v3], None))


@example(modules.TWO_STEPS)
def transform_with_nan_padding(sch: Schedule) -> None:
    layout = ("write", 0), lambda i, j: (i // 5, i % 5, j)
    sch.transform_layout(sch.get_sblock("B"), *layout, pad_value=float("nan"))


@example(modules.PADDING)
def decompose_padding(sch: Schedule) -> None:
    pad = sch.get_sblock("pad")
    sch.decompose_padding(pad, sch.get_loops(pad)[0])


@example(modules.UNEVEN_MATMUL)
def pad_einsum(sch: Schedule) -> None:
    sch.pad_einsum(sch.get_sblock("matmul"), [32, 1, 16])


@example(modules.TWO_POOLS)
def rolling_buffer(sch: Schedule) -> None:
    first, second = sch.get_sblock("first"), sch.get_sblock("second")
    i, j, _, _ = sch.get_loops(second)
    i0, i1 = sch.split(i, factors=[None, 4])
    j0, j1 = sch.split(j, factors=[None, 4])
    sch.reorder(i0, j0, i1, j1)
    sch.compute_at(first, j0)
    sch.rolling_buffer(first, 0)


@example(modules.TWO_STEPS)
def postprocessing(sch: Schedule) -> None:
    root = sch.get_sblock("root")
    sch.annotate(root, "meta_schedule.parallel", 96)
    sch.annotate(root, "meta_schedule.unroll_explicit", sch.sample_categorical([0, 16], [0.5, 0.5]))
    sch.enter_postproc()
    sch.unannotate(root, "meta_schedule.unroll_explicit")
    sch.unannotate(root, "meta_schedule.parallel")
    sch.parallel(sch.get_loops(sch.get_sblock("B"))[0])


@example(modules.TWO_STEPS)
def postprocessing_twice(sch: Schedule) -> None:
    sch.enter_postproc()
    sch.enter_postproc()
