"""How long scripts are, compared with the JSON of the same traces. No TVM here."""

from __future__ import annotations

import statistics
from typing import NamedTuple

from workloads import Log, compact, own_logs, shared_logs

from tracescript import dumps, from_json

__all__ = ["Size", "sizes"]


class Size(NamedTuple):
    """The lengths of some traces in characters, in both forms."""

    name: str
    traces: int
    json: int
    """In JSON without blanks, non-ASCII characters as they are."""
    script: int
    """As scripts, the header of each counted."""
    quartiles: tuple[float, float, float]
    """Of the ratio script / JSON, trace by trace."""

    @property
    def ratio(self) -> float:
        """Give the ratio of all characters."""
        return self.script / self.json


def sizes() -> list[Size]:
    """Measure every log, the shared ones first, then all of them together."""
    logs = shared_logs() + own_logs()
    every = Log("all logs", [trace for log in logs for trace in log.traces], 0)
    return [_size(log) for log in [*logs, every] if log.traces]


def _size(log: Log) -> Size:
    values = [trace.value for trace in log.traces]
    before = [len(compact(value)) for value in values]
    after = [len(dumps(from_json(value))) for value in values]
    ratios = [script / json for script, json in zip(after, before, strict=True)]
    # One trace alone is its own quartiles.
    first, second, third = statistics.quantiles(ratios * 2, n=4, method="inclusive")
    return Size(log.name, len(values), sum(before), sum(after), (first, second, third))
