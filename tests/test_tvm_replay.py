"""Traces are applied as TVM applies them, and what it refuses or dies of is named."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap

import pytest

from tracescript import _child, from_json, loads, to_json

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

import tvm_cases  # noqa: E402
from tracescript.tvm import ReplayError, from_tvm, rehearsal, replay, to_tvm  # noqa: E402

INSIDE = loads(
    'tracescript 1\nGetSBlock | "left" "main" -> b\nGetLoops b-1 -> l2\nMerge l-2 l-1 -> l\n'
)
TWICE = loads(
    'tracescript 1\nGetSBlock | "left" "main" -> b\nGetLoops b-1 -> l2\nGetLoops b-1 -> l2\n'
    "Merge l-3 l-1 -> l\n"
)

SAME = loads(
    'tracescript 1\nGetSBlock | "left" "main" -> b\nGetLoops b-1 -> l2\nMerge l-1 l-1 -> l\n'
)


def script(*lines):
    return loads("\n".join(["tracescript 1", *lines, ""]))


def named(*blocks):
    return [f'GetSBlock | "{block}" "main" -> b' for block in blocks]


# One block in another: B is b0, and B_o is b5.
NESTED = [
    *named("B"),
    "GetLoops b-1 -> l2",
    "Split l-1 null 16 | true false -> l2",
    "Blockize l-1 | true -> b",
]

OF_A_ROOT = script(*named("root"), "ReorderBlockIterVar b-1 []")
WHERE_IT_BRANCHES = script(
    *named("left"), "GetLoops b-1 -> l2", "LoopPartition l-2 1 null | true -> l2"
)
FOR_THE_WRITER = script(*named("B", "C"), 'CacheRead b-1 [b-2] | 0 "shared" -> b')


@pytest.fixture(scope="module", autouse=True)
def no_process_is_left():
    yield
    rehearsal.end_rehearsals()


@pytest.fixture
def two_nests():
    return tvm_cases.example("merge_loops").module


def by_tvm(trace, module):
    """What TVM's own replay gives."""
    schedule = tvm.s_tir.Schedule(module, debug_mask="none")
    tvm.s_tir.schedule.Trace.apply_json_to_schedule(to_json(trace), schedule)
    return schedule


@pytest.mark.parametrize("example", tvm_cases.EXAMPLES, ids=lambda example: example.name)
def test_a_replay_is_tvms_own(example):
    original = example.schedule(tvm_cases.SEED)
    trace = from_tvm(original.trace)
    schedule = replay(trace, example.module)
    assert from_tvm(schedule.trace) == trace
    tvm.ir.assert_structural_equal(schedule.mod, original.mod)
    tvm.ir.assert_structural_equal(schedule.mod, by_tvm(trace, example.module).mod)


@pytest.mark.parametrize("log", ["cuda", "llvm"])
def test_the_records_of_a_log_are_replayed(log):
    for module, trace in tvm_cases.records(log):
        schedule, other = replay(trace, module), by_tvm(trace, module)
        tvm.ir.assert_structural_equal(schedule.mod, other.mod)
        # TVM's Split writes true where its own file has 1.
        assert (
            from_tvm(schedule.trace).decisions == trace.decisions == from_tvm(other.trace).decisions
        )


def test_a_factor_of_an_unknown_extent_has_no_variable():
    """TVM names it `_`, and nothing can refer to it."""
    module = tvm_cases.dynamic_module()
    schedule = tvm.s_tir.Schedule(module, debug_mask="none")
    (loop,) = schedule.get_loops(schedule.get_sblock("A"))
    schedule.sample_perfect_tile(loop, n=2)
    trace = from_tvm(schedule.trace)
    assert trace.insts[-1].outputs[0] == "_"
    assert from_tvm(replay(trace, module).trace) == trace
    assert from_tvm(to_tvm(trace)) == trace


