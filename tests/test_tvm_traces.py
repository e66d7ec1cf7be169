"""Traces of live schedules and back: nothing is lost, and what TVM does not survive is refused."""

import json

import pytest

from corpora import SHARED, needs_shared
from tracescript import IndexMap, Instruction, Trace, from_json, loads, to_json
from tracescript.check import UNDEFINED

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

from tvm.tirx import FloatImm, IntImm  # noqa: E402

import tvm_cases  # noqa: E402
from tracescript.tvm import ReplayError, from_tvm, import_intrinsics, task_of, to_tvm  # noqa: E402
from tracescript.tvm.boxes import unbox  # noqa: E402
from tracescript.tvm.hazards import hazards  # noqa: E402
from tracescript.tvm.index_maps import load_index_map  # noqa: E402


def python_lines(trace):
    """What TVM prints; for some traces it raises."""
    try:
        return [str(line) for line in trace.as_python()]
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("example", tvm_cases.EXAMPLES, ids=lambda example: example.name)
def test_a_live_trace_is_rebuilt_without_its_module(example):
    original = example.schedule(tvm_cases.SEED).trace
    trace = from_tvm(original)
    rebuilt = to_tvm(trace)
    assert from_tvm(rebuilt) == trace
    assert python_lines(rebuilt) == python_lines(original)
    assert [inst.kind.name for inst in rebuilt.insts] == [inst.kind for inst in trace.insts]


@pytest.mark.parametrize("log", ["cuda", "llvm"])
def test_the_records_of_a_log_are_rebuilt(log):
    for _, trace in tvm_cases.records(log):
        again = from_tvm(to_tvm(trace))
        # TVM lays the text of an index map out anew.
        assert compact(again) == compact(trace)


def compact(trace):
    def text(value):
        if isinstance(value, IndexMap):
            return json.loads(value.text)
        is_text = isinstance(value, str) and value[:1] == "{"
        return json.loads(value) if is_text else value

    insts = [
        (inst.kind, [text(i) for i in inst.inputs], [text(a) for a in inst.attrs], inst.outputs)
        for inst in trace.insts
    ]
    return insts, trace.decisions


@needs_shared
def test_what_tvm_recorded_is_rebuilt():
    path = next(path for path in SHARED if path.name.startswith("tvm-0.27"))
    seen_undefined = False
    for line in path.read_text().splitlines():
        trace = from_json(json.loads(line))
        seen_undefined |= any(UNDEFINED in inst.outputs for inst in trace.insts)
        assert from_tvm(to_tvm(trace)) == trace
    assert seen_undefined


def test_boxes_are_opened_by_their_type():
    boxes = [IntImm("int32", 1), IntImm("bool", 1), FloatImm("float32", 1), IntImm("int64", 2)]
    assert [repr(unbox(box)) for box in boxes] == ["1", "True", "1.0", "2"]
    assert unbox(tvm.runtime.convert({"a": [IntImm("bool", 0), "text", None]})) == {
        "a": [False, "text", None]
    }
    with pytest.raises(TypeError, match="expected a value that JSON has, found SBlockRV"):
        unbox(tvm.s_tir.schedule.SBlockRV())


@pytest.mark.parametrize(
    ("lines", "inst", "reason"),
    [
        ("Nope", 0, "expected a kind of TVM 0.27, found another"),
        ('GetBlock | "C" "main" -> b', 0, "expected a kind of TVM 0.27, found GetBlock"),
        ('Bind @"l7" | "threadIdx.x"', 0, "expected a loop, found l7"),
        ("SampleCategorical | [1 2] [0.5 0.5] -> v = 2", 0, "expected the index of one of 2"),
        ('GetSBlock | "C" "main" -> b\n@5 = 1', None, "expected the index of one of 1 instruction"),
        (
            (
                'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l\n'
                "SamplePerfectTile l-1 | 2 64 -> v2 = [0 64]"
            ),
            2,
            "expected a positive integer, found 0",
        ),
        (
            (
                'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l\n'
                "SamplePartitionedTile l-1 | 2 3 1 -> v2 = [1 64]"
            ),
            2,
            "$[0][2][2][1]: expected a position from 0 to 2, found 3",
        ),
        (
            (
                'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l\n'
                "SamplePartitionedTile l-1 | 2 0 0 -> v2 = [1 64]"
            ),
            2,
            "$[0][2][2][2]: expected a positive integer of 32 bits, found 0",
        ),
        (
            (
                'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l\n'
                "SamplePartitionedTile l-1 | 2 0 4611686018427387904 -> v2 = [4 16]"
            ),
            2,
            "$[0][2][2][2]: expected a positive integer of 32 bits, found 4611686018427387904",
        ),
        (
            'GetSBlock | "C" "main" -> b\nAnnotate b-1 {"a": [1 9223372036854775808]} | "key"',
            1,
            "$[0][1][1][1].a[1]: expected an integer of 64 bits, found a larger one",
        ),
    ],
)
def test_what_tvm_does_not_have_or_survive_is_refused(lines, inst, reason):
    trace = loads(f"tracescript 1\n{lines}\n")
    with pytest.raises(ReplayError) as caught:
        to_tvm(trace)
    assert caught.value.inst == inst
    assert reason in caught.value.reason
    expected = "" if inst is None else lines.split("\n")[inst]
    assert caught.value.text == expected
    assert str(caught.value).startswith(
        caught.value.reason if inst is None else f"instruction {inst}, `{expected}`: "
    )


