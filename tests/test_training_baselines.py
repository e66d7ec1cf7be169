"""The baselines: real proposals, kernels, functions and ceilings, on the CPU."""

import json
import math
import shutil
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace

import msgspec
import pytest

pytest.importorskip("torch", reason="the packages of the group `training` are not installed")
pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

import torch
import tvm
from torch.nn import functional
from training.attempts import Attempt
from training.baselines import ceilings, dlight, metaschedule, pytorch, roofline, tasks
from training.baselines.ceilings import Ceilings
from training.baselines.pytorch import COMPILED, EAGER, Call, ProgramEnd, WarmJob
from training.baselines.roofline import Cost
from training.baselines.tasks import Listed
from training.baselines.torch_programs import PROGRAMS, program
from training.baselines.torch_steps import ALONE, WITH_INPUT, MissingError
from training.data import files, search, search_step
from training.data.search import RANDOM, SEARCH, Effort, Hunt
from training.data.search_step import StepJob, _passes, _picked, step
from training.evaluate import __main__ as evaluate
from training.evaluate import judge
from training.evaluate.__main__ import CPU
from training.evaluate.bench import Bench
from training.evaluate.build import BuildJob, build, plain_library, target_of
from training.evaluate.card import processor
from training.evaluate.inputs import SETS, draw, torch_dtype
from training.evaluate.reference import exact, narrowest, outputs, parameters, reduction_length
from training.evaluate.results import Candidate, Exhausted, Latency, Result, ResultFile, Task, read
from training.report import __main__ as report
from training.report.board import BASELINES
from training.workloads import spaces
from training.workloads.workload import Workload

from tracescript.tvm import import_intrinsics, module_of, workload_of
from tracescript.workloads import dumps
from tracescript.workloads import loads as loads_workload

H100 = "nvidia/nvidia-h100"


@cache
def prompt_of(family, arguments):
    workload = Workload(family, json.loads(arguments), "llvm-4", "from-target", False, 1)
    return dumps(workload_of(spaces.module(workload), json.loads(CPU)))


def listed(key, family, *arguments, split="construct", flops=1e6):
    prompt = prompt_of(family, json.dumps(arguments))
    return Listed(key, prompt, family, list(arguments), split, flops)


def written(folder, *workloads):
    folder.mkdir(exist_ok=True)
    path = folder / "workloads.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in workloads))
    return path


RELU = ("elementwise", [16, 24], "float32", "relu")
DENSE = ("dense", 16, 32, 32, "float32", 0, "")


# Which workloads.


HELD_OUT = tasks.held_out(read(files.WORKLOADS, Listed)) if files.WORKLOADS.exists() else []
has_list = pytest.mark.skipif(not HELD_OUT, reason="the list of workloads is not there")


@has_list
def test_all_that_is_held_out():
    assert Counter(each.split for each in HELD_OUT) == {"construct": 102, "refine": 170, "hard": 60}


@has_list
def test_the_subset_does_not_depend_on_the_order():
    chosen = tasks.subset(HELD_OUT)
    shuffled = Random(1).sample(HELD_OUT, len(HELD_OUT))
    assert tasks.subset(shuffled) == chosen
    assert len({each.key for each in chosen}) == 32
    assert {each.split for each in chosen} == {"construct"}
    # It is part of the report: whoever changes it measures anew.
    assert (chosen[0].key, chosen[-1].key) == ("0551d18a839859c5", "46210cf699cbcc69")


def test_workloads_of_some_splits(tmp_path, capsys):
    splits = ("hard", "train", "construct", "refine")
    path = written(tmp_path, *(listed(each, *RELU, split=each) for each in splits))
    tasks.main(["--workloads", str(path)])
    assert capsys.readouterr().out == "hard\nconstruct\nrefine\n"
    tasks.main(["--workloads", str(path), "--splits", "refine", "construct"])
    assert capsys.readouterr().out == "construct\nrefine\n"


def test_keys_in_their_order(tmp_path, capsys):
    path = written(tmp_path, listed("a", *RELU), listed("b", *DENSE), listed("c", *DENSE))
    keys = tmp_path / "keys.txt"
    keys.write_text("c\na\n")
    tasks.main(["--workloads", str(path), "--keys", str(keys)])
    assert capsys.readouterr().out == "c\na\n"


def test_a_key_that_is_not_there_is_named(tmp_path):
    path = written(tmp_path, listed("a", *RELU))
    keys = tmp_path / "keys.txt"
    keys.write_text("nowhere")
    with pytest.raises(SystemExit, match="'nowhere' is no key in"):
        tasks.main(["--workloads", str(path), "--keys", str(keys)])


# MetaSchedule: what a step proposes.


def job(**more):
    return StepJob("00", prompt_of(DENSE[0], json.dumps(DENSE[1:])), CPU, 4, 1, **more)


