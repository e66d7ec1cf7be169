"""The dependency graph of the longest recorded trace: to make it, and to ask it.

    pytest benchmarks/bench_dependencies.py --benchmark-only

One core; no TVM is needed. Of the project's own logs it is a CUDA record with tensor intrinsics.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from workloads import OWN

from tracescript import Trace, iter_records
from tracescript.dependencies import DecisionNode, InstNode, TraceGraph, ValueNode, graph, simplify


def longest() -> Trace:
    traces = [record.trace for record in iter_records(OWN / "cuda.tuning_record.json")]
    return max(traces, key=lambda trace: len(trace.insts))


TRACE = longest()
LAST = len(TRACE.insts) - 1
TILE = DecisionNode(0)
OTHER = DecisionNode(len(TRACE.decisions) - 1)
VALUE = next(ValueNode(index, 0) for index in range(LAST, -1, -1) if TRACE.insts[index].outputs)

QUESTIONS: dict[str, Callable[[TraceGraph], object]] = {
    "nodes": lambda made: made.nodes,
    "edges": lambda made: list(made.edges()),
    "influences": lambda made: made.influences(TILE),
    "influences, orders": lambda made: made.influences(TILE, orders=True),
    "depends_on": lambda made: made.depends_on(VALUE),
    "depends_on, orders": lambda made: made.depends_on(InstNode(LAST), orders=True),
    "slice": lambda made: made.slice(VALUE),
    "dead_values": lambda made: made.dead_values(),
    "independent": lambda made: made.independent(TILE, OTHER),
    "independent_groups": lambda made: made.independent_groups(),
    "commute": lambda made: made.commute(LAST - 1, LAST),
    "can_move": lambda made: made.can_move(LAST, 0),
}


SUBJECTS: dict[str, Callable[[], object]] = {
    "graph": lambda: graph(TRACE),
    "simplify": lambda: simplify(TRACE),
    **{name: partial(ask, graph(TRACE)) for name, ask in QUESTIONS.items()},
}


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.benchmark(group="dependencies")
def test_dependencies(benchmark: BenchmarkFixture, subject: str) -> None:
    benchmark.extra_info = {"turn": 0, "subject": subject, "instructions": len(TRACE.insts)}
    benchmark(SUBJECTS[subject])
