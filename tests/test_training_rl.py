"""Reinforcement learning, end to end on the CPU: a toy model, real kernels, measured."""

import argparse
import json
import math
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode

pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

from training.attempts import Attempt
from training.data import tables
from training.data.pretrain import examples_of
from training.evaluate.__main__ import CPU
from training.evaluate.results import STAGES, UNCOMPILED, Latency, Result, Task, read
from training.model import network
from training.model.asking import request
from training.model.grpo import MaskedGRPOTrainer
from training.model.masks import MasksHere
from training.model.sample import Sampling, sample, unpacked
from training.model.sequences import load_tokenizer
from training.rewards import reward
from training.rl import Judge, Roller, arguments, questions
from training.workloads import spaces
from training.workloads.workload import Workload
from transformers import AutoModelForCausalLM

from tracescript.proposals import masker_of
from tracescript.tvm import workload_of
from tracescript.workloads import dumps

ROOT = Path(__file__).parents[1]
WORKLOADS = [
    Workload("dense", (16, 32, 32, "float32", 0, ""), "llvm-4", "llvm", False, 1),
    Workload("dense", (32, 16, 64, "float32", 0, ""), "llvm-4", "llvm", False, 2),
]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """Data sets of a few workloads for the CPU."""
    folder = tmp_path_factory.mktemp("datasets")
    valid, construct, refine = [], [], []
    for number, workload in enumerate(WORKLOADS):
        prompt = dumps(workload_of(spaces.module(workload)))
        scripts = [each["script"] for each in islice(examples_of(workload), 3)]
        row = {"key": f"{number + 1:x}", "family": "dense", "target": "llvm-4", "prompt": prompt}
        times = {"latency": 1e-5, "best_latency": 1e-5}
        valid += [{**row, "script": script, "reproduced": True} for script in scripts]
        construct.append({**row, "script": scripts[0], **times})
        given = {"given": scripts[1], "given_latency": 2e-5, "ratio": 2.0}
        refine.append({**row, "script": scripts[0], **times, **given})
    tables.write(folder / "pretrain" / "train.parquet", valid, tables.PRETRAIN)
    tables.write(folder / "pretrain" / "validation.parquet", valid[:1], tables.PRETRAIN)
    tables.write(folder / "construct" / "train.parquet", construct, tables.CONSTRUCT)
    tables.write(folder / "refine" / "train.parquet", refine, tables.REFINE)
    tables.write(folder / "construct" / "test.parquet", construct, tables.CONSTRUCT)
    tables.write(folder / "refine" / "test.parquet", refine[:1], tables.REFINE)
    return folder


def run(module, *arguments):
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_questions(datasets):
    found = questions(datasets, seed=0)
    assert {(each.task.key, each.given is None, each.reference) for each in found} == {
        ("1", True, 1e-5),
        ("2", True, 1e-5),
        ("1", False, 2e-5),
        ("2", False, 2e-5),
    }
    assert found == questions(datasets, seed=0)


def test_questions_of_which_nothing_was_measured(datasets, tmp_path):
    copy = tmp_path / "datasets"
    shutil.copytree(datasets, copy)
    row = {"key": "3", "family": "dense", "target": "llvm-4", "prompt": "p", "script": "s"}
    more = [{**row, "reproduced": True}] * 2
    tables.write(copy / "pretrain" / "train.parquet", more, tables.PRETRAIN)
    found = questions(copy, seed=0, measured=False)
    # Of workload 3 one of its two scripts, and the workload itself.
    assert len(found) == 6
    new = {(each.task.key, each.given) for each in found if math.isnan(each.reference)}
    assert new == {("3", None), ("3", "s")}
    assert {each.task.key for each in questions(copy, seed=0)} == {"1", "2"}


def test_what_was_not_compiled_is_not_known(datasets, tmp_path):
    """Else a script that passes would be worth nothing where scripts are measured."""
    known, out = tmp_path / "known.jsonl", tmp_path / "rl"
    known.write_bytes(msgspec.json.encode(Result("1", "x", "passes", UNCOMPILED)) + b"\n")
    options = ["--start", "nowhere", "--out", out, "--datasets", datasets, "--target", CPU]
    command = [sys.executable, "-m", "training.rl", *map(str, [*options, "--known", known])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        f"rl: {known}: result 1 was made with --device none; expected another file"
    )
    assert done.returncode == 1
    assert not out.exists()


class Counting:
    """An evaluator that measures nothing."""

    def __init__(self):
        self.asked = []

    def evaluate(self, tasks, candidates):
        known = {task.key for task in tasks}
        for candidate in reversed(list(candidates)):
            assert candidate.workload in known
            self.asked.append((candidate.workload, candidate.script))
            yield Result(candidate.workload, candidate.script, "parses", "why")