def test_a_step_is_a_function_of_its_job():
    import_intrinsics()
    small = job(population=12, generations=1)
    first = step(small)
    assert len(set(first)) == 4
    assert step(small) == first
    tried = ((first[0], 1e-5), (first[1], None))
    second = step(job(population=12, generations=1, measured=tried))
    assert len(second) == 4
    assert not {first[0], first[1]} & set(second)


def test_a_search_without_valid_schedules_gives_up():
    import_intrinsics()
    assert step(job(population=12, generations=1, failures=0)) == []


def test_it_gives_up_where_a_larger_population_does():
    """By the number of batches without a valid schedule until 50 valid ones are found."""

    def failures(share, batch):
        return 50 / (batch * share) * math.exp(-batch * share)

    assert failures(0.0034, 512) == pytest.approx(search_step.FAILURES, rel=0.05)
    ours = failures(0.0034, metaschedule.POPULATION)
    assert ours == pytest.approx(metaschedule.FAILURES, rel=0.05)


def test_a_post_processor_that_raises_refuses():
    class Raises:
        def apply(self, _):
            raise ValueError("no such loop")

    context = SimpleNamespace(space_generator=SimpleNamespace(postprocs=[Raises()]))
    module = module_of(loads_workload(prompt_of(RELU[0], json.dumps(RELU[1:]))))
    assert not _passes(context, tvm.s_tir.Schedule(module))


def test_candidates_that_were_tried_make_room_for_others():
    """64 of 100 as TVM picks them: 61 by the cost model, then 3 of the random ones."""
    # 2 * 64 + 100 are asked for, and the last 5% of them, rounded down, are random.
    known = tuple((f"best{place}", 1.0) for place in range(100))
    wanted = StepJob("00", "", CPU, 64, 1, measured=known)
    proposals = [f"best{place}" for place in range(217)] + [f"random{place}" for place in range(11)]
    assert _picked(wanted, proposals) == [
        *(f"best{place}" for place in range(100, 161)),
        *(f"random{place}" for place in range(3)),
    ]


def test_few_candidates_are_all_taken():
    wanted = StepJob("00", "", CPU, 64, 1, measured=(("b", None),))
    assert sorted(_picked(wanted, ["a", "b", "c", "a", "d"])) == ["a", "c", "d"]


# MetaSchedule: how a hunt goes on.

TASK = Task("abcdef0123456789", "")


def result(script, source, trial=0, seconds=1.0):
    latency = Latency(seconds, seconds, seconds, 9, 1.0) if seconds else None
    stage = "measured" if seconds else "passes"
    return Result(TASK.key, script, stage, source=source, latency=latency, trial=trial)


def test_sketches_come_first_unless_none_are_asked_for():
    hunt = Hunt(TASK, Effort(random=3, rounds=1, count=2))
    first = hunt.next_step(CPU)
    assert (first.count, first.tries > 0) == (3, True)
    assert [each.source for each in hunt.propose(["a"])] == [RANDOM]
    hunt.add(result("a", RANDOM, 1))
    assert (hunt.next_step(CPU).count, hunt.is_over) == (2, False)

    hunt = Hunt(TASK, Effort(random=0, rounds=1, count=2, population=7, generations=3))
    first = hunt.next_step(CPU)
    assert (first.count, first.tries, first.population, first.generations) == (2, 0, 7, 3)
    assert hunt.propose(["a", "b"]) == [
        Candidate(TASK.key, "a", SEARCH, 1),
        Candidate(TASK.key, "b", SEARCH, 2),
    ]
    assert not hunt.wants_step
    hunt.add(result("a", SEARCH, 1))
    assert not hunt.is_over
    hunt.add(result("b", SEARCH, 2))
    assert hunt.is_over


def test_a_round_that_was_interrupted_is_filled_up():
    hunt = Hunt(TASK, Effort(random=0, rounds=2, count=4, source="metaschedule"))
    hunt.resume([result(str(n), "metaschedule", n, n % 2) for n in (1, 2, 4, 3, 6)])
    wanted = hunt.next_step(CPU)
    assert wanted.count == 3
    assert dict(wanted.measured) == {"1": 1, "2": None, "4": None, "3": 1, "6": None}
    assert [each.trial for each in hunt.propose(["x", "y", "z"])] == [7, 8, 9]


def test_results_without_trials_count_as_before():
    effort = Effort(random=2, rounds=1, count=2)
    hunt = Hunt(TASK, effort)
    hunt.resume([result("a", RANDOM), result("b", SEARCH), result("c", SEARCH)])
    assert hunt.is_over
    hunt = Hunt(TASK, effort)
    hunt.resume([result("a", RANDOM)])
    assert hunt.next_step(CPU).tries == 0


def test_a_search_that_finds_nothing_is_over():
    hunt = Hunt(TASK, Effort(random=0, rounds=3, count=4, source="metaschedule"))
    hunt.next_step(CPU)
    assert hunt.propose([]) == []
    assert hunt.is_over
    assert hunt.exhausted == Exhausted(TASK.key, "metaschedule", 12)


