"""The plots of the page on the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from training.drawing import BLUE, FAINT, GREEN, ORANGE, figure_of, save, style


class Samples(NamedTuple):
    """Numbers of which the plots show the distribution."""

    prompts: list[int]
    """Tokens of each prompt."""
    scripts: list[int]
    """Tokens of each script."""
    gains: list[float]
    """The slowest script of each workload over the fastest one."""
    ratios: list[float]
    """The ratio of each refine example."""


def draw(samples: Samples, data: dict[str, Any], folder: Path) -> None:
    """Write all plots."""
    with style():
        save(lengths(samples), folder / "data-lengths.svg")
        save(gains(samples), folder / "data-gains.svg")
        save(families(data["families"]), folder / "data-families.svg")
        save(kinds(data["kinds"]), folder / "data-kinds.svg")


def lengths(samples: Samples) -> Figure:
    """Tokens of prompts and of scripts."""
    figure, (left, right) = figure_of(9, 3, columns=2)
    _histogram(left, samples.prompts, BLUE, "tokens of a prompt", "workloads")
    _histogram(right, samples.scripts, ORANGE, "tokens of a script", "scripts")
    return figure


def gains(samples: Samples) -> Figure:
    """How far apart the scripts of a workload are, and the two of a refine example."""
    figure, (left, right) = figure_of(9, 3, columns=2)
    _ratios(left, samples.gains, GREEN, "slowest over fastest script of a workload", "workloads")
    _ratios(right, samples.ratios, BLUE, "ratio of a refine example", "examples")
    return figure


def families(counts: dict[str, dict[str, int]]) -> Figure:
    """Workloads of each family."""
    figure, (axes,) = figure_of(9, 0.8 + 0.2 * len(counts))
    names = list(counts)
    start = [0] * len(names)
    for label, color, values in (
        ("measured, training", BLUE, [_trained(each) for each in counts.values()]),
        ("held out", ORANGE, [each["held_out"] for each in counts.values()]),
        ("pre-training alone", FAINT, [each["further_workloads"] for each in counts.values()]),
    ):
        axes.barh(names, values, left=start, color=color, label=label, height=0.75)
        start = [below + value for below, value in zip(start, values, strict=True)]
    _finish_bars(axes, "workloads")
    axes.legend(loc="lower right", frameon=False)
    return figure


def kinds(means: dict[str, float]) -> Figure:
    """Instructions of each kind in a script."""
    figure, (axes,) = figure_of(9, 0.8 + 0.22 * len(means))
    axes.barh(list(means), list(means.values()), color=GREEN, height=0.75)
    _finish_bars(axes, "instructions in a script, on average")
    return figure


def _trained(counts: dict[str, int]) -> int:
    return counts["measured_workloads"] - counts["held_out"]


def _histogram(axes: Any, values: Sequence[int], color: str, label: str, what: str) -> None:
    most = sorted(values)[int(0.995 * (len(values) - 1))] if values else 1
    bins = [step * max(most / 40, 1) for step in range(42)]
    axes.hist([min(value, bins[-1]) for value in values], bins=bins, color=color)
    _label(axes, label, what)


def _ratios(axes: Any, values: Sequence[float], color: str, label: str, what: str) -> None:
    most = math.ceil(math.log2(max(values, default=2.0)))
    bins = [2 ** (step / 4) for step in range(4 * max(most, 1) + 1)]
    axes.hist(values, bins=bins, color=color)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=7))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    _label(axes, label, what)


def _label(axes: Any, label: str, what: str) -> None:
    axes.set_xlabel(label)
    axes.set_ylabel(what)
    axes.grid(axis="y")


def _finish_bars(axes: Any, label: str) -> None:
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.tick_params(axis="y", length=0, labelsize=8.5)
    axes.set_xlabel(label)
    axes.grid(axis="x")
