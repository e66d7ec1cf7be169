"""The report, from attempts and results that are invented, with numbers worked out by hand."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from training.attempts import GIVEN, Attempt
from training.data import tables
from training.evaluate.results import Exhausted, Latency, Result, Run
from training.report.board import TaskSet, load
from training.report.page import PARTS
from training.report.plots import Shown, trials
from training.report.summary import aims, summary

ROOT = Path(__file__).parents[1]
KEYS = ("1", "2")
TIMES = {
    # Two attempts at each of two workloads; None is a wrong kernel.
    "rl": {"1": (1.0, 4.0), "2": (2.0, None)},
    "sft": {"1": (2.0, 3.0), "2": (1.0, 8.0)},
}
TRIALS = {"1": [None, 8.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0], "2": [6.0] * 7 + [0.5]}


def lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def result(key, script, seconds, source, trial=0):
    if seconds is None:
        return Result(key, script, "passes", "why", source, trial=trial)
    latency = Latency(seconds, seconds, seconds, 9, 1.0)
    return Result(key, script, "measured", source=source, latency=latency, trial=trial)


def attempt(key, script, source, kind):
    about = {"kind": kind, "split": "test", "tokens": 30, "ended": True, "logprob": -1.0}
    return Attempt(key, script, source, **about)


@pytest.fixture
def datasets(tmp_path):
    row = {"family": "dense", "target": "llvm-4", "prompt": "...", "latency": 1.0}
    rows = [
        {**row, "key": key, "script": "s", "given": f"given {key}", "given_latency": 9.0,
         "ratio": 2.0, "best_latency": 1.0}
        for key in KEYS
    ]  # fmt: skip
    tables.write(tmp_path / "datasets" / "refine" / "test.parquet", rows, tables.REFINE)
    return tmp_path / "datasets"


@pytest.fixture
def folder(tmp_path):
    found = [Run("r", "command", "a card", {"tvm": "0.27"})]
    for label, times in TIMES.items():
        made = []
        for key, seconds in times.items():
            for place, each in enumerate(seconds):
                script = f"{label} {place}"
                found.append(result(key, script, each, label))
                made += [attempt(key, script, label, kind) for kind in ("construct", "refine")]
            made.append(attempt(key, f"given {key}", GIVEN, "refine"))
        lines(tmp_path / "report" / "attempts" / f"{label}.jsonl", made)
        facts = {"label": label, "parameters": 7, "masked": True, "scripts_per_second": 5.0}
        (tmp_path / "report" / "attempts" / f"{label}.run.json").write_text(json.dumps(facts))
    # That of the second workload was not measured again: its time is that of the data.
    found.append(result("1", "given 1", 1.5, GIVEN))
    found.append(result("2", "given 2", None, GIVEN))
    for key, seconds in TRIALS.items():
        trials = list(enumerate(seconds))
        # Results come in the order in which they are ready.
        found += [result(key, f"m {n}", each, "metaschedule", n) for n, each in reversed(trials)]
    found.append(result("1", "default", 2.0, "dlight"))
    lines(tmp_path / "report" / "results" / "all.jsonl", found)
    return tmp_path / "report"


def test_the_numbers(folder, datasets):
    board = load(folder, datasets)
    assert set(board.attempts["rl"]) == {TaskSet("construct", "test"), TaskSet("refine", "test")}
    numbers = summary(board, "rl", "sft")
    right = numbers["correctness"]["rl"]["construct"]
    assert (right["count"], right["of"], right["rate"], right["tasks"]) == (3, 4, 0.75, 2)
    assert right["solved_within"] == {1: 0.75, 2: 1.0}
    # 1 s against 2 s, then 2 s against 1 s.
    faster = numbers["faster"]["construct"]
    assert (faster["wins"], faster["losses"], faster["ties"]) == (1, 1, 0)
    assert faster["speedup"] == pytest.approx(1.0)
    # 1.5 s were given and 1 s found; 9 s were given and 2 s found.
    refined = numbers["refine"]["rl"]["refine"]
    assert refined["improved"]["rate"] == 1.0
    assert refined["speedup"] == pytest.approx((1.5 * 4.5) ** 0.5)
    search = numbers["metaschedule"]["rl"]["construct"]
    assert set(search) == {1, 8}
    assert (search[1]["both_right"], search[1]["theirs_wrong"], search[1]["wins"]) == (1, 1, 2)
    assert search[8]["speedup"] == pytest.approx((4.0 * 0.25) ** 0.5)
    other = numbers["others"]["rl"]["construct"]["dlight"]
    assert (other["tasks"], other["speedup"], other["fast"][1.5], other["fast"][2.0]) == (
        1,
        2.0,
        1.0,
        0.0,
    )
    assert numbers["models"]["rl"]["tokens_median"] == 30


OURS = {"a": 1.0, "b": 2.0, "c": 3.0, "d": None}
"""The one attempt at each of four tasks."""

SEARCHES = {
    # Cut off after 8 trials; ended by itself after 2; ended without a trial; cut off after 1.
    "a": [4.0] * 7 + [2.0],
    "b": [None, 1.0],
    "c": [],
    "d": [6.0],
}
ENDED = [
    Exhausted("b", "metaschedule", 64),
    Exhausted("c", "metaschedule", 64),
    Exhausted("c", "metaschedule", 256),
    Exhausted("a", "search", 256),
]


@pytest.fixture
def searched(tmp_path):
    """What is known of four searches of MetaSchedule."""
    made = [attempt(key, f"rl {key}", "rl", "construct") for key in OURS]
    lines(tmp_path / "searched" / "attempts" / "rl.jsonl", made)
    found = [result(key, f"rl {key}", seconds, "rl") for key, seconds in OURS.items()]
    for key, seconds in SEARCHES.items():
        found += [result(key, f"{n}", each, "metaschedule", n) for n, each in enumerate(seconds, 1)]
    lines(tmp_path / "searched" / "results" / "all.jsonl", [*ENDED, *reversed(found)])
    return load(tmp_path / "searched", tmp_path)


@pytest.mark.parametrize(
    ("count", "tasks", "both", "ours_wrong", "theirs_wrong", "speedup", "wins", "losses"),
    [
        # Of b only a wrong kernel, of c none: both are MetaSchedule's failures. Of d only theirs.
        (1, 4, 1, 1, 2, 4.0 / 1.0, 3, 1),
        # What d would have come to is not known.
        (8, 3, 2, 0, 1, (2.0 / 1.0 * 1.0 / 2.0) ** 0.5, 2, 1),
        # Nor what a would have.
        (64, 2, 1, 0, 1, 1.0 / 2.0, 1, 1),
        # The search on b was asked for 64: 256 were never tried.
        (256, 1, 0, 0, 1, None, 1, 0),
    ],
)
def test_a_search_that_ended_by_itself_counts_and_one_cut_off_does_not(
    searched, count, tasks, both, ours_wrong, theirs_wrong, speedup, wins, losses
):
    found = summary(searched, "rl", "sft")["metaschedule"]["rl"]["construct"][count]
    assert found == {
        "tasks": tasks,
        "untried": 4 - tasks,
        "both_right": both,
        "ours_wrong": ours_wrong,
        "theirs_wrong": theirs_wrong,
        "speedup": speedup if speedup is None else pytest.approx(speedup),
        "wins": wins,
        "losses": losses,
        "ties": 0,
    }


def test_failures_stand_on_the_page(searched):
    head, _, *rows = PARTS["metaschedule"](summary(searched, "rl", "sft")).splitlines()
    assert head.split(" | ")[3:7] == ["tasks", "both right", "model has none", "baseline has none"]
    assert rows == [
        "| rl | construct | 1 | 4 of 4 | 1 | 1 | 2 | 4.00x | 3 : 1 |",
        "| rl | construct | 8 | 3 of 4 | 2 | 0 | 1 | 1.00x | 2 : 1 |",
        "| rl | construct | 64 | 2 of 4 | 1 | 0 | 1 | 0.50x | 1 : 1 |",
        "| rl | construct | 256 | 1 of 4 | 0 | 0 | 1 |  | 1 : 0 |",
    ]


def test_the_plot_of_trials_has_what_ended_by_itself(searched):
    """Of the two searches whose 64 trials are known, b has a kernel, from its second trial on."""
    figure = trials(Shown(searched, summary(searched, "rl", "sft"), "rl", "sft"))
    drawn = {line.get_label(): line for line in figure.axes[0].lines}
    assert list(drawn["MetaSchedule"].get_xdata()) == [2, 4, 8, 16, 32, 64]
    assert list(drawn["MetaSchedule"].get_ydata()) == pytest.approx([1.0] * 6)
    assert list(drawn["rl"].get_ydata()) == pytest.approx([1.0 / 2.0])


def test_an_aim_without_a_measurement_is_not_met_and_not_missed(folder, datasets):
    numbers = summary(load(folder, datasets), "rl", "sft")
    found = {each["name"]: each for each in aims(numbers, "rl", "rl unmasked")}
    assert found["construct: right per attempt, masks on"]["met"] is False
    assert found["construct: right per attempt, no masks"]["reached"] is None
    assert found["construct: right per attempt, no masks"]["met"] is None
    assert found["tokens of a script, median"]["met"] is True


def report(*arguments):
    command = [sys.executable, "-m", "training.report", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command_writes_numbers_tables_and_plots(folder, datasets, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- numbers: correctness -->\n<!-- end -->\n")
    out = tmp_path / "summary.json"
    arguments = ["--out", out, "--page", page, "--plots", tmp_path, "--datasets", datasets]
    done = report(folder, *arguments)
    assert done.returncode == 0, done.stderr
    numbers = json.loads(out.read_bytes())
    assert numbers["cards"] == ["a card"]
    assert "| rl | construct | 2 | 3 of 4 | 75.0%" in page.read_text()
    assert (tmp_path / "model-correctness.svg").read_text().startswith("<?xml")
    assert not (tmp_path / "model-trials.svg").exists()
    first = (out.read_bytes(), page.read_bytes(), (tmp_path / "model-faster.svg").read_bytes())
    assert report(folder, *arguments).returncode == 0
    assert first == (
        out.read_bytes(),
        page.read_bytes(),
        (tmp_path / "model-faster.svg").read_bytes(),
    )


def test_attempts_that_nobody_judged_are_no_report(folder, datasets, tmp_path):
    lines(folder / "attempts" / "late.jsonl", [attempt("1", "new", "late", "construct")])
    done = report(folder, "--out", tmp_path / "summary.json", "--datasets", datasets)
    assert done.returncode == 1
    assert "1 of 21 attempts have no result, the first is of 1 by 'late'" in done.stderr
    assert not (tmp_path / "summary.json").exists()


def test_a_label_that_nobody_has(folder, datasets, tmp_path):
    out = ["--out", tmp_path / "summary.json", "--datasets", datasets]
    done = report(folder, *out, "--first", "nobody")
    assert done.stderr == "report: no attempts of 'nobody'; there are those of 'rl', 'sft'\n"
