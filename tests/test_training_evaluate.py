"""The evaluator: what is right is measured, what cheats is caught, what dies costs only itself."""

import json
import lzma
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import msgspec
import pytest
import torch
import tvm
from hypothesis import given
from hypothesis import strategies as st
from training.evaluate import judge, throughput
from training.evaluate.__main__ import CPU
from training.evaluate.allowed import forbidden
from training.evaluate.bench import Bench
from training.evaluate.build import BuildJob, build, plain_library, target_of
from training.evaluate.ends import TorchEnd
from training.evaluate.evaluator import PRELOAD, Evaluator, RunJob, serve_runs
from training.evaluate.funnel import funnel, table
from training.evaluate.inputs import SETS, STYLES, UnfitError, draw
from training.evaluate.reference import narrowest
from training.evaluate.results import Candidate, Latency, Result, ResultFile, Run, Task, read
from training.pool import BROKEN, Pool, results, wait
from training.workloads import spaces
from training.workloads.workload import Workload

import cheats
from tracescript import dumps, loads
from tracescript.tvm import from_tvm, workload_of
from tracescript.workloads import dumps as dumps_workload
from tracescript.workloads import loads as loads_workload
from tracescript.workloads.limits import index_limits

ROOT = Path(__file__).parents[1]

HEADER = "tracescript 1\n"
RELU = HEADER + 'GetSBlock | "y" "main" -> b\nGetLoops b-1 -> l2\nParallel l-2\n'


def task_of(module, key="task"):
    return Task(key, dumps_workload(workload_of(module, json.loads(CPU))))


def workload(family, *arguments):
    return spaces.module(Workload(family, arguments, "llvm-4", "from-target", False, 1))


@pytest.fixture(scope="module")
def relu(tmp_path_factory):
    """The task, the libraries of its reference, and a bench that is ready for it."""
    folder = tmp_path_factory.mktemp("relu")
    task = task_of(cheats.relu())
    library = str(folder / "exact.so")
    assert build(BuildJob(task.key, task.prompt, CPU, library)).stage == "compiles"
    bench = Bench(TorchEnd("cpu"))
    unfit = bench.prepare(
        task.key, loads_workload(task.prompt), Path(library), plain_library(library)
    )
    assert unfit == ""
    return task, library, bench, folder


def compiled(module, folder, name):
    library = folder / f"{name.replace(' ', '_')}.so"
    tvm.compile(module, target=target_of(CPU)).export_library(str(library))
    return library


# Cheating kernels.


def test_the_right_kernel_is_measured(relu):
    task, _, bench, folder = relu
    judged = bench.measure(task.key, compiled(cheats.kernel(cheats.RIGHT), folder, "right"))
    assert judged.stage == "measured", judged
    assert judged.error == 0
    assert 0 < judged.latency.low <= judged.latency.median <= judged.latency.high
    assert judged.latency.samples >= 9


@pytest.mark.parametrize("name", cheats.BODIES)
def test_a_cheating_kernel_is_caught(relu, name):
    task, _, bench, folder = relu
    judged = bench.measure(task.key, compiled(cheats.kernel(cheats.BODIES[name]), folder, name))
    assert judged.stage == "runs"
    assert judged.latency is None
    assert judged.reason


def test_an_input_that_was_overwritten_is_put_right(relu):
    task, _, bench, folder = relu
    cheat = compiled(cheats.kernel(cheats.BODIES["its input too"]), folder, "input")
    right = compiled(cheats.kernel(cheats.RIGHT), folder, "right2")
    assert bench.measure(task.key, cheat).reason == "input 0 was overwritten"
    assert bench.measure(task.key, right).stage == "measured"


