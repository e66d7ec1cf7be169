"""What random variables are called in the new trace, as far as that follows from the old one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from tracescript.difference.parts import Pair
from tracescript.instructions import LETTERS
from tracescript.model import Trace

__all__ = ["expected_names"]

_LETTERS = frozenset(LETTERS.values())


def expected_names(
    a: Trace, pairs: Iterable[Pair], counts: Sequence[int]
) -> dict[int, tuple[str, ...]]:
    """The names that instructions which are still there are expected to give their outputs.

    TVM counts the outputs of a trace over all types, and names each with the letter of its type
    and its number, so that one more output shifts the names of all that follow. A name that
    says the number of its output is expected to say the new one. Any other stays.

    Args:
        a: the old trace.
        pairs: the instructions that are still there, in both traces.
        counts: how many outputs each instruction of the new trace has.

    Returns:
        The names by the position of the instruction in the new trace.
    """
    old = [0, *accumulate(len(inst.outputs) for inst in a.insts)]
    new = [0, *accumulate(counts)]
    return {
        j: tuple(
            [
                _shifted(name, old[i] + place, new[j] + place)
                for place, name in enumerate(a.insts[i].outputs)
            ]
        )
        for i, j in pairs
    }


def _shifted(name: str, old: int, new: int) -> str:
    letter = name[:1]
    return f"{letter}{new}" if letter in _LETTERS and name == f"{letter}{old}" else name