def test_sketches_that_all_fail_do_not_end_a_search():
    hunt = Hunt(TASK, Effort(random=2, rounds=1, count=4))
    hunt.next_step(CPU)
    assert hunt.propose([]) == []
    assert (hunt.wants_step, hunt.exhausted) == (True, None)


def test_a_search_that_was_cut_off_is_not_over():
    hunt = Hunt(TASK, Effort(random=0, rounds=1, count=4))
    hunt.next_step(CPU)
    hunt.cut_off()
    assert (hunt.wants_step, hunt.is_over, hunt.exhausted) == (False, False, None)
    hunt = Hunt(TASK, Effort(random=2, rounds=1, count=4))
    hunt.next_step(CPU)
    hunt.cut_off()
    assert hunt.wants_step


def test_a_search_that_has_ended_has_ended_for_more_trials():
    hunt = Hunt(TASK, Effort(random=0, rounds=4, count=64, source="metaschedule"))
    other = Exhausted(TASK.key, SEARCH, 8)
    hunt.resume([result("a", "metaschedule", 1)], [other])
    assert (hunt.wants_step, hunt.exhausted) == (True, None)
    hunt.resume([result("a", "metaschedule", 1)], [other, Exhausted(TASK.key, "metaschedule", 64)])
    assert (hunt.wants_step, hunt.is_over) == (False, True)
    assert hunt.exhausted == Exhausted(TASK.key, "metaschedule", 256)


def test_metaschedule_from_proposals_to_its_second_round(tmp_path, capsys):
    path = written(tmp_path, listed("0a0a0a0a", *DENSE))
    first, out = tmp_path / "first.jsonl", tmp_path / "out.jsonl"
    effort = ["--count", "3", "--population", "8", "--generations", "1", "--target", CPU]
    propose = ["--workloads", path, "--out", first, "--parts", tmp_path / "parts", *effort]
    metaschedule.main(list(map(str, propose)))
    proposed = read(first, Candidate)
    assert [(each.source, each.trial) for each in proposed] == [
        ("metaschedule", 1),
        ("metaschedule", 2),
        ("metaschedule", 3),
    ]
    before = first.read_bytes()
    metaschedule.main(list(map(str, propose)))
    assert first.read_bytes() == before
    assert "3 candidates of 1 of 1 workloads" in capsys.readouterr().err
    # What an earlier run has found is written without the rest.
    more = written(tmp_path / "more", listed("0b", *RELU), listed("0a0a0a0a", *DENSE))
    one = [*propose, "--workloads", more, "--seconds", "0", "--trials", "1"]
    metaschedule.main(list(map(str, one)))
    assert read(first, Candidate) == proposed[:1]
    assert "1 candidates of 1 of 2 workloads" in capsys.readouterr().err
    metaschedule.main(list(map(str, propose)))

    evaluate.main([str(first), "--tasks", str(path), "--out", str(out), "--builders", "1"])
    going_on = ["--tasks", path, "--out", out, "--source", "metaschedule", "--random", "0"]
    going_on += ["--rounds", "2", *effort, "--builders", "1", "--searchers", "1"]
    search.main(list(map(str, going_on)))
    found = sorted(read(out, Result), key=lambda each: each.trial)
    assert [each.trial for each in found] == [1, 2, 3, 4, 5, 6]
    assert len({each.script for each in found}) == 6
    assert {each.source for each in found} == {"metaschedule"}
    assert [each.stage for each in found] == ["measured"] * 6
    search.main(list(map(str, going_on)))
    assert len(read(out, Result)) == 6


def search_on(*arguments):
    """The search that goes on from MetaSchedule's first round."""
    small = ["--target", CPU, "--source", "metaschedule", "--random", "0", "--count", "3"]
    small += ["--population", "8", "--generations", "1", "--builders", "1", "--searchers", "1"]
    search.main(list(map(str, [*small, *arguments])))


def test_a_space_of_one_schedule_is_exhausted(tmp_path, capsys):
    """By the step that is told of its schedule; more rounds ask for more, and need no step."""
    tasks, out = written(tmp_path, listed("0b", *RELU)), tmp_path / "out.jsonl"
    paths = ["--tasks", tasks, "--out", out]
    search_on(*paths, "--rounds", 1)
    assert (
        "1 of 1 workloads have their candidates; of 1 there are no more" in capsys.readouterr().err
    )
    search_on(*paths, "--rounds", 2)
    search_on(*paths, "--rounds", 2)
    assert [(each.trial, each.stage) for each in read(out, Result)] == [(1, "measured")]
    assert read(out, Exhausted) == [
        Exhausted("0b", "metaschedule", 3),
        Exhausted("0b", "metaschedule", 6),
    ]


