"""TraceScript, TVM and JSON libraries over the same traces, in one process on one core.

The group of a benchmark says what is measured, its `extra_info` on what; `report.py` reads both.
"Cold" means that the memos of the codec are empty at the start of each round.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import msgspec
import pytest
from live import Replay, build, holds, replays
from pytest_benchmark.fixture import BenchmarkFixture
from tvm.s_tir.schedule import Trace as LiveTrace
from workloads import Located, compact, measured_logs, median, modern, synthetic

from tracescript import Trace, decode, dumps, encode, from_json, json_trace, loads, to_json
from tracescript._memo import Memo
from tracescript.reference import parse

MEMOS = [
    memo
    for module in (encode, decode, json_trace)
    for memo in vars(module).values()
    if isinstance(memo, Memo)
]

SUBJECTS_BY_SIZE = ("TVM as_json", "dumps(from_json)", "to_json(loads)")
TURNS = 11
LONG_TURNS = 3
SIZES = (10, 100, 1_000, 10_000, 100_000)
LARGEST_LIVE = 10_000


class Case(NamedTuple):
    """One trace in every form that something is measured on."""

    live: LiveTrace | None
    value: Any
    text: str
    data: bytes
    trace: Trace
    script: str


def as_json(case: Case) -> object:
    assert case.live is not None
    return case.live.as_json()


SUBJECTS: dict[str, Callable[[Case], object]] = {
    "TVM as_json": as_json,
    "Lark parse": lambda case: parse(case.script),
    "json loads + dumps": lambda case: json.dumps(json.loads(case.text)),
    "msgspec decode + encode": lambda case: msgspec.json.encode(msgspec.json.decode(case.data)),
    "from_json": lambda case: from_json(case.value),
    "dumps": lambda case: dumps(case.trace),
    "dumps(from_json)": lambda case: dumps(from_json(case.value)),
    "loads": lambda case: loads(case.script),
    "to_json": lambda case: to_json(case.trace),
    "to_json(loads)": lambda case: to_json(loads(case.script)),
}
OURS = ("from_json", "dumps", "dumps(from_json)", "loads", "to_json", "to_json(loads)")
PAIRS = ("dumps(from_json)", "to_json(loads)")


class Corpus(NamedTuple):
    """The traces of the measured logs that TVM 0.27 can hold, and the one in their middle."""

    cases: list[Case]
    total: int
    median: Case
    place: str


def make_case(value: Any, live: LiveTrace | None) -> Case:
    text = compact(value)
    trace = from_json(value)
    return Case(live, value, text, text.encode(), trace, dumps(trace))


@cache
def corpus() -> Corpus:
    """Load the logs once; a trace that TVM refuses or rewrites is not measured."""
    located = [trace for log in measured_logs() for trace in log.traces]
    held: dict[str, Case] = {}
    kept: list[Located] = []
    for trace in located:
        value = modern(trace.value)
        live = try_build(value)
        if live is None:
            continue
        held[trace.place] = make_case(value, live)
        kept.append(trace._replace(value=value))
    place = median(kept).place
    settle()
    return Corpus(list(held.values()), len(located), held[place], place)


def try_build(value: Any) -> LiveTrace | None:
    try:
        live = build(value)
    except Exception:
        # TVM raises many kinds of error; whichever it is, TVM cannot hold the trace.
        return None
    return live if holds(live, value) else None


@cache
def replay_cases() -> dict[str, tuple[Replay, Case]]:
    """Replay the chosen records once, for live traces that TVM itself made."""
    cases: dict[str, tuple[Replay, Case]] = {}
    for replay in replays():
        sch = replay.schedule()
        LiveTrace.apply_json_to_schedule(replay.located.value, sch)
        cases[replay.name] = replay, make_case(replay.located.value, sch.trace)
    settle()
    return cases


def settle() -> None:
    """Take what the harness holds out of the garbage collector's rounds."""
    gc.collect()
    gc.freeze()


def clear_memos() -> None:
    for memo in MEMOS:
        memo.clear()


def about(case: Case, turn: int, subject: str, **more: object) -> dict[str, object]:
    insts, decisions = case.value
    return {
        "turn": turn,
        "subject": subject,
        "instructions": len(insts),
        "decisions": len(decisions),
        "json": len(case.text),
        "script": len(case.script),
        **more,
    }


def turns(
    subjects: Iterable[str], *more: Iterable[object], count: int = TURNS
) -> list[tuple[object, ...]]:
    """Order the tests so that every subject has its turn before the first one has its second.

    A shared machine is slower for seconds at a time. In turns, that befalls all subjects
    alike, and a ratio within one turn is of two numbers taken shortly after one another.
    """
    return list(product(range(count), *more, subjects))


def turns_by_size(subjects: Iterable[str]) -> list[tuple[object, ...]]:
    """Give the short traces more turns, which cost little."""
    short = [size for size in SIZES if size <= 1_000]
    long = [size for size in SIZES if size > 1_000]
    return turns(subjects, short) + turns(subjects, long, count=LONG_TURNS)


