"""The one table of what is known about TVM's instruction kinds: data, one row a kind.

The codec never reads it: a kind or a form that is missing here is written and read all
the same. It is for those who want to know what a trace means, first of all `check`.

It covers every kind that TVM 0.8 to 0.27 registered and is their union: a form that
only one release had is a form. Law: each instruction that TVM recorded has a form here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from tracescript.model import Trace

__all__ = [
    "KINDS",
    "DecisionKind",
    "Form",
    "Kind",
    "Outputs",
    "RVType",
    "Slot",
    "ValueType",
    "era",
]

RVType: TypeAlias = Literal["block", "loop", "expr"]
"""What a random variable stands for; the names of outputs begin with b, l and v for them."""

ValueType: TypeAlias = Literal[
    "int", "float", "bool", "str", "none", "null", "list", "dict", "index map"
]
"""What else an input can be: TVM's None is "none", a JSON null is "null"."""

DecisionKind: TypeAlias = Literal[
    "none", "categorical", "tile", "partitioned tile", "compute location"
]
"""What is sampled: nothing, the index of a candidate, the factors of a loop, or a place."""


class Slot(msgspec.Struct, frozen=True):
    """A place among the inputs of an instruction.

    Attributes:
        types: what may stand there.
        items: what a list there may hold; None means what the slot itself takes.
        repeats: the slot stands for any number of inputs, none included. Only a last slot does.
    """

    types: tuple[RVType | ValueType, ...]
    items: Slot | None = None
    repeats: bool = False


