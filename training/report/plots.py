"""The plots of the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from training.drawing import BLUE, FAINT, GREEN, GREY, INK, ORANGE, figure_of, save, style
from training.measures import best_of, geometric_mean
from training.report.board import Board, Tasks, TaskSet
from training.report.summary import bests, fast_curve, trial_bests

__all__ = ["draw"]

COLORS = (BLUE, ORANGE, GREEN, GREY)
CONSTRUCT = TaskSet("construct", "test")
REFINE = TaskSet("refine", "test")


class Shown(NamedTuple):
    """What the plots are about."""

    board: Board
    numbers: dict[str, Any]
    first: str
    second: str


def draw(shown: Shown, folder: Path) -> list[str]:
    """Write the plots that there are numbers for.

    Returns:
        The names of their files.
    """
    drawn: list[str] = []
    with style():
        for name, make in PLOTS.items():
            figure = make(shown)
            path = folder / f"model-{name}.svg"
            if figure is None:
                path.unlink(missing_ok=True)
            else:
                save(figure, path)
                drawn.append(path.name)
    return drawn


def correctness(shown: Shown) -> Figure | None:
    """The share of right attempts of each model, with its confidence interval."""
    found = shown.numbers["correctness"]
    sets = list(dict.fromkeys(name for each in found.values() for name in each))
    figure, (axes,) = figure_of(9, 0.9 + 0.28 * len(sets) * len(found))
    height = 0.8 / len(found)
    for place, (label, own) in enumerate(found.items()):
        rows = [row for row, name in enumerate(sets) if name in own]
        shares = [own[sets[row]] for row in rows]
        rates = [each["rate"] for each in shares]
        errors = [
            [each["rate"] - each["low"] for each in shares],
            [each["high"] - each["rate"] for each in shares],
        ]
        axes.barh(
            [row + (place - (len(found) - 1) / 2) * height for row in rows],
            rates,
            height=0.9 * height,
            color=COLORS[place % len(COLORS)],
            label=label,
            xerr=errors,
            error_kw={"ecolor": INK, "elinewidth": 1, "capsize": 2},
        )
    axes.set_yticks(range(len(sets)), sets)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("attempts whose kernel is right (95% interval)")
    axes.grid(axis="x")
    figure.legend(loc="outside upper center", ncols=len(found), frameon=False)
    return figure


def trials(shown: Shown) -> Figure | None:
    """The best of k attempts, and MetaSchedule after k trials, against its 64."""
    reference = trial_bests(shown.board, "metaschedule", 64)
    if not reference:
        return None
    figure, (axes,) = figure_of(9, 3.6)
    for color, label in zip(COLORS, (shown.first, shown.second), strict=False):
        tasks = shown.board.attempts.get(label, {}).get(CONSTRUCT, {})
        points = list(_by_count({key: [each.seconds for each in own] for key, own in tasks.items()},
                                reference))  # fmt: skip
        axes.plot(*_columns(points), color=color, marker="o", markersize=4, label=label)
    points = list(_in_order(shown.board, reference))
    axes.plot(*_columns(points), color=GREY, label="MetaSchedule")
    axes.axhline(1, color=FAINT, linewidth=1)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("kernels measured of each workload")
    axes.set_ylabel("speed, MetaSchedule's\nbest of 64 is 1")
    axes.grid()
    axes.legend(frameon=False)
    return figure


def _by_count(
    times: dict[str, list[float | None]], reference: dict[str, float | None]
) -> Iterator[tuple[int, float]]:
    """The mean speed of the best of k independent attempts, for each k."""
    most = min((len(each) for each in times.values()), default=0)
    for k in range(1, most + 1):
        ratios = [
            other / seconds
            for key, own in times.items()
            if (other := reference.get(key)) and (seconds := best_of(own, k))
        ]
        if ratios:
            yield k, geometric_mean(ratios)


def _in_order(board: Board, reference: dict[str, float | None]) -> Iterator[tuple[int, float]]:
    """The mean speed of MetaSchedule after each doubling of trials."""
    for k in (1, 2, 4, 8, 16, 32, 64):
        ratios = [
            other / seconds
            for key, seconds in trial_bests(board, "metaschedule", k).items()
            if seconds and (other := reference.get(key))
        ]
        if ratios:
            yield k, geometric_mean(ratios)


def faster(shown: Shown) -> Figure | None:
    """Task by task, the first model's best kernel against the second's."""
    board = shown.board
    found = [
        (name, _log_ratios(board.attempts[shown.first][name], board.attempts[shown.second][name]))
        for name in (CONSTRUCT, REFINE)
        if all(name in board.attempts.get(each, {}) for each in (shown.first, shown.second))
    ]
    found = [(name, ratios) for name, ratios in found if ratios]
    if not found:
        return None
    figure, columns = figure_of(9, 3, columns=len(found))
    for axes, (name, ratios) in zip(columns, found, strict=True):
        colors = [GREEN if ratio > 0 else ORANGE for ratio in ratios]
        axes.bar(range(len(ratios)), ratios, color=colors, width=1)
        axes.yaxis.set_major_formatter(lambda value, _: f"{2**value:.3g}x")
        axes.set_xlabel(f"{name.name} tasks, {len(ratios)}")
        axes.set_ylabel(f"{shown.first} faster than {shown.second}")
        axes.set_xticks([])
        axes.grid(axis="y")
    return figure


def _log_ratios(ours: Tasks, theirs: Tasks) -> list[float]:
    others = bests(theirs)
    return sorted(
        math.log2(other / seconds)
        for key, seconds in bests(ours).items()
        if seconds is not None and (other := others.get(key)) is not None
    )


def fast(shown: Shown) -> Figure | None:
    """fast_p of the best kernels against each baseline."""
    ours = bests(shown.board.attempts.get(shown.first, {}).get(CONSTRUCT, {}))
    speeds = [2 ** (step / 8) for step in range(-16, 33)]
    curves = {
        name: fast_curve(ours, trial_bests(shown.board, name, 64 if name == "metaschedule" else 1),
                         speeds)
        for name in shown.board.baselines
    }  # fmt: skip
    curves = {name: curve for name, curve in curves.items() if curve}
    if not curves:
        return None
    figure, (axes,) = figure_of(9, 3.2)
    for color, (name, curve) in zip(COLORS, curves.items(), strict=False):
        axes.plot(speeds, curve, color=color, label=f"against {name}")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("p")
    axes.set_ylabel("construct tasks that are right\nand more than p times as fast")
    axes.grid()
    axes.legend(frameon=False)
    return figure


def roofline(shown: Shown) -> Figure | None:
    """The share of the card's ceilings that the best kernels reach."""
    board = shown.board
    shares = sorted(
        min(board.bounds[key] / seconds, 1.0)
        for tasks in board.attempts.get(shown.first, {}).values()
        for key, seconds in bests(tasks).items()
        if seconds is not None and key in board.bounds
    )
    if not shares:
        return None
    figure, (axes,) = figure_of(9, 2.8)
    axes.hist(shares, bins=[step / 20 for step in range(21)], color=BLUE)
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("share of the roofline")
    axes.set_ylabel("workloads")
    axes.grid(axis="y")
    return figure


def learning(shown: Shown) -> Figure | None:
    """Losses of the supervised trainings, rewards of the reinforcement."""
    panels: list[tuple[str, str, list[tuple[float, float]]]] = []
    for name, log in shown.board.logs.items():
        for key, what in (("eval_loss", "validation loss"), ("reward", "reward")):
            points = [(each["step"], each[key]) for each in log["history"] if key in each]
            if points:
                panels.append((name, what, points))
    if not panels:
        return None
    figure, columns = figure_of(9, 2.8, columns=len(panels))
    for axes, (name, what, points) in zip(columns, panels, strict=True):
        axes.plot(*_columns(points), color=BLUE)
        axes.set_xlabel(f"{name}: steps")
        axes.set_ylabel(what)
        axes.grid()
    return figure


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


PLOTS = {
    "correctness": correctness,
    "trials": trials,
    "faster": faster,
    "fast": fast,
    "roofline": roofline,
    "learning": learning,
}
