"""The operators of public logs as tensor expressions, with the blocks that they had then."""

from typing import NamedTuple

import tvm
from tvm import te, tirx, topi


class Argument(NamedTuple):
    """What a record says of an argument."""

    dtype: str
    shape: tuple[int, ...]


def placeholder(argument, name="x"):
    return te.placeholder(argument.shape, argument.dtype, name=name)


def cast(tensor, dtype):
    return te.compute(tensor.shape, lambda *i: tensor(*i).astype(dtype), name="compute")


def sigmoid(tensor):
    return te.compute(tensor.shape, lambda *i: te.sigmoid(tensor(*i)), name="compute")


def scaled(tensor):
    return topi.multiply(tensor, tirx.const(0.5, tensor.dtype))


def gelu(tensor):
    """x * (0.5 + 0.5 * erf(x / sqrt 2)), in as many blocks as the logs have."""
    inner = scaled(tensor)
    erf = te.compute(inner.shape, lambda *i: te.erf(inner(*i)), name="compute")
    return topi.multiply(tensor, topi.add(scaled(erf), tirx.const(0.5, tensor.dtype)))


def half_gelu(tensor):
    """The same through float32, as models of half precision have it."""
    inner = cast(scaled(tensor), "float32")
    erf = te.compute(inner.shape, lambda *i: te.erf(inner(*i)), name="compute")
    halves = cast(erf, tensor.dtype)
    return topi.multiply(tensor, topi.add(scaled(halves), tirx.const(0.5, tensor.dtype)))


def matmul(a, b, dtype=None, *, transposed=False):
    """Products over the last axes, batches broadcast: what Relax lowers `matmul` to."""
    left, right = placeholder(a, "A"), placeholder(b, "B")
    return product(left, right, dtype or a.dtype, transposed=transposed)


def product(left, right, dtype, *, transposed=False):
    axis = te.reduce_axis((0, left.shape[-1]), name="k")
    width = right.shape[-2] if transposed else right.shape[-1]
    dims = len(left.shape)

    def element(*i):
        *batch, row, column = i
        last = (column, axis) if transposed else (axis, column)
        skipped = dims - len(right.shape)
        return te.sum(
            left(*batch, row, axis).astype(dtype) * right(*batch[skipped:], *last).astype(dtype),
            axis,
        )

    shape = (*left.shape[:-1], width)
    return te.compute(shape, element, name="NT_matmul" if transposed else "matmul")


def plus(tensor, *arguments):
    for position, argument in enumerate(arguments):
        tensor = topi.add(tensor, placeholder(argument, f"bias{position}"))
    return tensor


