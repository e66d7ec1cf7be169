"""The families of workloads: how often each comes, and how its arguments are drawn.

Sizes are those of real networks for the most part, with primes and other odd numbers in between,
because what divides a size decides how a trace tiles it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

Arguments = tuple[Any, ...]
"""Plain JSON values; what the family's builder takes."""

Draw = Callable[[Random], Arguments]
"""Draws one argument or several that belong together."""


class Family(NamedTuple):
    """How often a family comes, and the draws that make its arguments, in order."""

    share: int
    draws: tuple[Draw, ...]

    def arguments(self, rng: Random) -> Arguments:
        """Draw all arguments of one workload."""
        return tuple(value for draw in self.draws for value in draw(rng))


BATCHES = (1, 1, 1, 1, 2, 4, 8, 16, 32)
CHANNELS = (16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 144, 160, 192, 240, 256, 320, 384, 512, 576)
WIDE = (*CHANNELS, 640, 672, 728, 768, 960, 1024, 1280, 2048)
SPATIAL = (7, 7, 8, 13, 14, 14, 16, 17, 19, 28, 28, 32, 35, 38, 56, 56, 64, 112, 112, 128, 224)
SIZES = (1, 4, 8, 16, 32, 49, 64, 77, 96, 128, 196, 197, 256, 384, 512, 640, 768, 960, 1000, 1024)
LARGE = (*SIZES, 1280, 1536, 2048, 2304, 2560, 3072, 4096, 5120, 8192, 11008)
ODD = (3, 5, 11, 23, 29, 37, 47, 61, 83, 97, 127, 149, 211, 251, 257, 331, 421, 509, 607, 997)
HEADS = (4, 8, 12, 16, 20)
HEAD_SIZES = (32, 40, 64, 80, 96, 128)
FLOATS = ("float32", "float32", "float16")

SAMPLES = (1, 16, 32, 64, 128, 128, 256, 256, 512, 512, 1024, 2048, 4096)
"""Samples that a recommender ranks at once."""

EMBEDDINGS = (8, 16, 16, 32, 32, 64, 64, 128, 128, 256)
FIELDS = (8, 13, 16, 20, 23, 26, 27, 27, 32, 39, 40, 48, 64)
TOWERS = (1, 32, 64, 64, 128, 128, 256, 256, 384, 400, 512, 512, 768, 1024)

CHAINS = (
    *("", "", "", "", "", "add", "add", "add", "relu", "add relu", "add relu", "add gelu"),
    *("add silu", "silu", "add residual", "add residual relu", "mul add relu", "mul add"),
    *("add clip", "add leaky", "add sigmoid", "add tanh", "gate", "silu gate", "add gate"),
    *("scale", "scale add", "cast", "add cast", "half", "mul add hardswish", "add flat", "flat"),
    *("sub mul add relu", "residual", "max", "add relu cast", "mul add residual clip", "clip"),
)
"""What networks fuse into a convolution or a product; words of `operators.STEPS`."""

STEPS = (
    *("add", "mul", "sub", "max", "residual", "gate", "relu", "leaky", "clip", "sigmoid", "silu"),
    *("tanh", "exp", "sqrt", "scale", "cast", "gelu", "hardswish", "negate"),
)
PRODUCTS = ("C", "T_matmul_NN", "matmul", "NT_matmul", "T_matmul_NT", "dense", "T_dense", "gemm")
INT8_PRODUCTS = ("compute", "T_matmul_NT", "dense_int8", "NT_matmul", "C")