def test_the_module_stays_as_it_is():
    """TVM changes it: a schedule that annotates the root block and splits a loop does."""
    module = tvm_cases.example("sample_locations").module
    before = tvm.ir.save_json(module)
    lines = [
        'GetSBlock | "root" "main" -> b',
        'Annotate b-1 1 | "key"',
        'GetSBlock | "B" "main" -> b',
        "GetLoops b-1 -> l2",
        "Split l-1 null 4 | true false -> l2",
    ]
    for _ in range(2):
        schedule = replay(loads("\n".join(["tracescript 1", *lines, ""])), module)
        assert len(schedule.get_loops(schedule.get_sblock("B"))) == 3
        assert tvm.ir.save_json(module) == before


@pytest.mark.parametrize("example", tvm_cases.EXAMPLES, ids=lambda example: example.name)
def test_a_copy_of_a_module_is_the_module(example):
    tvm.ir.assert_structural_equal(copy.deepcopy(example.module), example.module)
    assert tvm.ir.save_json(copy.deepcopy(example.module)) == tvm.ir.save_json(example.module)


def test_what_tvm_refuses_is_named(two_nests):
    trace = loads('tracescript 1\nGetSBlock | "left" "main" -> b\nGetSBlock | "up" "main" -> b\n')
    with pytest.raises(ReplayError) as caught:
        replay(trace, two_nests)
    error = caught.value
    assert (error.inst, error.text) == (1, 'GetSBlock | "up" "main" -> b')
    assert error.reason == "Cannot find a block with the specified name"
    assert str(error) == (
        'instruction 1, `GetSBlock | "up" "main" -> b`: Cannot find a block with the specified name'
    )
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)


def test_a_long_instruction_is_shortened_in_the_message(two_nests):
    name = "x" * 200
    trace = loads(f'tracescript 1\nGetSBlock | "{name}" "main" -> b\n')
    with pytest.raises(ReplayError) as caught:
        replay(trace, two_nests)
    assert name in caught.value.text
    text = f'GetSBlock | "{name}'[:120]
    assert str(caught.value).startswith(f"instruction 0, `{text}...`: Cannot find a block")


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("outputs", ["l", "l3"])
def test_other_outputs_than_the_trace_says(two_nests, outputs, isolated):
    trace = loads(f'tracescript 1\nGetSBlock | "left" "main" -> b\nGetLoops b-1 -> {outputs}\n')
    with pytest.raises(ReplayError, match=r"instruction 1, .*it has 2 here"):
        replay(trace, two_nests, isolated=isolated)


def test_hazards_are_refused_before_tvm_sees_them(two_nests):
    trace = loads(
        'tracescript 1\nGetSBlock | "left" "main" -> b\nGetLoops b-1 -> l2\n'
        "SamplePerfectTile l-1 | 2 64 -> v2 = [0 8]\nSplit l-1 v-2 v-1 | true false -> l2\n"
    )
    with pytest.raises(ReplayError, match=r"\$\[1\]\[0\]\[1\]\[0\]: expected a positive integer"):
        replay(trace, two_nests)


@pytest.mark.parametrize("trace", [INSIDE, TWICE, SAME], ids=["inside", "twice", "same"])
def test_loops_of_one_nest_are_not_merged(two_nests, trace):
    """TVM follows a null pointer there."""
    with pytest.raises(ReplayError, match="expected loops side by side, found l"):
        replay(trace, two_nests)


A_ROOT = "expected a block inside another one, found b0, which is a root"
TWICE_IN_A_LIST = "expected different blocks, found b0 twice"
ELSEWHERE = "expected blocks inside the same block, found {} in another one"
NO_READER = "expected a block that reads the buffer beside the one that writes it"
AROUND = "expected blocks that are not around {}, found {}"


