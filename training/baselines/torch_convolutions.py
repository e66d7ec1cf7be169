"""The families of convolutions and pooling as PyTorch functions; see `torch_programs`.

Those whose channels come last are views of torch's layout, which its kernels know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.baselines.torch_steps import MissingError, Program, followed, pick

LAST = {3: (0, 2, 1), 4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}
"""From channels last to channels first, by the number of dimensions."""

FIRST = {3: (0, 2, 1), 4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
"""The way back."""

OUT_FIRST = {3: (2, 1, 0), 4: (3, 2, 0, 1), 5: (4, 3, 0, 1, 2)}
"""From weights whose channels come last, inputs before outputs, to torch's."""

CONVOLUTIONS: dict[int, Callable[..., Tensor]] = {
    3: functional.conv1d,
    4: functional.conv2d,
    5: functional.conv3d,
}


def _channels_last(**options: Any) -> Program:
    """A convolution with the channels last."""

    def convolved(data: Tensor, weight: Tensor) -> Tensor:
        rank = data.dim()
        first, kernel = data.permute(LAST[rank]), weight.permute(OUT_FIRST[rank])
        return CONVOLUTIONS[rank](first, kernel, **options).permute(FIRST[rank])

    return convolved


def _channels_first(**options: Any) -> Program:
    """A convolution with the channels first, as torch has them."""
    return lambda data, weight: CONVOLUTIONS[data.dim()](data, weight, **options)


LAYOUTS = {
    "NCHW": _channels_first,
    "NCW": _channels_first,
    "NHWC": _channels_last,
    "NWC": _channels_last,
}


def _widened(convolve: Program, dtypes: tuple[str, str]) -> Program:
    """Torch does not convolve halves into floats, so they become floats first."""
    if dtypes[0] == dtypes[1]:
        return convolve
    out = getattr(torch, dtypes[1])
    return lambda data, weight: convolve(data.to(out), weight.to(out))