def test_a_search_that_took_too_long_is_not_exhausted(tmp_path, capsys):
    tasks, out = written(tmp_path, listed("0b", *DENSE)), tmp_path / "out.jsonl"
    slow = ["--rounds", 1, "--population", 512, "--step-seconds", 0.01]
    search_on("--tasks", tasks, "--out", out, *slow)
    told = capsys.readouterr().err
    assert "0b: no candidates: took longer than 0.01 s" in told
    assert "0 of 1 workloads have their candidates; of 0 there are no more" in told
    assert (read(out, Result), read(out, Exhausted)) == ([], [])


def test_what_proposes_nothing_goes_from_proposals_to_results(tmp_path, capsys):
    """Not one valid schedule: a failure of MetaSchedule, and no search is begun for it again."""
    tasks = written(tmp_path, listed("0a0a0a0a", *DENSE))
    first, out = tmp_path / "first.jsonl", tmp_path / "out.jsonl"
    hopeless = ["--population", "8", "--generations", "1", "--failures", "0", "--target", CPU]
    given = ["--workloads", tasks, "--out", first, "--parts", tmp_path / "parts", "--count", "3"]
    metaschedule.main(list(map(str, [*given, *hopeless])))
    ended = Exhausted("0a0a0a0a", "metaschedule", 3)
    assert (read(first, Candidate), read(first, Exhausted)) == ([], [ended])
    for _ in range(2):
        evaluate.main([str(first), "--tasks", str(tasks), "--out", str(out)])
        assert out.read_bytes() == first.read_bytes()
    search_on("--tasks", tasks, "--out", out, "--rounds", 1)
    assert (read(out, Result), read(out, Exhausted)) == ([], [ended])
    assert "of 1 there are no more" in capsys.readouterr().err


def test_a_line_of_an_exhausted_search_that_is_cut_off_or_wrong(tmp_path):
    path = tmp_path / "out.jsonl"
    whole = msgspec.json.encode(Exhausted("0b", "metaschedule", 64)) + b"\n"
    for length in range(1, len(whole)):
        path.write_bytes(whole + whole[:length])
        ResultFile(path).close()
        assert path.read_bytes() == whole
    path.write_bytes(whole + b'{"exhausted":3}\n')
    with pytest.raises(ValueError, match=r"out\.jsonl, line 2: Expected `str`, got `int`"):
        ResultFile(path)


def test_a_step_that_takes_too_long_is_tried_again(tmp_path, capsys):
    path = written(tmp_path, listed("0a0a0a0a", *DENSE))
    out, parts = tmp_path / "out", tmp_path / "parts"
    arguments = ["--workloads", path, "--out", out, "--target", CPU, "--population", "512"]
    metaschedule.main(list(map(str, [*arguments, "--parts", parts, "--step-seconds", "0.01"])))
    assert "0a0a0a0a: took longer than 0.01 s" in capsys.readouterr().err
    assert (out.read_bytes(), parts.read_bytes()) == (b"", b"")


def test_the_reason_is_told_of_a_step_that_raises(tmp_path, capsys):
    path = written(tmp_path, Listed("0b", "no workload", "dense", [], "hard", 1.0))
    arguments = ["--workloads", path, "--out", tmp_path / "out", "--target", CPU]
    metaschedule.main(list(map(str, [*arguments, "--parts", tmp_path / "parts", "--jobs", "1"])))
    assert "0b: line 1, column 3: " in capsys.readouterr().err
    # It is tried again: nothing is known of what the search would find.
    assert (tmp_path / "out").read_bytes() == (tmp_path / "parts").read_bytes() == b""


# dlight.


def test_dlight_is_judged_like_scripts(tmp_path, capsys):
    path = written(tmp_path, listed("a", *RELU), listed("b", "softmax_mn", 24, 32))
    out = tmp_path / "out.jsonl"
    arguments = ["--workloads", path, "--out", out, "--target", CPU, "--builders", "1"]
    dlight.main(list(map(str, arguments)))
    found = read(out, Result)
    assert {(each.workload, each.source, each.stage) for each in found} == {
        ("a", "dlight", "measured"),
        ("b", "dlight", "measured"),
    }
    lines = out.read_bytes()
    dlight.main(list(map(str, arguments)))
    assert out.read_bytes() == lines
    assert "| dlight | 2 | 100.0% |" in capsys.readouterr().out


def test_the_rule_for_reductions_is_taken_on_a_cpu():
    prompt = prompt_of("softmax_mn", json.dumps([24, 32]))
    assert "T.parallel" in dlight.default_module("", prompt, CPU).script()
    plain = dlight.default_module("", prompt_of(RELU[0], json.dumps(RELU[1:])), CPU)
    tvm.ir.assert_structural_equal(plain, module_of(loads_workload(
        prompt_of(RELU[0], json.dumps(RELU[1:])))))  # fmt: skip


def test_a_rule_that_raises_is_passed_over():
    """GeneralReduction raises on this one; the fallback takes it."""
    prompt = prompt_of("group_norm", json.dumps([2, 64, 14, 4, "silu"]))
    module = module_of(loads_workload(prompt))
    with target_of(H100), pytest.raises(Exception, match="ScheduleError"):
        tvm.s_tir.dlight.ApplyDefaultSchedule(tvm.s_tir.dlight.gpu.GeneralReduction())(module)
    assert "blockIdx.x" in dlight.default_module("", prompt, H100).script()


