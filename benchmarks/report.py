"""Run the benchmarks and write what they say as a page of the documentation.

    python benchmarks/report.py [--out docs/benchmarks.md]

Every verdict on the page is computed from the numbers of this run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from sizes import Size, sizes
from workloads import ROOT, note

TVM = "TVM as_json"
JSON = "json loads + dumps"
PAIRS = ("dumps(from_json)", "to_json(loads)")
PACKAGES = ("tracescript", "apache-tvm", "apache-tvm-ffi", "lark", "msgspec", "pytest-benchmark")

MEDIAN_LIMIT = 100e-6
SPEEDUP = 15.0
FLAT_FROM = 100
FLAT = 2.0
SIZE_LIMIT = 2 / 3


class Timing(NamedTuple):
    """What one subject took, in seconds, turn by turn."""

    medians: dict[int, float]
    best: float

    @property
    def quietest(self) -> float:
        """Give the median of the turn that the machine disturbed least."""
        return min(self.medians.values())

    @property
    def median(self) -> float:
        """Give the median over the turns of each turn's median."""
        return statistics.median(self.medians.values())


class Results:
    """The timings of one run, by group, case and subject."""

    def __init__(self, benchmarks: Iterable[dict[str, Any]]) -> None:
        medians: dict[tuple[Any, ...], dict[int, float]] = defaultdict(dict)
        best: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        self._info: dict[str, dict[str, Any]] = {}
        for item in benchmarks:
            info, stats = item["extra_info"], item["stats"]
            # A case is a replay by its name, or a trace or corpus by its length.
            case = info.get("name", info["instructions"])
            key = item["group"], case, info["subject"]
            medians[key][info["turn"]] = stats["median"]
            best[key].append(stats["min"])
            self._info.setdefault(item["group"], info)
        self._timings = {key: Timing(medians[key], min(best[key])) for key in medians}

    def info(self, group: str) -> dict[str, Any]:
        """Say what was measured in a group."""
        return self._info[group]

    def cases(self, group: str) -> list[Any]:
        """List the cases of a group, in the order of the run."""
        return list(dict.fromkeys(key[1] for key in self._timings if key[0] == group))

    def subjects(self, group: str) -> list[str]:
        """List the subjects of a group, in the order of the run."""
        return list(dict.fromkeys(key[2] for key in self._timings if key[0] == group))

    def get(self, group: str, subject: str, case: Any = None) -> Timing | None:
        """Find a timing; without a case, that of the only case."""
        chosen = self.cases(group)[0] if case is None else case
        return self._timings.get((group, chosen, subject))

    def ratio(self, group: str, subject: str, case: Any = None) -> float | None:
        """How many times faster than `as_json`: the median over the turns that both had."""
        mine, theirs = self.get(group, subject, case), self.get(group, TVM, case)
        if mine is None or theirs is None:
            return None
        shared = mine.medians.keys() & theirs.medians.keys()
        return statistics.median(theirs.medians[turn] / mine.medians[turn] for turn in shared)


class Target(NamedTuple):
    """Something the project set out to reach, and what was measured."""

    text: str
    measured: str
    reached: bool


