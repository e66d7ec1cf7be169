"""Paths through the graph: what leads to some instructions, and where they lead."""

from __future__ import annotations

from collections.abc import Iterator

from tracescript.dependencies.links import Links, elements

__all__ = ["closest_orderers", "future", "latest_first", "past", "pasts"]


def past(links: Links, insts: int, *, orders: bool, hidden: int = 0) -> int:
    """The instructions that some depend on, and those themselves; none that is hidden."""
    reached, rest = 0, insts
    while rest:
        latest = rest.bit_length() - 1
        reached |= 1 << latest
        # What it depends on is earlier than all that has been reached.
        rest = (rest ^ 1 << latest) | _before(links, latest, orders) & ~hidden
    return reached


def future(links: Links, insts: int, *, orders: bool) -> int:
    """The instructions that depend on some, and those themselves."""
    reached = insts
    for index in range((insts & -insts).bit_length(), len(links.definers)):
        if _before(links, index, orders) & reached:
            reached |= 1 << index
    return reached


def pasts(links: Links) -> list[int]:
    """For each instruction what it depends on, with `orders`, without itself."""
    found: list[int] = []
    for index in range(len(links.definers)):
        reached, rest = 0, _before(links, index, True)
        while rest:
            latest = rest.bit_length() - 1
            reached |= found[latest] | 1 << latest
            rest &= ~reached
        found.append(reached)
    return found


def closest_orderers(links: Links) -> Iterator[list[int]]:
    """For each instruction those that order it, without those that lead to it anyway."""
    before = pasts(links)
    for index, orderers in enumerate(links.orderers):
        reached = links.definers[index]
        for definer in elements(reached):
            reached |= before[definer]
        yield latest_first(orderers & ~reached, before)[::-1]


def latest_first(insts: int, before: list[int]) -> list[int]:
    """Those of some instructions that no other of them depends on, the latest first."""
    chosen: list[int] = []
    while insts:
        chosen.append(insts.bit_length() - 1)
        insts &= ~(before[chosen[-1]] | 1 << chosen[-1])
    return chosen


def _before(links: Links, index: int, orders: bool) -> int:
    return links.definers[index] | links.orderers[index] if orders else links.definers[index]
