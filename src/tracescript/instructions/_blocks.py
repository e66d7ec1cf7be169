"""The rows of the kinds that change blocks and buffers, and of EnterPostproc."""

from __future__ import annotations

from tracescript.instructions._shapes import Aspect, Attr, Kind
from tracescript.instructions._slots import (
    A_BLOCK,
    ALL_BUT_BLOCK_ANNOTATIONS,
    ANN_KEY,
    ANNOTATION,
    BLOCK,
    BLOCKS,
    BUFFER_INDEX,
    BUFFER_INDEX_TYPE,
    BUFFER_KIND,
    DTYPE,
    FLAG,
    INDEX_MAP,
    INDEX_MAP_TEXT,
    INT,
    INT_LIST,
    LOCATION,
    LOOP,
    LOOP_OR_BLOCKS,
    PAD_VALUE,
    PLACE,
    PRESERVE_UNIT_ITERS,
    PRESERVE_UNIT_LOOPS,
    READERS,
    READERS_APART,
    SCOPE,
    TENSOR_INTRIN,
    TWO_BLOCKS,
    form,
    kind,
)

__all__ = ["ROWS"]

# A new block computes or copies what a block did itself.
_ANOTHER_BLOCK: tuple[Aspect, ...] = ("blocks", "dataflow", "buffers")

_INDEX = Attr("index", INT)
_READ_BUFFER_INDEX = Attr("read_buffer_index", INT)
_WRITE_BUFFER_INDEX = Attr("write_buffer_index", INT)