def conv2d(data, kernel, *rest):
    """A convolution with the stride that its output has."""
    output = rest[-1]
    stride = data.shape[2] // output.shape[2]
    x, w = placeholder(data, "data"), placeholder(kernel, "weight")
    conv = topi.nn.conv2d_nchw(x, w, stride, kernel.shape[2] // 2, 1, data.dtype)
    return plus(conv, *rest[:-1])


def halved(tensor):
    return topi.divide(tensor, tirx.const(2.0, tensor.dtype))


def group_norm(data, gamma, beta, *_):
    x = placeholder(data, "rxplaceholder")
    args = placeholder(gamma, "gamma"), placeholder(beta, "beta")
    return topi.nn.group_norm(x, *args, 32, 1, [2, 3], 1e-5)


_both_sums = te.comm_reducer(
    lambda left, right: (left[0] + right[0], left[1] + right[1]),
    lambda *types: tuple(tirx.const(0, dtype) for dtype in types),
    name="both_sums",
)


def layer_norm(data, gamma, beta, *_, name):
    """As TOPI had it until 2025: both sums in one block."""
    x, g, b = (placeholder(arg) for arg in (data, gamma, beta))
    axis = te.reduce_axis((0, data.shape[-1]), name="k")
    total, squares = te.compute(
        data.shape[:-1],
        lambda *i: _both_sums((x(*i, axis), x(*i, axis) * x(*i, axis)), axis),
        name=f"{name}_red_temp",
    )
    return te.compute(
        data.shape,
        lambda *i: (x(*i) - total(*i[:-1])) * squares(*i[:-1]) * g(i[-1]) + b(i[-1]),
        name="T_layer_norm",
    )


def rms_norm(data, gamma, *_, name):
    """As the models of mlc-llm had it, in two blocks."""
    x, g = placeholder(data), placeholder(gamma, "gamma")
    axis = te.reduce_axis((0, data.shape[-1]), name="k")
    squares = te.compute(
        data.shape[:-1],
        lambda *i: te.sum((x(*i, axis) * x(*i, axis)).astype("float32"), axis),
        name=f"{name}red_temp",
    )
    return te.compute(
        data.shape,
        lambda *i: x(*i) * squares(*i[:-1]).astype(data.dtype) * g(i[-1]),
        name="rms_norm",
    )


def decoded(words, scale, dtype):
    """Weights of 4 bits: eight to a word, 32 to a scale."""
    w, s = placeholder(words, "words"), placeholder(scale, "scale")
    shape = (words.shape[0] * 8, words.shape[1])
    return te.compute(
        shape,
        lambda i, j: (
            (w[i // 8, j] >> tirx.Cast("uint32", i % 8 * 4)).astype(dtype)
            * s[i // 32, j].astype(dtype)
        ),
        name="decode",
    )


def attention_scores(q, k, mask, out):
    scores = halved(matmul(q, k, q.dtype, transposed=True))
    low = topi.maximum(scores, tirx.const(-100.0, q.dtype))
    return cast(topi.minimum(low, placeholder(mask, "mask")), out.dtype)


def lerp(a, b, *rest):
    """a * b + (1 - b) * c, as the state of RWKV is mixed."""
    x, weight, other = placeholder(a), placeholder(b, "weight"), placeholder(rest[1], "state")
    rest = topi.subtract(tirx.const(1.0, b.dtype), weight)
    return topi.add(topi.multiply(x, weight), topi.multiply(rest, other))


def packed_conv2d(*extents):
    """NCHWc, as x86 has it. The extents are those of the output, then of the reduction."""
    batch, chunks, height, width, block, channels, kernel, _ = extents
    part = 4 if channels % 4 == 0 else channels
    data = te.placeholder((batch, channels // part, height, width, part), name="data")
    shape = (chunks, channels // part, kernel, kernel, part, block)
    layouts = f"NCHW{part}c", f"NCHW{block}c"
    weight = te.placeholder(shape, name="weight")
    with tvm.target.Target("llvm"):
        return topi.nn.conv2d_NCHWc(data, weight, 1, kernel // 2, 1, *layouts)


def residual_conv2d(*extents):
    conv = packed_conv2d(*extents)
    bias = te.placeholder((1, conv.shape[1], 1, 1, conv.shape[4]), name="bias")
    return topi.add(topi.add(conv, bias), te.placeholder(conv.shape, name="residual"))


def biased_conv2d(*extents):
    conv = packed_conv2d(*extents)
    bias = te.placeholder((1, conv.shape[1], 1, 1, conv.shape[4]), name="bias")
    return topi.add(conv, bias)


def dense(batch, units, width):
    data = te.placeholder((batch, width), name="data")
    weight = te.placeholder((units, width), name="weight")
    return topi.add(topi.nn.dense(data, weight), te.placeholder((1, units), name="bias"))


def max_pool(*_):
    data = te.placeholder((1, 4, 112, 112, 16), name="data")
    return topi.nn.pool2d(data, [3, 3], [2, 2], [1, 1], [1] * 4, "max", layout="NCHW16c")


def average_pool(*_):
    data = te.placeholder((1, 32, 7, 7, 16), name="data")
    return topi.nn.adaptive_pool(data, (1, 1), "avg", layout="NCHW16c")


def split_in(a, count, name):
    """Parts of the last axis, each in a block of its own."""
    x, width = placeholder(a), a.shape[-1] // count
    shape = (*a.shape[:-1], width)

    def part(n):
        return te.compute(shape, lambda *i: x(*i[:-1], i[-1] + n * width), name=name)

    return [part(n) for n in range(count)]


def folded(a, argument):
    return topi.squeeze(reshape(placeholder(a), Argument(a.dtype, (1, *argument.shape))), [0])


def added(a, b, *rest):
    return plus(placeholder(a), b, *rest)


def wide_multiply(*args):
    """Two factors, of which one may be a scalar; without a second one, a constant."""
    *factors, _ = sorted(args, key=lambda arg: -len(arg.shape))
    if len(args) == 2:
        return scaled(placeholder(args[0]))
    return topi.multiply(placeholder(factors[0]), placeholder(args[1], "y"))


def silu(tensor):
    return topi.multiply(tensor, sigmoid(tensor))


def reshape(tensor, argument):
    return topi.reshape(tensor, argument.shape)


def heads_apart(a, out):
    """From [batch, length, heads * width] to [batch, heads, length, width]; then on."""
    batch, length, width = a.shape
    heads = out.shape[0] // batch
    return topi.transpose(
        topi.reshape(placeholder(a), (batch, length, heads, width // heads)), [0, 2, 1, 3]
    )


def heads_moved(a, out):
    """Attention heads into the batch, or back out of it."""
    if out.shape[0] >= a.shape[0]:
        return reshape(heads_apart(a, out), out)
    batch, length, _ = out.shape
    apart = topi.reshape(placeholder(a), (batch, a.shape[0] // batch, length, a.shape[2]))
    return reshape(topi.transpose(apart, [0, 2, 1, 3]), out)


def transposed_like(a, out):
    """A transposition that gives the shape of the output."""
    axes, left = [], list(range(len(a.shape)))
    for extent in out.shape:
        axes.append(next(axis for axis in reversed(left) if a.shape[axis] == extent))
        left.remove(axes[-1])
    return topi.transpose(placeholder(a), axes)


def softmax(a, *_):
    return topi.nn.softmax(placeholder(a), -1)


def first_half_gated(a, _):
    first, second = topi.split(placeholder(a), 2, axis=-1)
    return topi.multiply(first, gelu(second))


def first_slice(a):
    x = placeholder(a)
    return te.compute(a.shape, lambda *i: x(*i[:-1], i[-1]), name="slice")


def swiglu(a, _):
    first, second = split_in(a, 2, "T_split")
    return topi.multiply(silu(first), second)


def guided(a, _):
    first, second = topi.split(placeholder(a), 2, axis=0)
    return topi.add(first, scaled(topi.subtract(second, first)))


def quick_gelu(tensor):
    return topi.multiply(tensor, sigmoid(scaled(tensor)))


def sliced(tensor, out):
    zeros = [0] * len(out.shape)
    return topi.strided_slice(
        tensor, zeros, list(out.shape), [1] * len(zeros), axes=list(range(len(zeros)))
    )


def linear_decoded(words, scale, a, *rest):
    """A product with decoded weights, then as many additions as there are arguments."""
    weight = decoded(words, scale, a.dtype)
    return plus(product(placeholder(a, "A"), weight, a.dtype), *rest[:-1])
