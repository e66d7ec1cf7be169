"""The workloads of public logs, built again with the TVM of today.

A record names its blocks, and the shapes and data types of its arguments. From these a builder
makes tensor expressions whose blocks have the same names and loops, in the same order. What is
computed may differ in constants, which no schedule depends on.
"""

from math import prod

import tvm
from tvm import te, tirx, topi

from old_operators import (
    Argument,
    attention_scores,
    average_pool,
    biased_conv2d,
    cast,
    conv2d,
    decoded,
    dense,
    first_half_gated,
    first_slice,
    folded,
    gelu,
    group_norm,
    guided,
    half_gelu,
    halved,
    heads_apart,
    heads_moved,
    layer_norm,
    lerp,
    linear_decoded,
    matmul,
    max_pool,
    placeholder,
    plus,
    quick_gelu,
    reshape,
    residual_conv2d,
    rms_norm,
    scaled,
    sigmoid,
    silu,
    sliced,
    softmax,
    split_in,
    swiglu,
    transposed_like,
    wide_multiply,
)

__all__ = ["blocks_of", "module_of"]


def blocks_of(trace):
    """The blocks that a trace looks up before the post-processors begin, each once."""
    names = {}
    for inst in trace.insts:
        if inst.kind == "EnterPostproc":
            break
        if inst.kind in ("GetBlock", "GetSBlock") and inst.attrs[0] != "root":
            names[inst.attrs[0]] = None
    return tuple(names)


def module_of(record):
    """The module of a record as TVM builds it now; None if there is no builder for it."""
    build = BUILDERS.get(" ".join(blocks_of(record.trace)))
    if build is None:
        return None
    if record.args_info is None:
        output = build(*tiled_extents(record.trace))
    else:
        output = build(*[Argument(dtype, shape) for _, dtype, shape in record.args_info])
    outputs = output if isinstance(output, list) else [output]
    func = te.create_prim_func([*inputs_of(outputs), *outputs])
    return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


def inputs_of(outputs):
    """The placeholders that outputs are computed from."""
    found, pending, seen = {}, list(outputs), set()
    while pending:
        tensor = pending.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if isinstance(tensor.op, te.PlaceholderOp):
            found[tensor.op.name, tensor] = tensor
        pending += reversed(list(tensor.op.input_tensors))
    return list(found.values())


def tiled_extents(trace):
    """What the tiles of a trace without arguments multiply to: the extents of its loops."""
    decided = {decision.index: decision.value for decision in trace.decisions}
    return [
        prod(decided[position])
        for position, inst in enumerate(trace.insts)
        if inst.kind == "SamplePerfectTile"
    ]


