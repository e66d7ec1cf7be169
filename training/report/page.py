"""The tables of the report's page, from `summary.json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from training.data.pages import table

__all__ = ["PARTS"]

Numbers = dict[str, Any]


def _aims(numbers: Numbers) -> str:
    rows = [
        (each["name"], f"{each['unit']} {_number(each['aim'])}", _number(each["reached"]),
         {True: "yes", False: "no", None: ""}[each["met"]])
        for each in numbers["aims"]
    ]  # fmt: skip
    return table(("", "aimed at", "reached", "met"), rows)


def _correctness(numbers: Numbers) -> str:
    rows = [
        (label, name, each["tasks"], f"{each['count']:,} of {each['of']:,}",
         f"{each['rate']:.1%} ({each['low']:.1%} to {each['high']:.1%})",
         f"{max(each['solved_within'].values()):.1%} within {max(each['solved_within'], key=int)}")
        for label, sets in numbers["correctness"].items()
        for name, each in sets.items()
    ]  # fmt: skip
    return table(("model", "set", "tasks", "right attempts", "share", "tasks solved"), rows)


def _metaschedule(numbers: Numbers) -> str:
    rows = [
        (label, name, trials, *_comparison(each))
        for label, sets in numbers["metaschedule"].items()
        for name, by_trials in sets.items()
        for trials, each in by_trials.items()
    ]
    return table(("model", "set", "trials", *COMPARISON), rows)


def _others(numbers: Numbers) -> str:
    rows = [
        (label, name, other, *_comparison(each))
        for label, sets in numbers["others"].items()
        for name, by_other in sets.items()
        for other, each in by_other.items()
    ]
    return table(("model", "set", "baseline", *COMPARISON), rows)


COMPARISON = (
    "tasks", "both right", "model has none", "baseline has none", "speed, mean", "wins : losses",
)  # fmt: skip
"""The columns of a comparison with a baseline."""


def _comparison(each: Numbers) -> tuple[str, ...]:
    """A cell for each of them; the speed is that of the tasks where both are right."""
    return (
        f"{each['tasks']} of {each['tasks'] + each['untried']}",
        str(each["both_right"]),
        str(each["ours_wrong"]),
        str(each["theirs_wrong"]),
        _times(each["speedup"]),
        f"{each['wins']} : {each['losses']}",
    )


def _refine(numbers: Numbers) -> str:
    rows = [
        (label, name, f"{each['improved']['count']} of {each['improved']['of']}",
         f"{each['improved']['rate']:.1%}", _times(each["speedup"]), _times(each["with_given"]))
        for label, sets in numbers["refine"].items()
        for name, each in sets.items()
    ]  # fmt: skip
    head = ("model", "set", "improved", "share", "speed, mean", "speed, if the given one may stay")
    return table(head, rows)


def _faster(numbers: Numbers) -> str:
    found = numbers["faster"]
    rows = [
        (name, each["wins"], each["losses"], each["ties"], _times(each["speedup"]))
        for name, each in found.items()
        if isinstance(each, dict)
    ]
    who = (found.get("of", "the one"), found.get("than", "the other"))
    return table(("set", f"{who[0]} faster", f"{who[1]} faster", "neither", "speed, mean"), rows)


def _models(numbers: Numbers) -> str:
    rows = [
        (label, each.get("parameters", ""), "yes" if each.get("masked") else "no",
         each.get("temperature", ""), each["tokens_median"], each.get("scripts_per_second", ""))
        for label, each in numbers["models"].items()
    ]  # fmt: skip
    head = ("model", "parameters", "masks", "temperature", "tokens, median", "scripts a second")
    return table(head, rows)


def _source(numbers: Numbers) -> str:
    cards = ", ".join(numbers["cards"])
    return f"Judged on {cards}; data of {numbers['data']}; written by `{numbers['command']}`."


def _number(value: float | None) -> str:
    if value is None:
        return "not measured"
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"


PARTS: dict[str, Callable[[Numbers], str]] = {
    "aims": _aims,
    "models": _models,
    "correctness": _correctness,
    "faster": _faster,
    "refine": _refine,
    "metaschedule": _metaschedule,
    "others": _others,
    "judged": _source,
}