def test_a_kernel_that_is_right_only_when_it_is_looked_at(relu):
    """The outputs of the timed runs are judged too."""
    task, _, bench, folder = relu
    right = bench.end.load(compiled(cheats.kernel(cheats.RIGHT), folder, "right3"))
    calls = []

    class End(TorchEnd):
        def load(self, _):
            def kernel(x, y):
                calls.append(1)
                if len(calls) <= len(SETS):
                    right(x, y)

            return kernel

    sly = Bench(End("cpu"))
    sly._prepared = bench._prepared
    judged = sly.measure(task.key, Path("any"))
    assert judged.stage == "correct"
    assert judged.reason.startswith("after the timed runs, output 0 is wrong")


@pytest.mark.parametrize("name", cheats.FAULTS)
def test_a_kernel_that_dies_or_hangs_costs_itself_only(relu, name):
    task, library, _, folder = relu
    fault = compiled(cheats.kernel(cheats.FAULTS[name]), folder, name)
    right = compiled(cheats.kernel(cheats.RIGHT), folder, "right4")
    pool = Pool(partial(serve_runs, partial(TorchEnd, "cpu")), 1, 8, PRELOAD)
    jobs = [RunJob(task.key, task.prompt, library, str(each)) for each in (right, fault, right)]
    try:
        first, second, third = [_outcome(pool, job) for job in jobs]
    finally:
        pool.close()
    assert b'"measured"' in first.answer
    assert second.answer is None
    assert second.reason in ("the process died, SIGSEGV", "took longer than 8 s")
    assert b'"measured"' in third.answer


def _outcome(pool, job):
    pool.submit(job)
    while True:
        wait([pool])
        for outcome in pool.ready():
            return outcome


# Cheating traces.

CHEATING_TRACES = {
    "another dtype": 'UnsafeSetDType b-1 | 0 "float16"',
    "hidden accesses": 'UnsafeHideBufferAccess b-1 "read" [0]',
    "an intrinsic": 'Tensorize l-2 | "dot_4x4_i8i8s32_sdot" true',
    "source code": 'Annotate b-1 "int x;" | "pragma_import_c"',
    "an odd scope": 'SetScope b-1 | 0 "global.texture"',
    "an intrinsic by annotation": 'Annotate b-1 "sdot" | "meta_schedule.auto_tensorize"',
}


@pytest.mark.parametrize("line", CHEATING_TRACES.values(), ids=list(CHEATING_TRACES))
def test_a_cheating_trace_is_refused(tmp_path, line):
    task = task_of(cheats.relu())
    script = HEADER + 'GetSBlock | "y" "main" -> b\nGetLoops b-1 -> l2\n' + line + "\n"
    assert forbidden(loads(script))
    built = build(BuildJob(task.key, task.prompt, CPU, str(tmp_path / "a.so"), script))
    assert built.stage == "parses"
    assert "is not allowed" in built.reason


REFUSED = {
    "no script": ("GetSBlock", "given", "line 1"),
    "an odd kind": (HEADER + "Magic\n", "parses", "Magic is not allowed"),
    "a block that is not there": (
        HEADER + 'GetSBlock | "nobody" "main" -> b\n',
        "checks",
        "Cannot find a block",
    ),
    "nothing decided": (
        HEADER
        + 'GetSBlock | "y" "main" -> b\nGetLoops b-1 -> l2\nSamplePerfectTile l-2 | 2 4 -> v2\n',
        "parses",
        "instruction 2: SamplePerfectTile has no decision",
    ),
    "a tile that does not fit": (
        HEADER
        + 'GetSBlock | "y" "main" -> b\nGetLoops b-1 -> l2\n'
        + "SamplePerfectTile l-2 | 2 64 -> v2 = [3 5]\n",
        "checks",
        "TVM replaces a decision",
    ),
}


