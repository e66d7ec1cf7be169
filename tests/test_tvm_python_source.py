"""A trace as Python: what it makes of a module is what replay makes of it."""

import pytest

from tracescript import from_json, loads

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

import tvm_cases  # noqa: E402
from tracescript.tvm import (  # noqa: E402
    ReplayError,
    from_tvm,
    import_intrinsics,
    python_source,
    replay,
)

# In seconds, what `tensorize` as Python does in minutes under pytest, of whose frames it asks.
import_intrinsics()


def schedule(trace, module):
    """Run what a reader would paste."""
    names = {}
    exec(python_source(trace), names)  # noqa: S102 - that is what it is for
    return names["schedule"](module)


def same(trace, module):
    text = tvm.ir.save_json(module)
    tvm.ir.assert_structural_equal(schedule(trace, module).mod, replay(trace, module).mod)
    assert tvm.ir.save_json(module) == text


NO_METHOD = {
    "transform_with_padding": "expected an index map of sums, products",
    "annotate_with_containers": "expected an annotation that is",
    "annotate_with_variables": "expected an annotation that is",
}
"""What only TVM's file reader takes, and why there is no Python for it."""

EVERY = pytest.mark.parametrize("example", tvm_cases.EXAMPLES, ids=lambda example: example.name)


@EVERY
def test_every_kind(example):
    trace = from_tvm(example.schedule(tvm_cases.SEED).trace)
    if example.name in NO_METHOD:
        with pytest.raises(ValueError, match=NO_METHOD[example.name]):
            python_source(trace)
    else:
        same(trace, example.module)


@pytest.mark.parametrize("log", ["llvm", "cuda"])
def test_recorded_traces(log):
    for module, trace in tvm_cases.records(log)[::3]:
        same(trace, module)


def test_what_stands_in_strings_is_no_code():
    """The quotes of a string of a stranger end no string of Python."""
    example = tvm_cases.example("annotate_with_strings")
    hostile = """x'); raise SystemExit("run"); ('\\"""
    trace = from_json(
        [
            [
                ["GetSBlock", [], ["B", "main"], ["b0"]],
                ["Annotate", ["b0", f'"{hostile}"'], [hostile], []],
            ],
            [],
        ]
    )
    scheduled = schedule(trace, example.module)
    block = scheduled.get(scheduled.get_sblock("B"))
    assert dict(block.annotations) == {hostile: hostile}


def test_names_are_those_of_tvm():
    """So nothing that a trace calls a random variable can be anything else in Python."""
    look_up = ["GetSBlock", [], ["C", "main"], ["b; import os"]]
    odd = from_json([[look_up, ["ComputeInline", ["b; import os"], [], []]], []])
    assert "b0 = sch.get_sblock('C', func_name='main')" in python_source(odd)


def test_what_is_no_trace_of_this_release():
    with pytest.raises(ReplayError, match="instruction 0, `GetBlock"):
        python_source(loads('tracescript 1\nGetBlock | "C" "main" -> b\n'))