# PyTorch: the functions.

SMALL = {
    "attention": [(1, 2, 6, 8, "float32"), (1, 2, 6, 8, "float16")],
    "batch_matmul": [(2, 5, 6, 7, "float32", 1, "add residual"), (2, 5, 6, 7, "float16", 0, "")],
    "batch_matmul_nkkm": [(2, 5, 6, 7, "float16", "float32")],
    "bi_interaction": [(3, 4, 5, "float32")],
    "concatenate": [([1, 3, 4], 3, 1, ""), ([1, 3, 4], 2, 1, "add")],
    "conv1d": [(2, 9, 4, 5, 3, "NWC", "mul add"), (1, 8, 4, 6, 3, "NCW", "add gelu")],
    "conv1d_nlc": [(2, 9, 4, 5, 3, 2, 1, 2)],
    "conv2d": [
        (1, 7, 4, 6, 3, 2, "float32", "NHWC", "add residual relu"),
        (2, 6, 4, 5, 1, 1, "float16", "NCHW", "add clip"),
    ],
    "conv2d_capsule_nhwijc": [(2, 5, 5, 3, 4, 3, 2, 1)],
    "conv2d_nhwc": [
        (1, 9, 8, 4, 5, 3, 2, 2, 2, 1, "float32", "float32"),
        (1, 7, 7, 4, 5, 3, 1, 1, 1, 1, "float16", "float32"),
    ],
    "conv2d_nhwc_bn_relu": [
        (1, 7, 7, 4, 5, 3, 2, 1, 1, "float16", "float32"),
        (1, 7, 7, 4, 5, 1, 1, 0, 1, "float16", "float16"),
    ],
    "conv2d_packed": [(2, 5, 8, 12, 3, 4, "add")],
    "conv2d_transpose": [(1, 5, 4, 6, 4, 2), (2, 4, 3, 5, 3, 1), (1, 4, 3, 5, 2, 2)],
    "conv2d_transpose_nhwc": [(1, 5, 6, 4, 3, 4, 2, 1), (1, 5, 5, 4, 3, 3, 1, 1)],
    "conv3d_ndhwc": [(1, 4, 5, 5, 3, 4, 3, 2, 1)],
    "cross_layer": [(4, 6, 0, "float32"), (4, 6, 1, "float32"), (4, 6, 2, "float16")],
    "dense": [(4, 5, 6, "float32", 1, "gelu"), (4, 5, 6, "float16", 0, "add residual relu")],
    "dense_int8": [
        (24, 16, 32, "int8", "int8", "C", "cast"),
        (24, 16, 32, "int8", "int8", "C", ""),
    ],
    "depthwise": [
        (1, 7, 5, 3, 2, "float32", "NHWC", "add silu"),
        (1, 7, 5, 3, 1, "float32", "NCHW", "half"),
    ],
    "depthwise_conv2d_nhwc": [(2, 7, 6, 5, 3, 2, 1)],
    "elementwise": [
        ([3, 4, 5], "float32", " ".join([*WITH_INPUT, "sqrt", "scale"])),
        ([3, 4, 5], "float32", " ".join(sorted({*ALONE} - {"exp", "half", "cast", "flat"}))),
        ([3, 4], "float16", "silu cast exp half"),
    ],
    "embedding_bag": [(50, 6, 4, 5, "sum", "float32"), (50, 1, 4, 5, "mean", "float16")],
    "embedding_bags": [(3, 20, 4, 5, 6, "float32")],
    "expert_mix": [(4, 3, 5, "float32")],
    "gemm": [
        (5, 6, 7, "NN", "float32 float32", "C", "relu"),
        (5, 6, 7, "NT", "float16 float32", "C", "gate"),
        (5, 6, 7, "TN", "float32 float32", "C", "flat"),
    ],
    "group_conv2d": [
        (2, 6, 8, 2, 3, 2, "NCHW", "scale add"),
        (2, 6, 8, 2, 3, 1, "NHWC", ""),
    ],
    "group_norm": [(2, 8, 5, 4, "silu")],
    "history_attention": [(3, 5, 4, "float32")],
    "interaction": [(3, 5, 4, "all", "float32"), (3, 5, 4, "pairs", "float32")],
    "layer_norm": [([2, 3, 16], "float32", "residual"), ([2, 16], "float16", "")],
    "matmul": [(5, 6, 7, "float16", "float16"), (5, 6, 7, "float16", "float32")],
    "matmul_nd": [(1, 2, 5, 6, 7, "float32", "add gelu")],
    "mlp": [(4, [6, 5, 3], "sigmoid", "float32"), (4, [6, 5, 4, 3], "relu", "float16")],
    "pool2d": [(1, 3, 7, 3, 2, "max", "NCHW"), (1, 3, 7, 5, 1, "max", "NHWC")],
    "quantised_weight": [(4, 8, 64, "float32", "gate"), (4, 8, 64, "float16", "")],
    "reduction": [
        ([3, 4, 5], [1], "sum", "float32"),
        ([3, 4, 5], [0, 2], "argmax", "float32"),
    ],
    "rms_norm": [([2, 3, 16], "float32", "residual")],
    "scores": [(2, 3, 5, 4, "float32", "add")],
    "softmax": [([3, 4, 5], -1, "float32", "fast_softmax"), ([3, 5], -1, "float16", "softmax")],
    "softmax_mn": [(4, 5)],
    "transpose": [
        ([3, 4, 5], [1, 0, 2], 1, "add"),
        ([1, 4, 5], [0, 1, 2], 0, ""),
        ([3, 4, 5], [2, 0, 1], 1, ""),
    ],
    "two_tower": [(4, 6, "cosine", "float32")],
}
"""Small workloads of each family, with what the held-out ones of it have."""