@pytest.mark.parametrize(
    ("example", "trace", "reason"),
    [
        ("merge_loops", OF_A_ROOT, A_ROOT),
        ("merge_loops", WHERE_IT_BRANCHES, "expected loops around one block, found l1 around more"),
        ("tensorize", FOR_THE_WRITER, NO_READER),
        (
            "cache_in_place",
            script(*named("root", "update"), 'CacheRead b-1 [b-2] | 0 "shared" -> b'),
            NO_READER,
        ),
        (
            "tensorize",
            script(*NESTED, *named("C"), 'CacheRead b-1 [b-3] | 4294967296 "shared" -> b'),
            NO_READER,
        ),
        (
            "tensorize",
            script(*named("root", "B"), 'CacheWrite b-1 [b-1 b-2] | 0 "shared" -> b'),
            AROUND.format("b1", "b0"),
        ),
        (
            "tensorize",
            script(*NESTED, *named("root"), 'CacheWrite b-3 [b-2] | 0 "shared" -> b'),
            AROUND.format("b0", "b5"),
        ),
        (
            "tensorize",
            script(*NESTED, *named("root"), 'CacheWrite b-3 [b-1] | 0 "shared" -> b'),
            AROUND.format("b0", "b6"),
        ),
        (
            "merge_loops",
            script(*named("left", "right"), "Blockize [b-2 b-1 b-2] | true -> b"),
            TWICE_IN_A_LIST,
        ),
        ("merge_loops", script(*named("left"), "Blockize [b-1 b-1] | true -> b"), TWICE_IN_A_LIST),
        ("tensorize", script(*named("root", "C"), "Blockize [b-1 b-2] | true -> b"), A_ROOT),
        (
            "tensorize",
            script(*NESTED, *named("C"), "Blockize [b-1 b-3] | true -> b"),
            ELSEWHERE.format("b0"),
        ),
    ],
)
def test_what_tvm_takes_for_granted_of_blocks_is_looked_at(example, trace, reason):
    """It dies there, or refuses when it has changed the module already, or breaks the module."""
    with pytest.raises(ReplayError) as caught:
        replay(trace, tvm_cases.example(example).module)
    assert (caught.value.inst, caught.value.reason) == (len(trace.insts) - 1, reason)


@pytest.mark.parametrize(
    "lines",
    [
        # A reader is listed beside the writer, or the block around them.
        [*named("B", "C"), 'CacheRead b-1 [b-2 b-1] | 0 "shared" -> b'],
        [*named("root", "C"), 'CacheRead b-1 [b-2] | 0 "shared" -> b'],
        # Nothing in the module writes the buffer.
        [*named("B", "C"), 'CacheRead b-2 [b-1] | 0 "shared" -> b'],
        [*NESTED, *named("C"), 'CacheWrite b-3 [b-1] | 0 "shared" -> b'],
        [*NESTED, "ReorderBlockIterVar b-1 [1 0]", "ReorderBlockIterVar b-2 [0]"],
        [*NESTED, *named("C"), "Blockize [b-2 b-1] | true -> b"],
        [*named("C"), "GetLoops b-1 -> l2", "LoopPartition l-2 1 null | true -> l2"],
    ],
)
def test_what_tvm_survives_is_as_tvm_has_it(lines):
    module = tvm_cases.example("tensorize").module
    schedule, other = replay(script(*lines), module), by_tvm(script(*lines), module)
    tvm.ir.assert_structural_equal(schedule.mod, other.mod)