class Kept(list):
    """A file of results that keeps them."""

    def add(self, results):
        self.extend(results)


def test_a_script_is_measured_once():
    evaluator, file = Counting(), Kept()
    judge = Judge(evaluator, file, "run", [Result("a", "x", "checks", "known")])
    a, b = Task("a", "A"), Task("b", "B")
    found = judge([(a, "x"), (a, "y"), (b, "y"), (a, "y")])
    assert [(each.workload, each.script, each.stage) for each in found] == [
        ("a", "x", "checks"),
        ("a", "y", "parses"),
        ("b", "y", "parses"),
        ("a", "y", "parses"),
    ]
    assert sorted(evaluator.asked) == [("a", "y"), ("b", "y")]
    assert [each.run for each in file] == ["run", "run"]
    judge([(b, "y"), (a, "x")])
    assert len(evaluator.asked) == 2


@given(st.lists(st.integers(0, 5)))
def test_equal_jobs_are_answered_once(numbers):
    evaluator = Counting()
    judge = Judge(evaluator, Kept(), "run", [])
    jobs = [(Task(str(number % 2), "A"), str(number)) for number in numbers]
    found = judge(jobs)
    assert [(each.workload, each.script) for each in found] == [
        (task.key, script) for task, script in jobs
    ]
    assert sorted(evaluator.asked) == sorted({(task.key, script) for task, script in jobs})


