"""Migrated public records on the TVM of today: they replay, with their own decisions."""

import json
import sys

import pytest

from corpora import ROOT, SHARED, needs_shared
from tracescript import from_json, iter_records, to_json
from tracescript.errors import MigrationError
from tracescript.migration import migrate

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

from old_workloads import blocks_of, module_of  # noqa: E402
from tracescript.tvm.traces import from_tvm  # noqa: E402

REPLAYED = {
    "mlc-llm-cuda-2023-06.jsonl": 299,
    "mlc-llm-redpajama-2023-05.jsonl": 35,
    "mlc-llm-rwkv-2023-06.jsonl": 22,
    "web-llm-2023-05.jsonl": 14,
    "web-stable-diffusion-2023-03.jsonl": 284,
    "x86-layout-rewrite-2024-02.traces.jsonl": 249,
}
"""How many records of a log are replayed. All are whose workload can be built again."""

NOT_BUILT = {
    # Quantised weights of particular models, taken apart in many blocks.
    "compute T_add T_multiply T_multiply_1 T_add_1 T_add_2 matmul": 8,
    "T_scatter compute T_divide_add T_reshape": 5,
    "take_decode": 1,
    # Arithmetic of a sampler: scalars between inlined blocks.
    "T_multiply T_multiply_1 T_divide T_subtract": 1,
    "T_multiply T_multiply_1 T_subtract T_multiply_2": 2,
    "T_add T_divide T_multiply T_multiply_1 T_divide_1": 1,
    "T_multiply T_subtract T_divide T_multiply_1": 1,
    "T_broadcast_to T_strided_slice_with_axes": 2,
    "image_to_rgba": 1,
}
"""The beginnings of the block names of the others, and how many they are."""


def replayed(trace, module):
    schedule = tvm.s_tir.Schedule(module, debug_mask="none")
    tvm.s_tir.schedule.Trace.apply_json_to_schedule(to_json(trace), schedule)
    return from_tvm(schedule.trace)


@needs_shared
@pytest.mark.parametrize("name", REPLAYED)
def test_migrated_records_replay(name):
    (path,) = [path for path in SHARED if path.name == name]
    count, left = 0, dict.fromkeys(NOT_BUILT, 0)
    for record in iter_records(path):
        module = module_of(record)
        if module is None:
            blocks = " ".join(blocks_of(record.trace))
            (beginning,) = [start for start in NOT_BUILT if (blocks + " ").startswith(start + " ")]
            left[beginning] += 1
            continue
        # All whose workload can be built are migrated without a word from anyone.
        migrated = migrate(record.trace).trace
        trace = replayed(migrated, module)
        assert trace.decisions == migrated.decisions
        assert [inst.kind for inst in trace.insts] == [inst.kind for inst in migrated.insts]
        assert [inst.outputs for inst in trace.insts] == [i.outputs for i in migrated.insts]
        count += 1
    assert count == REPLAYED[name]
    total = sum(1 for _ in iter_records(path))
    assert count + sum(left.values()) == total


def test_the_numbers():
    assert sum(REPLAYED.values()) == 903
    assert sum(REPLAYED.values()) + sum(NOT_BUILT.values()) == 926 - 1


@needs_shared
def test_as_they_are_they_do_not_replay():
    """Without migration none of a log does."""
    (path,) = [path for path in SHARED if path.name.startswith("web-llm")]
    for record in iter_records(path):
        module = module_of(record)
        if module is not None:
            with pytest.raises(ValueError, match="GetBlock is not registered"):
                replayed(record.trace, module)


@needs_shared
def test_the_one_record_of_uncertain_meaning_is_refused():
    refused = []
    for path in SHARED:
        for record in iter_records(path):
            try:
                migrate(record.trace)
            except MigrationError as error:
                refused += [(path.name, refusal.path) for refusal in error.refusals]
    assert refused == [("mlc-llm-rwkv-2023-06.jsonl", "$[0][8][2][0]")]


@pytest.mark.parametrize("release", ["0.25", "0.26"])
def test_traces_of_the_releases_before_replay(release):
    """To the very module that the example makes today."""
    sys.path.append(str(ROOT / "tests" / "corpus"))
    import _primitives

    lines = (ROOT / "tests" / "old_releases" / f"tvm-{release}.jsonl").read_text().splitlines()
    old = {
        name: value
        for word, name, *rest in map(json.loads, lines)
        for value in rest
        if word == "trace"
    }
    for example in _primitives.EXAMPLES:
        if example.name not in old:
            continue
        migrated = migrate(from_json(old[example.name])).trace
        schedule = tvm.s_tir.Schedule(example.module, debug_mask="none")
        tvm.s_tir.schedule.Trace.apply_json_to_schedule(to_json(migrated), schedule)
        tvm.ir.assert_structural_equal(schedule.mod, example.schedule(2027).mod)
