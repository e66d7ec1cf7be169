"""The codec against live TVM objects: what TVM makes of a script is what TVM wrote."""

import sys

import pytest

from corpora import ROOT
from tracescript import loads, testing, to_json

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")
sys.path.insert(0, str(ROOT / "tests" / "corpus"))

import _annotations  # noqa: E402
import _primitives  # noqa: E402
import record  # noqa: E402

SEED = 2027
EXAMPLES = _primitives.EXAMPLES + _annotations.EXAMPLES + _annotations.UNLOADABLE


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_live_trace_survives(example):
    """`Trace` -> JSON -> script -> JSON -> a schedule of the same module with the same trace."""
    schedule = example.schedule(SEED)
    value = record.trace_as_json(schedule.trace)
    decoded = to_json(loads(testing.check_trace_laws(value)))
    replayed = tvm.s_tir.Schedule(example.module, debug_mask="none")
    tvm.s_tir.schedule.Trace.apply_json_to_schedule(decoded, replayed)
    assert testing.strictly_equal(record.trace_as_json(replayed.trace), value)
    tvm.ir.assert_structural_equal(replayed.mod, schedule.mod)


def test_the_recorded_files_are_what_tvm_gives_today(tmp_path):
    """The script in the repository made the corpus in the repository."""
    for name, content in record.record_primitives(tmp_path, SEED).items():
        assert (ROOT / "tests" / "corpus" / name).read_bytes() == content, name