@pytest.mark.parametrize("family", SMALL)
def test_a_function_computes_what_the_workload_says(family):
    for arguments in SMALL[family]:
        workload = loads_workload(prompt_of(family, json.dumps(arguments)))
        assert outputs(workload) == [len(workload.params) - 1]
        given = draw(workload, SETS[0], "normal", "cpu")
        precise = parameters(exact(workload))
        inputs = [
            each.to(torch_dtype(buffer.dtype)) for each, buffer in zip(given, precise, strict=False)
        ]
        reference = torch.empty(precise[-1].shape, dtype=torch_dtype(precise[-1].dtype))
        tvm.compile(module_of(exact(workload)), target=target_of(CPU))["main"](*inputs, reference)

        found = program(family, arguments)(*given)
        own = parameters(workload)[-1]
        assert found.is_contiguous()
        assert (tuple(found.shape), found.dtype) == (own.shape, torch_dtype(own.dtype))
        memory = found.untyped_storage().data_ptr()
        assert memory not in [each.untyped_storage().data_ptr() for each in given]
        dtype = torch_dtype(narrowest(workload) or "float64")
        allowed = judge.tolerance(dtype, reduction_length(workload))
        assert judge.judge(found, reference, allowed).reason == "", arguments


@has_list
def test_every_held_out_workload_has_a_function_or_a_reason():
    missing = Counter()
    for each in HELD_OUT:
        try:
            program(each.family, each.arguments)
        except MissingError as error:
            missing[str(error)] += 1
    assert missing == {
        "torch has no convolution of integers": 2,
        "torch has no product of uint8 and int8": 3,
    }
    assert {each.family for each in HELD_OUT} == set(PROGRAMS) == {*SMALL, "conv2d_packed_int8"}


@pytest.mark.parametrize(
    ("family", "arguments", "reason"),
    [
        ("resize", (), "no program of torch for 'resize'"),
        ("softmax", ([2, 3], -1, "float32", "log_softmax"), "'log_softmax'"),
        ("conv2d", (1, 7, 4, 6, 3, 2, "float32", "HWCN", ""), "'HWCN'"),
        ("dense_int8", (8, 8, 8, "uint8", "int8", "C", ""), "uint8 and int8"),
    ],
)
def test_what_torch_has_not_is_missing(family, arguments, reason):
    with pytest.raises(MissingError, match=reason):
        program(family, arguments)


# PyTorch: judged and timed.


@pytest.fixture(scope="module")
def relu(tmp_path_factory):
    """A bench that is ready for a workload, and a folder."""
    folder = tmp_path_factory.mktemp("relu")
    prompt = prompt_of(RELU[0], json.dumps(RELU[1:]))
    library = folder / "exact.so"
    assert build(BuildJob("relu", prompt, CPU, str(library))).stage == "compiles"
    bench = Bench(ProgramEnd("cpu"))
    workload = loads_workload(prompt)
    assert bench.prepare("relu", workload, library, plain_library(library)) == ""
    return bench, folder


def measured(relu, family, *arguments, compiled=False):
    bench, folder = relu
    script = msgspec.json.encode(Call(family, list(arguments), compiled)).decode()
    job = BuildJob(
        "relu", prompt_of(RELU[0], json.dumps(RELU[1:])), CPU, f"{folder}/call.so", script
    )
    assert pytorch.build_call(job).stage == "compiles"
    return bench.measure("relu", Path(job.library))


def test_the_right_function_is_measured(relu):
    found = measured(relu, *RELU)
    assert (found.stage, found.error) == ("measured", 0)
    assert found.latency.samples >= 9


def test_a_wrong_function_is_found_wrong(relu):
    found = measured(relu, "elementwise", [16, 24], "float32", "sigmoid")
    assert found.stage == "runs"
    assert found.reason.startswith("output 0 is wrong")


