"""The held-out families as PyTorch functions, one builder a family.

A builder takes the arguments of the family, as `training.workloads.operators` does, and returns a
function of the workload's inputs, in the order of its parameters. It is written as torch's users
would write it: with the operator of torch that does most of the work, on the layouts that the
workload has. What is float32 is computed in float32. The result is new and contiguous. Indices are
taken as valid, as they are wherever the evaluator draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.baselines import torch_convolutions
from training.baselines.torch_steps import MissingError, Program, followed, pick

EPSILON = 1e-5
"""What TOPI's norms add to a variance."""


def program(family: str, arguments: Sequence[Any]) -> Program:
    """Return the function of torch that computes a workload.

    Args:
        family: one of the families of `training.workloads.families`.
        arguments: those of the family.

    Raises:
        MissingError: there is none.

    >>> relu = program("elementwise", ([2], "float32", "relu"))
    >>> relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    build = pick(PROGRAMS, family)
    computed = build(*arguments)

    def whole(*inputs: Tensor) -> Tensor:
        return computed(*inputs).contiguous()

    return whole


# Products.


def product(x: Tensor, y: Tensor, dtype: torch.dtype) -> Tensor:
    """Multiply matrices, or batches of them, into another dtype.

    Only on a GPU does torch multiply halves into floats; elsewhere they become floats first.
    """
    if x.dtype == dtype:
        return x @ y
    if x.is_cuda:
        multiply = torch.mm if x.dim() == 2 else torch.bmm
        return multiply(x, y, out_dtype=dtype)
    return x.to(dtype) @ y.to(dtype)


def _gemm(_n: int, _m: int, _k: int, layout: str, dtypes: str, _block: str, after: str) -> Program:
    out = getattr(torch, dtypes.split()[1])
    left, right = layout == "TN", layout == "NT"

    def multiplied(a: Tensor, b: Tensor) -> Tensor:
        return product(a.mT if left else a, b.mT if right else b, out)

    return followed(multiplied, 2, after)


def _matmul(*arguments: Any) -> Program:
    out = getattr(torch, arguments[-1])
    return lambda x, y: product(x, y, out)


def _dense(_n: int, _m: int, _k: int, _dtype: str, bias: int, after: str) -> Program:
    return followed(functional.linear, 3 if bias else 2, after)


def _dense_int8(
    _n: int, _m: int, _k: int, left: str, right: str, _block: str, after: str
) -> Program:
    if (left, right) != ("int8", "int8"):
        raise MissingError(f"torch has no product of {left} and {right}")
    # Torch has no public name for it; its own quantisation calls it so.
    return followed(lambda x, weight: torch._int_mm(x, weight.mT), 2, after)  # noqa: SLF001


def _batch_matmul(
    _b: int, _n: int, _m: int, _k: int, _dtype: str, transposed: int, after: str
) -> Program:
    return followed(lambda x, y: torch.bmm(x, y.mT if transposed else y), 2, after)


def _matmul_nd(_b: int, _h: int, _n: int, _m: int, _k: int, _dtype: str, after: str) -> Program:
    return followed(torch.matmul, 2, after)


def _quantised_weight(_n: int, m: int, k: int, dtype: str, after: str) -> Program:
    shifts = range(0, 32, 4)
    kind = getattr(torch, dtype)

    def multiplied(data: Tensor, words: Tensor, scale: Tensor) -> Tensor:
        # Torch shifts no unsigned words; the sign is cut off after the shift.
        signed = words.view(torch.int32)
        digits = torch.stack([(signed >> shift) & 15 for shift in shifts], dim=-1)
        groups = (digits.to(kind) - 7).reshape(m, k // 32, 32)
        return functional.linear(data, (groups * scale[..., None]).reshape(m, k))

    return followed(multiplied, 3, after)


# Attention.


def _attention(_batch: int, _heads: int, _length: int, _width: int, _dtype: str) -> Program:
    def weighted(q: Tensor, k: Tensor, mask: Tensor, v: Tensor) -> Tensor:
        # Its fast kernels want four dimensions.
        four = functional.scaled_dot_product_attention(q[None], k[None], v[None], mask[None])
        return four[0]

    return weighted


def _scores(_batch: int, _heads: int, _length: int, width: int, _dtype: str, after: str) -> Program:
    def scaled(q: Tensor, k: Tensor) -> Tensor:
        return (q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1)) * width**-0.5

    return followed(scaled, 2, after)


def _history_attention(_batch: int, _length: int, _width: int, _dtype: str) -> Program:
    def weighted(history: Tensor, candidate: Tensor) -> Tensor:
        past = history[:, None]
        query = candidate[:, None, None]
        return functional.scaled_dot_product_attention(query, past, past).flatten(1)

    return weighted


# Norms, reductions, and what only moves data.


def _layer_norm(shape: Sequence[int], _dtype: str, after: str) -> Program:
    width = [shape[-1]]
    return followed(
        lambda data, gamma, beta: functional.layer_norm(data, width, gamma, beta, EPSILON), 3, after
    )


def _rms_norm(shape: Sequence[int], _dtype: str, after: str) -> Program:
    width = [shape[-1]]
    return followed(lambda data, gamma: functional.rms_norm(data, width, gamma, EPSILON), 2, after)


def _group_norm(_n: int, _c: int, _h: int, groups: int, after: str) -> Program:
    return followed(
        lambda data, gamma, beta: functional.group_norm(data, groups, gamma, beta, EPSILON),
        3,
        after,
    )


def _softmax(_shape: Sequence[int], axis: int, _dtype: str, kind: str) -> Program:
    compute = pick({"softmax": torch.softmax, "fast_softmax": torch.softmax}, kind)
    return lambda data: compute(data, axis)


def _softmax_mn(_m: int, _n: int) -> Program:
    return lambda data: torch.softmax(data, 1)


def _reduction(shape: Sequence[int], axis: Sequence[int], kind: str, _dtype: str) -> Program:
    kept = [place for place in range(len(shape)) if place not in axis]

    def place_of_most(data: Tensor) -> Tensor:
        flat = data.permute(*kept, *axis).flatten(len(kept))
        return torch.argmax(flat, -1).to(torch.int32)

    totals: dict[str, Program] = {
        "sum": lambda data: torch.sum(data, tuple(axis)),
        "argmax": place_of_most,
    }
    return pick(totals, kind)


def _elementwise(_shape: Sequence[int], _dtype: str, after: str) -> Program:
    return followed(lambda data: data, 1, after)


def _transpose(_shape: Sequence[int], axes: Sequence[int], flat: int, after: str) -> Program:
    def moved(data: Tensor) -> Tensor:
        out = data.permute(tuple(axes))
        if not after:
            # A view would be no result.
            out = out.clone(memory_format=torch.contiguous_format)
        return out.flatten(-2) if flat else out

    return followed(moved, 1, after)


def _concatenate(_shape: Sequence[int], parts: int, axis: int, after: str) -> Program:
    # A nest of selections reads the last part first.
    return followed(lambda *inputs: torch.cat(inputs[::-1], axis), parts, after)


# Recommenders.


def _embedding_bag(
    _rows: int, _width: int, _batch: int, _bag: int, kind: str, _dtype: str
) -> Program:
    mode = pick({"sum": "sum", "mean": "mean"}, kind)
    return lambda ids, table: functional.embedding_bag(ids, table, mode=mode)


def _embedding_bags(
    tables: int, rows: int, width: int, batch: int, bag: int, _dtype: str
) -> Program:
    def bags(ids: Tensor, weight: Tensor) -> Tensor:
        """One bag after the other, of one long table."""
        starts = torch.arange(0, tables * rows, rows, dtype=ids.dtype, device=ids.device)
        places = (ids + starts[:, None]).reshape(batch * tables, bag)
        long = weight.reshape(tables * rows, width)
        return functional.embedding_bag(places, long, mode="sum").reshape(batch, tables * width)

    return bags


def _interaction(_batch: int, _features: int, _width: int, kind: str, _dtype: str) -> Program:
    if kind == "all":
        return lambda x: torch.bmm(x, x.mT)
    return lambda first, x, second: torch.bmm(x, x.mT)[:, first, second]


def _bi_interaction(_batch: int, _fields: int, _width: int, _dtype: str) -> Program:
    return lambda x: (x.sum(1).square() - x.square().sum(1)) * 0.5


def _mlp(_batch: int, _widths: Sequence[int], last: str, _dtype: str) -> Program:
    end = pick({"relu": functional.relu, "sigmoid": torch.sigmoid}, last)

    def tower(data: Tensor, *layers: Tensor) -> Tensor:
        *hidden, (weight, bias) = zip(layers[::2], layers[1::2], strict=True)
        for each, shift in hidden:
            data = functional.relu(functional.linear(data, each, shift))
        return end(functional.linear(data, weight, bias))

    return tower


def _cross_layer(_batch: int, _width: int, rank: int, _dtype: str) -> Program:
    def old(first: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return first * functional.linear(x, weight) + bias + x

    def full(first: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return torch.addcmul(x, first, functional.linear(x, weight, bias))

    def low(first: Tensor, x: Tensor, down: Tensor, up: Tensor, bias: Tensor) -> Tensor:
        return torch.addcmul(x, first, functional.linear(functional.linear(x, down), up, bias))

    return {0: full, 1: old}.get(rank, low)


def _expert_mix(_batch: int, _experts: int, _width: int, _dtype: str) -> Program:
    return lambda gate, experts: torch.bmm(torch.softmax(gate, 1)[:, None], experts)[:, 0]


def _two_tower(_batch: int, _width: int, kind: str, dtype: str) -> Program:
    least = 1e-6 if dtype == "float32" else 1e-3

    def cosine(user: Tensor, item: Tensor) -> Tensor:
        squares = user.square().sum(1) * item.square().sum(1)
        return (user * item).sum(1) * torch.rsqrt(squares + least)

    return pick({"cosine": cosine}, kind)


PROGRAMS: dict[str, Callable[..., Program]] = {
    **torch_convolutions.PROGRAMS,
    "attention": _attention,
    "batch_matmul": _batch_matmul,
    "batch_matmul_nkkm": _matmul,
    "bi_interaction": _bi_interaction,
    "concatenate": _concatenate,
    "cross_layer": _cross_layer,
    "dense": _dense,
    "dense_int8": _dense_int8,
    "elementwise": _elementwise,
    "embedding_bag": _embedding_bag,
    "embedding_bags": _embedding_bags,
    "expert_mix": _expert_mix,
    "gemm": _gemm,
    "group_norm": _group_norm,
    "history_attention": _history_attention,
    "interaction": _interaction,
    "layer_norm": _layer_norm,
    "matmul": _matmul,
    "matmul_nd": _matmul_nd,
    "mlp": _mlp,
    "quantised_weight": _quantised_weight,
    "reduction": _reduction,
    "rms_norm": _rms_norm,
    "scores": _scores,
    "softmax": _softmax,
    "softmax_mn": _softmax_mn,
    "transpose": _transpose,
    "two_tower": _two_tower,
}
"""The families of the held-out workloads; TVM's own of those names, or of `operators`."""
