"""How plots look and are written: SVG on a ground of its own, for light and dark pages."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from training.data import files

GROUND, INK, FAINT = "#fbfbfd", "#22272e", "#d5d9e0"
BLUE, ORANGE, GREEN, GREY = "#2f6fb7", "#d9822b", "#3a8f5c", "#8a93a0"
_STYLE = {
    "svg.hashsalt": "tracescript",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial", "sans-serif"],
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.facecolor": GROUND,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw as all plots are drawn."""
    with mpl.rc_context(_STYLE):
        yield


def figure_of(width: float, height: float, columns: int = 1) -> tuple[Figure, Sequence[Any]]:
    """A figure, in inches, and its axes side by side."""
    figure = Figure(figsize=(width, height), facecolor=GROUND, layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)[0]
    return figure, axes


def save(figure: Figure, path: Path) -> None:
    """Write the plot without a date, so that the same numbers give the same file."""
    content = io.BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    files.write(path, content.getvalue())
