"""The codec against live TVM objects: what TVM makes of a script is what TVM wrote."""

import pytest

from corpora import ROOT
from tracescript import loads, testing, to_json

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

import tvm_cases  # noqa: E402
from tracescript.tvm.boxes import unbox  # noqa: E402


@pytest.mark.parametrize("example", tvm_cases.EXAMPLES, ids=lambda example: example.name)
def test_a_live_trace_survives(example):
    """`Trace` -> JSON -> script -> JSON -> a schedule of the same module with the same trace."""
    schedule = example.schedule(tvm_cases.SEED)
    value = unbox(schedule.trace.as_json())
    decoded = to_json(loads(testing.check_trace_laws(value)))
    replayed = tvm.s_tir.Schedule(example.module, debug_mask="none")
    tvm.s_tir.schedule.Trace.apply_json_to_schedule(decoded, replayed)
    assert testing.strictly_equal(unbox(replayed.trace.as_json()), value)
    tvm.ir.assert_structural_equal(replayed.mod, schedule.mod)


def test_the_recorded_files_are_what_tvm_gives_today(tmp_path):
    """The script in the repository made the corpus in the repository."""
    for name, content in tvm_cases.record.record_primitives(tmp_path, tvm_cases.SEED).items():
        assert (ROOT / "tests" / "corpus" / name).read_bytes() == content, name