def main() -> int:
    """Run, then write the page; a failed benchmark is a failed report."""
    parser = argparse.ArgumentParser(description="Run the benchmarks and write their page.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    out: Path = parser.parse_args().out
    load = os.getloadavg()[0]
    run = run_benchmarks()
    page = "\n".join(write_page(run, sizes(), load)) + "\n"
    out.write_text(page, encoding="utf-8")
    sys.stderr.write(f"{note()}\nwritten: {out}\n")
    return 0


def run_benchmarks() -> dict[str, Any]:
    """Run the suite in a process of its own and give its JSON report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "benchmarks.json"
        command = [sys.executable, "-m", "pytest", str(ROOT / "benchmarks"), "--benchmark-only"]
        command += [f"--benchmark-json={report}", f"--benchmark-storage=file://{folder}"]
        command += ["-q", "-p", "no:cacheprovider", "--benchmark-columns=min,median,rounds"]
        subprocess.run(command, check=True, cwd=ROOT)  # noqa: S603 -- our own command
        return json.loads(report.read_text(encoding="utf-8"))


def write_page(run: dict[str, Any], lengths: list[Size], load: float) -> Iterator[str]:
    """Give the lines of the page."""
    results = Results(run["benchmarks"])
    yield "# Benchmarks"
    yield ""
    yield "Written by `python benchmarks/report.py`; every number and verdict is from one run."
    yield ""
    yield from conditions(run, load)
    yield from verdicts(targets(results, lengths))
    yield from median_trace(results)
    yield from whole_corpus(results)
    yield from replays(results)
    yield from scaling(results)
    yield from characters(lengths)
    yield from obstacles(results)


def conditions(run: dict[str, Any], load: float) -> Iterator[str]:
    """State what the numbers hold for."""
    cpu = run["machine_info"]["cpu"]
    yield from table(
        ("condition", "in this run"),
        [
            ("date", run["datetime"][:16].replace("T", " ") + " UTC"),
            ("CPU", f"{cpu.get('brand_raw', platform.machine())}; {os.cpu_count()} cores, 1 used"),
            ("Python", f"{platform.python_version()}, {platform.python_compiler()}"),
            ("Python built with PGO", built_with_pgo()),
            ("load average before and after", f"{load:.1f}, {os.getloadavg()[0]:.1f}"),
            ("packages", ", ".join(f"{name} {version(name)}" for name in PACKAGES)),
            ("traces", note()),
        ],
    )
    yield "The subjects take turns, since the speed of a shared machine changes from second to"
    yield "second. *Median* is the median over the turns of each turn's median, *best* the fastest"
    yield "round of all, and *x as_json* the median over the turns of TVM's time divided by the"
    yield "subject's in the same turn. A target that is a time counts as reached if the median of"
    yield "the quietest turn reaches it: the machine has slow phases, the code has not. TVM's"
    yield "`as_json` turns a live trace into Python objects, not yet into text. Both sides get the"
    yield "same traces; those of old releases are rewritten for that to what TVM 0.27 can hold"
    yield "(`GetSBlock`, two attributes of `Split`). *Warm* means that the codec has seen the same"
    yield "short texts before, *cold* that its memos were emptied."
    yield ""


def built_with_pgo() -> str:
    """Say what this Python's build tells about profile-guided optimisation."""
    if "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or ""):
        return "yes (`--enable-optimizations`)"
    if sys.base_prefix == "/usr" and Path("/etc/debian_version").exists():
        return "not said in its CONFIG_ARGS; it is the system's own, which Debian builds with PGO"
    return "no (CONFIG_ARGS lacks `--enable-optimizations`)"


def targets(results: Results, lengths: list[Size]) -> Iterator[Target]:
    """Compare the numbers with what the project set out to reach."""
    for pair in PAIRS:
        timing = results.get("median warm", pair)
        assert timing is not None
        measured = (
            f"{micro(timing.quietest)} in the quietest turn, {micro(timing.median)} in the median"
        )
        text = f"`{pair}` of the median trace in at most {micro(MEDIAN_LIMIT)}"
        yield Target(text, measured, timing.quietest <= MEDIAN_LIMIT)
    for group, what in (("median warm", "the median trace"), ("corpus warm", "the whole corpus")):
        for pair in PAIRS:
            ratio = results.ratio(group, pair)
            assert ratio is not None
            text = f"`{pair}` at least {SPEEDUP:.0f} times as fast as `as_json`, {what}"
            yield Target(text, f"{ratio:.1f} times", ratio >= SPEEDUP)
    for group, what in (("scaling", ""), ("scaling without gc", ", garbage collector off")):
        for pair in PAIRS:
            growth = spread(results, group, pair)
            text = f"`{pair}` costs the same per instruction from {FLAT_FROM} up{what}"
            measured = (
                f"the dearest size costs {growth:.2f} times the cheapest; flat is up to {FLAT:g}"
            )
            yield Target(text, measured, growth <= FLAT)
    for size in lengths:
        if size.name.startswith("all"):
            text = f"scripts at most {SIZE_LIMIT:.1%} of the characters of"
            for json, ratio in (
                ("the JSON in the logs", size.ratio_to_log),
                ("minimal JSON", size.ratio),
            ):
                measured = f"{ratio:.1%}"
                yield Target(f"{text} {json}, {size.name}", measured, ratio <= SIZE_LIMIT)


def spread(results: Results, group: str, subject: str) -> float:
    """Compare the cost of an instruction at the dearest size and at the cheapest."""
    costs = [
        timing.best / size
        for size in results.cases(group)
        if size >= FLAT_FROM and (timing := results.get(group, subject, size))
    ]
    return max(costs) / min(costs)


def verdicts(found: Iterable[Target]) -> Iterator[str]:
    """Write the targets, reached or missed."""
    yield "## Targets"
    yield ""
    rows = [
        (target.text, target.measured, "reached" if target.reached else "**missed**")
        for target in found
    ]
    yield from table(("target", "measured", "verdict"), rows)


def median_trace(results: Results) -> Iterator[str]:
    """Write what the median trace costs."""
    info = results.info("median warm")
    yield "## The median trace"
    yield ""
    yield f"`{info['place']}`: {info['instructions']} instructions, {info['decisions']} decisions,"
    yield f"{info['json']} characters of JSON, {info['script']} of script."
    yield ""
    rows = [
        (
            f"`{subject}`" if subject in results.subjects("median cold") else subject,
            micro_of(results.get("median warm", subject)),
            best_of(results.get("median warm", subject)),
            micro_of(results.get("median cold", subject)),
            times(results.ratio("median warm", subject)),
        )
        for subject in results.subjects("median warm")
    ]
    yield from table(("subject", "median", "best", "median, cold", "x as_json"), rows)


def whole_corpus(results: Results) -> Iterator[str]:
    """Write what a trace costs on average in one pass over all of them."""
    info = results.info("corpus warm")
    count = info["traces"]
    yield "## All traces, one pass"
    yield ""
    yield f"{count} traces with {info['instructions']} instructions; times are per trace. Left out:"
    yield f"{info['left out']} traces that TVM 0.27 cannot hold or would write differently."
    yield ""
    rows = [
        (
            f"`{subject}`" if subject in results.subjects("corpus cold") else subject,
            micro_of(results.get("corpus warm", subject), count),
            best_of(results.get("corpus warm", subject), count),
            micro_of(results.get("corpus cold", subject), count),
            times(results.ratio("corpus warm", subject)),
        )
        for subject in results.subjects("corpus warm")
    ]
    yield from table(("subject", "median", "best", "median, cold", "x as_json"), rows)


def replays(results: Results) -> Iterator[str]:
    """Write what the traces cost that TVM replayed on their modules."""
    yield "## Replayed traces"
    yield ""
    yield "The median records of `tests/corpus/llvm` and `cuda`, replayed on their modules, so that"
    yield "the live trace is one that TVM made. `apply_json_to_schedule` also does the scheduling."
    yield ""
    rows = [
        (
            case,
            subject,
            micro_of(results.get("replay", subject, case)),
            best_of(results.get("replay", subject, case)),
            times(results.ratio("replay", subject, case)),
        )
        for case in results.cases("replay")
        for subject in results.subjects("replay")
    ]
    yield from table(("record", "subject", "median", "best", "x as_json"), rows)


def scaling(results: Results) -> Iterator[str]:
    """Write what an instruction costs in traces of growing length."""
    yield "## Cost per instruction"
    yield ""
    yield "Synthetic traces; the fastest round, in µs per instruction. The last columns are with"
    yield "Python's garbage collector off, whose work grows with the number of live containers."
    yield ""
    columns = [("scaling", subject) for subject in results.subjects("scaling")]
    columns += [("scaling without gc", pair) for pair in PAIRS]
    names = [
        subject + (", no gc" if group == "scaling without gc" else "") for group, subject in columns
    ]
    rows = []
    for size in results.cases("scaling"):
        timings = [results.get(group, subject, size) for group, subject in columns]
        costs = [f"{1e6 * timing.best / size:.2f}" if timing else "" for timing in timings]
        rows.append((f"{size:,}", *costs))
    yield from table(("instructions", *names), rows)


def characters(lengths: list[Size]) -> Iterator[str]:
    """Write how long scripts are."""
    yield "## Characters"
    yield ""
    yield "The script of each trace, its header counted, against the JSON of the same trace: as"
    yield "it stands in the log, and as short as JSON can be (no blanks, the shortest floats)."
    yield "Index maps are JSON texts inside a string and stay as they are in both; the last column"
    yield "is the ratio of what is left of the shortest JSON without such strings."
    yield ""
    rows = [
        (
            size.name,
            f"{size.traces:,}",
            f"{size.logged:,}",
            f"{size.json:,}",
            f"{size.script:,}",
            f"{size.ratio_to_log:.3f}",
            f"{size.ratio:.3f}",
            " / ".join(f"{quartile:.3f}" for quartile in size.quartiles),
            f"{size.ratio_without_maps:.3f}",
        )
        for size in lengths
    ]
    header = (
        *("log", "traces", "JSON in the log", "minimal JSON", "script", "to log", "to minimal"),
        *("quartiles of a trace, to minimal", "without maps"),
    )
    yield from table(header, rows)


def obstacles(results: Results) -> Iterator[str]:
    """Say what stands between the codec and the speed that was set out for."""
    theirs = results.get("median warm", TVM)
    assert theirs is not None
    parts = ("from_json", "dumps", "loads", "to_json")
    timings = [(part, results.get("median warm", part)) for part in parts]
    costs = ", ".join(f"`{part}` {micro(timing.best)}" for part, timing in timings if timing)
    json_best = best_of(results.get("median warm", JSON))
    yield "## What stands in the way"
    yield ""
    yield f"Best times on the median trace: {costs}. {SPEEDUP:.0f} times as fast as `as_json`"
    yield f"would be {micro(theirs.best / SPEEDUP)} for a pair. Python's own `json`, which is C and"
    yield f"builds no model, takes {json_best} for `loads` and `dumps` of this trace. The codec is"
    yield "a Python loop that makes or reads one object an instruction and one reference an input;"
    yield "most of its time is the interpreter's price for that. Lines are remembered when reading."
    yield "When writing they cannot be: Python's dicts take 1, 1.0 and true for one key, and the"
    yield "codec may not. To come closer takes compiled code."
    yield ""
    yield "An instruction costs more in a trace of 10 than of 100 since each call has a fixed"
    yield "price, and more in one of 100,000, where the names are beyond those at hand, the memos"
    yield "overflow, and the objects are beyond the processor's caches."
    yield ""


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Write a Markdown table and the blank line after it."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def micro(seconds: float) -> str:
    """Write a time in microseconds, with two or more digits that count."""
    value = seconds * 1e6
    return f"{value:,.0f} µs" if value >= 100 else f"{value:.1f} µs"


def micro_of(timing: Timing | None, count: int = 1) -> str:
    """Write a median, if there is one."""
    return micro(timing.median / count) if timing else ""


def best_of(timing: Timing | None, count: int = 1) -> str:
    """Write the fastest round, if there is one."""
    return micro(timing.best / count) if timing else ""


def times(ratio: float | None) -> str:
    """Write how many times faster than `as_json` something is."""
    return f"{ratio:.1f}" if ratio is not None else ""


if __name__ == "__main__":
    sys.exit(main())
