"""The numbers of two pages, the data card and the page on the data, from `data.json`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

PAGES = ("training/datasets/README.md", "docs/data.md")

Data = dict[str, Any]

_PART = re.compile(r"(<!-- numbers: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, data: Data, parts: dict[str, Callable[[Data], str]] | None = None) -> str:
    """Return a page with all its numbers; one that has them stays as it is.

    Args:
        page: has marks where numbers stand.
        data: the numbers.
        parts: what stands at a mark, by its name; that of the pages on the data by default.
    """
    made = PARTS if parts is None else parts
    return _PART.sub(lambda match: f"{match[1]}{made[match[2]](data)}\n{match[3]}", page)


def _totals(data: Data) -> str:
    rows = [
        ("workloads to measure", data["workloads"]),
        ("workloads of the pre-training alone", data["further_workloads"]),
        ("valid scripts, not measured", data["pretrain"]),
        ("measured scripts, all right and with a latency", data["measured"]),
        ("*construct* examples for training", data["construct"]),
        ("*refine* examples for training", data["refine"]),
    ]
    return table(("", "count"), rows)


def _splits(data: Data) -> str:
    rows = [
        (f"`{name}`", f"`{split}`", size["examples"], size["workloads"])
        for name, splits in data["tables"].items()
        for split, size in splits.items()
    ]
    return table(("set", "split", "examples", "workloads"), rows)


def _workloads(data: Data) -> str:
    counts = data["splits"]
    order = ("train", "construct", "refine", "hard", "spare")
    rows = [(f"`{split}`", WHAT[split], counts.get(split, 0)) for split in order]
    written = table(("split", "what it is for", "workloads"), rows)
    return (
        f"{written}\n\n{data['layers']:,} of them are layers of known networks,"
        f" {data['float16']:,} have numbers in float16."
    )


def _stages(data: Data) -> str:
    """The funnel: how many results came so far."""
    left = sum(data["stages"].values())
    rows: list[tuple[object, ...]] = []
    for stage, count in data["stages"].items():
        rows.append((f"`{stage}`", left, count if stage != "measured" else ""))
        left -= count
    return table(("stage", "reached it", "of these went no further"), rows)


def _spreads(data: Data) -> str:
    rows = [
        (label, *(_plain(data_of.get(name, "")) for name in QUANTILES))
        for label, data_of in (
            ("tokens of a prompt", data["tokens"]["prompt"]),
            ("tokens of a script", data["tokens"]["script"]),
            ("slowest over fastest script of a workload", data["gain"]),
            ("ratio of a *refine* example", data["ratio"]),
            ("upper over lower quartile of a latency, less 1", data["noise"]),
        )
    ]
    return table(("", "least", "10%", "median", "90%", "most"), rows)


def _families(data: Data) -> str:
    rows = [(f"`{family}`", *counts.values()) for family, counts in data["families"].items()]
    names = ("workloads to measure", "of them held out", "further workloads")
    return table(("family", *names, "scripts, not measured", "measured scripts"), rows)


def _source(data: Data) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in data["versions"].items())
    where = f"measured on {data['card']}; " if data["card"] else ""
    targets = ", ".join(f"`{name}` ({count:,})" for name, count in data["targets"].items())
    return f"Targets: {targets}; {where}counted by `{data['command']}` with {versions}."


def _reproduced(data: Data) -> str:
    scripts = sum(size["examples"] for size in data["tables"]["pretrain"].values())
    return (
        f"{data['further_with_scripts']:,} of the {data['further_workloads']:,} further workloads"
        f" have a script. Of all {scripts:,} scripts the post-processors wrote the very same rest"
        f" again for {data['reproduced']:,}."
    )


QUANTILES = ("least", "tenth", "median", "ninetieth", "most")
WHAT = {
    "train": "training",
    "construct": "tasks to write a schedule for",
    "refine": "tasks to make a schedule faster",
    "hard": "tasks of families that training never saw",
    "spare": "held out; in place of a task that cannot be measured",
}
PARTS: dict[str, Callable[[Data], str]] = {
    "totals": _totals,
    "splits": _splits,
    "workloads": _workloads,
    "stages": _stages,
    "spreads": _spreads,
    "families": _families,
    "source": _source,
    "reproduced": _reproduced,
}


def _plain(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a table of Markdown."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
