"""Groups of decisions that have nothing to do with each other."""

from __future__ import annotations

from tracescript.dependencies.links import Links, as_set
from tracescript.dependencies.paths import latest_first, pasts

__all__ = ["groups_of"]


def groups_of(links: Links) -> list[list[int]]:
    """The instructions that have decisions, in groups that no path connects."""
    before, decided = pasts(links), as_set(links.decided)
    groups: dict[int, list[int]] = {}
    for index in sorted(links.decided):
        groups[index] = [index]
        for earlier in latest_first(before[index] & decided, before):
            _join(groups, index, earlier)
    return list({id(group): group for group in groups.values()}.values())


def _join(groups: dict[int, list[int]], one: int, other: int) -> None:
    """Let the members of the smaller group be in the larger one."""
    small, large = sorted((groups[one], groups[other]), key=len)
    if small is large:
        return
    large += small
    for index in small:
        groups[index] = large