def _size(rng: Random, table: Sequence[int]) -> int:
    """Mostly a size that networks have; sometimes a prime or any number."""
    chance = rng.random()
    if chance < 0.86:
        return rng.choice(table)
    return rng.choice(ODD) if chance < 0.93 else rng.randint(2, max(table) // 2)


def _sizes(table: Sequence[int], count: int = 1) -> Draw:
    return lambda rng: tuple(_size(rng, table) for _ in range(count))


def _one(*values: Any) -> Draw:
    return lambda rng: (rng.choice(values),)


def _together(*tuples: Arguments) -> Draw:
    """Draw values that belong together, such as kernel, stride and padding."""
    return lambda rng: rng.choice(tuples)


def _square(rng: Random) -> Arguments:
    return (_size(rng, SPATIAL),) * 2


def _shape(rng: Random, least: int = 2) -> list[int]:
    rank = rng.randint(least, 4)
    return [rng.choice(BATCHES), *(_size(rng, SIZES) for _ in range(rank - 1))]


def _any_shape(rng: Random) -> Arguments:
    return (_shape(rng),)


_batch = _one(*BATCHES)
_after = _one(*CHAINS)
_float = _one(*FLOATS)
_dtypes = _together(("float32", "float32"), ("float16", "float32"), ("float16", "float16"))
_window = _together(
    *((1, 1), (1, 1), (3, 1), (3, 1), (3, 1), (3, 2), (1, 2), (5, 1), (7, 2)),
)
"""A kernel size and a stride."""


def _joined_dtypes(rng: Random) -> Arguments:
    return (" ".join(_dtypes(rng)),)


def _conv2d_nhwc(rng: Random) -> Arguments:
    n, h = rng.choice(BATCHES), _size(rng, SPATIAL)
    size, stride = _window(rng)
    dilation = rng.choice((1, 1, 1, 2))
    pad = size // 2 * dilation
    channels = (_size(rng, WIDE), _size(rng, WIDE))
    return (n, h, h, *channels, size, stride, pad, dilation, 1, *_dtypes(rng))


def _conv2d(rng: Random) -> Arguments:
    layout = rng.choice(("NCHW", "NCHW", "NCHW", "NHWC", "NHWC", "HWCN"))
    channels = (rng.choice((3, *WIDE)), _size(rng, WIDE))
    image = (rng.choice(BATCHES), _size(rng, SPATIAL))
    return (*image, *channels, *_window(rng), *_float(rng), layout, *_after(rng))


def _group_conv2d(rng: Random) -> Arguments:
    groups, part = rng.choice((2, 4, 8, 16, 32)), rng.choice((4, 8, 12, 16, 24, 32))
    layout = rng.choice(("NCHW", "NHWC"))
    image = (rng.choice(BATCHES), _size(rng, SPATIAL))
    return (*image, groups * part, groups, *_window(rng), layout, *_after(rng))


def _depthwise(rng: Random) -> Arguments:
    layout = rng.choice(("NCHW", "NHWC"))
    window = (rng.choice((3, 3, 5, 7)), rng.choice((1, 1, 2)))
    image = (rng.choice(BATCHES), _size(rng, SPATIAL))
    return (*image, _size(rng, WIDE), *window, *_float(rng), layout, *_after(rng))


def _packed(rng: Random, packs: Sequence[int]) -> Arguments:
    pack = rng.choice(packs)
    channels = (pack * rng.randint(1, 24), pack * rng.randint(1, 24))
    image = (rng.choice(BATCHES), _size(rng, SPATIAL))
    return (*image, *channels, rng.choice((1, 1, 3, 5)), pack)


def _pool2d(rng: Random) -> Arguments:
    window = rng.choice(((2, 2), (3, 2), (3, 1), (5, 1), (7, 1)))
    kind, layout = rng.choice(("max", "avg")), rng.choice(("NCHW", "NHWC"))
    n, h = rng.choice(BATCHES), _size(rng, SPATIAL)
    return (n, _size(rng, WIDE), max(h, 7), *window, kind, layout)


def _reduction(rng: Random) -> Arguments:
    shape = _shape(rng)
    axis = sorted(rng.sample(range(len(shape)), rng.choice((1, 1, 2)) if len(shape) > 2 else 1))
    kind = rng.choice(("sum", "sum", "mean", "mean", "max", "min", "prod", "argmax", "argmin"))
    return (shape, axis, kind, *_float(rng))


def _transpose(rng: Random) -> Arguments:
    shape = _shape(rng, least=3)
    axes = rng.sample(range(len(shape)), len(shape))
    return (shape, axes, rng.choice((0, 1)), rng.choice(("", "", "add", "scale", "relu", "cast")))


def _group_norm(rng: Random) -> Arguments:
    groups = rng.choice((4, 8, 16, 32))
    n, h = rng.choice(BATCHES), _size(rng, SPATIAL)
    return (n, groups * rng.choice((1, 2, 4, 8, 10, 16, 20)), h, groups, rng.choice(("", "silu")))


def _quantised_weight(rng: Random) -> Arguments:
    m, k = (32 * rng.randint(2, 160) for _ in range(2))
    return (_size(rng, SIZES), m, k, *_float(rng), *_after(rng))


def _rearrange(rng: Random) -> Arguments:
    block, n, h = rng.choice((2, 4)), rng.choice(BATCHES), rng.choice(SPATIAL)
    kind = rng.choice(("depth_to_space", "space_to_depth"))
    return (n, block * block * rng.choice(CHANNELS), block * h, block, kind)


def _elementwise(rng: Random) -> Arguments:
    return (_shape(rng), *_float(rng), " ".join(rng.choices(STEPS, k=rng.randint(1, 6))))


def _int8_sizes(rng: Random) -> Arguments:
    return tuple(16 * rng.randint(1, 128) for _ in range(2))


def _widths(rng: Random) -> Arguments:
    """The widths of a tower: two or three layers, each as wide as the one before or narrower."""
    hidden = sorted(rng.choices(TOWERS, k=rng.choice((2, 2, 3))), reverse=True)
    return ([rng.choice((13, 64, 128, 256, 415, 479, 512, 845, 1024)), *hidden],)


def _family(share: int, *draws: Draw) -> Family:
    return Family(share, draws)


_few = _one(1, 1, 2, 4)
_depth = _one(8, 16, 32)
_channels = _sizes(CHANNELS, 2)
_wide = _sizes(WIDE, 2)
_mnk = _sizes(LARGE, 3)

TE_WORKLOAD: dict[str, Family] = {
    "batch_matmul_nkkm": _family(3, _batch, _mnk, _dtypes),
    "conv1d_nlc": _family(
        *(2, _batch, _sizes(LARGE), _channels),
        *(_together((3, 2, 1), (3, 1, 1), (1, 1, 0), (5, 1, 2)), _one(1, 1, 2)),
    ),
    "conv2d_nhwc": _family(5, _conv2d_nhwc),
    "conv3d_ndhwc": _family(
        *(2, _few, _depth, _square, _channels),
        _together((3, 1, 1), (3, 2, 1), (1, 1, 0), (7, 2, 3)),
    ),
    "depthwise_conv2d_nhwc": _family(
        *(3, _batch, _square, _sizes(WIDE)),
        _together((3, 1, 1), (3, 2, 1), (5, 1, 2), (7, 1, 3)),
    ),
    "conv2d_transpose_nhwc": _family(
        *(2, _batch, _square, _channels),
        _together((4, 2, 1), (2, 2, 0), (3, 2, 1), (3, 1, 1)),
    ),
    "conv2d_capsule_nhwijc": _family(
        2, _batch, _square, _channels, _together((3, 2, 1), (3, 1, 1), (1, 1, 0))
    ),
    "norm_bmn": _family(1, _batch, _sizes(LARGE, 2)),
    "conv2d_nhwc_bn_relu": _family(
        *(3, _batch, _square, _wide),
        _together((3, 1, 1), (3, 2, 1), (1, 1, 0), (1, 2, 0), (7, 2, 3)),
        lambda _: (1,),
        _dtypes,
    ),
    "transpose_batch_matmul": _family(
        2, _batch, _sizes(SIZES), _one(4, 8, 12, 16, 20, 32), _one(*HEAD_SIZES), _dtypes
    ),
    "matmul": _family(2, _mnk, _dtypes),
    "matmul_relu": _family(2, _mnk, _dtypes),
    "conv2d_nchw_bias_bn_relu": _family(
        *(2, _batch, _sizes(SPATIAL), _one(*SPATIAL), _wide),
        _together((3, 3, 1, 1), (1, 1, 1, 0), (3, 3, 2, 1), (1, 7, 1, 3)),
    ),
    "max_pool2d_nchw": _family(
        1, _batch, _sizes(SPATIAL), _one(*SPATIAL), _sizes(WIDE), _one(0, 1)
    ),
    "softmax_mn": _family(1, _sizes(LARGE, 2)),
}
"""Functions of TVM's `te_workload`."""

OPERATORS: dict[str, Family] = {
    "gemm": _family(8, _mnk, _one("NN", "NT", "NT", "TN"), _joined_dtypes, _one(*PRODUCTS), _after),
    "dense": _family(5, _mnk, _float, _one(0, 1), _after),
    "dense_int8": _family(
        *(4, _sizes(SIZES), _int8_sizes, _together(("uint8", "int8"), ("int8", "int8"))),
        *(_one(*INT8_PRODUCTS), _one("", "", "add", "cast", "add cast mul")),
    ),
    "batch_matmul": _family(
        4, _one(*BATCHES, 12, 48, 96), _sizes(SIZES, 3), _float, _one(0, 1), _after
    ),
    "matmul_nd": _family(3, _batch, _one(8, 12, 16, 32), _sizes(SIZES, 3), _float, _after),
    "conv2d": _family(12, _conv2d),
    "group_conv2d": _family(3, _group_conv2d),
    "depthwise": _family(5, _depthwise),
    "conv2d_packed": _family(3, lambda rng: _packed(rng, (4, 8, 16)), _one(*CHAINS[:-8])),
    "conv2d_packed_int8": _family(2, lambda rng: _packed(rng, (16,))[:-1]),
    "conv2d_transpose": _family(
        2, _batch, _sizes(SPATIAL), _channels, _together((4, 2), (2, 2), (3, 1))
    ),
    "conv1d": _family(
        2, _batch, _sizes(LARGE), _channels, _one(1, 3, 5, 7), _one("NCW", "NWC"), _after
    ),
    "conv3d": _family(2, _few, _depth, _sizes(SPATIAL), _channels, _one(1, 3, 3), _after),
    "softmax": _family(
        *(3, _any_shape, _one(-1, -1, -1, 1), _float),
        _one("softmax", "softmax", "fast_softmax", "log_softmax"),
    ),
    "layer_norm": _family(3, _any_shape, _float, _one("", "", "residual", "relu", "cast", "gelu")),
    "rms_norm": _family(2, _any_shape, _float, _one("", "residual", "cast")),
    "group_norm": _family(2, _group_norm),
    "instance_norm": _family(1, _batch, _sizes(CHANNELS), _one(*SPATIAL)),
    "batch_norm": _family(1, _batch, _sizes(WIDE), _one(*SPATIAL), _one("", "relu", "clip")),
    "pool2d": _family(3, _pool2d),
    "global_pool": _family(
        2, _batch, _sizes(WIDE), _one(*SPATIAL), _one(1, 1, 3, 6), _one("avg", "max")
    ),
    "reduction": _family(4, _reduction),
    "elementwise": _family(4, _elementwise),
    "transpose": _family(3, _transpose),
    "concatenate": _family(1, _any_shape, _one(2, 3, 4), lambda _: (1,), _one("", "relu", "add")),
    "embedding": _family(
        *(1, _one(1000, 30522, 32000, 50257), _one(*WIDE), _batch, _one(*SIZES), _float),
    ),
    "resize": _family(
        *(1, _batch, _one(*CHANNELS), _one(*SPATIAL), _one(2, 4)),
        _one("linear", "nearest_neighbor", "cubic"),
    ),
    "rearrange": _family(1, _rearrange),
    "attention": _family(3, _batch, _one(*HEADS), _sizes(SIZES), _one(*HEAD_SIZES), _float),
    "scores": _family(2, _batch, _one(*HEADS), _sizes(SIZES), _one(*HEAD_SIZES), _float, _after),
    "quantised_weight": _family(3, _quantised_weight),
}
"""Functions of `operators`."""

FAMILIES = TE_WORKLOAD | OPERATORS
"""What the corpus of the tokenizer is drawn from: a change here changes that corpus."""

WITH_WEIGHT = frozenset(
    name
    for name in FAMILIES
    if "conv" in name or "matmul" in name or "dense" in name or name in ("gemm", "depthwise")
)
"""Families whose second input is a weight, in most networks a constant."""

_samples = _one(*SAMPLES)
_embedding = _one(*EMBEDDINGS)
_fields = _one(*FIELDS)

RECOMMENDER: dict[str, Family] = {
    "embedding_bag": _family(
        *(5, _one(1000, 10_000, 30_522, 100_000, 200_000), _one(1, *EMBEDDINGS), _samples),
        *(_one(1, 4, 8, 10, 16, 20, 26, 32, 39, 50, 64, 80, 100, 128, 200),),
        *(_one("sum", "mean", "weighted"), _float),
    ),
    "embedding_bags": _family(
        *(4, _one(4, 8, 13, 16, 26), _one(1000, 4096, 10_000, 20_000), _embedding, _samples),
        *(_one(1, 2, 4, 8, 10, 20, 32, 50), _float),
    ),
    "interaction": _family(5, _samples, _fields, _embedding, _one("all", "pairs"), _float),
    "mlp": _family(6, _samples, _widths, _one("relu", "relu", "sigmoid"), _float),
    "cross_layer": _family(
        *(5, _samples, _one(256, 416, 429, 512, 845, 1024, 1040, 1677, 2048)),
        *(_one(0, 0, 1, 16, 32, 64, 128, 256), _float),
    ),
    "bi_interaction": _family(3, _samples, _fields, _embedding, _float),
    "history_attention": _family(
        *(3, _samples, _one(10, 20, 32, 50, 64, 100, 128, 200, 256), _embedding, _float),
    ),
    "expert_mix": _family(
        3, _samples, _one(2, 3, 4, 6, 8, 12, 16), _one(32, 64, 128, 256, 512, 1024), _float
    ),
    "two_tower": _family(
        2, _samples, _one(*EMBEDDINGS, 384, 512, 768), _one("dot", "cosine"), _float
    ),
}
"""Functions of `recommenders`."""
