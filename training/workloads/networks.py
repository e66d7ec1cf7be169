"""Layers of known networks: their shapes are public facts, written here as tables.

A layer is what one kernel computes, with the element-wise operators that compilers fuse into it.
Batch norms of inference are folded into the weights, so a convolution ends in a bias.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from typing import NamedTuple

from training.workloads.families import Arguments

FLOATS = ("float32", "float16")
RELU, RESIDUAL = "add relu", "add residual relu"


class Layer(NamedTuple):
    """A layer with its family and arguments."""

    family: str
    arguments: Arguments
    names: tuple[str, ...]
    """The networks that have it, and what it is there."""


def layers() -> list[Layer]:
    """Return the layers of all networks, each once."""
    found: dict[str, Layer] = {}
    for family, arguments, name in _all():
        key = f"{family} {arguments!r}"
        names = found[key].names if key in found else ()
        found[key] = Layer(family, arguments, tuple(dict.fromkeys((*names, name))))
    return list(found.values())


Row = tuple[str, Arguments, str]
"""Family, arguments, name."""

Convolution = tuple[int, int, int, int, int, str]
"""Height, input channels, output channels, kernel size, stride, what follows."""

RESNET_18: tuple[Convolution, ...] = (
    *((224, 3, 64, 7, 2, RELU), (56, 64, 64, 3, 1, RELU), (56, 64, 64, 3, 1, RESIDUAL)),
    *((56, 64, 128, 3, 2, RELU), (56, 64, 128, 1, 2, "add"), (28, 128, 128, 3, 1, RELU)),
    *((28, 128, 128, 3, 1, RESIDUAL), (28, 128, 256, 3, 2, RELU), (28, 128, 256, 1, 2, "add")),
    *((14, 256, 256, 3, 1, RELU), (14, 256, 256, 3, 1, RESIDUAL), (14, 256, 512, 3, 2, RELU)),
    *((14, 256, 512, 1, 2, "add"), (7, 512, 512, 3, 1, RELU), (7, 512, 512, 3, 1, RESIDUAL)),
)
RESNET_50: tuple[Convolution, ...] = (
    *((224, 3, 64, 7, 2, RELU), (56, 64, 64, 1, 1, RELU), (56, 64, 64, 3, 1, RELU)),
    *((56, 64, 256, 1, 1, RESIDUAL), (56, 64, 256, 1, 1, "add"), (56, 256, 64, 1, 1, RELU)),
    *((56, 256, 128, 1, 1, RELU), (56, 128, 128, 3, 2, RELU), (28, 128, 512, 1, 1, RESIDUAL)),
    *((56, 256, 512, 1, 2, "add"), (28, 512, 128, 1, 1, RELU), (28, 128, 128, 3, 1, RELU)),
    *((28, 512, 256, 1, 1, RELU), (28, 256, 256, 3, 2, RELU), (14, 256, 1024, 1, 1, RESIDUAL)),
    *((28, 512, 1024, 1, 2, "add"), (14, 1024, 256, 1, 1, RELU), (14, 256, 256, 3, 1, RELU)),
    *((14, 1024, 512, 1, 1, RELU), (14, 512, 512, 3, 2, RELU), (7, 512, 2048, 1, 1, RESIDUAL)),
    *((14, 1024, 2048, 1, 2, "add"), (7, 2048, 512, 1, 1, RELU), (7, 512, 512, 3, 1, RELU)),
)
VGG_16: tuple[Convolution, ...] = (
    *((224, 3, 64, 3, 1, RELU), (224, 64, 64, 3, 1, RELU), (112, 64, 128, 3, 1, RELU)),
    *((112, 128, 128, 3, 1, RELU), (56, 128, 256, 3, 1, RELU), (56, 256, 256, 3, 1, RELU)),
    *((28, 256, 512, 3, 1, RELU), (28, 512, 512, 3, 1, RELU), (14, 512, 512, 3, 1, RELU)),
)
UNET: tuple[Convolution, ...] = (
    *((64, 4, 320, 3, 1, "add"), (64, 320, 320, 3, 1, "add"), (64, 320, 320, 3, 2, "add")),
    *((64, 320, 320, 3, 1, "add residual"), (32, 320, 640, 3, 1, "add"), (64, 320, 4, 3, 1, "add")),
    *((32, 320, 640, 1, 1, "add"), (32, 640, 640, 3, 1, "add residual")),
    *((32, 640, 640, 3, 2, "add"), (16, 640, 1280, 3, 1, "add"), (16, 640, 1280, 1, 1, "add")),
    *((16, 1280, 1280, 3, 1, "add residual"), (16, 1280, 1280, 3, 2, "add")),
    *((8, 1280, 1280, 3, 1, "add"), (8, 2560, 1280, 3, 1, "add"), (16, 1920, 1280, 1, 1, "add")),
    *((32, 1920, 640, 1, 1, "add"), (32, 960, 640, 3, 1, "add"), (64, 960, 320, 1, 1, "add")),
)
CONVOLUTIONS = {
    "ResNet-18": RESNET_18,
    "ResNet-50": RESNET_50,
    "VGG-16": VGG_16,
    "Stable Diffusion UNet": UNET,
}

Bottleneck = tuple[int, int, int, int, int, int]
"""Height, input channels, expansion, output channels, kernel size, stride."""

MOBILENET_V2: tuple[Bottleneck, ...] = (
    *((112, 32, 1, 16, 3, 1), (112, 16, 6, 24, 3, 2), (56, 24, 6, 24, 3, 1)),
    *((56, 24, 6, 32, 3, 2), (28, 32, 6, 32, 3, 1), (28, 32, 6, 64, 3, 2)),
    *((14, 64, 6, 64, 3, 1), (14, 64, 6, 96, 3, 1), (14, 96, 6, 96, 3, 1)),
    *((14, 96, 6, 160, 3, 2), (7, 160, 6, 160, 3, 1), (7, 160, 6, 320, 3, 1)),
)
EFFICIENTNET_B0: tuple[Bottleneck, ...] = (
    *((112, 32, 1, 16, 3, 1), (112, 16, 6, 24, 3, 2), (56, 24, 6, 24, 3, 1)),
    *((56, 24, 6, 40, 5, 2), (28, 40, 6, 40, 5, 1), (28, 40, 6, 80, 3, 2)),
    *((14, 80, 6, 80, 3, 1), (14, 80, 6, 112, 5, 1), (14, 112, 6, 112, 5, 1)),
    *((14, 112, 6, 192, 5, 2), (7, 192, 6, 192, 5, 1), (7, 192, 6, 320, 3, 1)),
)
BOTTLENECKS = {"MobileNet-V2": (MOBILENET_V2, "clip"), "EfficientNet-B0": (EFFICIENTNET_B0, "silu")}

TRANSFORMERS: dict[str, tuple[int, int, int, tuple[tuple[int, int], ...]]] = {
    "BERT-base": (768, 12, 3072, ((1, 128), (1, 384), (4, 128), (1, 512), (8, 64))),
    "BERT-large": (1024, 16, 4096, ((1, 128), (1, 384), (2, 128))),
    "GPT-2": (768, 12, 3072, ((1, 1), (8, 1), (1, 256), (1, 1024))),
    "GPT-2 medium": (1024, 16, 4096, ((1, 1), (1, 256))),
    "ViT-B/16": (768, 12, 3072, ((1, 197), (4, 197))),
    "ViT-S/16": (384, 6, 1536, ((1, 197), (8, 197))),
    "ViT-L/16": (1024, 16, 4096, ((1, 197),)),
    "Whisper base": (512, 8, 2048, ((1, 1500), (1, 1), (5, 1))),
    "Whisper small": (768, 12, 3072, ((1, 1500), (5, 1))),
    "CLIP text": (768, 12, 3072, ((1, 77), (2, 77))),
}
"""Width, heads, width of the MLP, pairs of batch and length."""

LLAMAS: dict[str, tuple[int, int, int, int]] = {
    "Llama-2-7B": (4096, 32, 32, 11008),
    "Llama-3-8B": (4096, 32, 8, 14336),
    "TinyLlama-1.1B": (2048, 32, 4, 5632),
}
"""Width, heads, heads of keys and values, width of the MLP."""

TOKENS = (1, 4, 16, 32, 64, 128)
"""Tokens that a decoder takes at once: one a sequence, or a prompt."""

TOWERS: dict[str, tuple[int, ...]] = {
    "DLRM (small) bottom": (13, 512, 256, 64, 16),
    "DLRM (small) top": (367, 512, 256, 1),
    "DLRM bottom": (13, 512, 256, 128),
    "DLRM top": (479, 1024, 1024, 512, 256, 1),
    "DCN-v2": (429, 768, 768),
    "Wide&Deep": (845, 1024, 512, 256, 1),
    "DeepFM": (390, 400, 400, 400, 1),
    "DIN": (192, 200, 80, 1),
}
"""Widths of the dense layers, inputs first."""

SAMPLES = (128, 512, 2048)
"""Samples that a recommender ranks at once."""


def _all() -> Iterator[Row]:
    for batch in (1, 8):
        for name, table in CONVOLUTIONS.items():
            for row in table:
                yield from _convolution(name, batch, row)
        for name, (blocks, activation) in BOTTLENECKS.items():
            yield from _mobile(name, batch, blocks, activation)
        yield from _pools(batch)
    for dtype in FLOATS:
        for name in TRANSFORMERS:
            yield from _transformer(name, dtype)
        for name in LLAMAS:
            yield from _llama(name, dtype)
        yield from _diffusion(dtype)
        for samples in SAMPLES:
            yield from _recommenders(samples, dtype)


def _convolution(name: str, batch: int, row: Convolution) -> Iterator[Row]:
    h, inputs, outputs, size, stride, after = row
    title = f"{name} {size}x{size} convolution"
    for dtype, layout in (("float32", "NCHW"), ("float16", "NHWC")):
        arguments = (batch, h, inputs, outputs, size, stride, dtype, layout, after)
        yield "conv2d", arguments, title
    if after == RELU:
        pad = size // 2
        layer = (batch, h, h, inputs, outputs, size, stride, pad, 1, "float16", "float32")
        yield "conv2d_nhwc_bn_relu", layer, title


def _mobile(name: str, batch: int, blocks: Iterable[Bottleneck], activation: str) -> Iterator[Row]:
    after = f"add {activation}"
    yield from _convolution(name, batch, (224, 3, 32, 3, 2, after))
    for h, inputs, expansion, outputs, size, stride in blocks:
        inner = inputs * expansion
        if expansion > 1:
            yield from _convolution(name, batch, (h, inputs, inner, 1, 1, after))
        for dtype, layout in (("float32", "NCHW"), ("float16", "NHWC")):
            arguments = (batch, h, inner, size, stride, dtype, layout, after)
            yield "depthwise", arguments, f"{name} {size}x{size} depthwise convolution"
        kept = inputs == outputs and stride == 1
        last = "add residual" if kept else "add"
        yield from _convolution(name, batch, (h // stride, inner, outputs, 1, 1, last))
        if activation == "silu":
            yield "global_pool", (batch, inner, h // stride, 1, "avg"), f"{name} squeeze"
    yield from _convolution(name, batch, (7, 320, 1280, 1, 1, after))


def _pools(batch: int) -> Iterator[Row]:
    yield "max_pool2d_nchw", (batch, 112, 112, 64, 1), "ResNet-50 max pool"
    yield "global_pool", (batch, 512, 7, 1, "avg"), "ResNet-18 average pool"
    yield "global_pool", (batch, 2048, 7, 1, "avg"), "ResNet-50 average pool"
    yield "global_pool", (batch, 1280, 7, 1, "avg"), "MobileNet-V2 average pool"
    for h, channels in ((224, 64), (112, 128), (56, 256), (28, 512), (14, 512)):
        yield "pool2d", (batch, channels, h, 2, 2, "max", "NCHW"), "VGG-16 max pool"
    for dtype in FLOATS:
        for inputs, name in ((512, "ResNet-18"), (2048, "ResNet-50"), (1280, "MobileNet-V2")):
            yield "dense", (batch, 1000, inputs, dtype, 1, ""), f"{name} classifier"
        for outputs, inputs in ((4096, 25088), (4096, 4096), (1000, 4096)):
            yield "dense", (batch, outputs, inputs, dtype, 1, "relu"), "VGG-16 dense layer"


def _transformer(name: str, dtype: str) -> Iterator[Row]:
    width, heads, inner, inputs = TRANSFORMERS[name]
    size = width // heads
    for batch, length in inputs:
        tokens = batch * length
        for outputs, reduced, after, what in (
            (3 * width, width, "", "queries, keys, values"),
            (width, width, "residual", "output projection"),
            (inner, width, "gelu", "MLP up"),
            (width, inner, "residual", "MLP down"),
        ):
            yield "dense", (tokens, outputs, reduced, dtype, 1, after), f"{name} {what}"
        yield "layer_norm", ([batch, length, width], dtype, ""), f"{name} layer norm"
        if length == 1:
            continue
        many = batch * heads
        yield "softmax", ([many, length, length], -1, dtype, "softmax"), f"{name} softmax"
        scores, values = (many, length, length, size), (many, length, size, length)
        yield "batch_matmul", (*scores, dtype, 1, "scale"), f"{name} scores"
        yield "batch_matmul", (*values, dtype, 0, ""), f"{name} weighted values"
        yield "attention", (batch, heads, length, size, dtype), f"{name} attention"
        yield "scores", (batch, heads, length, size, dtype, ""), f"{name} scores with transposes"


def _llama(name: str, dtype: str) -> Iterator[Row]:
    width, heads, shared, inner = LLAMAS[name]
    size = width // heads
    dtypes = f"{dtype} float32"
    for tokens in TOKENS:
        for outputs, reduced, after, what in (
            (width + 2 * shared * size, width, "", "queries, keys, values"),
            (width, width, "residual", "output projection"),
            (inner, width, "silu", "MLP gate"),
            (inner, width, "gate", "MLP up"),
            (width, inner, "residual", "MLP down"),
        ):
            yield (
                "gemm",
                (tokens, outputs, reduced, "NT", dtypes, "NT_matmul", after),
                f"{name} {what}",
            )
            if tokens <= 16:
                arguments = (tokens, outputs, reduced, dtype, after)
                yield "quantised_weight", arguments, f"{name} {what}, 4-bit"
        yield "rms_norm", ([1, tokens, width], dtype, ""), f"{name} RMS norm"
        yield "elementwise", ([tokens, inner], dtype, "silu gate"), f"{name} gated activation"
    for length in (64, 256, 512):
        yield "attention", (1, heads, length, size, dtype), f"{name} attention"
        yield "softmax", ([heads, length, length], -1, dtype, "softmax"), f"{name} softmax"


def _diffusion(dtype: str) -> Iterator[Row]:
    name = "Stable Diffusion UNet"
    for width, h in ((320, 64), (640, 32), (1280, 16), (1280, 8)):
        pixels = h * h
        yield "dense", (pixels, width, width, dtype, 1, "residual"), f"{name} projection"
        yield "dense", (77, width, 768, dtype, 0, ""), f"{name} keys of the text"
        yield "dense", (pixels, 8 * width, width, dtype, 1, ""), f"{name} MLP up"
        yield "dense", (pixels, width, 4 * width, dtype, 1, "residual"), f"{name} MLP down"
        yield "layer_norm", ([1, pixels, width], dtype, ""), f"{name} layer norm"
        yield "softmax", ([8, pixels, 77], -1, dtype, "softmax"), f"{name} cross attention softmax"
        yield "batch_matmul", (8, pixels, 77, width // 8, dtype, 1, "scale"), f"{name} scores"
        yield "attention", (1, 8, pixels, width // 8, dtype), f"{name} attention"
        yield "group_norm", (1, width, h, 32, "silu"), f"{name} group norm"
        yield "resize", (1, width, h, 2, "nearest_neighbor"), f"{name} upsampling"
    for inputs, stride in ((80, 1), (512, 2)):
        arguments = (1, 3000 // stride, inputs, 512, 3, "NCW", "add gelu")
        yield "conv1d", arguments, "Whisper base convolution"


def _recommenders(samples: int, dtype: str) -> Iterator[Row]:
    for name, widths in TOWERS.items():
        yield from _tower(name, widths, samples, dtype)
    for width in (16, 64, 128):
        tables = (26, 10_000, width, samples, 1, dtype)
        yield "embedding_bags", tables, "DLRM tables"
        yield "embedding_bags", (8, 10_000, width, samples, 20, dtype), "DLRM tables with bags"
        for kind in ("all", "pairs"):
            yield "interaction", (samples, 27, width, kind, dtype), "DLRM interaction"
        yield "bi_interaction", (samples, 39, width, dtype), "DeepFM factorization machine"
        yield "embedding_bag", (100_000, width, samples, 50, "mean", dtype), "history, averaged"
    for fields in (26, 39):
        yield "embedding_bag", (100_000, 1, samples, fields, "sum", dtype), "Wide&Deep wide part"
    for rank, width in product((0, 1, 64, 128), (429, 1024)):
        yield "cross_layer", (samples, width, rank, dtype), "DCN-v2 cross layer"
    for length in (50, 100):
        yield "history_attention", (samples, length, 64, dtype), "DIN attention"
    for experts, width in ((3, 64), (8, 128), (16, 256)):
        yield "expert_mix", (samples, experts, width, dtype), "MMoE mix of experts"
    for width, kind in product((64, 128, 256), ("dot", "cosine")):
        yield "two_tower", (samples, width, kind, dtype), f"two-tower {kind}"


def _tower(name: str, widths: tuple[int, ...], samples: int, dtype: str) -> Iterator[Row]:
    """Each layer alone, and each two together."""
    for place, (inputs, outputs) in enumerate(pairwise(widths), 1):
        last = "sigmoid" if outputs == 1 else "relu"
        yield "dense", (samples, outputs, inputs, dtype, 1, last), f"{name} layer {place}"
    for place, (inputs, inner, outputs) in enumerate(
        zip(widths, widths[1:], widths[2:], strict=False), 1
    ):
        last = "sigmoid" if outputs == 1 else "relu"
        arguments = (samples, [inputs, inner, outputs], last, dtype)
        yield "mlp", arguments, f"{name} layers {place} and {place + 1}"
