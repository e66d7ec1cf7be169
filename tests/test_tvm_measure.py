"""Inputs, tolerances and verdicts: what kernels are compared on, and how."""

from types import SimpleNamespace

import numpy as np
import pytest

from tracescript import workloads

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

from tvm.target import Target  # noqa: E402

from tracescript.tvm import measure as measures  # noqa: E402
from tracescript.tvm import module_of  # noqa: E402
from tracescript.tvm.inputs import Unmeasurable, draw, numpy_dtype  # noqa: E402
from tracescript.tvm.measure import (  # noqa: E402
    Bench,
    Broken,
    compare,
    device_of,
    tolerance,
)

LLVM = Target({"kind": "llvm", "num-cores": 2})
GATHER = 'A "A" "float32" 16 8\nB "B" "int32" 4\nC "C" "float32" 4 8: A[{},j]\n'


def drawn(text, style="normal", seed=1):
    return draw(workloads.loads(text), style, seed)


# Inputs.


def test_inputs_have_the_dtypes_and_shapes_of_the_workload():
    text = (
        'A "A" "float32" |\nB "B" 3 5\nC "C" "bfloat16" 7\nD "D" "int64" 40\n'
        'E "E" "bool" 40\nF "F" "float32" 3 5: B*A[]\n'
    )
    found = drawn(text)
    assert [(str(each.dtype), each.shape) for each in found] == [
        ("float32", ()),
        ("float32", (3, 5)),
        ("bfloat16", (7,)),
        ("int64", (40,)),
        ("bool", (40,)),
    ]
    assert (found[1] < 0).any()
    assert 0 <= found[3].min() < found[3].max() < 100
    assert set(found[4].tolist()) == {False, True}
    for once, again in zip(found, drawn(text), strict=True):
        assert np.array_equal(once, again)
    assert not np.array_equal(found[1], drawn(text, seed=2)[1])
    assert drawn(text, "positive")[1].min() > 0.09


@pytest.mark.parametrize("index", ["B[i]", "max(min(B[i],15),0)", '(B[i] "int64")'])
def test_indices_are_valid(index):
    most = max(drawn(GATHER.format(index), seed=seed)[1].max() for seed in range(20))
    least = min(drawn(GATHER.format(index), seed=seed)[1].min() for seed in range(20))
    assert (least, most) == (0, 15)


def test_an_index_of_two_dimensions_is_valid_for_both():
    text = GATHER.format("B[i]") + 'D "D" 4: A[i,B[i]]\n'
    assert max(drawn(text, seed=seed)[1].max() for seed in range(20)) == 7


def test_where_an_input_writes():
    """A scatter: the place of the output is an index, too."""
    text = 'A "A" "float32" 4\nB "B" "int32" 4\nC("C" [6] [B[i]]) "C" "float32" 4: A[i]\n'
    assert max(drawn(text, seed=seed)[1].max() for seed in range(20)) == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GATHER.format("B[i]*2"), "an index is computed by \\*"),
        (
            GATHER.format("C[i]").replace("\nC", '\nC "D": B%16\nD'),
            "an index is the result of a computation",
        ),
    ],
)
def test_indices_that_are_not_known_to_be_valid(text, said):
    with pytest.raises(Unmeasurable, match=said):
        drawn(text)


def test_dtypes_that_numpy_has_not():
    assert str(numpy_dtype("bfloat16")) == "bfloat16"
    with pytest.raises(Unmeasurable, match="numpy has no float32x4"):
        numpy_dtype("float32x4")


# Comparing.


def matmul(dtype, length, out=None):
    return workloads.loads(
        f'A "A" "{dtype}" 4 {length}\nB "B" {length} 4\nC "C" "{out or dtype}" 4 4 | {length}: '
        + ("+/A[ik]*B[kj]\n" if out is None else f'+/(A[ik] "{out}")*(B[kj] "{out}")\n')
    )


def test_the_tolerance_goes_by_dtype_and_length():
    assert tolerance(matmul("float32", 16)) == 1e-4
    assert tolerance(matmul("float16", 16)) == 4 * 2**-11 * 4
    assert tolerance(matmul("float16", 4)) == 5e-3
    assert tolerance(matmul("float16", 1024, "float32")) == 1e-4
    assert tolerance(matmul("float64", 16)) == 1e-9
    assert tolerance(matmul("int32", 16)) == 0
    with pytest.raises(Unmeasurable, match="no tolerance is known for float8_e4m3fn"):
        tolerance(workloads.loads('A "A" "float8_e4m3fn" 8\nB "B": A\n'))


def test_a_narrow_float_on_the_way_counts():
    text = 'A "A" "float32" 8\nB "B" "float32" 8: (A "float16") "float32"\n'
    assert tolerance(workloads.loads(text)) == 5e-3


ONES = np.ones(100, "float32")


def with_element(value):
    changed = ONES.copy()
    changed[3] = value
    return changed


