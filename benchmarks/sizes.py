"""How long scripts are, compared with the JSON of the same traces. No TVM here."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any, NamedTuple

from workloads import Log, compact, own_logs, shared_logs

from tracescript import dumps, from_json

__all__ = ["Size", "sizes"]


class Size(NamedTuple):
    """The lengths of some traces in characters, in both forms."""

    name: str
    traces: int
    json: int
    """In JSON without blanks, non-ASCII characters as they are."""
    logged: int
    """In the JSON of the log itself."""
    script: int
    """As scripts, the header of each counted."""
    maps: int
    """In strings that hold an index map, which both forms quote in the same way."""
    quartiles: tuple[float, float, float]
    """Of the ratio script / JSON, trace by trace."""

    @property
    def ratio(self) -> float:
        """Give the ratio of all characters."""
        return self.script / self.json

    @property
    def ratio_to_log(self) -> float:
        """Give the ratio to what stands in the log."""
        return self.script / self.logged

    @property
    def ratio_without_maps(self) -> float:
        """Give the ratio of all characters outside the strings that hold an index map."""
        return (self.script - self.maps) / (self.json - self.maps)


def sizes() -> list[Size]:
    """Measure every log, the shared ones first, then all of each collection together."""
    shared, own = shared_logs(), own_logs()
    totals = [_joined("all shared logs", shared), _joined("all logs", shared + own)]
    return [_size(log) for log in shared + own + totals if log.traces]


def _joined(name: str, logs: list[Log]) -> Log:
    return Log(name, [trace for log in logs for trace in log.traces], 0)


def _size(log: Log) -> Size:
    values = [trace.value for trace in log.traces]
    before = [len(compact(value)) for value in values]
    logged = sum(trace.characters for trace in log.traces)
    after = [len(dumps(from_json(value))) for value in values]
    maps = sum(len(compact(text)) for value in values for text in _maps(value))
    ratios = [script / json for script, json in zip(after, before, strict=True)]
    # `quantiles` wants two values, and one trace may be all there is.
    first, second, third = statistics.quantiles(ratios * 2, n=4, method="inclusive")
    return Size(
        log.name, len(values), sum(before), logged, sum(after), maps, (first, second, third)
    )


def _maps(value: Any) -> Iterator[str]:
    """Find the strings that hold the text of a JSON object, at any depth."""
    if isinstance(value, str) and value[:1] == "{":
        yield value
    if isinstance(value, list):
        for item in value:
            yield from _maps(item)
