"""`diff`, and the difference between two traces that it gives."""

from __future__ import annotations

from typing import Any

import msgspec

from tracescript.difference.parts import Changed, DecisionChange, Pair, Placed, Renamed
from tracescript.model import Trace

__all__ = ["Difference", "diff"]


class Difference(msgspec.Struct, frozen=True, gc=False):
    """What is different in a trace `b` from a trace `a`, as `diff` finds it.

    Positions count from 0. What concerns instructions is in the order of their traces.

    Attributes:
        kept: the instructions that are the same in both, in the same order: pairs of their
            positions in `a` and in `b`.
        moved: those that are the same, but stand elsewhere: such pairs, in the order of `b`.
        changed: the instructions that are still there, but not as they were.
        removed: the instructions that only `a` has.
        added: the instructions that only `b` has.
        decisions: the decisions that became others or went, in the order of `a`, then those
            that appeared. The decisions of instructions that were removed or added are among
            them.
        decision_order: if the decisions of `b` do not stand in the order that follows from
            those of `a`, where each of them would stand in that order; else empty.
        renamed: the outputs with a name that does not follow from `a`.
    """

    kept: tuple[Pair, ...] = ()
    moved: tuple[Pair, ...] = ()
    changed: tuple[Changed, ...] = ()
    removed: tuple[Placed, ...] = ()
    added: tuple[Placed, ...] = ()
    decisions: tuple[DecisionChange, ...] = ()
    decision_order: tuple[int, ...] = ()
    renamed: tuple[Renamed, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the traces are the same but for the names of their random variables.

        Law: it is exactly if both have as many instructions, those at the same position have
        the same kind, the same attributes, the same inputs and as many outputs, types included,
        and the decisions are equal. A reference, in an index map too, is the same if it stands
        for the same output of the same instruction, as TVM resolves it, or if it stands for
        nothing and has the same name. The rest of the text of an index map counts to the
        letter, names that are spelled with escapes as well.
        """
        return not (
            self.moved
            or self.changed
            or self.removed
            or self.added
            or self.decisions
            or self.decision_order
        )

    def apply(self, a: Trace) -> Trace:
        """The other trace.

        Law: `diff(a, b).apply(a) == b`, names included, for every two traces.

        Args:
            a: the trace that the difference is from. Another one will do if it has the same
                instructions and decisions where the difference changes or removes them.

        Raises:
            TraceShapeError: `a` is not a trace that `dumps` writes, or not one that the
                difference fits; the path is in its JSON form. Or the difference was not made
                by `diff`, and contradicts itself.
        """
        # Late: it builds on this class.
        from tracescript.difference.rebuild import rebuild

        return rebuild(self, a)

    def to_json(self) -> dict[str, Any]:
        """The difference as a JSON value with the attributes as keys.

        Pairs of positions are lists of two; a `Placed` is `{"index", "instruction"}`, a
        `Changed` `{"a", "b", "old", "new"}`, a `DecisionChange` `{"old", "new"}`, a `Renamed`
        `{"index", "output", "name"}`. Instructions and decisions are as in TVM's JSON form of a
        trace. All keys are always there.

        Law: `Difference.from_json(difference.to_json()) == difference`.
        """
        # Late, likewise.
        from tracescript.difference.json_form import difference_to_json

        return difference_to_json(self)

    @staticmethod
    def from_json(value: object) -> Difference:
        """Read what `to_json` gives.

        Raises:
            TraceShapeError: the value is no such thing; the error has the JSON path. Whether
                the difference fits a trace is for `apply` to see.
        """
        # Late, likewise.
        from tracescript.difference.json_form import difference_from_json

        return difference_from_json(value)

    def _repr_html_(self) -> str:
        # Only notebooks need it, and pictures are made of differences.
        from tracescript.pictures import difference_html

        return difference_html(self)


def diff(a: Trace, b: Trace) -> Difference:
    r"""Find out what is different in a trace `b` from a trace `a`.

    Instructions are compared by what they are and by what their inputs come from, not line by
    line. An instruction is *kept* if there is the same one in `b`: of the same kind, with the
    same attributes and literal inputs and as many outputs, and with references to outputs of
    the instructions that are the same ones, or have changed. So an instruction more shifts
    the names of all that follow, and is one difference.

    Laws: `diff(a, b).apply(a) == b`. `diff(a, b).is_empty` exactly if the traces are the same
    but for the names of random variables. `diff(b, a)` removes what `diff(a, b)` adds, and the
    other way around; so it is with everything that changed.

    What is found is right, and small where traces are alike; it need not be the smallest. It
    is made for traces of any length: where they differ over more than 16,384 instructions in a
    row, those are not compared with each other, and first of all what is in both of them once
    is matched, in time n log n.

    Raises:
        TraceShapeError: one of them is not a trace that `dumps` writes.

    >>> from tracescript import loads
    >>> text = "tracescript 1\n{}SampleCategorical | [1 2] [0.5 0.5] -> v = {}\nKeep v-1\n"
    >>> found = diff(loads(text.format("", 0)), loads(text.format("Enter -> b\n", 1)))
    >>> found.kept, [placed.inst.kind for placed in found.added]
    (((0, 1), (1, 2)), ['Enter'])
    >>> found.decisions
    (DecisionChange(old=Decision(index=0, value=0), new=Decision(index=1, value=1)),)
    """
    # Late, to keep `import tracescript` fast: a dozen modules do the work.
    from tracescript.difference.compare import compare

    return compare(a, b)