BUILDERS = {
    # Stable diffusion, float32.
    "T_add": lambda a, b, _: topi.add(placeholder(a), placeholder(b, "y")),
    "T_subtract": lambda a, b, _: topi.subtract(placeholder(a), placeholder(b, "y")),
    "T_maximum": lambda a, b, _: topi.maximum(placeholder(a), placeholder(b, "y")),
    "T_multiply": wide_multiply,
    "T_divide": lambda a, *_: halved(placeholder(a)),
    "T_transpose": transposed_like,
    "T_reshape": lambda a, *rest: reshape(placeholder(a), rest[-1]),
    "T_squeeze": lambda a, _: topi.squeeze(placeholder(a), [0]),
    "T_concat": lambda *args: topi.concatenate(
        [placeholder(arg, f"x{n}") for n, arg in enumerate(args[:-1])],
        axis=next((n for n, size in enumerate(args[0].shape) if size != args[-1].shape[n]), 0),
    ),
    "T_take": lambda table, ids, _: topi.take(placeholder(table), placeholder(ids, "ids"), axis=0),
    "matmul": lambda a, b, out: matmul(a, b, out.dtype),
    "matmul T_add": lambda a, b, c, out: plus(matmul(a, b, out.dtype), c),
    "matmul T_add T_add_1": lambda a, b, c, d, out: plus(matmul(a, b, out.dtype), c, d),
    "matmul T_multiply": lambda a, b, out: scaled(matmul(a, b, out.dtype)),
    "matmul T_add T_multiply": lambda a, b, c, *rest: (
        topi.multiply(plus(matmul(a, b), c), placeholder(rest[0], "gate"))
        if len(rest) == 2
        else scaled(plus(matmul(a, b), c))
    ),
    "matmul T_add T_strided_slice_with_axes": lambda a, b, c, out: sliced(
        plus(matmul(a, b), c), out
    ),
    "matmul T_add T_multiply compute T_multiply_1": lambda a, b, c, _: quick_gelu(
        plus(matmul(a, b), c)
    ),
    "matmul T_multiply compute": lambda a, b, _: cast(scaled(matmul(a, b)), "float32"),
    "matmul T_add compute T_multiply": lambda a, b, c, _: silu(plus(matmul(a, b), c)),
    "matmul T_add T_multiply compute T_multiply_1 T_add_1 T_multiply_2": (
        lambda a, b, c, _: gelu(plus(matmul(a, b), c))
    ),
    "pad_temp conv2d_nchw T_add": conv2d,
    "pad_temp conv2d_nchw T_add T_add_1": conv2d,
    "pad_temp conv2d_nchw T_add T_add_1 T_divide": lambda *args: halved(conv2d(*args)),
    "T_reshape rxplaceholder_red_temp T_reshape_1 T_reshape_2 T_group_norm T_reshape_3": group_norm,
    "T_reshape rxplaceholder_red_temp T_reshape_1 T_reshape_2 T_group_norm T_reshape_3 compute "
    "T_multiply": lambda *args: silu(group_norm(*args)),
    "rxplaceholder_red_temp T_layer_norm": lambda *args: layer_norm(*args, name="rxplaceholder"),
    "A_red_temp T_layer_norm": lambda *args: layer_norm(*args, name="A"),
    "A_red_temp T_layer_norm compute": (
        lambda *args: cast(layer_norm(*args, name="A"), args[-1].dtype)
    ),
    "T_softmax_maxelem T_softmax_exp T_softmax_expsum T_softmax_norm": softmax,
    "T_softmax_maxelem T_softmax_exp T_softmax_expsum T_softmax_norm compute": (
        lambda a, out: cast(softmax(a), out.dtype)
    ),
    "T_reshape T_transpose T_reshape_1": heads_moved,
    "T_reshape T_transpose T_reshape_1 T_transpose_1": lambda a, out: topi.transpose(
        topi.reshape(heads_apart(a, out), (out.shape[0], out.shape[2], out.shape[1])), [0, 2, 1]
    ),
    "T_reshape T_transpose": lambda a, out: (
        topi.transpose(
            topi.reshape(placeholder(a), (*a.shape[:1], *out.shape[2:], out.shape[1])),
            [0, 3, 1, 2],
        )
        if len(out.shape) == 4
        else topi.transpose(
            topi.reshape(placeholder(a), (out.shape[0], out.shape[2], out.shape[1])), [0, 2, 1]
        )
    ),
    "T_transpose T_reshape": lambda a, out: reshape(
        topi.transpose(placeholder(a), [0, 2, 3, 1] if len(out.shape) == 3 else [0, 2, 1, 3]), out
    ),
    "T_split_sections T_split_sections_1 T_multiply compute T_multiply_1 T_add T_multiply_2 "
    "T_multiply_3": first_half_gated,
    "resize": lambda a, out: topi.image.resize2d(
        placeholder(a), (0.0, 0.0, 0.0, 0.0), out.shape[2:], method="nearest_neighbor"
    ),
    "compute T_multiply": lambda a, _: silu(placeholder(a)),
    "T_reshape compute T_reshape_1": lambda a, out: reshape(
        cast(reshape(placeholder(a), a), out.dtype), out
    ),
    "T_reshape T_add": lambda a, b, out: topi.add(
        reshape(placeholder(a), out), placeholder(b, "y")
    ),
    "T_reshape T_reshape_1 T_add": lambda a, b, out: topi.add(
        reshape(placeholder(a), out), reshape(placeholder(b, "y"), out)
    ),
    "T_reshape T_add T_reshape_1": lambda a, b, out: reshape(
        topi.add(topi.reshape(placeholder(a), (1, *a.shape)), placeholder(b, "mask")), out
    ),
    "T_transpose T_multiply compute": lambda a, _: sigmoid(
        scaled(topi.transpose(placeholder(a), [0, 2, 3, 1]))
    ),
    "T_transpose T_reshape T_add T_divide": lambda a, b, out: halved(
        topi.add(
            reshape(topi.transpose(placeholder(a), [0, 2, 1]), out), placeholder(b, "residual")
        )
    ),
    "pad_temp conv2d_nchw T_add T_divide T_add_1 compute": lambda *args: sigmoid(
        topi.add(halved(conv2d(*args)), tirx.const(0.5, args[0].dtype))
    ),
    "T_split_sections T_split_sections_1 T_subtract T_multiply T_add": guided,
    # Language models, float16 and float32.
    "Ared_temp rms_norm": lambda *args: rms_norm(*args, name="A"),
    "rxplaceholderred_temp rms_norm": lambda *args: rms_norm(*args, name="rxplaceholder"),
    "T_split T_split_1 T_split_2": lambda a, *_: split_in(a, 3, "T_split"),
    "T_split T_split_1 compute T_multiply T_multiply_1": swiglu,
    "T_reshape T_squeeze": lambda a, *rest: folded(a, rest[-1]),
    "NT_matmul": lambda a, b, _: matmul(a, b, transposed=True),
    "NT_matmul T_add": lambda a, b, c, _: plus(matmul(a, b, transposed=True), c),
    "NT_matmul T_add T_add_1 T_add_2": lambda a, b, c, d, e, _: plus(
        matmul(a, b, transposed=True), c, d, e
    ),
    "NT_matmul T_add T_add_1 T_add_2 compute": lambda a, b, c, d, e, out: cast(
        plus(matmul(a, b, transposed=True), c, d, e), out.dtype
    ),
    "NT_matmul T_multiply": lambda a, b, c, _: topi.multiply(
        matmul(a, b, transposed=True), placeholder(c, "gate")
    ),
    "NT_matmul compute T_multiply": lambda a, b, _: silu(matmul(a, b, transposed=True)),
    "NT_matmul T_divide T_maximum T_minimum compute": attention_scores,
    "NT_matmul T_add T_multiply compute compute_1 compute_2 T_multiply_1 T_add_1 T_multiply_2": (
        lambda a, b, c, _: half_gelu(plus(matmul(a, b, transposed=True), c))
    ),
    "matmul T_add T_add_1 T_add_2": lambda a, b, c, d, e, _: plus(matmul(a, b), c, d, e),
    "matmul T_add T_add_1 T_add_2 compute": lambda a, b, c, d, e, out: cast(
        plus(matmul(a, b), c, d, e), out.dtype
    ),
    "matmul decode": linear_decoded,
    "matmul decode T_add": linear_decoded,
    "matmul decode T_add T_multiply compute compute_1 compute_2 T_multiply_1 T_add_1 "
    "T_multiply_2": (lambda *args: half_gelu(linear_decoded(*args))),
    "decode": lambda words, scale, out: decoded(words, scale, out.dtype),
    "decode T_transpose": lambda words, scale, out: topi.transpose(
        decoded(words, scale, out.dtype), [1, 0]
    ),
    "compute": lambda a, out: cast(placeholder(a), out.dtype),
    "slice compute": lambda a, out: cast(first_slice(a), out.dtype),
    "T_reshape compute": lambda a, out: cast(reshape(placeholder(a), out), out.dtype),
    "T_subtract compute": lambda a, b, _: sigmoid(
        topi.subtract(placeholder(a), placeholder(b, "y"))
    ),
    "T_multiply T_add": lambda a, b, c, _: topi.add(
        topi.multiply(placeholder(a), placeholder(b, "y")), placeholder(c, "z")
    ),
    "T_multiply T_add T_reshape": lambda a, b, c, out: reshape(
        topi.add(topi.multiply(placeholder(a), placeholder(b, "y")), placeholder(c, "z")), out
    ),
    "T_multiply T_multiply_1 T_add": lambda a, b, c, d, _: topi.add(
        topi.multiply(placeholder(a), placeholder(b, "y")),
        topi.multiply(placeholder(c, "z"), placeholder(d, "w")),
    ),
    "T_multiply T_multiply_1 T_add T_reshape": lambda a, b, c, d, out: reshape(
        topi.add(
            topi.multiply(placeholder(a), placeholder(b, "y")),
            topi.multiply(placeholder(c, "z"), placeholder(d, "w")),
        ),
        out,
    ),
    "T_multiply T_subtract T_multiply_1 T_add": lerp,
    # A residual network on x86, without arguments: see `tiled_extents`.
    "": lambda: topi.nn.relu(te.placeholder((1, 4, 8, 8, 16), name="x")),
    "conv2d_NCHWc": biased_conv2d,
    "data_pad conv2d_NCHWc T_add": lambda *extents: topi.nn.relu(biased_conv2d(*extents)),
    "data_pad conv2d_NCHWc T_add T_add_1": lambda *extents: topi.nn.relu(residual_conv2d(*extents)),
    "T_matmul_NT": dense,
    "pad_temp pool_max": max_pool,
    "adaptive_pool_sum adaptive_pool_avg": average_pool,
}
