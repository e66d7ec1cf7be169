"""Keys of instructions: two with equal keys could be one and the same.

A key is what an instruction is, and where its inputs come from. An instruction that has a
partner in the other trace is the same thing in both; where one has none, its own key stands for
it, and so on back to the first of all. Keys are numbers, one for each distinct content, as in
the value numbering of compilers (Cocke and Schwartz, 1970), so they do not grow.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tracescript.difference.side import Side

__all__ = ["Numbers", "exact_keys", "keys_with_users", "role_keys"]


class Numbers(dict[Hashable, int]):
    """A number, from 0, for each distinct content."""

    def __missing__(self, content: Hashable) -> int:
        self[content] = number = len(self)
        return number


def exact_keys(side: Side, partners: Sequence[object], numbers: Numbers) -> list[Hashable]:
    """Keys of all instructions, of all that they are and all that they depend on.

    Args:
        side: the trace.
        partners: for each instruction something that names its pair, None without one.
        numbers: the numbers of both traces.
    """
    keys: list[Hashable] = []
    parts = zip(partners, side.lines, side.outputs, side.sources, strict=True)
    for partner, line, outputs, sources in parts:
        if partner is None:
            inputs = tuple([(keys[inst], output) for inst, output in sources])
            keys.append(numbers[line, outputs, inputs])
        else:
            keys.append(("pair", partner))
    return keys


def keys_with_users(side: Side, keys: list[Hashable]) -> list[Hashable]:
    """Keys that also say who uses an instruction, to tell apart those that are else alike."""
    users: list[list[Hashable]] = [[] for _ in keys]
    for key, sources in zip(keys, side.sources, strict=True):
        for place, (inst, output) in enumerate(sources):
            users[inst].append((output, key, place))
    return [(key, *found) for key, found in zip(keys, users, strict=True)]


def role_keys(
    side: Side, parts: list[str], insts: list[int], partners: Sequence[object], numbers: Numbers
) -> list[Hashable]:
    """Keys of some instructions, of a part of what they are and of what they are applied to.

    That is their first reference. If it is to an instruction that has no partner and is none
    of these, nothing on the other side can have an equal key.

    Args:
        side: the trace.
        parts: what counts of each instruction.
        insts: the instructions, in ascending order.
        partners: for each instruction something that names its pair, None without one.
        numbers: the numbers of both traces.
    """
    keys: dict[int, Hashable] = {}
    for index in insts:
        applied: Hashable = None
        if side.sources[index]:
            inst, output = side.sources[index][0]
            partner = partners[inst]
            if partner is not None:
                applied = ("pair", partner, output)
            else:
                applied = (keys[inst], output) if inst in keys else (id(side), inst)
        keys[index] = numbers[parts[index], applied]
    return list(keys.values())
