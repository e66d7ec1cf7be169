"""What was judged: the attempts of every model, and what stands beside them.

A folder of a report holds

    attempts/*.jsonl      what `training.propose` and `training.compare` wrote; `.xz` too
    attempts/*.run.json   how each of them was sampled
    results/*.jsonl       what the evaluator found; of attempts, and of the baselines
    logs/*.json           the `log.json` of trainings, named after their labels
    roofline.json         ceilings of the card, and the bound of each workload

An attempt is right if its script was measured: the evaluator measures nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from training.attempts import GIVEN, Attempt, Kind
from training.data import files
from training.evaluate.results import Exhausted, Result, Run, read
from training.model.sequences import rows

__all__ = ["BASELINES", "Board", "Judged", "TaskSet", "Tasks", "Trials", "load"]

BASELINES = ("metaschedule", "dlight", "torch", "torch compiled")
"""The sources of results that are no attempts of a model."""


class TaskSet(NamedTuple):
    """One of the sets of held-out tasks."""

    kind: Kind
    split: str

    @property
    def name(self) -> str:
        """Its name in tables: the split is told if it is not the usual one."""
        return self.kind if self.split == "test" else f"{self.kind} {self.split}"


class Judged(NamedTuple):
    """An attempt and what became of it."""

    seconds: float | None
    """The median latency; None if its kernel is wrong, or there is none."""
    tokens: int


Tasks = dict[str, list[Judged]]
"""The attempts at each task, by the key of its workload, in the order in which they were made."""


class Trials(NamedTuple):
    """What a baseline did on a workload."""

    seconds: list[float | None]
    """The median latency of each trial that was judged, in their order; None if it is wrong.

    What was proposed and lost when a search was interrupted is not among them: nobody learnt of it.
    """
    ended: int = 0
    """How many a search was asked for that has ended by itself before; 0 for one that has not."""

    def include(self, count: int) -> bool:
        """Whether it is known what so many trials reach.

        A search that has ended by itself has nothing to add to what it has. One that was cut off
        might have found something better.

        >>> Trials([2.0, 1.0]).include(2), Trials([2.0, 1.0]).include(8)
        (True, False)
        >>> Trials([2.0, 1.0], ended=64).include(8), Trials([], ended=64).include(256)
        (True, False)
        """
        return count <= max(len(self.seconds), self.ended)


class Board(msgspec.Struct, frozen=True):
    """All that a report is made of."""

    attempts: dict[str, dict[TaskSet, Tasks]]
    """By the label of the model."""
    runs: dict[str, dict[str, Any]]
    """How the attempts of a label were sampled."""
    given: dict[str, float]
    """Seconds of the script that a refine task gives, by workload."""
    baselines: dict[str, dict[str, Trials]]
    """By name and workload."""
    bounds: dict[str, float]
    """Seconds below which no kernel of a workload can be, by the ceilings of the card."""
    logs: dict[str, dict[str, Any]]
    judged_by: list[Run]
    """The runs of the evaluator."""


def load(folder: Path, datasets: Path = files.DATASETS) -> Board:
    """Read the folder of a report.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is not of its kind, or attempts were not judged.
    """
    found = list(_lines(folder / "results", Result))
    attempts = list(_lines(folder / "attempts", Attempt))
    latencies = {(each.workload, each.script): _seconds(each) for each in found}
    missing = [each for each in attempts if (each.workload, each.script) not in latencies]
    if missing:
        raise ValueError(
            f"{folder}: {len(missing)} of {len(attempts)} attempts have no result, the first is of"
            f" {missing[0].workload} by {missing[0].source!r}; judge them by training.evaluate"
        )
    by_label: dict[str, dict[TaskSet, Tasks]] = {}
    for each in attempts:
        if each.source != GIVEN:
            tasks = by_label.setdefault(each.source, {})
            judged = Judged(latencies[each.workload, each.script], each.tokens)
            own = tasks.setdefault(TaskSet(each.kind, each.split), {})
            own.setdefault(each.workload, []).append(judged)
    return Board(
        attempts=by_label,
        runs={path.name.removesuffix(".run.json"): json.loads(path.read_bytes())
              for path in sorted((folder / "attempts").glob("*.run.json"))},
        given=_given(by_label, latencies, datasets),
        baselines=_baselines(found, _lines(folder / "results", Exhausted)),
        bounds=_bounds(folder / "roofline.json"),
        logs={path.stem: json.loads(path.read_bytes())
              for path in sorted((folder / "logs").glob("*.json"))},
        judged_by=list(_lines(folder / "results", Run)),
    )  # fmt: skip


def _lines(folder: Path, kind: type[Any]) -> Iterator[Any]:
    for path in sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.xz")]):
        yield from read(path, kind)


def _seconds(result: Result) -> float | None:
    return result.latency.median if result.latency else None


def _given(
    attempts: dict[str, dict[TaskSet, Tasks]],
    latencies: dict[tuple[str, str], float | None],
    datasets: Path,
) -> dict[str, float]:
    """The time of each given script: measured beside the attempts if it was, else as the data say.

    Two runs may differ by some percent, so the former is the better one.
    """
    sets = {each for tasks in attempts.values() for each in tasks if each.kind == "refine"}
    return {
        row["key"]: latencies.get((row["key"], row["given"])) or row["given_latency"]
        for each in sorted(sets)
        for row in rows(datasets, each.kind, each.split)
    }


def _baselines(
    results: Iterable[Result], exhausted: Iterable[Exhausted]
) -> dict[str, dict[str, Trials]]:
    """What the baselines reached. A search may have ended without a trial."""
    trials: dict[tuple[str, str], list[Result]] = {}
    ended: dict[tuple[str, str], int] = {}
    for result in results:
        trials.setdefault((result.source, result.workload), []).append(result)
    for each in exhausted:
        place = each.source, each.workload
        ended[place] = max(each.asked, ended.get(place, 0))
    found: dict[str, dict[str, Trials]] = {}
    for name, key in trials | ended:
        if name in BASELINES:
            own = sorted(trials.get((name, key), ()), key=lambda each: each.trial)
            made = Trials([_seconds(each) for each in own], ended.get((name, key), 0))
            found.setdefault(name, {})[key] = made
    return found


def _bounds(path: Path) -> dict[str, float]:
    return json.loads(path.read_bytes())["seconds"] if path.is_file() else {}