@pytest.mark.filterwarnings("ignore:.*is deprecated.*:FutureWarning")
def test_masked_training_has_the_probabilities_that_were_sampled(datasets, tmp_path):
    """Padded as TRL does it, and in batches; else the KL is that of tokens nobody could choose."""
    tokenizer = load_tokenizer()
    torch.manual_seed(0)
    # TRL reads its reference model from where the model comes from.
    network.make("toy", tokenizer).save_pretrained(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    requests = [request(tokenizer, each) for each in questions(datasets, seed=0)]
    drawn = sample(
        model,
        requests,
        Sampling(2, limit=40, keep_masks=True),
        eos=tokenizer.eos_id,
        masks=MasksHere(masker_of(tokenizer)),
        seed=1,
    )
    asked = zip(requests, drawn, strict=True)
    pairs = [(each.ids, draw) for each, draws in asked for draw in draws]
    before = max(len(prompt) for prompt, _ in pairs)
    after = max(len(draw.logprobs) for _, draw in pairs)
    ids = torch.full((len(pairs), before + after), tokenizer.pad_id)
    attended = torch.zeros_like(ids)
    masks = {}
    for row, (prompt, draw) in enumerate(pairs):
        whole = [*prompt, *draw.ids, *[tokenizer.eos_id] * draw.ended]
        masks[tuple(whole)] = np.stack(draw.masks)
        begin = before - len(prompt)
        place = slice(begin, begin + len(whole))
        ids[row, place], attended[row, place] = torch.tensor(whole), 1
    options = argparse.Namespace(
        out=tmp_path, steps=1, passes=2, questions=1, copies=2, limit=40, kl=0.1, rate=1e-4, seed=0
    )
    trainer = MaskedGRPOTrainer(
        masks=masks,
        model=model,
        reward_funcs=[lambda **_: [0.0, 0.0]],
        args=arguments(options),
        train_dataset=Dataset.from_list([{"prompt": "0"}]),
        processing_class=tokenizer.to_huggingface(),
    )
    score = trainer._get_per_token_logps_and_entropies
    found, entropies, _ = score(
        trainer.model, ids, attended, after, batch_size=3, compute_entropy=True
    )
    for row, (_, draw) in enumerate(pairs):
        count = len(draw.logprobs)
        assert found[row, :count].tolist() == pytest.approx(draw.logprobs, abs=1e-4)
        assert not found[row, count:].any()
        choices = unpacked(torch.from_numpy(np.stack(draw.masks)), tokenizer.vocab_size).sum(1)
        assert bool((entropies[row, :count] <= choices.log() + 1e-4).all())
    found.sum().backward()
    assert all(bool(each.grad.isfinite().all()) for each in trainer.model.parameters())


def test_what_was_cut_off_is_worth_nothing(datasets):
    tokenizer = load_tokenizer()
    asked = questions(datasets, seed=0)[:1]
    right = Latency(1e-5, 1e-5, 1e-5, 9, 1.0)

    def judge(jobs):
        return [
            Result(task.key, script, "measured", latency=right)
            if script
            else Result(task.key, script, "given")
            for task, script in jobs
        ]

    roller = Roller(asked, judge, tokenizer, None, 64, 0, reward)
    ids = tokenizer.encode("tracescript 1\n")
    with pytest.raises(ValueError, match=r"^1 questions fit, 2 are to be asked$"):
        roller.choose(["0", "1"])
    assert roller.choose(["0"]) == asked
    roller.seconds.append({"writing": 0.0})
    found = roller.rewards(["0"] * 3, [[*ids, tokenizer.eos_id], ids, [7]])
    assert found[0] > 0
    assert found[1:] == [0, 0]
    assert roller.stages == [{"measured": 1, "given": 2}]


def test_reinforcement(datasets, tmp_path):
    """A toy model learns the scripts by heart, then is reinforced; interrupted, it goes on.

    Both are asked and reported on; the tasks are those of the training, to have something right.
    """
    valid, out = tmp_path / "valid", tmp_path / "rl"
    toy = ["--datasets", datasets, "--size", "toy", "--tokens", 2048, "--rate", 0.005]
    run("training.sft", "valid", "--out", valid, *toy, "--epochs", 150)
    reinforce = ["--start", valid, "--out", out, "--datasets", datasets, "--target", CPU]
    reinforce += ["--questions", 2, "--copies", 4, "--passes", 1, "--builders", 2, "--limit", 192]
    # Other tests may keep the cores busy.
    reinforce += ["--build-seconds", 60]
    unmeasured = [*reinforce, "--out", tmp_path / "screened", "--device", "none"]
    run("training.rl", *unmeasured, "--steps", 1)
    screened = read(tmp_path / "screened" / "results.jsonl", Result)
    log = json.loads((tmp_path / "screened" / "log.json").read_text())
    (stages,) = log["stages"]
    assert screened
    assert {each.stage for each in screened} <= set(STAGES[: STAGES.index("passes") + 1])
    assert sum(stages.values()) == 8
    assert log["history"][0]["reward"] == pytest.approx(stages.get("passes", 0) / 8)
    run("training.rl", *reinforce, "--steps", 2)
    log = json.loads((out / "log.json").read_text())
    steps = [each for each in log["history"] if "reward" in each]
    assert len(steps) == 2
    assert all("kl" in each and "entropy" in each for each in steps)
    assert [sum(stages.values()) for stages in log["stages"]] == [8, 8]
    assert all(min(each["writing"], each["judging"]) > 0 for each in log["seconds"])
    assert sum(stages.get("measured", 0) for stages in log["stages"]) > 0
    assert max(each["reward"] for each in steps) > 0
    first = read(out / "results.jsonl", Result)
    run("training.rl", *reinforce, "--steps", 3)
    history = json.loads((out / "log.json").read_text())["history"]
    assert [each["step"] for each in history if "reward" in each] == [1, 2, 3]
    everything = read(out / "results.jsonl", Result)
    assert everything[: len(first)] == first
    assert len({(each.workload, each.script) for each in everything}) == len(everything)
    report_on({"sft": valid, "rl": out}, datasets, tmp_path)


def report_on(models, datasets, folder):
    """Ask the models, judge what they write, and write a report of it."""
    tasks, judged = folder / "tasks.jsonl", folder / "report"
    rows = pq.read_table(datasets / "construct" / "test.parquet").to_pylist()
    tasks.write_bytes(b"".join(encode(Task(row["key"], row["prompt"])) + b"\n" for row in rows))
    for label, model in models.items():
        asked = [model, "--label", label, "--datasets", datasets, "--splits", "test"]
        asked += ["--copies", 2, "--limit", 192, "--out", judged / "attempts" / f"{label}.jsonl"]
        run("training.propose", *asked)
    attempts = [judged / "attempts" / f"{label}.jsonl" for label in models]
    limits = ["--builders", 2, "--build-seconds", 60]
    results = judged / "results" / "models.jsonl"
    run("training.evaluate", *attempts, "--tasks", tasks, "--out", results, *limits)
    plots = folder / "images"
    told = ["--out", folder / "summary.json", "--datasets", datasets, "--plots", plots]
    run("training.report", judged, *told)
    found = json.loads((folder / "summary.json").read_text())
    right = {
        (each.workload, each.script) for each in read(results, Result) if each.stage == "measured"
    }
    assert right
    for label in models:
        written = read(judged / "attempts" / f"{label}.jsonl", Attempt)
        for kind, count in (("construct", 4), ("refine", 2)):
            those = [each for each in written if each.kind == kind and each.source == label]
            assert len(those) == count
            share = sum((each.workload, each.script) in right for each in those) / count
            assert found["correctness"][label][kind]["rate"] == pytest.approx(share)
    assert (plots / "model-correctness.svg").is_file()