@pytest.mark.parametrize(
    ("output", "reference", "said"),
    [
        (ONES, ONES, ""),
        (ONES * 1.00005, ONES, ""),
        (ONES * 1.001, ONES, "relative error 0.001, allowed 0.0001"),
        (with_element(1.0015), ONES, "relative error 0.00015, allowed 0.0001"),
        (with_element(np.nan), ONES, "1 of 100 elements are not finite"),
        (with_element(-np.inf), ONES, "1 of 100 elements are not finite"),
        (ONES * 0, ONES * 0, ""),
        (ONES, ONES * 0, "relative error inf, allowed 0.0001"),
        (np.arange(4), np.arange(4), ""),
        (np.arange(4) // 2 * 2, np.arange(4), "2 of 4 integers differ"),
        (np.array([True]), np.array([False]), "1 of 1 integers differ"),
        (np.zeros(0, "float32"), np.zeros(0, "float32"), ""),
    ],
)
def test_outputs_are_compared(output, reference, said):
    assert compare(output, reference, 1e-4) == said


def test_one_element_may_not_be_far_off():
    """The whole is within the tolerance, and yet an element is another one."""
    many = np.ones(10**6, "float32")
    off = many.copy()
    off[3] = 1.05
    assert compare(off, many, 1e-4) == "an element is off by 0.025 of its size"
    off[3] = 1.002
    assert compare(off, many, 1e-4) == ""


# The bench.


def bench(text):
    return Bench(workloads.loads(text), LLVM)


def kernel(made, text):
    return made.build(module_of(workloads.loads(text)))


def test_a_kernel_is_right_if_it_computes_the_same():
    text = 'A "A" "float32" 64 32\nB "B" 64 | 32: +/A[ij]\n'
    made = bench(text)
    assert made.fault(kernel(made, text)) == ""
    assert made.fault(kernel(made, text.replace("A[ij]", "A[ij]*1.01"))).startswith(
        "output 0: relative error 0.01"
    )
    assert 1e-8 < made.seconds(kernel(made, text)) < 1


def test_a_kernel_that_leaves_an_output_is_wrong():
    """Of several outputs each is looked at, and none holds what is right by chance."""
    text = 'A "A" "int32" 8\nB "B": A*0+85\nC "C": A+1\n'
    made = bench(text)
    assert made.fault(kernel(made, text)) == ""
    assert made.fault(kernel(made, text.replace("A+1", "A+2"))) == (
        "output 1: 8 of 8 integers differ"
    )


def test_functions_of_positive_numbers_get_some():
    text = 'A "A" "float32" 64\nB "B": log(A)\n'
    made = bench(text)
    assert made.fault(kernel(made, text)) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('A "A" "float32" 8\nB "B": exp(exp(exp(exp(A*A))))*1e30\n', "gives infinities or NaN"),
        ('A "A" "float16" 8\nB "B" "int32": A "int32"\n', "integers .* half floats"),
    ],
)
def test_what_cannot_be_compared(text, said):
    with pytest.raises(Unmeasurable, match=said):
        bench(text)


def test_a_plain_kernel_that_fails(monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("no\ncompiler")

    monkeypatch.setattr(tvm, "compile", refuse)
    with pytest.raises(Unmeasurable, match="the plain kernel fails: no compiler"):
        bench('A "A" "float32" 8\nB "B": A*2\n')


def test_a_kernel_that_fails():
    """What TVM raises while a kernel runs or is timed is the reason."""

    class Failing(dict):
        def __missing__(self, name):
            raise ValueError(f"cannot run {name}")

        def time_evaluator(self, *_, **__):
            raise ValueError("cannot time")

    made = bench('A "A" "float32" 8\nB "B": A*2\n')
    with pytest.raises(Broken, match="cannot run main"):
        made.fault(Failing())
    with pytest.raises(Broken, match="cannot time"):
        made.seconds(Failing())


# The device.


def test_a_device_is_that_of_the_target(monkeypatch):
    h100 = Target("nvidia/nvidia-h100")
    assert str(device_of(LLVM)) == "cpu:0"
    with pytest.raises(Unmeasurable, match=r"^no device$"):
        device_of(Target("hexagon"))
    here = SimpleNamespace(exist=True, compute_version="9.0")
    monkeypatch.setattr(tvm, "device", lambda _: here)
    assert device_of(h100) is here
    assert device_of(Target("vulkan")) is here
    with pytest.raises(Unmeasurable, match="the target is sm_80, and here is sm_90"):
        device_of(Target("nvidia/nvidia-a100"))
    here.exist = False
    with pytest.raises(Unmeasurable, match=r"^no device$"):
        device_of(h100)


def test_the_plain_kernel_of_a_gpu_has_threads():
    plain = measures._plain(matmul("float32", 16), Target("nvidia/nvidia-h100"))
    assert "threadIdx.x" in plain.script()
