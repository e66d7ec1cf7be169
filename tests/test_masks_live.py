"""Masks with a task, on records whose workload TVM builds again: what happened is let through."""

import json

import pytest

from corpora import ROOT
from tracescript import dumps, from_json
from tracescript.masks import ScriptMasker
from tracescript.tokens import Tokenizer

pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

import tvm_cases
from tracescript.tvm import task_of


@pytest.mark.parametrize("level", ["symbol", "phrase"])
@pytest.mark.parametrize("log", ["cuda", "llvm"])
def test_records_fit_their_own_workload_and_few_others(log, level):
    tasks = [task_of(module) for module in tvm_cases.modules(log)]
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
    assert others == {"cuda": 3, "llvm": 0}[log]