class Form(msgspec.Struct, frozen=True):
    """One set of inputs and attributes that a kind has been recorded with.

    Arity drifts between releases under one name, so a kind may have several, oldest first.

    Attributes:
        inputs: the places of the inputs.
        attrs: the names of the attributes.
    """

    inputs: tuple[Slot, ...]
    attrs: tuple[str, ...]

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
    """

    name: str
    meaning: str
    forms: tuple[Form, ...]
    outputs: Outputs
    decision: DecisionKind


BLOCK = Slot(("block",))
LOOP = Slot(("loop",))
PLACE = Slot(("block", "loop"))
LOOPS = Slot(("loop",), repeats=True)
BLOCK_LIST = Slot(("list",), items=BLOCK)
LOOP_OR_BLOCKS = Slot(("loop", "list"), items=BLOCK)
# None is the factor that follows from the others.
FACTOR = Slot(("expr", "int", "none"))
FACTORS = Slot(("expr", "int", "none"), repeats=True)
INT = Slot(("int",))
INT_LIST = Slot(("list",), items=INT)
STR = Slot(("str",))
INDEX_MAP = Slot(("index map",))
ANNOTATION = Slot(("expr", "int", "float", "bool", "str", "none", "list", "dict"))

NOTHING = Outputs("block", 0)
A_BLOCK = Outputs("block", 1)
TWO_BLOCKS = Outputs("block", 2)
BLOCKS = Outputs("block", "any")
A_LOOP = Outputs("loop", 1)
SOME_LOOPS = Outputs("loop", "any")
LOOP_PER_FACTOR = Outputs("loop", "factors")
AN_EXPR = Outputs("expr", 1)
TILE = Outputs("expr", "first attribute")


def _form(*inputs: Slot, attrs: str = "") -> Form:
    return Form(inputs, tuple(attrs.split()))


def _kind(
    name: str,
    *forms: Form,
    outputs: Outputs = NOTHING,
    decision: DecisionKind = "none",
    meaning: str,
) -> Kind:
    return Kind(name, meaning, forms, outputs, decision)


_ROWS = (
    # Sampling.
    _kind(
        "SampleCategorical",
        _form(attrs="candidates probs"),
        outputs=AN_EXPR,
        decision="categorical",
        meaning="Picks one of the candidate integers, each with its probability.",
    ),
    _kind(
        "SamplePerfectTile",
        _form(LOOP, attrs="n max_innermost_factor"),
        outputs=TILE,
        decision="tile",
        meaning="Picks n factors whose product is the extent of the loop.",
    ),
    _kind(
        "SamplePartitionedTile",
        _form(LOOP, attrs="n partition_pos innerpart_factor"),
        outputs=TILE,
        decision="partitioned tile",
        meaning="Picks n factors of the loop; the inner ones form a multiple of a given number.",
    ),
    _kind(
        "SampleComputeLocation",
        _form(BLOCK),
        outputs=A_LOOP,
        decision="compute location",
        meaning="Picks a loop that the block may be computed at, or its own place, or inlining.",
    ),
    # Looking things up.
    _kind(
        "GetBlock",
        _form(attrs="name func_name"),
        outputs=A_BLOCK,
        meaning="Finds a block of a function by its name; the older name of GetSBlock.",
    ),
    _kind(
        "GetSBlock",
        _form(attrs="name func_name"),
        outputs=A_BLOCK,
        meaning="Finds a block of a function by its name.",
    ),
    _kind(
        "GetLoops",
        _form(BLOCK),
        outputs=SOME_LOOPS,
        meaning="Lists the loops around a block, the outermost first.",
    ),
    _kind(
        "GetChildBlocks",
        _form(PLACE),
        outputs=BLOCKS,
        meaning="Lists the blocks directly inside a block or a loop.",
    ),
    _kind(
        "GetProducers",
        _form(BLOCK),
        outputs=BLOCKS,
        meaning="Lists the blocks that write what this block reads.",
    ),
    _kind(
        "GetConsumers",
        _form(BLOCK),
        outputs=BLOCKS,
        meaning="Lists the blocks that read what this block writes.",
    ),
    _kind(
        "GetOutputBlocks",
        _form(BLOCK),
        outputs=BLOCKS,
        meaning="Lists the blocks inside this scope that write a result of the function.",
    ),
    # Loops.
    _kind(
        "Merge",
        _form(LOOP, LOOP, LOOPS),
        outputs=A_LOOP,
        meaning="Joins loops of neighbouring nests into one loop around both bodies.",
    ),
    _kind(
        "Fuse",
        _form(LOOP, LOOPS),
        _form(LOOP, LOOPS, attrs="preserve_unit_iters"),
        outputs=A_LOOP,
        meaning="Flattens nested loops into one.",
    ),
    _kind(
        "Split",
        _form(LOOP, FACTOR, FACTORS),
        _form(LOOP, FACTOR, FACTORS, attrs="preserve_unit_iters"),
        _form(LOOP, FACTOR, FACTORS, attrs="preserve_unit_iters disable_predication"),
        outputs=LOOP_PER_FACTOR,
        meaning="Turns a loop into a nest of loops, one for each factor.",
    ),
    _kind(
        "LoopPartition",
        _form(LOOP, FACTOR, FACTORS, attrs="preserve_unit_iters"),
        outputs=SOME_LOOPS,
        meaning="Cuts the range of a loop into parts that run one after the other.",
    ),
    _kind(
        "Reorder",
        _form(LOOPS),
        meaning="Puts nested loops into the given order.",
    ),
    _kind(
        "ReorderBlockIterVar",
        _form(BLOCK, INT_LIST),
        meaning="Puts the iteration variables of a block into the given order.",
    ),
    _kind(
        "AddUnitLoop",
        _form(PLACE),
        outputs=A_LOOP,
        meaning="Wraps a block or a loop in a loop of one iteration.",
    ),
    _kind("Parallel", _form(LOOP), meaning="Runs the iterations of a loop on CPU threads."),
    _kind("Vectorize", _form(LOOP), meaning="Runs the iterations of a loop as vector lanes."),
    _kind(
        "Bind",
        _form(LOOP, attrs="thread_axis"),
        meaning="Runs the iterations of a loop on a thread axis of the GPU.",
    ),
    _kind("Unroll", _form(LOOP), meaning="Writes out the iterations of a loop."),
    # Copies of buffers.
    _kind(
        "CacheRead",
        _form(BLOCK, attrs="buffer_index storage_scope"),
        _form(BLOCK, BLOCK_LIST, attrs="buffer_index storage_scope"),
        outputs=A_BLOCK,
        meaning="Copies a buffer that a block reads into a memory scope before it is read.",
    ),
    _kind(
        "CacheWrite",
        _form(BLOCK, attrs="buffer_index storage_scope"),
        _form(BLOCK, BLOCK_LIST, attrs="buffer_index storage_scope"),
        outputs=A_BLOCK,
        meaning="Lets a block write into a memory scope and copies the result back after it.",
    ),
    _kind(
        "ReindexCacheRead",
        _form(BLOCK, INDEX_MAP, attrs="buffer_index storage_scope"),
        outputs=A_BLOCK,
        meaning="Is a CacheRead whose copy is laid out by an index map.",
    ),
    _kind(
        "ReindexCacheWrite",
        _form(BLOCK, INDEX_MAP, attrs="buffer_index storage_scope"),
        outputs=A_BLOCK,
        meaning="Is a CacheWrite whose copy is laid out by an index map.",
    ),
    _kind(
        "CacheInplace",
        _form(BLOCK, attrs="buffer_index storage_scope"),
        outputs=TWO_BLOCKS,
        meaning="Copies a buffer that a block updates in place, before and after the block.",
    ),
    _kind(
        "CacheIndex",
        _form(BLOCK, attrs="buffer_index"),
        _form(BLOCK, attrs="storage_scope cse_thresh"),
        outputs=BLOCKS,
        meaning="Computes the indices that a block repeats ahead of it, into buffers.",
    ),
    _kind(
        "ReIndex",
        _form(BLOCK, attrs="buffer_index buffer_index_type"),
        outputs=A_BLOCK,
        meaning="Copies a buffer so that the block reaches it by its iteration variables alone.",
    ),
    _kind(
        "ReadAt",
        _form(LOOP, BLOCK, attrs="read_buffer_index storage_scope"),
        outputs=A_BLOCK,
        meaning="Copies what a block reads into a memory scope, under the given loop.",
    ),
    _kind(
        "WriteAt",
        _form(LOOP, BLOCK, attrs="write_buffer_index storage_scope"),
        outputs=A_BLOCK,
        meaning="Copies what a block writes out of a memory scope, under the given loop.",
    ),
    # Where a block is computed.
    _kind(
        "ComputeAt",
        _form(BLOCK, LOOP, attrs="preserve_unit_loops"),
        _form(BLOCK, LOOP, attrs="preserve_unit_loops index"),
        meaning="Moves a block under a loop of the blocks that read its result.",
    ),
    _kind(
        "ReverseComputeAt",
        _form(BLOCK, LOOP, attrs="preserve_unit_loops"),
        _form(BLOCK, LOOP, attrs="preserve_unit_loops index"),
        meaning="Moves a block under a loop of the blocks that compute what it reads.",
    ),
    _kind(
        "ComputeInline",
        _form(BLOCK),
        meaning="Dissolves a block in the blocks that read its result.",
    ),
    _kind(
        "ReverseComputeInline",
        _form(BLOCK),
        meaning="Dissolves a block in the one block that computes what it reads.",
    ),
    # Reductions and padding.
    _kind(
        "DecomposeReduction",
        _form(BLOCK, LOOP),
        outputs=A_BLOCK,
        meaning="Takes the initial value of a reduction out, into a block before a loop.",
    ),
    _kind(
        "RFactor",
        _form(LOOP, attrs="factor_axis"),
        outputs=A_BLOCK,
        meaning="Splits a reduction into partial results over a loop and their combination.",
    ),
    _kind(
        "FuseReductionEpilogue",
        _form(BLOCK, BLOCK),
        meaning="Lets a reduction start from what the block after it would add.",
    ),
    _kind(
        "PadEinsum",
        _form(BLOCK, attrs="padding"),
        meaning="Pads the iterations of an einsum to multiples of the given numbers.",
    ),
    _kind(
        "DecomposePadding",
        _form(BLOCK, LOOP),
        outputs=A_BLOCK,
        meaning="Splits a padding into filling the whole buffer and copying the inside.",
    ),
    _kind(
        "RollingBuffer",
        _form(BLOCK, attrs="write_buffer_index"),
        meaning="Shrinks the buffer a block writes to the window in use, and reuses it in turn.",
    ),
    # Blocks and tensor intrinsics.
    _kind(
        "Blockize",
        _form(LOOP_OR_BLOCKS),
        _form(LOOP_OR_BLOCKS, attrs="preserve_unit_iters"),
        outputs=A_BLOCK,
        meaning="Makes a block of what is under a loop, or of several blocks.",
    ),
    _kind(
        "Tensorize",
        _form(PLACE, attrs="tensor_intrin"),
        _form(PLACE, attrs="tensor_intrin preserve_unit_iters"),
        meaning="Replaces a block, or what is under a loop, by a tensor intrinsic.",
    ),
    # Annotations.
    _kind(
        "Annotate",
        _form(PLACE, ANNOTATION, attrs="ann_key"),
        meaning="Attaches a value to a block or a loop under a key.",
    ),
    _kind(
        "Unannotate",
        _form(PLACE, attrs="ann_key"),
        meaning="Removes the value under a key from a block or a loop.",
    ),
    # Buffers and layouts.
    _kind(
        "StorageAlign",
        _form(BLOCK, attrs="buffer_index axis factor offset"),
        meaning="Aligns an axis of a buffer to a factor and an offset.",
    ),
    _kind(
        "SetScope",
        _form(BLOCK, attrs="buffer_index storage_scope"),
        meaning="Moves a buffer that a block writes to another memory scope.",
    ),
    _kind(
        "UnsafeSetDType",
        _form(BLOCK, attrs="buffer_index dtype"),
        meaning="Changes the data type of a buffer, whatever that does to the result.",
    ),
    _kind(
        "TransformLayout",
        _form(BLOCK, attrs="buffer_index buffer_index_type index_map"),
        _form(BLOCK, attrs="buffer_index buffer_index_type index_map pad_value"),
        _form(
            BLOCK,
            INDEX_MAP,
            attrs="buffer_index buffer_index_type pad_value assume_injective_transform",
        ),
        meaning="Lays a buffer out anew by an index map.",
    ),
    _kind(
        "TransformBlockLayout",
        _form(BLOCK, attrs="index_map"),
        meaning="Rewrites the iterations of a block by an index map.",
    ),
    _kind(
        "SetAxisSeparator",
        _form(BLOCK, attrs="buffer_index buffer_index_type axis_separators"),
        meaning="Groups the axes of a buffer: each group becomes one physical axis.",
    ),
    _kind(
        "AnnotateBufferAccess",
        _form(BLOCK, INT, INT, INDEX_MAP),
        meaning="States by an index map which region of a buffer a block reads or writes.",
    ),
    _kind(
        "UnsafeHideBufferAccess",
        _form(BLOCK, STR, INT_LIST),
        meaning="Removes buffers from what a block says that it reads or writes.",
    ),
    # The part after this one follows from the target and the module.
    _kind("EnterPostproc", _form(), meaning="Marks where the post-processors begin."),
)

KINDS: Mapping[str, Kind] = MappingProxyType({row.name: row for row in _ROWS})
"""Every known kind by its name."""


def era(trace: Trace) -> str:
    r"""The TVM releases that a trace can come from, as far as two well-known changes tell.

    `GetBlock` became `GetSBlock` in 0.24, and `Split` got its second attribute in 0.17.

    >>> from tracescript import loads
    >>> era(loads('tracescript 1\nGetSBlock | "C" "main" -> b\n'))
    'from 0.24'
    """
    kinds = {inst.kind for inst in trace.insts}
    splits = {len(inst.attrs) for inst in trace.insts if inst.kind == "Split"}
    first = "0.24" if "GetSBlock" in kinds else "0.17" if 2 in splits else None
    last = "0.16" if splits & {0, 1} else "0.23" if "GetBlock" in kinds else None
    if first and last:
        return f"{first} to {last}" if first < last else "of no one release"
    return f"from {first}" if first else f"to {last}" if last else "any"