def _conv2d(
    _n: int, _h: int, _ci: int, _co: int, size: int, stride: int, _dtype: str, layout: str,
    after: str,
) -> Program:  # fmt: skip
    return followed(pick(LAYOUTS, layout)(stride=stride, padding=size // 2), 2, after)


def _conv1d(
    _n: int, _length: int, _ci: int, _co: int, size: int, layout: str, after: str
) -> Program:
    return followed(pick(LAYOUTS, layout)(padding=size // 2), 2, after)


def _group_conv2d(
    _n: int, _h: int, _c: int, groups: int, size: int, stride: int, layout: str, after: str
) -> Program:
    convolve = pick(LAYOUTS, layout)(stride=stride, padding=size // 2, groups=groups)
    return followed(convolve, 2, after)


def _depthwise(
    _n: int, _h: int, c: int, size: int, stride: int, _dtype: str, layout: str, after: str
) -> Program:
    convolve = pick(LAYOUTS, layout)(stride=stride, padding=size // 2, groups=c)
    if layout == "NHWC":
        return followed(lambda data, weight: convolve(data, weight.transpose(2, 3)), 2, after)
    return followed(convolve, 2, after)


def _conv2d_packed(n: int, h: int, ci: int, co: int, size: int, block: int, after: str) -> Program:
    def convolved(data: Tensor, weight: Tensor) -> Tensor:
        image = data.permute(0, 1, 4, 2, 3).reshape(n, ci, h, h)
        kernel = weight.permute(0, 5, 1, 4, 2, 3).reshape(co, ci, size, size)
        out = functional.conv2d(image, kernel, padding=size // 2)
        return out.reshape(n, co // block, block, h, h).permute(0, 1, 3, 4, 2)

    return followed(convolved, 2, after)


def _conv2d_packed_int8(*_: Any) -> Program:
    raise MissingError("torch has no convolution of integers")


def _conv1d_nlc(
    _n: int, _length: int, _ci: int, _co: int, _size: int, stride: int, padding: int, dilation: int
) -> Program:
    return _channels_last(stride=stride, padding=padding, dilation=dilation)


def _conv2d_nhwc(*arguments: Any) -> Program:
    stride, padding, dilation, groups, *dtypes = arguments[6:]
    convolve = _channels_last(stride=stride, padding=padding, dilation=dilation, groups=groups)
    return _widened(convolve, (dtypes[0], dtypes[1]))


def _conv2d_nhwc_bn_relu(*arguments: Any) -> Program:
    stride, padding, dilation, *dtypes = arguments[6:]
    convolve = _widened(
        _channels_last(stride=stride, padding=padding, dilation=dilation), (dtypes[0], dtypes[1])
    )
    return followed(convolve, 2, "add mul add relu")


def _conv3d_ndhwc(*arguments: Any) -> Program:
    stride, padding = arguments[7:]
    return _channels_last(stride=stride, padding=padding)


def _depthwise_conv2d_nhwc(*arguments: Any) -> Program:
    stride, padding = arguments[5:]
    convolve = _channels_last(stride=stride, padding=padding, groups=arguments[3])
    return lambda data, weight: convolve(data, weight.permute(1, 2, 0, 3))


def _conv2d_capsule(
    n: int, _h: int, _w: int, ci: int, co: int, size: int, stride: int, padding: int
) -> Program:
    side = 4

    def convolved(data: Tensor, weight: Tensor) -> Tensor:
        """The rows of capsules are images of their own; what is summed up is their channels."""
        _, h, w = data.shape[:3]
        images = data.permute(0, 3, 4, 5, 1, 2).reshape(n * side, side * ci, h, w)
        kernel = weight.permute(3, 5, 2, 4, 0, 1).reshape(side * co, side * ci, size, size)
        out = functional.conv2d(images, kernel, stride=stride, padding=padding)
        return out.reshape(n, side, side, co, *out.shape[2:]).permute(0, 4, 5, 1, 2, 3)

    return convolved


def _conv2d_transpose(_n: int, _h: int, _ci: int, _co: int, size: int, stride: int) -> Program:
    def convolved(data: Tensor, weight: Tensor) -> Tensor:
        padding = (size - 1) // 2
        return functional.conv_transpose2d(data, weight, stride=stride, padding=padding)

    return convolved


def _conv2d_transpose_nhwc(*arguments: Any) -> Program:
    stride, padding = arguments[6:]

    def convolved(data: Tensor, weight: Tensor) -> Tensor:
        first, kernel = data.permute(LAST[4]), weight.permute(2, 3, 0, 1)
        out = functional.conv_transpose2d(first, kernel, stride=stride, padding=padding)
        return out.permute(FIRST[4])

    return convolved


def _pool2d(_n: int, _c: int, _h: int, size: int, stride: int, kind: str, layout: str) -> Program:
    pool = pick({"max": functional.max_pool2d}, kind)

    def pooled(data: Tensor) -> Tensor:
        return pool(data, size, stride, size // 2)

    if layout == "NCHW":
        return pooled
    return lambda data: pooled(data.permute(LAST[4])).permute(FIRST[4])


PROGRAMS: dict[str, Callable[..., Program]] = {
    "conv1d": _conv1d,
    "conv1d_nlc": _conv1d_nlc,
    "conv2d": _conv2d,
    "conv2d_capsule_nhwijc": _conv2d_capsule,
    "conv2d_nhwc": _conv2d_nhwc,
    "conv2d_nhwc_bn_relu": _conv2d_nhwc_bn_relu,
    "conv2d_packed": _conv2d_packed,
    "conv2d_packed_int8": _conv2d_packed_int8,
    "conv2d_transpose": _conv2d_transpose,
    "conv2d_transpose_nhwc": _conv2d_transpose_nhwc,
    "conv3d_ndhwc": _conv3d_ndhwc,
    "depthwise": _depthwise,
    "depthwise_conv2d_nhwc": _depthwise_conv2d_nhwc,
    "group_conv2d": _group_conv2d,
    "pool2d": _pool2d,
}
"""By the name of the family."""
