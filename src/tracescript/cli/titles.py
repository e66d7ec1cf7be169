"""What a command says about a record in a line above it."""

from __future__ import annotations

import statistics

from tracescript.files import Record
from tracescript.literals import format_int

__all__ = ["run_time", "title"]


def title(record: Record, place: str) -> str:
    """The place of a record, its workload and its run time."""
    if record.workload is None:
        return place
    title = f"{place}  workload {format_int(record.workload)}"
    if not _times(record):
        return f"{title}  not measured"
    seconds = run_time(record)
    return title if seconds is None else f"{title}  {seconds * 1e6:.1f} us"


def run_time(record: Record) -> float | None:
    """The median of the run times in seconds; None if there are none, or no numbers."""
    times = _times(record)
    numbers = [time for time in times if isinstance(time, (int, float))]
    if not times or len(numbers) < len(times):
        return None
    try:
        return float(statistics.median(numbers))
    except OverflowError:
        # An integer that no float can hold.
        return None


def _times(record: Record) -> tuple[object, ...]:
    return record.run_secs if isinstance(record.run_secs, tuple) else ()
