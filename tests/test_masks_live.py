"""Masks with a task, on records whose workload TVM builds again: what happened is let through."""

import json
import random
from collections import Counter

import pytest

from corpora import ROOT
from tracescript import dumps, from_json
from tracescript.masks import ScriptMasker
from tracescript.tokens import Tokenizer

pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

import tvm_cases
from nests import follow, wander
from tracescript.tvm import from_tvm, task_of


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


@pytest.mark.parametrize("log", ["cuda", "llvm"])
def test_what_is_said_of_loops_is_so_in_the_schedule(log):
    records = tvm_cases.records(log)
    known = sum((follow(*record, every=10) for record in records), Counter())
    least = {"cuda": (1000, 1000), "llvm": (1000, 100)}[log]
    assert (known["extents", True], known["nests", True]) > least


@pytest.mark.parametrize("example", tvm_cases.EXAMPLES, ids=lambda example: example.name)
def test_what_is_said_of_loops_is_so_after_every_primitive(example):
    follow(example.module, from_tvm(example.schedule(tvm_cases.SEED).trace))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_said_of_loops_is_so_wherever_one_wanders(seed):
    module = tvm_cases.modules("cuda")[seed % len(tvm_cases.modules("cuda"))]
    follow(module, wander(module, random.Random(seed), 60))