@pytest.mark.parametrize(
    "line",
    [
        'CacheRead b-2 [b-1] | 0 "shared" -> b',
        'CacheRead b-1 [b-1] | 7 "shared" -> b',
        'CacheWrite b-2 [b-1] | 0 "shared" -> b',
        "ReorderBlockIterVar b-1 []",
        "ReorderBlockIterVar b-1 [0 0]",
        "ReorderBlockIterVar b-1 [-1 0]",
        "ReorderBlockIterVar b-1 [0 1 2]",
        "Blockize [] | true -> b",
    ],
)
def test_what_tvm_refuses_by_itself_is_left_to_it(line):
    """A copy for the root block, an index that is too large, an order that is none."""
    trace, module = script(*named("root", "C"), line), tvm_cases.example("tensorize").module
    with pytest.raises(ReplayError) as caught:
        replay(trace, module)
    assert caught.value.inst == 2
    assert not caught.value.reason.startswith("expected")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("SamplePerfectTile l-1 | 0 64", r"\$\[0\]\[2\]\[3\]: expected at least one factor"),
        ("SamplePartitionedTile l-1 | 0 0 1", r"\[3\]: expected at least one factor"),
        ("SamplePerfectTile l-1 | 2 0 -> v2", r"\[2\]\[1\]: expected a decision, or .*, found 0"),
        ("SamplePerfectTile l-1 | 2 -2 -> v2", r"expected a decision, or .*, found -2"),
        (
            "SamplePartitionedTile l-1 | 2 2 4 -> v2 = [1 1]",
            r"\[2\]\[2\]: expected 1, since there is no factor from position 2 on, found 4",
        ),
    ],
)
def test_tiles_that_tvm_writes_out_of_bounds_or_never_finds(line, message):
    trace = script(*named("A"), "GetLoops b-1 -> l", line)
    with pytest.raises(ReplayError, match=message):
        replay(trace, tvm_cases.dynamic_module())


def test_tiles_with_odd_bounds_that_tvm_takes():
    for line in ("2 0 -> v2 = [-1 1]", "2 -1 -> v2"):
        trace = script(*named("A"), "GetLoops b-1 -> l", f"SamplePerfectTile l-1 | {line}")
        assert len(replay(trace, tvm_cases.dynamic_module()).trace.insts) == 3


def test_a_place_is_no_loop():
    module = tvm_cases.example("sample_locations").module
    lines = [
        'GetSBlock | "B" "main" -> b',
        "SampleComputeLocation b-1 -> l = -2",
        "GetChildBlocks l-1 -> b",
    ]
    with pytest.raises(ReplayError, match="expected a loop, found l1, which stands for a place"):
        replay(loads("\n".join(["tracescript 1", *lines, ""])), module)


def test_a_loop_that_is_gone(two_nests):
    lines = [
        'GetSBlock | "left" "main" -> b',
        "GetLoops b-1 -> l2",
        "Split l-1 null 4 | true false -> l2",
        "Unroll l-3",
    ]
    with pytest.raises(ReplayError, match=r"instruction 3, .*no longer exists"):
        replay(loads("\n".join(["tracescript 1", *lines, ""])), two_nests)


# In a process of its own.


def test_a_rehearsal_that_goes_well_is_followed_by_the_replay():
    example = tvm_cases.example("sample_at_random")
    original = example.schedule(tvm_cases.SEED)
    trace = from_tvm(original.trace)
    tvm.ir.assert_structural_equal(replay(trace, example.module, isolated=True).mod, original.mod)


def test_what_is_not_decided_is_drawn_by_the_seed():
    example = tvm_cases.example("sample_at_random")
    undecided = from_tvm(example.schedule(1).trace)
    undecided = type(undecided)(undecided.insts)
    first, second = [replay(undecided, example.module, seed=7, isolated=True) for _ in "ab"]
    assert from_tvm(first.trace) == from_tvm(second.trace)
    assert len(from_tvm(first.trace).decisions) == 5


RECKLESS = """
import sys
from tracescript.tvm import rehearsal, steps
steps.require_safe = lambda *_: None
rehearsal.serve(int(sys.argv[1]))
"""


def test_a_death_is_named_and_does_no_harm(two_nests, monkeypatch):
    """What the other process is not kept from, it dies of."""
    monkeypatch.setattr(rehearsal, "_CODE", RECKLESS)
    monkeypatch.setattr(rehearsal, "_processes", [])
    good = loads('tracescript 1\nGetSBlock | "left" "main" -> b\n')
    two_steps = tvm_cases.example("tensorize").module
    deaths = [(trace, two_nests) for trace in (TWICE, SAME, OF_A_ROOT, WHERE_IT_BRANCHES)]
    for trace, module in [*deaths, (FOR_THE_WRITER, two_steps)]:
        with pytest.raises(ReplayError) as caught:
            replay(trace, module, isolated=True)
        assert caught.value.inst == len(trace.insts) - 1
        assert caught.value.reason == "TVM died of SIGSEGV"
        assert len(replay(good, two_nests, isolated=True).trace.insts) == 1
    rehearsal.end_rehearsals()