def test_a_decision_beyond_64_bits_is_refused():
    script = 'GetSBlock | "C" "main" -> b\nSampleComputeLocation b-1 -> l = 9223372036854775808\n'
    with pytest.raises(ReplayError, match=r"\$\[1\]\[0\]\[1\]: expected an integer of 64 bits"):
        to_tvm(loads("tracescript 1\n" + script))


def test_every_hazard_is_reported():
    lines = 'Nope 99999999999999999999\nGetSBlock | "C" "main" -> b\n@1 = 0\n'
    found = [problem.path for problem in hazards(loads("tracescript 1\n" + lines))]
    assert found == ["$[1][0][0]", "$[0][0][0]", "$[0][0][1][0]"]


def test_names_that_are_not_of_tvm_are_gone():
    named = loads('tracescript 1\nGetSBlock | "C" "main" -> @"b odd"\nComputeInline @"b odd"\n')
    again = from_tvm(to_tvm(named))
    assert to_json(again)[0] == [
        ["GetSBlock", [], ["C", "main"], ["b0"]],
        ["ComputeInline", ["b0"], [], []],
    ]


def index_map(*final):
    variables = [tvm.tirx.Var(name, "int32") for name in ("i", "v0")]
    return tvm.ir.save_json(tvm.tirx.IndexMap(variables, [f(*variables) for f in final], None))


def test_a_free_variable_of_an_index_map_is_the_random_variable_of_that_name():
    factor = tvm.tirx.Var("v3", "int32")
    text = index_map(lambda i, _: i // (factor * 2), lambda i, _: i % factor)
    value = tvm.tirx.Var("elsewhere", "int32")
    read = load_index_map(text, {"v3": value})
    first, second = read.final_indices
    assert first.b.a.same_as(value)
    assert second.b.same_as(value)
    # A loop of that name is none, and without the variable it stays free.
    for values in ({"v3": tvm.s_tir.schedule.LoopRV()}, {}):
        assert str(load_index_map(text, values).final_indices[1].b.name) == "v3"


def test_the_own_variables_of_an_index_map_stay():
    text = index_map(lambda i, own: i + own * 2)
    read = load_index_map(text, {"v0": tvm.tirx.Var("other", "int32")})
    assert read.final_indices[0].b.a.same_as(read.initial_indices[1])


def test_a_deep_index_map_is_refused():
    text = index_map(lambda i, _: sum([i] * 102, i))
    with pytest.raises(ValueError, match="an index map of at most 100 levels"):
        load_index_map(text, {})
    trace = Trace(
        (
            Instruction("GetSBlock", (), ("B", "main"), ("b0",)),
            Instruction(
                "TransformLayout", (from_json_rv("b0"), IndexMap(text)), (0, 0, None, True)
            ),
        )
    )
    with pytest.raises(ReplayError, match=r"instruction 1, .*at most 100 levels"):
        to_tvm(trace)


def from_json_rv(name):
    return from_json([[["Bind", [name], ["x"], []]], []]).insts[0].inputs[0]


def test_another_object_than_an_index_map_is_left_to_tvm():
    assert (
        load_index_map(tvm.ir.save_json(tvm.tirx.Var("i", "int32")), {}, trusted=True).name == "i"
    )


def test_other_functions_have_no_blocks():
    module = live_module_with_other_functions()
    assert [block.name for block in task_of(module).blocks] == ["B", "C", "transpose"]


def live_module_with_other_functions():
    module = tvm_cases.example("two_functions").module.clone()
    module["elsewhere"] = tvm.relax.ExternFunc("elsewhere")
    return module


def test_the_task_of_a_module():
    task = task_of(tvm_cases.example("sample_given_decisions").module)
    assert [(block.name, block.loops, block.buffers) for block in task.blocks] == [
        ("matmul", (64, 64, 64), ("A", "B", "C")),
        ("relu", (64, 64), ("C", "D")),
    ]


def test_the_task_of_two_functions_and_of_nested_blocks():
    names = [block.name for block in task_of(tvm_cases.example("two_functions").module).blocks]
    assert names == ["B", "C", "transpose"]
    schedule = tvm_cases.example("blockize_loops").schedule(tvm_cases.SEED)
    nested = task_of(schedule.mod)
    assert [(block.name, block.loops) for block in nested.blocks] == [
        ("B_o", (8, 8)),
        ("C_o", (8, 8)),
        ("C", (16, 16)),
        ("B", (16, 16)),
    ]


def test_an_extent_that_is_no_constant_is_unknown():
    assert task_of(tvm_cases.dynamic_module()).blocks[0].loops == (None,)


def test_intrinsics_are_there_after_the_import():
    import_intrinsics()
    assert tvm.s_tir.TensorIntrin.get("wmma_fill_16x16x16_f32") is not None
