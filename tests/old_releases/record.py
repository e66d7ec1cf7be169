"""Record the same index maps and traces with the TVM that is installed.

    python tests/old_releases/record.py > tests/old_releases/tvm-0.27.jsonl

Runs with TVM 0.25.0.post1 (and apache-tvm-ffi 0.1.12), 0.26.0 (0.1.13.post3) and 0.27.0.post1. A
line is `["index map", TEXT]` or `["trace", NAME, TRACE]`; the traces are those of the examples in
`tests/corpus/_primitives.py` that the release can run.
"""

import json
import sys
from pathlib import Path

import tvm
import tvm_ffi
from tvm import tirx
from tvm.tirx import IndexMap

INT, LONG = "int32", "int64"


def variable(name, dtype=INT):
    return tirx.Var(name, dtype)


def comparisons(i, j):
    both = tirx.And(i <= j, tirx.Or(i >= 2, tirx.Not(tirx.NE(i, j))))
    return [tirx.Select(both, tirx.Min(i, j), tirx.Max(i, j)), tirx.Select(tirx.EQ(i, j), i, j)]


def floats():
    values = [0.5, 1.0, 0.1, 1e-7, -0.0, 1e16, 1e30, 123456789.0, -2.5]
    values += [float("nan"), float("inf"), float("-inf")]
    imms = [tirx.FloatImm("float64", value) for value in values]
    return IndexMap([variable("i")], [*imms, tirx.FloatImm("float16", 1.5)], None)


def with_inverse():
    index_map = IndexMap.from_func(lambda i, j: [i // 4, j, i % 4], index_dtype=INT)
    inverse = IndexMap.from_func(lambda a, b, c: [a * 4 + c, b], index_dtype=INT)
    return IndexMap(index_map.initial_indices, index_map.final_indices, inverse)


def shared():
    i, four = variable("i"), tirx.IntImm(INT, 4)
    outer = i // four
    return IndexMap([i], [outer, i % four, outer], None)


def odd_names():
    names = ["a/b", 'q"q', "b\\s", "n\nt\t", "\x01\x7f", "\xe9", "\u2028", "v4", ""]
    variables = [variable(name) for name in names]
    return IndexMap(variables, variables, None)


def spans():
    span = tvm.ir.Span(tvm.ir.SourceName("/a/b.py"), 1, 2, 3, 4)
    i = tirx.Var("i", INT, span=span)
    return IndexMap([i], [tirx.Add(i, i, span=span), tirx.Mul(i, i)], None)


MAPS = [
    IndexMap.from_func(lambda i, j: [i, j], index_dtype=INT),
    IndexMap.from_func(lambda i, j: [j, i], index_dtype=LONG),
    IndexMap.from_func(lambda i, j: [i // 4, j, i % 4], index_dtype=LONG),
    IndexMap.from_func(lambda i, j: [i * 2 + j, j - i], index_dtype=INT),
    IndexMap.from_func(lambda i: [tirx.truncdiv(i, 3), tirx.truncmod(i, 3)], index_dtype=INT),
    IndexMap.from_func(comparisons, index_dtype=INT),
    IndexMap.from_func(lambda i, j: [i < j, i > j], index_dtype=INT),
    IndexMap.from_func(lambda i: [tirx.Cast(LONG, i), tirx.Cast("float32", i)], index_dtype=INT),
    IndexMap.from_func(
        lambda i, j: [i ^ j, (i & 3) | j, tirx.shift_left(i, j), tirx.shift_right(i, j), ~i],
        index_dtype=INT,
    ),
    IndexMap([], [tirx.IntImm(LONG, number) for number in (0, -5, 2**63 - 1, -(2**63))], None),
    IndexMap([], [], None),
    floats(),
    with_inverse(),
    shared(),
    odd_names(),
    spans(),
]


def plain(value):
    """A trace as plain JSON: TVM gives boxed numbers, and a bool as an integer of type bool."""
    if isinstance(value, (list, tvm_ffi.Array)):
        return [plain(item) for item in value]
    if isinstance(value, tvm_ffi.Map):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tirx.IntImm):
        is_bool = "bool" in (str(getattr(value, "dtype", "")), str(getattr(value, "ty", "")))
        return bool(value.value) if is_bool else int(value.value)
    if isinstance(value, tirx.FloatImm):
        return float(value.value)
    return str(value) if isinstance(value, str) else value


def main():
    sys.path.append(str(Path(__file__).parents[1] / "corpus"))
    import _primitives

    for index_map in MAPS:
        write(["index map", tvm.ir.save_json(index_map)])
    for example in _primitives.EXAMPLES:
        try:
            trace = example.schedule(2027).trace
        except tvm.error.InternalError as error:
            sys.stderr.write(f"{example.name}: {error}\n")
            continue
        write(["trace", example.name, plain(trace.as_json())])


def write(line):
    sys.stdout.write(json.dumps(line) + "\n")


main()