def test_a_process_that_hangs_at_the_end_is_ended(two_nests, monkeypatch):
    monkeypatch.setattr(_child, "_END", 0.2)
    monkeypatch.setattr(rehearsal, "_processes", [])
    replay(loads("tracescript 1\n"), two_nests, isolated=True)
    (process,) = rehearsal._processes
    os.kill(process._child.pid, signal.SIGSTOP)
    rehearsal.end_rehearsals()
    assert process._child.returncode == -signal.SIGKILL
    # What has ended already is not ended again.
    rehearsal._processes.append(process)
    rehearsal.end_rehearsals()


def test_a_rehearsal_that_takes_too_long_is_ended(two_nests):
    good = loads('tracescript 1\nGetSBlock | "left" "main" -> b\n')
    with pytest.raises(ReplayError, match=r"TVM was not done after 0 seconds"):
        replay(good, two_nests, isolated=True, timeout=0)
    assert len(replay(good, two_nests, isolated=True).trace.insts) == 1


def test_a_process_that_does_not_start(two_nests, monkeypatch):
    monkeypatch.setattr(rehearsal, "_CODE", "raise SystemExit(3)")
    monkeypatch.setattr(rehearsal, "_processes", [])
    with pytest.raises(ReplayError, match="does not start: TVM ended with status 3"):
        replay(TWICE, two_nests, isolated=True)


def test_one_process_serves_many_and_ends_with_this_one():
    code = """
        import os, sys
        import tvm_cases
        from tracescript import loads
        from tracescript.tvm import rehearsal, replay
        module = tvm_cases.example("merge_loops").module
        trace = loads('tracescript 1\\nGetSBlock | "left" "main" -> b\\n')
        def process():
            replay(trace, module, isolated=True)
            return rehearsal._processes[0]
        first = process()
        assert first is process()
        child = os.fork()
        if child == 0:
            os._exit(first is process())
        assert os.waitpid(child, 0)[1] == 0
        assert first is process()
        print(first._child.pid)
    """
    tests = os.path.dirname(__file__)
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": tests},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(ran.stdout), 0)


# Index maps.


def odd_map(change):
    """The example of two layouts, with a change in the text of the first one."""
    example = tvm_cases.example("transform_layouts")
    value = to_json(from_tvm(example.schedule(tvm_cases.SEED).trace))
    inst = next(inst for inst in value[0] if inst[0] == "TransformLayout")
    text = json.loads(inst[1][1])
    change(text)
    inst[1][1] = json.dumps(text)
    return from_json(value), example.module


def to_itself(text):
    arrays = [node for node in text["nodes"] if node["type"] == "ffi.Array"]
    arrays[-1]["data"] = [text["root_index"]]


def to_nothing(text):
    text["nodes"].append({"type": "None"})
    (root,) = [node for node in text["nodes"] if node["type"] == "tirx.IndexMap"]
    text["nodes"][root["data"]["final_indices"]]["data"][0] = len(text["nodes"]) - 1


@pytest.mark.parametrize("change", [to_itself, to_nothing])
def test_an_index_map_that_kills_tvm_is_refused_or_rehearsed(change):
    trace, module = odd_map(change)
    with pytest.raises(ReplayError, match="an index map whose nodes are known, found"):
        replay(trace, module)
    with pytest.raises(ReplayError, match="an index map whose nodes are known, found"):
        to_tvm(trace)
    with pytest.raises(ReplayError, match=r"TVM died of SIG|Cannot|requires|expected"):
        replay(trace, module, isolated=True)