ROWS: tuple[Kind, ...] = (
    # Copies of buffers.
    kind(
        "CacheRead",
        form(BLOCK, attrs=(BUFFER_INDEX, SCOPE), until="0.9"),
        form(BLOCK, READERS, attrs=(BUFFER_INDEX, SCOPE), since="0.10"),
        outputs=A_BLOCK,
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=_ANOTHER_BLOCK,
        late=2,
        meaning="Copies a buffer that a block reads into a memory scope before it is read.",
    ),
    kind(
        "CacheWrite",
        form(BLOCK, attrs=(BUFFER_INDEX, SCOPE), until="0.10"),
        form(BLOCK, READERS_APART, attrs=(BUFFER_INDEX, SCOPE), since="0.11"),
        outputs=A_BLOCK,
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=_ANOTHER_BLOCK,
        late=2,
        meaning="Lets a block write into a memory scope and copies the result back after it.",
    ),
    kind(
        "ReindexCacheRead",
        form(BLOCK, INDEX_MAP, attrs=(BUFFER_INDEX, SCOPE), since="0.12"),
        outputs=A_BLOCK,
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=_ANOTHER_BLOCK,
        late=2,
        meaning="Is a CacheRead whose copy is laid out by an index map.",
    ),
    kind(
        "ReindexCacheWrite",
        form(BLOCK, INDEX_MAP, attrs=(BUFFER_INDEX, SCOPE), since="0.12"),
        outputs=A_BLOCK,
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=_ANOTHER_BLOCK,
        late=2,
        meaning="Is a CacheWrite whose copy is laid out by an index map.",
    ),
    kind(
        "CacheInplace",
        form(BLOCK, attrs=(BUFFER_INDEX, SCOPE), since="0.11"),
        outputs=TWO_BLOCKS,
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=_ANOTHER_BLOCK,
        meaning="Copies a buffer that a block updates in place, before and after the block.",
    ),
    kind(
        "CacheIndex",
        form(BLOCK, attrs=(BUFFER_INDEX,), since="0.11", until="0.11"),
        form(BLOCK, attrs=(SCOPE, Attr("cse_thresh", INT)), since="0.12"),
        outputs=BLOCKS,
        meaning="Computes the indices that a block repeats ahead of it, into buffers.",
    ),
    kind(
        "ReIndex",
        form(BLOCK, attrs=(BUFFER_INDEX, BUFFER_INDEX_TYPE), since="0.9"),
        outputs=A_BLOCK,
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=_ANOTHER_BLOCK,
        meaning="Copies a buffer so that the block reaches it by its iteration variables alone.",
    ),
    kind(
        "ReadAt",
        form(LOOP, BLOCK, attrs=(_READ_BUFFER_INDEX, SCOPE), since="0.12"),
        outputs=A_BLOCK,
        meaning="Copies what a block reads into a memory scope, under the given loop.",
    ),
    kind(
        "WriteAt",
        form(LOOP, BLOCK, attrs=(_WRITE_BUFFER_INDEX, SCOPE), since="0.12"),
        outputs=A_BLOCK,
        meaning="Copies what a block writes out of a memory scope, under the given loop.",
    ),
    # Where a block is computed.
    kind(
        "ComputeAt",
        form(BLOCK, LOCATION, attrs=(PRESERVE_UNIT_LOOPS,), until="0.9"),
        form(BLOCK, LOCATION, attrs=(PRESERVE_UNIT_LOOPS, _INDEX), since="0.10"),
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=("blocks", "loops", "dataflow", "buffers"),
        meaning="Moves a block under a loop of the blocks that read its result.",
    ),
    kind(
        "ReverseComputeAt",
        form(BLOCK, LOCATION, attrs=(PRESERVE_UNIT_LOOPS,), until="0.9"),
        form(BLOCK, LOCATION, attrs=(PRESERVE_UNIT_LOOPS, _INDEX), since="0.10"),
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=("blocks", "loops", "dataflow", "buffers"),
        meaning="Moves a block under a loop of the blocks that compute what it reads.",
    ),
    kind(
        "ComputeInline",
        form(BLOCK),
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=("blocks", "dataflow", "buffers"),
        meaning="Dissolves a block in the blocks that read its result.",
    ),
    kind(
        "ReverseComputeInline",
        form(BLOCK),
        looks=ALL_BUT_BLOCK_ANNOTATIONS,
        changes=("blocks", "dataflow", "buffers"),
        meaning="Dissolves a block in the one block that computes what it reads.",
    ),
    # Reductions and padding.
    kind(
        "DecomposeReduction",
        form(BLOCK, LOOP),
        outputs=A_BLOCK,
        meaning="Takes the initial value of a reduction out, into a block before a loop.",
    ),
    kind(
        "RFactor",
        form(LOOP, attrs=(Attr("factor_axis", INT),)),
        outputs=A_BLOCK,
        meaning="Splits a reduction into partial results over a loop and their combination.",
    ),
    kind(
        "FuseReductionEpilogue",
        form(BLOCK, BLOCK, since="0.23"),
        meaning="Lets a reduction start from what the block after it would add.",
    ),
    kind(
        "PadEinsum",
        form(BLOCK, attrs=(Attr("padding", INT_LIST),), since="0.10"),
        meaning="Pads the iterations of an einsum to multiples of the given numbers.",
    ),
    kind(
        "DecomposePadding",
        form(BLOCK, LOOP, since="0.10"),
        outputs=A_BLOCK,
        meaning="Splits a padding into filling the whole buffer and copying the inside.",
    ),
    kind(
        "RollingBuffer",
        form(BLOCK, attrs=(_WRITE_BUFFER_INDEX,), since="0.11"),
        meaning="Shrinks the buffer a block writes to the window in use, and reuses it in turn.",
    ),
    # Blocks and tensor intrinsics.
    kind(
        "Blockize",
        form(LOOP, since="0.9", until="0.10"),
        form(LOOP, attrs=(PRESERVE_UNIT_ITERS,), since="0.11", until="0.12"),
        form(LOOP_OR_BLOCKS, attrs=(PRESERVE_UNIT_ITERS,), since="0.13"),
        outputs=A_BLOCK,
        meaning="Makes a block of what is under a loop, or of several blocks.",
    ),
    kind(
        "Tensorize",
        form(PLACE, attrs=(TENSOR_INTRIN,), since="0.9", until="0.10"),
        form(PLACE, attrs=(TENSOR_INTRIN, PRESERVE_UNIT_ITERS), since="0.11"),
        meaning="Replaces a block, or what is under a loop, by a tensor intrinsic.",
    ),
    # Annotations.
    kind(
        "Annotate",
        form(PLACE, ANNOTATION, attrs=(ANN_KEY,), since="0.9"),
        loops="keeps",
        looks=("own annotation",),
        changes=("own annotation",),
        late=1,
        meaning="Attaches a value to a block or a loop under a key.",
    ),
    kind(
        "Unannotate",
        form(PLACE, attrs=(ANN_KEY,), since="0.9"),
        loops="keeps",
        looks=("own annotation",),
        changes=("own annotation",),
        meaning="Removes the value under a key from a block or a loop.",
    ),
    # Buffers and layouts.
    kind(
        "StorageAlign",
        form(
            BLOCK,
            attrs=(BUFFER_INDEX, Attr("axis", INT), Attr("factor", INT), Attr("offset", INT)),
        ),
        loops="keeps",
        looks=("block annotations", "dataflow", "buffers"),
        changes=("block annotations",),
        meaning="Aligns an axis of a buffer to a factor and an offset.",
    ),
    kind(
        "SetScope",
        form(BLOCK, attrs=(BUFFER_INDEX, SCOPE), since="0.9"),
        loops="keeps",
        looks=("dataflow", "buffers"),
        changes=("dataflow", "buffers"),
        meaning="Moves a buffer that a block writes to another memory scope.",
    ),
    kind(
        "UnsafeSetDType",
        form(BLOCK, attrs=(BUFFER_INDEX, DTYPE), since="0.12"),
        loops="keeps",
        looks=("dataflow", "buffers"),
        changes=("dataflow", "buffers"),
        meaning="Changes the data type of a buffer, whatever that does to the result.",
    ),
    kind(
        "TransformLayout",
        form(
            BLOCK,
            attrs=(BUFFER_INDEX, BUFFER_INDEX_TYPE, INDEX_MAP_TEXT),
            since="0.9",
            until="0.10",
        ),
        # Whether 0.10 had the value for padding already is not known: it may have either.
        form(
            BLOCK,
            attrs=(BUFFER_INDEX, BUFFER_INDEX_TYPE, INDEX_MAP_TEXT, PAD_VALUE),
            since="0.10",
            until="0.11",
        ),
        form(
            BLOCK,
            INDEX_MAP,
            attrs=(
                BUFFER_INDEX,
                BUFFER_INDEX_TYPE,
                PAD_VALUE,
                Attr("assume_injective_transform", FLAG),
            ),
            since="0.12",
        ),
        late=2,
        meaning="Lays a buffer out anew by an index map.",
    ),
    kind(
        "TransformBlockLayout",
        form(BLOCK, attrs=(INDEX_MAP_TEXT,), since="0.9"),
        meaning="Rewrites the iterations of a block by an index map.",
    ),
    kind(
        "SetAxisSeparator",
        form(
            BLOCK,
            attrs=(BUFFER_INDEX, BUFFER_INDEX_TYPE, Attr("axis_separators", INT_LIST)),
            since="0.9",
            until="0.25",
        ),
        loops="keeps",
        looks=("dataflow", "buffers"),
        changes=("dataflow", "buffers"),
        meaning="Groups the axes of a buffer: each group becomes one physical axis.",
    ),
    kind(
        "AnnotateBufferAccess",
        form(BLOCK, INT, INT, INDEX_MAP, since="0.19"),
        loops="keeps",
        looks=("block annotations", "dataflow", "buffers"),
        changes=("block annotations", "dataflow"),
        meaning="States by an index map which region of a buffer a block reads or writes.",
    ),
    kind(
        "UnsafeHideBufferAccess",
        form(BLOCK, BUFFER_KIND, INT_LIST, since="0.13"),
        loops="keeps",
        looks=("dataflow",),
        changes=("dataflow",),
        meaning="Removes buffers from what a block says that it reads or writes.",
    ),
    # The part after this one follows from the target and the module.
    kind(
        "EnterPostproc",
        form(),
        loops="keeps",
        starts_postproc=True,
        meaning="Marks where the post-processors begin.",
    ),
)
