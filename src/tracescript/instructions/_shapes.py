"""What a row of the table is made of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

import msgspec

__all__ = [
    "ASPECTS",
    "LETTERS",
    "RELEASES",
    "Aspect",
    "Assumption",
    "Attr",
    "DecisionKind",
    "Form",
    "Kind",
    "LoopEffect",
    "Outputs",
    "OwnAspect",
    "RVType",
    "Slot",
    "ValueType",
]

RELEASES: tuple[str, ...] = tuple(f"0.{minor}" for minor in range(8, 28))
"""The releases of Apache TVM that the table covers, oldest first."""

RVType: TypeAlias = Literal["block", "loop", "expr"]
"""What a random variable stands for."""

LETTERS: Mapping[RVType, str] = MappingProxyType({"block": "b", "loop": "l", "expr": "v"})
"""What the names of random variables begin with."""

ValueType: TypeAlias = Literal[
    "int", "float", "bool", "str", "none", "null", "list", "dict", "index map"
]
"""What else an input or an attribute can be.

A JSON null is "null"; TVM's None, which only inputs know, is "none". An index map among the
inputs is "index map"; among the attributes its text is a string, and so "str".
"""

DecisionKind: TypeAlias = Literal[
    "none", "categorical", "tile", "partitioned tile", "compute location"
]
"""What is sampled: nothing, the index of a candidate, the factors of a loop, or a place."""

LoopEffect: TypeAlias = Literal[
    "finds",
    "looks up",
    "keeps",
    "splits",
    "fuses",
    "reorders",
    "merges",
    "adds",
    "removes",
    "moves",
    "wraps",
    "maps",
    "pads",
    "lays out",
    "changes",
]
"""What a kind has to do with loops.

It finds a block by its name, looks up the loops around one, or keeps the loops as they are. It
splits a loop, fuses nested loops, puts them into another order, or merges loops that are side by
side. It adds blocks with loops of their own, removes a block, moves it under a loop, or makes one
of all that is within a loop. It gives a block a loop for each index of a map, or for each iteration
padded to a multiple; it lays a buffer out anew, which changes no loop unless it pads. Or it changes
the loops around blocks in another way.
"""

Aspect: TypeAlias = Literal[
    "blocks",
    "loops",
    "extents",
    "loop kinds",
    "loop annotations",
    "block annotations",
    "dataflow",
    "buffers",
]
"""A part of the module that an instruction can look at or change.

`blocks` is which blocks there are, and their names; with a block come and go the loops that
are around it alone. `loops` is which loops are around the blocks that stay, in which order,
and how the blocks are bound to them. `extents` are the extents of the loops that stay,
`loop kinds` their kinds and thread bindings. `dataflow` is what blocks compute, read and
write, and in which order they stand. `buffers` are the shapes, layouts, data types and memory
scopes of buffers, and where they are allocated.
"""

Assumption: TypeAlias = Literal["inner", "siblings", "readers", "apart", "nest"]
"""What TVM takes for granted of the blocks or the loop that an input names.

It does not look; where it is not so, TVM dies or breaks the module. `inner`: the block is inside
another one, and so no root. `siblings`: the blocks of a list are different ones, and the same
block is directly around them all. `readers`: if the buffer is written directly inside the block
that the first input is in, a block of the list is there too, and is not the one that writes it.
`apart`: neither the block around the first input nor the next one around is in the list.
`nest`: under the loop are loops, one in the other, and in the innermost a block alone.
"""

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
"""Every aspect, in a fixed order."""

OwnAspect: TypeAlias = Literal["own annotation"]
"""Stands for one annotation: the first input has it, under a key that is the first attribute."""


class Slot(msgspec.Struct, frozen=True):
    """A place among the inputs or the attributes of an instruction.

    Attributes:
        types: what may stand there.
        items: what a list there may hold; None means what the slot itself takes.
        repeats: the slot stands for any number of inputs, none included. Only a last slot does.
        texts: strings that TVM is known to write there. Others are as good.
        place: it takes, for a loop, a place to compute a block at: what `SampleComputeLocation`
            found, which may be inlining, or where the block is already.
        assumes: what else TVM takes for granted of what stands there, None for nothing.
    """

    types: tuple[RVType | ValueType, ...]
    items: Slot | None = None
    repeats: bool = False
    texts: tuple[str, ...] = ()
    place: bool = False
    assumes: Assumption | None = None

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false, which TVM's file writer writes as 1 and 0."""
        return set(self.types) == {"bool", "int"}


class Attr(msgspec.Struct, frozen=True):
    """An attribute of an instruction.

    Attributes:
        name: the name of the parameter in TVM; traces do not hold it.
        slot: what it may be.
    """

    name: str
    slot: Slot


class Form(msgspec.Struct, frozen=True):
    """One set of inputs and attributes that a kind has been recorded with.

    Arity drifts between releases under one name, so a kind may have several, oldest first.

    Attributes:
        inputs: the places of the inputs.
        attrs: the attributes.
        since: the first release that had the form.
        until: the last one.
    """

    inputs: tuple[Slot, ...]
    attrs: tuple[Attr, ...]
    since: str = RELEASES[0]
    until: str = RELEASES[-1]

    def slot(self, position: int) -> Slot | None:
        """The slot of the input at a position, None if there is no place for one."""
        if position < len(self.inputs):
            return self.inputs[position]
        return self.inputs[-1] if self.is_open else None

    def takes(self, count: int) -> bool:
        """Whether there may be this many inputs."""
        return count >= self.least_inputs if self.is_open else count == self.least_inputs

    @property
    def least_inputs(self) -> int:
        """The number of inputs without those that may be left out."""
        return len(self.inputs) - self.is_open

    @property
    def is_open(self) -> bool:
        """Whether any number of inputs may follow the least."""
        return bool(self.inputs) and self.inputs[-1].repeats


class Outputs(msgspec.Struct, frozen=True):
    """What an instruction defines: all its outputs have one type.

    Attributes:
        type: the type; it says nothing where the count is 0.
        count: how many. `factors` is one for each input after the first, `first attribute`
            as many as the first attribute says.
    """

    type: RVType
    count: int | Literal["any", "factors", "first attribute"]


class Kind(msgspec.Struct, frozen=True):
    """A row of the table.

    Attributes:
        name: the name in the trace.
        meaning: what the instruction does, in one sentence.
        forms: its inputs and attributes, oldest form first.
        outputs: what it defines.
        decision: what it samples.
        loops: what it has to do with loops.
        pure: it leaves the module as it is: it only looks, or samples.
        looks: what of the module its result can depend on: what it defines, what it changes,
            and whether TVM refuses it.
        changes: what of the module it can change. A change that only adds to what is there,
            such as that of a Split, need not be among what it looks at.
        late: when TVM's function for it is called, how many attributes come before the inputs
            after the first. Without it they come after all inputs.
        starts_postproc: it marks where the post-processors begin. What stands behind it they
            derived from the whole module before it, so it looks at and changes everything.
        since: the first release that had the kind.
        until: the last one.
    """

    name: str
    meaning: str
    forms: tuple[Form, ...]
    outputs: Outputs
    decision: DecisionKind
    loops: LoopEffect
    pure: bool
    looks: tuple[Aspect | OwnAspect, ...]
    changes: tuple[Aspect | OwnAspect, ...]
    late: int
    starts_postproc: bool
    since: str
    until: str
