"""One of the two traces, taken apart for comparison: no name of a random variable is left."""

from __future__ import annotations

import msgspec

from tracescript.dependencies.scope import resolve
from tracescript.difference.references import Source, blanked, sources_of
from tracescript.encode import write_body
from tracescript.json_trace import to_json
from tracescript.model import Trace

__all__ = ["Side", "take_apart"]


class Side(msgspec.Struct, frozen=True, gc=False):
    """What makes the instructions of a trace what they are, list by list.

    Attributes:
        kinds: the kind of each instruction.
        lines: its line in a script, without outputs and with all references alike. So two
            lines are equal exactly if kind, attributes and literal inputs are, types included.
        outputs: the number of its outputs.
        sources: what its references stand for, in their order.
    """

    kinds: list[str]
    lines: list[str]
    outputs: list[int]
    sources: list[tuple[Source, ...]]

    @property
    def order(self) -> tuple[int, list[str], list[int], list[tuple[Source, ...]]]:
        """A place among all traces; two that share it are the same but for names."""
        return len(self.lines), self.lines, self.outputs, self.sources


def take_apart(trace: Trace) -> Side:
    """Take a trace apart.

    Raises:
        TraceShapeError: it is not one that `dumps` writes.
    """
    # It refuses what is no trace; from here on all is of a bounded depth.
    to_json(trace)
    scope = resolve(trace)
    parts = [blanked(inst, sources_of(scope, index)) for index, inst in enumerate(trace.insts)]
    return Side(
        [inst.kind for inst in trace.insts],
        write_body(Trace(tuple([inst for inst, _ in parts]))).split("\n")[:-1],
        [len(inst.outputs) for inst in trace.insts],
        [sources for _, sources in parts],
    )
