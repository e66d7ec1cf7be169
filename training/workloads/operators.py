"""The operators as tensor expressions, one builder a family.

A builder takes plain values (shapes, names, dtypes) and returns the output tensors. Most call
`topi`, because the block names of real tuning logs (`T_add`, `pad_temp`, `T_softmax_exp`) are
TOPI's; the others take the block name as an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tvm import te, tirx, topi
from tvm.s_tir.meta_schedule.testing import te_workload

from training.workloads.recommenders import (  # noqa: F401 - a family is looked up here
    bi_interaction,
    cross_layer,
    embedding_bag,
    embedding_bags,
    expert_mix,
    history_attention,
    interaction,
    mlp,
    two_tower,
)

Outputs = Sequence[te.Tensor]
Builder = Callable[..., Outputs]


def from_te_workload(name: str) -> Builder:
    """Return a builder that calls this function of TVM's own `te_workload`."""

    def build(*arguments: int | str) -> Outputs:
        return [getattr(te_workload, name)(*arguments)[-1]]

    return build


def gemm(n: int, m: int, k: int, layout: str, dtypes: str, block: str, after: str) -> Outputs:
    """Matrix product, layout `NN`, `NT` or `TN`, then a chain of element-wise operators."""
    dtype, out_dtype = dtypes.split()
    a = te.placeholder((k, n) if layout == "TN" else (n, k), dtype, name="A")
    b = te.placeholder((m, k) if layout == "NT" else (k, m), dtype, name="B")
    axis = te.reduce_axis((0, k), name="k")

    def product(i: tirx.Var, j: tirx.Var) -> tirx.PrimExpr:
        left = a[axis, i] if layout == "TN" else a[i, axis]
        right = b[j, axis] if layout == "NT" else b[axis, j]
        return te.sum(left.astype(out_dtype) * right.astype(out_dtype), axis=axis)

    return chain(te.compute((n, m), product, name=block), after, channel=1)


def dense(n: int, m: int, k: int, dtype: str, bias: int, after: str) -> Outputs:
    """`topi.nn.dense`, the fully connected layer."""
    weight = te.placeholder((m, k), dtype, name="weight")
    shift = te.placeholder((m,), dtype, name="bias") if bias else None
    data = te.placeholder((n, k), dtype, name="data")
    return chain(topi.nn.dense(data, weight, shift, dtype), after, channel=1)


def dense_int8(n: int, m: int, k: int, left: str, right: str, block: str, after: str) -> Outputs:
    """Quantised product with 32-bit sums, as VNNI, DP4A and dot-product units take it."""
    data = te.placeholder((n, k), left, name="data")
    weight = te.placeholder((m, k), right, name="weight")
    axis = te.reduce_axis((0, k), name="k")
    out = te.compute(
        (n, m),
        lambda i, j: te.sum(data[i, axis].astype("int32") * weight[j, axis].astype("int32"), axis),
        name=block,
    )
    return chain(out, after, channel=1)


def batch_matmul(
    b: int, n: int, m: int, k: int, dtype: str, transposed: int, after: str
) -> Outputs:
    """`topi.nn.batch_matmul`."""
    x = te.placeholder((b, n, k), dtype, name="x")
    y = te.placeholder((b, m, k) if transposed else (b, k, m), dtype, name="y")
    out = topi.nn.batch_matmul(x, y, out_dtype=dtype, transpose_b=bool(transposed))
    return chain(out, after, channel=2)


def matmul_nd(b: int, h: int, n: int, m: int, k: int, dtype: str, after: str) -> Outputs:
    """Product of four-dimensional tensors, as Relax makes it of attention."""
    x = te.placeholder((b, h, n, k), dtype, name="x")
    y = te.placeholder((b, h, k, m), dtype, name="y")
    return chain(_matmul_nd(x, y), after, channel=3)


