"""Kernels of recommenders as tensor expressions, one builder a family.

What gathers rows, or reads more than it computes, is one loop over all its outputs that is
reshaped at the end. Over separate loops MetaSchedule would tile it like a product and stage whole
tables in shared memory, where they do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from tvm import te, tirx, topi

Outputs = Sequence[te.Tensor]


def embedding_bag(rows: int, width: int, batch: int, bag: int, kind: str, dtype: str) -> Outputs:
    """The `sum`, `mean` or `weighted` sum of the rows of a table that each bag names."""
    table = te.placeholder((rows, width), dtype, name="table")
    ids = te.placeholder((batch, bag), "int32", name="ids")
    weights = te.placeholder((batch, bag), dtype, name="weights")
    axis = te.reduce_axis((0, bag), name="k")

    def total(place: tirx.Var) -> tirx.PrimExpr:
        sample = place // width
        value = table[_row(ids[sample, axis], rows), place % width]
        return te.sum(weights[sample, axis] * value if kind == "weighted" else value, axis)

    out = _flat((batch, width), total, "embedding_bag")
    return [topi.divide(out, tirx.const(float(bag), dtype)) if kind == "mean" else out]


def embedding_bags(tables: int, rows: int, width: int, batch: int, bag: int, dtype: str) -> Outputs:
    """One bag a table, side by side; all tables have one size and are one tensor, as in DLRM."""
    weight = te.placeholder((tables, rows, width), dtype, name="tables")
    ids = te.placeholder((batch, tables, bag), "int32", name="ids")
    axis = te.reduce_axis((0, bag), name="k")

    def total(place: tirx.Var) -> tirx.PrimExpr:
        sample, table = place // (width * tables), place // width % tables
        return te.sum(weight[table, _row(ids[sample, table, axis], rows), place % width], axis)

    return [_flat((batch, tables * width), total, "embedding_bags")]


def interaction(batch: int, features: int, width: int, kind: str, dtype: str) -> Outputs:
    """Dot products of the features of a sample: of `all` pairs, or each of the `pairs` once."""
    x = te.placeholder((batch, features, width), dtype, name="x")
    axis = te.reduce_axis((0, width), name="k")
    if kind == "all":
        return [
            te.compute(
                (batch, features, features),
                lambda b, i, j: te.sum(x[b, i, axis] * x[b, j, axis], axis),
                name="interaction",
            )
        ]
    shape = (features * (features - 1) // 2,)
    first, second = (te.placeholder(shape, "int32", name=name) for name in ("first", "second"))

    def dot(b: tirx.Var, p: tirx.Var) -> tirx.PrimExpr:
        left, right = (_row(pair[p], features) for pair in (first, second))
        return te.sum(x[b, left, axis] * x[b, right, axis], axis)

    return [te.compute((batch, *shape), dot, name="interaction")]


def bi_interaction(batch: int, fields: int, width: int, dtype: str) -> Outputs:
    """The sum of the products of all pairs of fields, as factorization machines have it.

    It is half of what the square of their sum has more than the sum of their squares.
    """
    x = te.placeholder((batch, fields, width), dtype, name="x")
    whole = topi.sum(x, 1)
    squares = topi.sum(topi.multiply(x, x), 1)
    return [
        topi.multiply(topi.subtract(topi.multiply(whole, whole), squares), tirx.const(0.5, dtype))
    ]


def mlp(batch: int, widths: Sequence[int], last: str, dtype: str) -> Outputs:
    """Dense layers with bias and ReLU, as in a tower; the last one ends in `relu` or `sigmoid`."""
    out = te.placeholder((batch, widths[0]), dtype, name="data")
    for place, (inputs, outputs) in enumerate(pairwise(widths)):
        weight = te.placeholder((outputs, inputs), dtype, name=f"weight{place}")
        bias = te.placeholder((outputs,), dtype, name=f"bias{place}")
        out = topi.nn.dense(out, weight, bias, dtype)
        sigmoid = last == "sigmoid" and place == len(widths) - 2
        out = topi.sigmoid(out) if sigmoid else topi.nn.relu(out)
    return [out]


def cross_layer(batch: int, width: int, rank: int, dtype: str) -> Outputs:
    """A layer of a cross network, `x0 * (W x + b) + x`.

    W is a matrix for rank 0 (DCN-v2), else the product of two matrices of that rank; rank 1 is the
    older `x0 * (w x) + b + x` (DCN).
    """
    first = te.placeholder((batch, width), dtype, name="x0")
    x = te.placeholder((batch, width), dtype, name="x")
    bias = te.placeholder((width,), dtype, name="bias")
    if rank == 1:
        weight = te.placeholder((1, width), dtype, name="weight")
        crossed = topi.multiply(first, topi.nn.dense(x, weight, None, dtype))
        return [topi.add(topi.add(crossed, bias), x)]
    out = x
    for inputs, outputs in [(width, rank), (rank, width)] if rank else [(width, width)]:
        weight = te.placeholder((outputs, inputs), dtype, name=f"weight{outputs}")
        out = topi.nn.dense(out, weight, None, dtype)
    return [topi.add(topi.multiply(first, topi.add(out, bias)), x)]


def history_attention(batch: int, length: int, width: int, dtype: str) -> Outputs:
    """What a user did before, weighted by how well it fits the candidate, as in DIN."""
    history = te.placeholder((batch, length, width), dtype, name="history")
    candidate = te.placeholder((batch, width), dtype, name="candidate")
    axis, step = te.reduce_axis((0, width), name="k"), te.reduce_axis((0, length), name="t")

    def fit(place: tirx.Var) -> tirx.PrimExpr:
        sample = place // length
        return te.sum(history[sample, place % length, axis] * candidate[sample, axis], axis)

    scaled = topi.multiply(_flat((batch, length), fit, "fit"), tirx.const(width**-0.5, dtype))
    weights = topi.nn.softmax(scaled, 1)

    def interest(place: tirx.Var) -> tirx.PrimExpr:
        sample = place // width
        return te.sum(weights[sample, step] * history[sample, step, place % width], step)

    return [_flat((batch, width), interest, "interest")]


def expert_mix(batch: int, experts: int, width: int, dtype: str) -> Outputs:
    """Outputs of experts, weighted by the softmax of a gate, as in MMoE."""
    gate = topi.nn.softmax(te.placeholder((batch, experts), dtype, name="gate"), 1)
    out = te.placeholder((batch, experts, width), dtype, name="experts")
    axis = te.reduce_axis((0, experts), name="e")

    def mixed(place: tirx.Var) -> tirx.PrimExpr:
        sample = place // width
        return te.sum(gate[sample, axis] * out[sample, axis, place % width], axis)

    return [_flat((batch, width), mixed, "mix")]


def two_tower(batch: int, width: int, kind: str, dtype: str) -> Outputs:
    """The score of each pair of user and item: their `dot` product, or the `cosine`."""
    user, item = (te.placeholder((batch, width), dtype, name=name) for name in ("user", "item"))
    dot = topi.sum(topi.multiply(user, item), 1)
    if kind == "dot":
        return [dot]
    squares = [topi.sum(topi.multiply(x, x), 1) for x in (user, item)]
    least = tirx.const(1e-6 if dtype == "float32" else 1e-3, dtype)
    return [topi.multiply(dot, topi.rsqrt(topi.add(topi.multiply(*squares), least)))]


def _flat(
    shape: tuple[int, int], value: Callable[[tirx.Var], tirx.PrimExpr], name: str
) -> te.Tensor:
    """A matrix that is computed as one loop over its elements."""
    return topi.reshape(te.compute((shape[0] * shape[1],), value, name=name), shape)


def _row(index: tirx.PrimExpr, count: int) -> tirx.PrimExpr:
    """The index itself if there is such a row; no input can read past the table."""
    return tirx.max(tirx.min(index, count - 1), 0)