def test_a_function_that_returns_something_else_is_no_result(relu):
    with pytest.raises(ValueError, match=r"torch\.float16"):
        measured(relu, "elementwise", [16, 24], "float32", "relu half")
    relu[0].end._made.clear()
    with pytest.raises(ValueError, match="a view of an input"):
        measured(relu, "elementwise", [16, 24], "float32", "")
    relu[0].end._made.clear()
    with pytest.raises(ValueError, match=r"\(24, 16\)"):
        measured(relu, "transpose", [16, 24], [1, 0], 0, "")
    relu[0].end._made.clear()


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles with g++")
@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method.*:DeprecationWarning")
def test_a_compiled_function_is_measured(relu, monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    script = msgspec.json.encode(Call(RELU[0], list(RELU[1:]), compiled=True)).decode()
    pytorch.warm("cpu", WarmJob(prompt_of(RELU[0], json.dumps(RELU[1:])), script))
    assert list(tmp_path.rglob("*.so"))
    assert measured(relu, *RELU, compiled=True).stage == "measured"


def test_pytorch_from_the_list_to_its_results(tmp_path, capsys):
    path = written(
        tmp_path,
        listed("a", *DENSE),
        listed("b", "dense_int8", 8, 8, 8, "uint8", "int8", "C", "", split="hard"),
        listed("c", *RELU, split="train"),
    )
    out = tmp_path / "out.jsonl"
    arguments = ["--workloads", path, "--out", out, "--target", CPU, "--builders", "1"]
    pytorch.main(list(map(str, [*arguments, "--no-compiled"])))
    found = {each.workload: each for each in read(out, Result)}
    assert {key: (each.source, each.stage) for key, each in found.items()} == {
        "a": (EAGER, "measured"),
        "b": (EAGER, "given"),
    }
    assert found["b"].reason == "torch has no product of uint8 and int8"
    assert "| torch | 2 | 50.0% |" in capsys.readouterr().out
    lines = out.read_bytes()
    pytorch.main(list(map(str, [*arguments, "--no-compiled"])))
    assert out.read_bytes() == lines


def test_a_workload_has_two_calls():
    calls = pytorch.candidates(listed("a", *RELU))
    assert [each.source for each in calls] == [EAGER, COMPILED]
    assert calls[0].script != calls[1].script


def test_a_wrong_file_ends_with_one_line(tmp_path):
    path = written(tmp_path, listed("a", *RELU))
    out = tmp_path / "out.jsonl"
    out.write_text("something else\n")
    for main in (pytorch.main, dlight.main):
        with pytest.raises(SystemExit, match=r"out\.jsonl, line 1"):
            main(["--workloads", str(path), "--out", str(out), "--target", CPU])
    assert out.read_text() == "something else\n"


# The roofline.

CARD = Ceilings(bandwidth=4e12, float32=6e13, float16=8e14, int8=1.6e15)


def test_the_larger_bound_counts():
    assert roofline.bound(Cost(4e6, 1.0, "float32"), CARD) == 1e-6
    assert roofline.bound(Cost(1.0, 8e8, "float16"), CARD) == 1e-6


@pytest.mark.parametrize(
    ("arguments", "arithmetic"),
    [
        ((64, 32, 16, "NT", "float16 float32", "C", "add"), "float16"),
        ((64, 32, 16, "NT", "float32 float32", "C", "add"), "float32"),
    ],
)
def test_inputs_and_outputs_are_moved_once(arguments, arithmetic):
    cost = roofline.cost_of(listed("a", "gemm", *arguments, flops=123.0))
    own = 2 if arithmetic == "float16" else 4
    assert cost == Cost((64 * 16 + 32 * 16) * own + (32 + 64 * 32) * 4, 123.0, arithmetic)
    int8 = ("dense_int8", 8, 8, 8, "uint8", "int8", "C", "")
    assert roofline.cost_of(listed("a", *int8)).arithmetic == "int8"


def test_a_table_counts_as_far_as_it_is_read():
    rows, width, batch, bag = 4096, 8, 32, 64
    arguments = ("embedding_bag", rows, width, batch, bag, "sum", "float32")
    workload = loads_workload(prompt_of(arguments[0], json.dumps(arguments[1:])))
    table = roofline.least_bytes(workload) - 4 * (batch * bag + batch * width)
    ids, _ = draw(workload, SETS[0], "normal", "cpu")
    distinct = len(torch.unique(ids))
    assert table == pytest.approx(4 * width * distinct, rel=0.03)
    assert table == pytest.approx(4 * width * rows * (1 - math.exp(-batch * bag / rows)))


@pytest.mark.parametrize("arguments", [(1, 9, 3, 4, 4, 2), (1, 6, 3, 4, 3, 1), (2, 5, 3, 4, 2, 2)])
def test_a_transposed_convolution_is_charged_for_what_meets(arguments):
    n, length, ci, co, size, stride = arguments
    data, weight = torch.ones(n, ci, length, length), torch.ones(ci, co, size, size)
    out = functional.conv_transpose2d(data, weight, stride=stride, padding=(size - 1) // 2)
    written_out = out.numel() * ci * size**2
    cost = roofline.cost_of(listed("a", "conv2d_transpose", *arguments, flops=2.0 * written_out))
    assert cost.operations == pytest.approx(2 * float(out.sum()))


def test_chains_are_chains():
    kernel = tvm.compile(ceilings.chains(2048, 64, CPU), target=target_of(CPU))["main"]
    x, y = torch.linspace(-0.9, 0.9, 2048), torch.empty(2048)
    kernel(x, y)
    total = torch.zeros(2048)
    for _ in range(64):
        total = total * x + x
    torch.testing.assert_close(y, total)


def test_ceilings_are_measured_and_written(tmp_path, capsys):
    path = written(tmp_path, listed("a", *RELU), listed("b", *DENSE))
    out = tmp_path / "roofline.json"
    sizes = ["--bytes", "65536", "--side", "64", "--elements", "2048", "--steps", "64"]
    arguments = ["--workloads", str(path), "--out", str(out), "--target", CPU, *sizes]
    roofline.main(arguments)
    report = json.loads(out.read_bytes())
    card = msgspec.convert(report["ceilings"], Ceilings)
    found = report["found"]
    assert all(rate > 0 for rate in found.values())
    assert card.bandwidth == max(found["copy"], found["sum"])
    assert card.float32 == max(found["float32 product"], found["multiply-adds"])
    costs = {key: msgspec.convert(each, Cost) for key, each in report["costs"].items()}
    assert report["seconds"] == {key: roofline.bound(each, card) for key, each in costs.items()}
    assert costs["a"].bytes == 2 * 16 * 24 * 4
    assert report["run"]["card"]
    assert "multiply-adds" in capsys.readouterr().out


def test_the_kernel_of_chains_compiles_for_a_gpu():
    pytest.importorskip("cuda", reason="the packages of the group `gpu` are not installed")
    from training.evaluate import cuda_source

    built = tvm.compile(ceilings.chains(1 << 12, 1 << 8, H100), target=target_of(H100))
    (kernels,) = built.mod.imports
    assert cuda_source.cubin(kernels.inspect_source(), "sm_90a")


# All that the report reads.


def test_the_report_reads_all_baselines(tmp_path, monkeypatch):
    """Real results of all of them; the model's only attempts are MetaSchedule's first trials."""
    workloads = written(tmp_path, listed("0a", *RELU), listed("0b", *DENSE))
    folder, first, out = tmp_path / "report", tmp_path / "first.jsonl", tmp_path / "summary.json"
    every = ["--workloads", str(workloads), "--target", CPU]
    judged = ["--builders", "1", "--out"]
    small = ["--count", "2", "--population", "4", "--generations", "1"]
    metaschedule.main([*every, *small, "--out", str(first), "--parts", str(tmp_path / "parts")])
    evaluate.main([str(first), "--tasks", str(workloads), *judged, f"{folder}/results/m.jsonl"])
    dlight.main([*every, *judged, f"{folder}/results/dlight.jsonl"])
    pytorch.main([*every, *judged, f"{folder}/results/torch.jsonl", "--no-compiled"])
    sizes = ["--bytes", "65536", "--side", "64", "--elements", "2048", "--steps", "64"]
    roofline.main([*every, *sizes, "--out", f"{folder}/roofline.json"])
    about = {"kind": "construct", "split": "test", "tokens": 9, "ended": True, "logprob": 0.0}
    attempts = [
        Attempt(each.workload, each.script, "rl", **about)
        for each in read(first, Candidate)
        if each.trial == 1
    ]
    (folder / "attempts").mkdir()
    (folder / "attempts" / "rl.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(attempts))
    page = tmp_path / "page.md"
    page.write_text("<!-- numbers: others -->\n<!-- end -->\n")
    monkeypatch.setattr("sys.argv", ["report", str(folder), "--out", str(out), "--page", str(page)])
    report.main()

    assert {metaschedule.SOURCE, dlight.SOURCE, EAGER, COMPILED} == set(BASELINES)
    numbers = json.loads(out.read_bytes())
    assert numbers["cards"] == [processor()]
    (trials,) = numbers["metaschedule"]["rl"].values()
    assert (trials["1"]["both_right"], trials["1"]["ties"], trials["1"]["speedup"]) == (2, 2, 1.0)
    others = numbers["others"]["rl"]["construct"]
    assert {name: each["both_right"] for name, each in others.items()} == {"dlight": 2, "torch": 2}
    assert "| rl | construct | torch | 2 of 2 | 2 | 0 | 0 |" in page.read_text()
    bounds = json.loads((folder / "roofline.json").read_bytes())["seconds"]
    reached = [
        bounds[each.workload] / each.latency.median
        for each in read(folder / "results" / "m.jsonl", Result)
        if each.trial == 1
    ]
    assert numbers["roofline"]["rl"]["construct"] == {
        "tasks": 2,
        "median": pytest.approx(sum(reached) / 2),
    }