@pytest.mark.parametrize(("turn", "subject"), turns(SUBJECTS))
@pytest.mark.benchmark(group="median warm", max_time=0.04, warmup=True, warmup_iterations=50)
def test_median_warm(benchmark: BenchmarkFixture, turn: int, subject: str) -> None:
    loaded = corpus()
    benchmark.extra_info = about(loaded.median, turn, subject, place=loaded.place)
    benchmark(SUBJECTS[subject], loaded.median)


@pytest.mark.parametrize(("turn", "subject"), turns(OURS))
@pytest.mark.benchmark(group="median cold")
def test_median_cold(benchmark: BenchmarkFixture, turn: int, subject: str) -> None:
    case = corpus().median
    benchmark.extra_info = about(case, turn, subject)

    def setup() -> tuple[tuple[Case], dict[str, Any]]:
        clear_memos()
        return (case,), {}

    benchmark.pedantic(SUBJECTS[subject], setup=setup, rounds=100, warmup_rounds=3)


@pytest.mark.parametrize(("turn", "subject"), turns(SUBJECTS, count=LONG_TURNS))
@pytest.mark.benchmark(group="corpus warm")
def test_corpus_warm(benchmark: BenchmarkFixture, turn: int, subject: str) -> None:
    if subject == "Lark parse" and turn:
        pytest.skip("it takes seconds, and one turn tells enough")
    one_pass(benchmark, turn, subject, lambda: None)


@pytest.mark.parametrize(("turn", "subject"), turns(OURS, count=LONG_TURNS))
@pytest.mark.benchmark(group="corpus cold")
def test_corpus_cold(benchmark: BenchmarkFixture, turn: int, subject: str) -> None:
    one_pass(benchmark, turn, subject, clear_memos)


def one_pass(
    benchmark: BenchmarkFixture, turn: int, subject: str, setup: Callable[[], None]
) -> None:
    """Measure one pass over all traces."""
    loaded = corpus()
    run = SUBJECTS[subject]
    benchmark.extra_info = {
        "turn": turn,
        "subject": subject,
        "traces": len(loaded.cases),
        "left out": loaded.total - len(loaded.cases),
        "instructions": sum(len(case.value[0]) for case in loaded.cases),
    }

    def every_trace() -> None:
        for case in loaded.cases:
            run(case)

    benchmark.pedantic(every_trace, setup=setup, rounds=1)


@pytest.mark.parametrize(
    ("turn", "name", "subject"), turns(["TVM as_json", *PAIRS], ["CPU", "CUDA"])
)
@pytest.mark.benchmark(group="replay", max_time=0.04, warmup=True, warmup_iterations=20)
def test_replayed(benchmark: BenchmarkFixture, turn: int, name: str, subject: str) -> None:
    replay, case = replay_cases()[name]
    benchmark.extra_info = about(case, turn, subject, name=name, place=replay.located.place)
    benchmark(SUBJECTS[subject], case)


@pytest.mark.parametrize(
    ("turn", "name", "subject"), turns(["TVM apply_json_to_schedule"], ["CPU", "CUDA"])
)
@pytest.mark.benchmark(group="replay")
def test_apply_json(benchmark: BenchmarkFixture, turn: int, name: str, subject: str) -> None:
    replay, case = replay_cases()[name]
    benchmark.extra_info = about(case, turn, subject, name=name, place=replay.located.place)

    def setup() -> tuple[tuple[Any, Any], dict[str, Any]]:
        return (case.value, replay.schedule()), {}

    benchmark.pedantic(LiveTrace.apply_json_to_schedule, setup=setup, rounds=5, warmup_rounds=1)


@pytest.mark.parametrize(("turn", "size", "subject"), turns_by_size(SUBJECTS_BY_SIZE))
@pytest.mark.benchmark(group="scaling")
def test_scaling(benchmark: BenchmarkFixture, turn: int, size: int, subject: str) -> None:
    measure_scaling(benchmark, turn, size, subject)


@pytest.mark.parametrize(("turn", "size", "subject"), turns_by_size(PAIRS))
@pytest.mark.benchmark(group="scaling without gc", disable_gc=True)
def test_scaling_without_gc(
    benchmark: BenchmarkFixture, turn: int, size: int, subject: str
) -> None:
    measure_scaling(benchmark, turn, size, subject)


def measure_scaling(benchmark: BenchmarkFixture, turn: int, size: int, subject: str) -> None:
    """Measure a synthetic trace, a short one more often."""
    is_live = subject == "TVM as_json"
    if is_live and size > LARGEST_LIVE:
        pytest.skip("TVM takes seconds for each round")
    case = scaling_case(size)
    benchmark.extra_info = about(case, turn, subject)
    rounds = max(1, min(50, (1_000 if is_live else 5_000) // size))
    warmup = 0 if size > 10_000 else 1
    benchmark.pedantic(SUBJECTS[subject], args=(case,), rounds=rounds, warmup_rounds=warmup)


@cache
def scaling_case(size: int) -> Case:
    value = synthetic(size)
    case = make_case(value, build(value) if size <= LARGEST_LIVE else None)
    settle()
    return case