def conv2d(
    n: int, h: int, ci: int, co: int, size: int, stride: int, dtype: str, layout: str, after: str
) -> Outputs:
    """`topi.nn.conv2d` with "same" padding in one of its layouts."""
    data_shape = {"NCHW": (n, ci, h, h), "NHWC": (n, h, h, ci), "HWCN": (h, h, ci, n)}[layout]
    kernel_shape = (co, ci, size, size) if layout == "NCHW" else (size, size, ci, co)
    data = te.placeholder(data_shape, dtype, name="data")
    kernel = te.placeholder(kernel_shape, dtype, name="weight")
    pad = size // 2
    out = topi.nn.conv2d(data, kernel, stride, pad, 1, layout, "", dtype)
    return chain(out, after, channel={"NCHW": 1, "NHWC": 3, "HWCN": 2}[layout])


def group_conv2d(
    n: int, h: int, c: int, groups: int, size: int, stride: int, layout: str, after: str
) -> Outputs:
    """Grouped convolution with as many output channels as inputs."""
    nchw = layout == "NCHW"
    data = te.placeholder((n, c, h, h) if nchw else (n, h, h, c), name="data")
    part = c // groups
    kernel = te.placeholder((c, part, size, size) if nchw else (size, size, part, c), name="weight")
    conv = topi.nn.group_conv2d_nchw if nchw else topi.nn.group_conv2d_nhwc
    out = conv(data, kernel, stride, size // 2, 1, groups, "float32")
    return chain(out, after, channel=1 if nchw else 3)


def depthwise(
    n: int, h: int, c: int, size: int, stride: int, dtype: str, layout: str, after: str
) -> Outputs:
    """Depthwise convolution."""
    nchw = layout == "NCHW"
    data = te.placeholder((n, c, h, h) if nchw else (n, h, h, c), dtype, name="data")
    kernel = te.placeholder((c, 1, size, size) if nchw else (size, size, c, 1), dtype, name="w")
    conv = topi.nn.depthwise_conv2d_nchw if nchw else topi.nn.depthwise_conv2d_nhwc
    out = conv(data, kernel, stride, size // 2, 1, out_dtype=dtype)
    return chain(out, after, channel=1 if nchw else 3)


def conv2d_packed(n: int, h: int, ci: int, co: int, size: int, block: int, after: str) -> Outputs:
    """Convolution over channels in packs (NCHWc)."""
    data = te.placeholder((n, ci // block, h, h, block), name="data")
    shape = (co // block, ci // block, size, size, block, block)
    kernel = te.placeholder(shape, name="weight")
    packed = f"NCHW{block}c"
    out = topi.nn.conv2d_NCHWc(data, kernel, 1, size // 2, 1, packed, packed)
    return chain(out, after, channel=1)


def conv2d_packed_int8(n: int, h: int, ci: int, co: int, size: int) -> Outputs:
    """The same with 8-bit inputs, for VNNI."""
    data = te.placeholder((n, ci // 16, h, h, 16), "uint8", name="data")
    shape = (co // 16, ci // 16, size, size, 4, 16, 4)
    kernel = te.placeholder(shape, "int8", name="weight")
    pad = size // 2
    return [topi.nn.conv2d_NCHWc_int8(data, kernel, 1, pad, 1, "NCHW16c", "NCHW16c")]


def conv2d_transpose(n: int, h: int, ci: int, co: int, size: int, stride: int) -> Outputs:
    """`topi.nn.conv2d_transpose_nchw`."""
    data = te.placeholder((n, ci, h, h), name="data")
    kernel = te.placeholder((ci, co, size, size), name="weight")
    pads = ((size - 1) // 2,) * 4
    return [topi.nn.conv2d_transpose_nchw(data, kernel, (stride, stride), pads, "float32", (0, 0))]


def conv1d(n: int, length: int, ci: int, co: int, size: int, layout: str, after: str) -> Outputs:
    """`topi.nn.conv1d`."""
    ncw = layout == "NCW"
    data = te.placeholder((n, ci, length) if ncw else (n, length, ci), name="data")
    kernel = te.placeholder((co, ci, size) if ncw else (size, ci, co), name="weight")
    out = topi.nn.conv1d(data, kernel, 1, size // 2, 1, 1, layout, "", "float32")
    return chain(out, after, channel=1 if ncw else 2)


def conv3d(n: int, d: int, h: int, ci: int, co: int, size: int, after: str) -> Outputs:
    """`topi.nn.conv3d_ncdhw`."""
    data = te.placeholder((n, ci, d, h, h), name="data")
    kernel = te.placeholder((co, ci, size, size, size), name="weight")
    out = topi.nn.conv3d_ncdhw(data, kernel, 1, size // 2, 1, 1, "float32")
    return chain(out, after, channel=1)


def softmax(shape: Sequence[int], axis: int, dtype: str, kind: str) -> Outputs:
    """`softmax`, `fast_softmax` or `log_softmax`."""
    return [getattr(topi.nn, kind)(te.placeholder(shape, dtype, name="data"), axis)]


def layer_norm(shape: Sequence[int], dtype: str, after: str) -> Outputs:
    """Layer norm over the last axis."""
    data, gamma, beta = _scaled(shape, shape[-1], dtype)
    axis = len(shape) - 1
    return chain(topi.nn.layer_norm(data, gamma, beta, [axis]), after, channel=axis)


def rms_norm(shape: Sequence[int], dtype: str, after: str) -> Outputs:
    """RMS norm over the last axis."""
    data, gamma, _ = _scaled(shape, shape[-1], dtype)
    axis = len(shape) - 1
    return chain(topi.nn.rms_norm(data, gamma, [axis]), after, channel=axis)


def group_norm(n: int, c: int, h: int, groups: int, after: str) -> Outputs:
    """Group norm of an NCHW tensor."""
    data, gamma, beta = _scaled((n, c, h, h), c, "float32")
    return chain(topi.nn.group_norm(data, gamma, beta, groups, 1, [2, 3]), after, channel=1)


def instance_norm(n: int, c: int, h: int) -> Outputs:
    """Instance norm of an NCHW tensor."""
    data, gamma, beta = _scaled((n, c, h, h), c, "float32")
    return [topi.nn.instance_norm(data, gamma, beta, 1, [2, 3])]


def batch_norm(n: int, c: int, h: int, after: str) -> Outputs:
    """Batch norm with the statistics given, as in inference."""
    data, gamma, beta = _scaled((n, c, h, h), c, "float32")
    mean, var = (te.placeholder((c,), name=name) for name in ("mean", "var"))
    return chain(topi.nn.batch_norm(data, gamma, beta, mean, var, 1)[0], after, channel=1)


def pool2d(n: int, c: int, h: int, size: int, stride: int, kind: str, layout: str) -> Outputs:
    """Max or average pooling."""
    shape = (n, c, h, h) if layout == "NCHW" else (n, h, h, c)
    data = te.placeholder(shape, name="data")
    pads, strides = [size // 2] * 4, [stride, stride]
    return [topi.nn.pool2d(data, [size, size], strides, [1, 1], pads, kind, layout=layout)]


def global_pool(n: int, c: int, h: int, out: int, kind: str) -> Outputs:
    """Global pooling for `out` 1, else adaptive pooling."""
    data = te.placeholder((n, c, h, h), name="data")
    if out == 1:
        return [topi.nn.global_pool(data, kind)]
    return [topi.nn.adaptive_pool(data, (out, out), kind)]


def reduction(shape: Sequence[int], axis: Sequence[int], kind: str, dtype: str) -> Outputs:
    """A reduction such as `sum` or `argmax`; `mean` divides the sum."""
    data = te.placeholder(shape, dtype, name="data")
    if kind != "mean":
        return [getattr(topi, kind)(data, list(axis), keepdims=False)]
    count = prod(shape[position] for position in axis)
    return [topi.divide(topi.sum(data, list(axis)), tirx.const(float(count), dtype))]


def elementwise(shape: Sequence[int], dtype: str, after: str) -> Outputs:
    """A chain of element-wise operators alone."""
    return chain(te.placeholder(shape, dtype, name="x"), after, channel=1)


def transpose(shape: Sequence[int], axes: Sequence[int], flat: int, after: str) -> Outputs:
    """Transpose, then perhaps flatten the last two axes."""
    out = topi.transpose(te.placeholder(shape, name="x"), list(axes))
    if flat:
        sizes = [int(size) for size in out.shape]
        out = topi.reshape(out, [*sizes[:-2], sizes[-2] * sizes[-1]])
    return chain(out, after, channel=1)


def concatenate(shape: Sequence[int], parts: int, axis: int, after: str) -> Outputs:
    """Concatenate equal tensors."""
    inputs = [te.placeholder(shape, name=f"x{part}") for part in range(parts)]
    return chain(topi.concatenate(inputs, axis), after, channel=1)


def embedding(rows: int, width: int, batch: int, length: int, dtype: str) -> Outputs:
    """Rows of a table, `topi.take`."""
    table = te.placeholder((rows, width), dtype, name="table")
    return [topi.take(table, te.placeholder((batch, length), "int32", name="ids"), axis=0)]


def resize(n: int, c: int, h: int, scale: int, method: str) -> Outputs:
    """`topi.image.resize2d` to a multiple of the size."""
    data = te.placeholder((n, c, h, h), name="data")
    size = (h * scale, h * scale)
    return [topi.image.resize2d(data, (0.0, 0.0, 0.0, 0.0), size, method=method)]


def rearrange(n: int, c: int, h: int, block: int, kind: str) -> Outputs:
    """`depth_to_space` or `space_to_depth`."""
    return [getattr(topi.nn, kind)(te.placeholder((n, c, h, h), name="data"), block)]


def attention(batch: int, heads: int, length: int, width: int, dtype: str) -> Outputs:
    """Scaled and masked scores, their softmax, and the values weighted by it."""
    shape = (batch * heads, length, width)
    q, k, v = (te.placeholder(shape, dtype, name=name) for name in "qkv")
    mask = te.placeholder((1, length, length), dtype, name="mask")
    scores = topi.nn.batch_matmul(q, k, out_dtype=dtype, transpose_b=True)
    scaled = topi.add(topi.multiply(scores, tirx.const(width**-0.5, dtype)), mask)
    weights = topi.nn.softmax(scaled, 2)
    return [topi.nn.batch_matmul(weights, v, out_dtype=dtype, transpose_b=False)]


def scores(batch: int, heads: int, length: int, width: int, dtype: str, after: str) -> Outputs:
    """Attention scores alone: split the heads, multiply, scale."""
    shape = (batch, length, heads, width)
    q, k = (te.placeholder(shape, dtype, name=name) for name in "qk")
    out = _matmul_nd(topi.transpose(q, [0, 2, 1, 3]), topi.transpose(k, [0, 2, 3, 1]))
    return chain(topi.multiply(out, tirx.const(width**-0.5, dtype)), after, channel=3)


def quantised_weight(n: int, m: int, k: int, dtype: str, after: str) -> Outputs:
    """Product with a weight of 4-bit integers, eight a word, and a scale a group of 32."""
    data = te.placeholder((n, k), dtype, name="data")
    words = te.placeholder((m, k // 8), "uint32", name="words")
    scale = te.placeholder((m, k // 32), dtype, name="scale")

    def decode(i: tirx.Var, j: tirx.Var) -> tirx.PrimExpr:
        shift = tirx.Cast("uint32", j % 8 * 4)
        value = (words[i, j // 8] >> shift) & tirx.const(15, "uint32")
        return (value.astype(dtype) - tirx.const(7, dtype)) * scale[i, j // 32]

    weight = te.compute((m, k), decode, name="dequantize")
    axis = te.reduce_axis((0, k), name="k")
    out = te.compute(
        (n, m), lambda i, j: te.sum(data[i, axis] * weight[j, axis], axis), name="NT_matmul"
    )
    return chain(out, after, channel=1)


def chain(out: te.Tensor, after: str, channel: int) -> Outputs:
    """Apply element-wise operators, named by the words of `after`, to a tensor."""
    for place, step in enumerate(after.split()):
        out = STEPS[step](out, place, channel)
    return [out]


def _matmul_nd(x: te.Tensor, y: te.Tensor) -> te.Tensor:
    axis = te.reduce_axis((0, x.shape[3]), name="k")
    shape = (x.shape[0], x.shape[1], x.shape[2], y.shape[3])
    return te.compute(
        shape, lambda b, h, i, j: te.sum(x[b, h, i, axis] * y[b, h, axis, j], axis), name="matmul"
    )


def _flat(out: te.Tensor, _place: int, _channel: int) -> te.Tensor:
    batch, *others = (int(size) for size in out.shape)
    return topi.reshape(out, [batch, prod(others)])


def _bias(out: te.Tensor, place: int, channel: int, function: Builder = topi.add) -> te.Tensor:
    shape = [1] * len(out.shape)
    shape[channel] = int(out.shape[channel])
    return function(out, te.placeholder(shape, out.dtype, name=f"bias{place}"))


def _residual(out: te.Tensor, place: int, _channel: int) -> te.Tensor:
    return topi.add(out, te.placeholder(out.shape, out.dtype, name=f"residual{place}"))


def _gate(out: te.Tensor, place: int, _channel: int) -> te.Tensor:
    return topi.multiply(out, te.placeholder(out.shape, out.dtype, name=f"gate{place}"))


def _gelu(out: te.Tensor, _place: int, _channel: int) -> te.Tensor:
    half, root = tirx.const(0.5, out.dtype), tirx.const(0.5**0.5, out.dtype)
    inner = topi.multiply(topi.erf(topi.multiply(out, root)), half)
    return topi.multiply(out, topi.add(inner, half))


def _hard_swish(out: te.Tensor, _place: int, _channel: int) -> te.Tensor:
    three, six = tirx.const(3.0, out.dtype), tirx.const(6.0, out.dtype)
    return topi.multiply(out, topi.divide(topi.clip(topi.add(out, three), 0.0, 6.0), six))


def _other_float(out: te.Tensor, _place: int, _channel: int) -> te.Tensor:
    return topi.cast(out, "float16" if out.dtype == "float32" else "float32")


def _scaled(shape: Sequence[int], channels: int, dtype: str) -> list[te.Tensor]:
    data = te.placeholder(shape, dtype, name="data")
    return [data, *(te.placeholder((channels,), dtype, name=name) for name in ("gamma", "beta"))]


STEPS: dict[str, Callable[[te.Tensor, int, int], te.Tensor]] = {
    "add": _bias,
    "mul": lambda out, place, channel: _bias(out, place, channel, topi.multiply),
    "sub": lambda out, place, channel: _bias(out, place, channel, topi.subtract),
    "max": lambda out, place, channel: _bias(out, place, channel, topi.maximum),
    "residual": _residual,
    "gate": _gate,
    "relu": lambda out, *_: topi.nn.relu(out),
    "leaky": lambda out, *_: topi.nn.leaky_relu(out, 0.1),
    "clip": lambda out, *_: topi.clip(out, 0.0, 6.0),
    "sigmoid": lambda out, *_: topi.sigmoid(out),
    "silu": lambda out, *_: topi.multiply(out, topi.sigmoid(out)),
    "tanh": lambda out, *_: topi.tanh(out),
    "exp": lambda out, *_: topi.exp(out),
    "sqrt": lambda out, *_: topi.sqrt(topi.abs(out)),
    "scale": lambda out, *_: topi.multiply(out, tirx.const(0.125, out.dtype)),
    "half": lambda out, *_: topi.cast(out, "float16"),
    "cast": _other_float,
    "gelu": _gelu,
    "hardswish": _hard_swish,
    "negate": lambda out, *_: topi.negative(out),
    "flat": _flat,
}
"""What a chain can hold; the arguments are the tensor, the place in the chain, the channel axis."""
