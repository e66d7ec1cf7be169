"""Masks with a task, on records whose workload TVM builds again: what happened is let through."""

import json
import sys

import pytest

from corpora import ROOT
from tracescript import dumps, from_json
from tracescript.masks import BlockInfo, ScriptMasker, TaskInfo
from tracescript.tokens import Tokenizer

pytest.importorskip("tvm", reason="needs TVM; the extra `tvm`")
sys.path.append(str(ROOT / "tests" / "corpus"))


def task_of(module):
    """The blocks of a module, as TVM sees them."""
    from tvm.s_tir import Schedule

    schedule = Schedule(module)
    root = schedule.get_sblock("root")
    blocks = []
    for block in schedule.get_child_blocks(root):
        extents = [schedule.get(loop).extent for loop in schedule.get_loops(block)]
        made = schedule.get(block)
        buffers = {region.source.name for region in [*made.reads, *made.writes]}
        loops = tuple(int(extent) for extent in extents)
        blocks.append(BlockInfo(made.name_hint, loops, tuple(sorted(buffers))))
    return TaskInfo(tuple(blocks))


def modules(log):
    import _cuda
    import _llvm

    return [case.module() for case in (_cuda.SPACES if log == "cuda" else _llvm.TASKS)]


@pytest.mark.parametrize("level", ["symbol", "phrase"])
@pytest.mark.parametrize("log", ["cuda", "llvm"])
def test_records_fit_their_own_workload_and_few_others(log, level):
    tasks = [task_of(module) for module in modules(log)]
    masker = ScriptMasker(Tokenizer.default(level))
    path = ROOT / "tests" / "corpus" / f"{log}.tuning_record.json"
    others = 0
    for line in path.read_text().splitlines():
        workload, (trace, *_) = json.loads(line)
        tokens = masker.tokenizer.encode(dumps(from_json(trace)))
        fits = [masker.new(task).validate(tokens) == len(tokens) for task in tasks]
        assert fits[workload], line[:200]
        others += sum(fits) - 1
    # Workloads that share their block names and divide alike are not told apart.
    assert others == {"cuda": 15, "llvm": 0}[log]
