"""Make examples of what was measured: *construct* and *refine*, for training and for tests.

    python -m training.data.examples RESULTS.jsonl...

The results are those of `training.data.search`. A *construct* example is a prompt and one of the
best scripts of it; a *refine* example has a measured script as well, and the script is one that is
faster for certain. Besides the tables this writes all that was measured, as a table and as a log
of traces. The same results give the same files.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import lzma
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tracescript import encode_file, loads, to_json
from tracescript.workloads import loads as loads_workload
from training.data import files, tables
from training.data.splits import CONSTRUCT, REFINE
from training.evaluate.results import Latency, Result, Run, files_or_exit, read

NEAR = 1.1
"""A script within this factor of the best one is one of the best."""

MOST_BEST = 4
"""Construct examples of a workload."""

LEAST_RATIO = 1.1
"""What a faster script gains at least."""

MOST_PAIRS = 6
"""Refine examples of a workload."""


class Timed(NamedTuple):
    """A script and how long its kernel takes."""

    script: str
    latency: Latency

    @property
    def seconds(self) -> float:
        """Return the median."""
        return self.latency.median


Ranking = dict[str, list[Timed]]
"""What was measured of each workload, by its key, the fastest first."""


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+", help="files of measured results")
    parser.add_argument("--out", type=Path, default=files.DATASETS, help="folder (%(default)s)")
    args = parser.parse_args()
    with files_or_exit("examples"):
        write(args.results, args.out)


def write(paths: Sequence[Path], out: Path) -> None:
    """Write all that follows from files of results, for the workloads that are listed there."""
    workloads = files.workloads(out / files.WORKLOADS.name)
    results = list(chain.from_iterable(read(path, Result) for path in paths))
    cards = {run.run: run.card for path in paths for run in read(path, Run)}
    ranking = ranked(results)
    for name, rows, schema in (
        ("measured/results", measured(workloads, results, cards), tables.MEASURED),
        ("construct/train", construct_examples(workloads, ranking), tables.CONSTRUCT),
        ("construct/test", construct_tasks(workloads, ranking, "construct"), tables.CONSTRUCT),
        ("construct/hard", construct_tasks(workloads, ranking, "hard"), tables.CONSTRUCT),
        ("refine/train", refine_examples(workloads, ranking), tables.REFINE),
        ("refine/test", refine_tasks(workloads, ranking, "refine"), tables.REFINE),
        ("refine/hard", refine_tasks(workloads, ranking, "hard"), tables.REFINE),
    ):
        found = list(rows)
        tables.write(out / f"{name}.parquet", found, schema)
        print(f"{name}: {len(found)}", file=sys.stderr)
    _write_log(out / "measured.trace.xz", workloads, ranking)


def ranked(results: Iterable[Result]) -> Ranking:
    """Return what was measured, each script of a workload once: its first result counts."""
    found: dict[str, dict[str, Timed]] = defaultdict(dict)
    for each in results:
        if each.stage == "measured" and each.latency:
            found[each.workload].setdefault(each.script, Timed(each.script, each.latency))
    return {
        key: sorted(scripts.values(), key=lambda timed: (timed.seconds, timed.script))
        for key, scripts in found.items()
    }


def construct_examples(workloads: Iterable[files.Row], ranking: Ranking) -> Iterator[files.Row]:
    """Yield a few of the best scripts of each workload for training."""
    for workload in _of_split(workloads, "train"):
        timed = ranking.get(workload["key"], [])
        # The best of one is no choice.
        if len(timed) > 1:
            best = timed[0].seconds
            for each in timed[:MOST_BEST]:
                if each.seconds <= NEAR * best:
                    yield _construct(workload, each, best)


def construct_tasks(
    workloads: Iterable[files.Row], ranking: Ranking, split: str
) -> Iterator[files.Row]:
    """Yield the tasks of a split, each with the best script that is known, if one is."""
    for workload in _of_split(workloads, split)[:CONSTRUCT]:
        best = ranking.get(workload["key"], [None])[0]
        yield _construct(workload, best, best and best.seconds)


def refine_examples(workloads: Iterable[files.Row], ranking: Ranking) -> Iterator[files.Row]:
    """Yield pairs of each workload for training."""
    for workload in _of_split(workloads, "train"):
        timed = ranking.get(workload["key"], [])
        for given, better in chosen_pairs(timed):
            yield _refine(workload, given, better, timed[0].seconds)


def refine_tasks(
    workloads: Sequence[files.Row], ranking: Ranking, split: str
) -> Iterator[files.Row]:
    """Yield a task for each workload of which a script is given that can be made faster.

    A workload without one is replaced by a spare one.
    """
    listed = _of_split(workloads, split)
    if split == "refine":
        listed += _of_split(workloads, "spare")
    count = 0
    for workload in listed:
        timed = ranking.get(workload["key"], [])
        slower = [each for each in timed[1:] if _is_faster(timed[0], each)]
        if slower and count < REFINE:
            count += 1
            given = slower[_number(workload["key"]) % len(slower)]
            yield _refine(workload, given, timed[0], timed[0].seconds)


def chosen_pairs(timed: Sequence[Timed]) -> list[tuple[Timed, Timed]]:
    """Return pairs of a slower and a faster script, spread over the range of ratios.

    The range is cut into as many parts as pairs are wanted, on a scale of logarithms. One pair of
    each part is taken before the second of any, and of a part those with the fastest scripts first.
    """
    pairs = [
        (slower, faster)
        for place, slower in enumerate(timed)
        for faster in timed[:place]
        if _is_faster(faster, slower)
    ]
    if not pairs:
        return []
    least, most = math.log(LEAST_RATIO), math.log(timed[-1].seconds / timed[0].seconds)
    width = max(most - least, 1e-9) / MOST_PAIRS
    parts: dict[int, list[tuple[Timed, Timed]]] = defaultdict(list)
    for slower, faster in pairs:
        part = int((math.log(slower.seconds / faster.seconds) - least) / width)
        parts[min(part, MOST_PAIRS - 1)].append((slower, faster))
    queue = [
        (place, part, pair)
        for part, members in parts.items()
        for place, pair in enumerate(sorted(members, key=lambda pair: _order(*pair)))
    ]
    queue.sort(key=lambda item: (item[0], -item[1]))
    return [pair for _, _, pair in queue[:MOST_PAIRS]]


def _is_faster(faster: Timed, slower: Timed) -> bool:
    """Whether the gain is large enough, and the middle halves of the samples do not meet."""
    enough = slower.seconds >= LEAST_RATIO * faster.seconds
    return enough and faster.latency.high < slower.latency.low


def _order(slower: Timed, faster: Timed) -> tuple[float, int]:
    return faster.seconds, _number(slower.script + faster.script)


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _of_split(workloads: Iterable[files.Row], split: str) -> list[files.Row]:
    return [workload for workload in workloads if workload["split"] == split]


def _about(workload: files.Row) -> files.Row:
    return {name: workload[name] for name in ("key", "family", "target", "prompt")}


def _construct(workload: files.Row, timed: Timed | None, best: float | None) -> files.Row:
    script, latency = (timed.script, timed.seconds) if timed else (None, None)
    return {**_about(workload), "script": script, "latency": latency, "best_latency": best}


def _refine(workload: files.Row, given: Timed, better: Timed, best: float) -> files.Row:
    return {
        **_about(workload),
        "given": given.script,
        "script": better.script,
        "given_latency": given.seconds,
        "latency": better.seconds,
        "ratio": given.seconds / better.seconds,
        "best_latency": best,
    }


def measured(
    workloads: Iterable[files.Row], results: Iterable[Result], cards: dict[str, str]
) -> Iterator[files.Row]:
    """Yield all results of known workloads, those that failed too."""
    known = {workload["key"]: workload for workload in workloads}
    for each in results:
        workload = known.get(each.workload)
        if workload is None:
            continue
        latency = each.latency
        yield {
            **{name: workload[name] for name in ("key", "family", "target", "split")},
            **{name: getattr(each, name) for name in ("script", "source", "stage", "reason")},
            "median": latency and latency.median,
            "low": latency and latency.low,
            "high": latency and latency.high,
            "samples": latency and latency.samples,
            "clock": latency and latency.clock,
            "error": each.error,
            "card": cards.get(each.run, ""),
        }


def _write_log(path: Path, workloads: Sequence[files.Row], ranking: Ranking) -> None:
    """Write what was measured as TVM's tuning records, in our text.

    A record names its workload by the position in the list of workloads. Its run times are the
    median and the quartiles.
    """
    text = io.BytesIO()
    with tempfile.NamedTemporaryFile(suffix=".json") as log:
        for index, workload in enumerate(workloads):
            for record in _records(index, workload, ranking.get(workload["key"], [])):
                log.write(json.dumps(record).encode() + b"\n")
        log.flush()
        encode_file(Path(log.name), text, strict=True)
    files.write(path, lzma.compress(text.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def _records(index: int, workload: files.Row, ranking: Sequence[Timed]) -> Iterator[list[object]]:
    if not ranking:
        return
    form = loads_workload(workload["prompt"])
    buffers = [form.buffers[place] for place in form.params]
    arguments = [["TENSOR", buffer.dtype, list(buffer.shape)] for buffer in buffers]
    target = {"tag": TAGS[workload["target"]]}
    for script, latency in ranking:
        times = [latency.median, latency.low, latency.high]
        yield [index, [to_json(loads(script)), times, target, arguments]]


TAGS = {"h100": "nvidia/nvidia-h100"}


if __name__ == "__main__":
    main()