@pytest.mark.parametrize(("script", "stage", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_where_a_script_stops(tmp_path, script, stage, reason):
    task = task_of(cheats.relu())
    built = build(BuildJob(task.key, task.prompt, CPU, str(tmp_path / "a.so"), script))
    assert built.stage == stage
    assert reason in built.reason


# The judgement.

tensors = st.lists(
    st.floats(-100, 100, width=32).filter(lambda x: abs(x) > 1e-3), min_size=8, max_size=64
).map(lambda values: torch.tensor(values, dtype=torch.float64))


@given(tensors, st.floats(1e-6, 1e6))
def test_the_scale_does_not_matter(reference, scale):
    out = reference.to(torch.float32) * (1 + 5e-5)
    wrong = reference.to(torch.float32) * (1 + 5e-3)
    allowed = judge.tolerance(torch.float32, 1)
    for factor in (1.0, scale):
        assert not judge.judge((out * factor).to(torch.float32), reference * factor, allowed).reason
        assert judge.judge((wrong * factor).to(torch.float32), reference * factor, allowed).reason


@given(tensors, st.sampled_from([torch.float32, torch.float16]))
def test_the_rounded_reference_is_right(reference, dtype):
    assert not judge.judge(reference.to(dtype), reference, judge.tolerance(dtype, 1)).reason


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_every_fake_is_found_wrong(dtype, scale):
    generator = torch.Generator().manual_seed(1)
    one, two, given_ = (torch.randn(40, 50, generator=generator).double() * scale for _ in range(3))
    poison = torch.empty(40, 50, dtype=dtype)
    judge.poison(poison)
    right = one.to(dtype)
    made = {
        **dict(judge.fakes(right, two.to(dtype), poison)),
        **dict(judge.copies(right, [given_.to(dtype)])),
    }
    assert set(made) == {
        "zeros",
        "a constant",
        "input 0 copied",
        "an untouched buffer",
        "0.3% written",
        "0.3% written over zeros",
        "the result of another seed",
    }
    for name, fake in made.items():
        assert judge.judge(fake, one, judge.tolerance(dtype, 4096)).reason, name


def test_integers_must_be_equal():
    reference = torch.arange(100)
    assert not judge.judge(reference.to(torch.int32), reference, 0.0).reason
    off = reference.clone()
    off[3] += 1
    assert judge.judge(off.to(torch.int32), reference, 0.0).reason == "1 of 100 integers differ"


def test_one_element_among_a_million_that_is_off():
    reference = torch.randn(1000, 1000, generator=torch.Generator().manual_seed(3)).double()
    out = reference.to(torch.float32)
    out[1, 1] += 0.05
    verdict = judge.judge(out, reference, judge.tolerance(torch.float32, 1))
    assert verdict.error < judge.tolerance(torch.float32, 1)
    assert "an element is off by" in verdict.reason


def test_poison_is_never_right():
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        tensor = torch.zeros(3, dtype=dtype)
        judge.poison(tensor)
        assert bool(torch.isnan(tensor).all())
    whole = torch.zeros(3, dtype=torch.int32)
    judge.poison(whole)
    assert whole.tolist() == [-1515870811] * 3


# Workloads.


def test_a_workload_that_no_fake_can_be_told_from_is_not_judged(tmp_path):
    task = task_of(cheats.large_clip())
    library = str(tmp_path / "exact.so")
    build(BuildJob(task.key, task.prompt, CPU, library))
    bench = Bench(TorchEnd("cpu"))
    reason = bench.prepare(
        task.key, loads_workload(task.prompt), Path(library), plain_library(library)
    )
    assert "input 0 copied would be found right" in reason
    judged = bench.measure(task.key, Path(library))
    assert judged.stage == "compiles"
    assert judged.reason.startswith("the workload cannot be judged")


@pytest.mark.parametrize("make", [cheats.copy, cheats.flip])
def test_a_workload_may_move_elements_and_nothing_else(tmp_path, make):
    """Or even leave all where they are: to copy the input is then right."""
    task = task_of(make())
    library = tmp_path / "exact.so"
    build(BuildJob(task.key, task.prompt, CPU, str(library)))
    bench = Bench(TorchEnd("cpu"))
    plain = plain_library(str(library))
    assert not bench.prepare(task.key, loads_workload(task.prompt), library, plain)
    assert bench.measure(task.key, Path(plain)).stage == "measured"
    wrong = compiled(cheats.kernel(cheats.BODIES["zeros"]), tmp_path, "zeros")
    assert bench.measure(task.key, wrong).stage == "runs"


def test_the_reference_is_the_workload_in_double_precision(tmp_path):
    task = task_of(workload("gemm", 32, 24, 40, "NT", "float16 float16", "C", "relu"))
    library = str(tmp_path / "exact.so")
    build(BuildJob(task.key, task.prompt, CPU, library))
    parsed = loads_workload(task.prompt)
    a, b = draw(parsed, SETS[0], "normal", "cpu")
    out = torch.empty(32, 24, dtype=torch.float64)
    TorchEnd("cpu").load(Path(library))(a.double(), b.double(), out)
    assert torch.allclose(out, torch.relu(a.double() @ b.double().T), rtol=1e-12, atol=0)


def test_inputs_are_seeded_and_indices_valid():
    parsed = loads_workload(task_of(workload("embedding", 1000, 32, 4, 8, "float32")).prompt)
    assert list(index_limits(parsed).values()) == [1000]
    for style in STYLES:
        first, again = (draw(parsed, SETS[1], style, "cpu") for _ in range(2))
        assert all(judge.same(left, right) for left, right in zip(first, again, strict=True))
        (ids,) = [each for each in first if each.dtype == torch.int32]

        assert int(ids.min()) >= 0
        assert int(ids.max()) < 1000


def test_the_narrowest_float_says_how_exact_an_output_can_be():
    cases = {
        ("dense", 16, 32, 24, "float16", 0, "add cast"): "float16",
        ("gemm", 16, 32, 24, "NT", "float16 float32", "C", ""): "float32",
        ("dense", 16, 32, 24, "float32", 0, "relu"): "float32",
        ("reduction", (4, 64), (1,), "argmax", "float32"): "float32",
    }
    for (family, *arguments), expected in cases.items():
        prompt = task_of(workload(family, *arguments)).prompt
        assert narrowest(loads_workload(prompt)) == expected


def test_half_integers_are_not_judged():
    task = task_of(workload("reduction", [4, 64], [1], "argmax", "float16"))
    bench = Bench(TorchEnd("cpu"))
    reason = bench.prepare(task.key, loads_workload(task.prompt), Path("a"), Path("b"))
    assert "depend on how ties break" in reason


def test_an_index_of_unknown_bounds_is_refused():
    from tvm import te

    x = te.placeholder((64,), name="x")
    ids = te.placeholder((16,), "int32", name="ids")
    y = te.compute((16,), lambda i: x[ids[i] * 2])
    function = te.create_prim_func([x, ids, y]).with_attr("global_symbol", "main")
    parsed = workload_of(tvm.IRModule({"main": function}))
    with pytest.raises(UnfitError, match="an index is computed by"):
        draw(parsed, SETS[0], "normal", "cpu")


# The whole.


def sketches(module, count):
    drawn = Workload("x", (), "llvm-4", "from-target", False, 1)
    for sample in spaces.samples(drawn, module, count, 20):
        if sample.passed:
            yield dumps(from_tvm(sample.schedule.trace))


@pytest.fixture(scope="module")
def mixed():
    """Tasks and candidates, good and bad."""
    modules = {
        "gemm": workload("gemm", 64, 48, 32, "NT", "float32 float32", "C", "add"),
        "softmax": workload("softmax", [8, 64], -1, "float32", "softmax"),
        "argmax": workload("reduction", [8, 64, 4], [1], "argmax", "float32"),
    }
    tasks = [task_of(module, key) for key, module in modules.items()]
    candidates = [
        Candidate(key, script, "sketch")
        for key, module in modules.items()
        for script in sketches(module, 2)
    ]
    candidates.append(Candidate("gemm", "nonsense", "nobody"))
    candidates.append(Candidate("gemm", HEADER + 'UnsafeSetDType b-1 | 0 "float16"\n'))
    return tasks, candidates


def test_all_candidates_have_a_result(mixed):
    tasks, candidates = mixed
    with Evaluator(CPU, "cpu", builders=2) as evaluator:
        found = list(evaluator.evaluate(tasks, candidates))
    given_ = {(each.workload, each.script) for each in candidates}
    assert {(each.workload, each.script) for each in found} == given_
    by_source = {each.source: each for each in found}
    assert by_source["sketch"].stage == "measured", by_source["sketch"]
    assert by_source["nobody"].stage == "given"
    counts = funnel(found)["reached"]
    assert counts["given"] == len(candidates)
    assert counts["measured"] == len(candidates) - 2
    assert table({"mixed": funnel(found)}).splitlines()[2].startswith(f"| mixed | {len(found)} | ")


def evaluate(*arguments):
    return [sys.executable, "-m", "training.evaluate", *map(str, arguments)]


def write(path, rows):
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def test_the_command_goes_on_from_where_it_was(mixed, tmp_path):
    tasks, candidates = mixed
    command = evaluate(
        write(tmp_path / "candidates.jsonl", candidates),
        *("--tasks", write(tmp_path / "tasks.jsonl", tasks)),
        *("--out", tmp_path / "results.jsonl", "--builders", 1),
    )
    out = tmp_path / "results.jsonl"
    first = Result("gemm", candidates[0].script, "parses", "a result of an earlier run")
    write(out, [first])
    with out.open("ab") as file:
        file.write(b'{"workload": "torn')
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"| candidates | {len(candidates)} |" in done.stdout
    found = read(out, Result)
    assert found[0] == first
    assert len(found) == len(candidates)
    assert {each.run for each in found[1:]} == {each.run for each in read(out, Run)}
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert again.returncode == 0
    assert read(out, Result) == found


@pytest.mark.parametrize(
    ("tasks", "candidates", "message"),
    [
        ('{"key": "a"}\n', "", "line 1: Object missing required field `prompt`"),
        ("", '{"workload": "a", "script": ""}\n', "candidate 1 is of 'a', which is no task"),
        ("", "nonsense\n", "line 1: JSON is malformed"),
    ],
)
def test_a_wrong_file_is_a_clear_error(tmp_path, tasks, candidates, message):
    (tmp_path / "tasks").write_text(tasks)
    (tmp_path / "candidates").write_text(candidates)
    command = evaluate(
        tmp_path / "candidates", "--tasks", tmp_path / "tasks", "--out", tmp_path / "o"
    )
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "o").exists()


def test_results_keep_their_types(tmp_path):
    file = ResultFile(tmp_path / "new" / "results.jsonl")
    latency = Latency(1e-5, 9e-6, 1.1e-5, 30, 1.0)
    result = Result("a", "b", "measured", error=1e-7, latency=latency, seconds=(0.1, 0.2), run="r")
    file.begin(Run("r", "command", "card", {}))
    file.add([result])
    file.close()
    again = ResultFile(tmp_path / "new" / "results.jsonl")
    again.close()
    assert again.results == [result]


def test_what_is_left_of_a_line_is_cut_off_wherever_it_ends(tmp_path):
    path = tmp_path / "results.jsonl"
    run, result = Run("r", "command", "card", {}), Result("a", "b", "given", "why")
    file = ResultFile(path)
    file.begin(run)
    file.add([result])
    file.close()
    whole = path.read_bytes()
    for line in (msgspec.json.encode(run), msgspec.json.encode(result)):
        for length in range(len(line)):
            path.write_bytes(whole + line[:length])
            again = ResultFile(path)
            again.close()
            assert again.results == [result]
            assert path.read_bytes() == whole


def test_a_file_of_something_else_stays_as_it_is(tmp_path):
    (tmp_path / "c").write_bytes(b"")
    for number, content in enumerate((b"\x89PNG\r\n\x1a\nabc", b"two lines\nof text", b"one line")):
        out = tmp_path / f"out{number}"
        out.write_bytes(content)
        command = evaluate(tmp_path / "c", "--tasks", tmp_path / "c", "--out", out)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stderr.startswith(f"evaluate: {out}")
        assert "Traceback" not in done.stderr
        assert out.read_bytes() == content


def test_a_compressed_file_that_is_cut_off(tmp_path):
    (tmp_path / "c.xz").write_bytes(lzma.compress(b"{}" * 1000)[:-10])
    with pytest.raises(ValueError, match=r"c\.xz: Compressed file ended"):
        read(tmp_path / "c.xz", Task)


def test_a_workload_that_is_none(tmp_path):
    for script in (None, RELU):
        built = build(BuildJob("a", "h100\nnonsense\n", CPU, str(tmp_path / "a.so"), script))
        assert built.stage == "given"
        assert built.reason.startswith("the workload: line 2")


# The pool.


def serve(pipe):
    while True:
        job = pipe.recv()
        if job == "die":
            raise SystemExit(3)
        if job == "sleep":
            time.sleep(60)
        if job == "broken":
            pipe.send_bytes(BROKEN + b"cannot go on")
            return
        pipe.send_bytes(str(job).encode())


def test_a_pool_gives_every_job_an_outcome():
    jobs = ["a", "die", "b", "sleep", "broken", "c"]
    found = {each.job: each for each in results(jobs, serve, 2, seconds=2)}
    assert {job: found[job].answer for job in jobs} == {
        "a": b"a",
        "b": b"b",
        "c": b"c",
        "die": None,
        "sleep": None,
        "broken": None,
    }
    assert found["die"].reason == "the process died, exit status 3"
    assert found["sleep"].reason == "took longer than 2 s"
    assert found["sleep"].seconds > 2
    assert found["broken"].reason == "cannot go on"


def sleep_long():
    time.sleep(4)


def answers_of(pool, jobs):
    for job in jobs:
        pool.submit(job)
    found = []
    try:
        while pool.unfinished:
            wait([pool])
            found += pool.ready()
    finally:
        pool.close()
    return {each.job: each for each in found}


def test_the_time_of_a_job_begins_when_its_process_is_prepared():
    """Also that of the one after a job that took too long, which gets a fresh process."""
    found = answers_of(Pool(serve, 1, 3, prepare=sleep_long), ["a", "sleep", "b"])
    assert [found[job].answer for job in ("a", "sleep", "b")] == [b"a", None, b"b"]
    assert found["sleep"].reason == "took longer than 3 s"
    assert max(found["a"].seconds, found["b"].seconds) < 3


def test_a_process_that_cannot_prepare(monkeypatch):
    (found,) = answers_of(Pool(serve, 1, 60, prepare=partial(sys.exit, 3)), ["a"]).values()
    assert (found.answer, found.reason) == (None, "the process died, exit status 3")
    monkeypatch.setattr("training.pool.SECONDS_TO_PREPARE", 0.2)
    (found,) = answers_of(Pool(serve, 1, 60, prepare=sleep_long), ["a"]).values()
    assert (found.answer, found.reason) == (None, "took longer than 0.2 s to prepare")


# What the pages say.


def test_the_page_shows_what_was_counted():
    counted = json.loads((ROOT / "training" / "results" / "funnel.json").read_text())
    page = (ROOT / "docs" / "evaluation.md").read_text()
    assert table(counted["funnels"]) in page
    rates = json.loads((ROOT / "training" / "results" / "throughput.json").read_text())
    assert throughput.table(rates) in page


def test_candidates_of_the_throughput_are_drawn_by_workload():
    found = [
        Result(key, f"{key}{place}", "measured" if place else "passes")
        for key, count in (("a", 4), ("b", 2), ("c", 5))
        for place in range(count)
    ]
    assert [each.workload for each in throughput.drawn(found, 5, 3)] in (
        ["a"] * 3 + ["c"] * 2,
        ["c"] * 3 + ["a"] * 2,
    )
    assert throughput.drawn(found, 5, 3) == throughput.drawn(found, 5, 3)
    assert all(not each.script.endswith("0") for each in throughput.drawn(found, 9, 1))
