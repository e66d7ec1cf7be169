"""The words that the rows of the table are written in: slots, attributes, outputs."""

from __future__ import annotations

from tracescript.instructions._shapes import (
    ASPECTS,
    RELEASES,
    Aspect,
    Attr,
    DecisionKind,
    Form,
    Kind,
    LoopEffect,
    Outputs,
    OwnAspect,
    Slot,
)

BLOCK = Slot(("block",))
INNER_BLOCK = Slot(("block",), assumes="inner")
LOOP = Slot(("loop",))
NEST = Slot(("loop",), assumes="nest")
LOCATION = Slot(("loop",), place=True)
PLACE = Slot(("block", "loop"))
LOOPS = Slot(("loop",), repeats=True)
READERS = Slot(("list",), items=BLOCK, assumes="readers")
READERS_APART = Slot(("list",), items=BLOCK, assumes="apart")
LOOP_OR_BLOCKS = Slot(("loop", "list"), items=BLOCK, assumes="siblings")
# None is the factor that follows from the others.
FACTOR = Slot(("expr", "int", "none"))
FACTORS = Slot(("expr", "int", "none"), repeats=True)
INT = Slot(("int",))
INT_LIST = Slot(("list",), items=INT)
INDEX_MAP = Slot(("index map",))
ANNOTATION = Slot(("expr", "int", "float", "bool", "str", "none", "list", "dict"))
BUFFER_KIND = Slot(("str",), texts=("read", "write"))

STR = Slot(("str",))
# TVM's file writer turns true into 1 and 1.0 into 1.
FLAG = Slot(("bool", "int"))
NUMBER_LIST = Slot(("list",), items=Slot(("float", "int")))
STR_OR_NULL = Slot(("str", "null"))

_THREAD_AXES = (
    *(f"{scope}.{axis}" for scope in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"),
    "vthread",
)
_STORAGE_SCOPES = (
    "global",
    "global.texture",
    "global.vtcm",
    "local",
    "m16n8k8.matrixA",
    "m16n8k8.matrixB",
    "m16n8k8.matrixC",
    "metal.simdgroup",
    "shared",
    "shared.dyn",
    "warp",
    "wmma.accumulator",
    "wmma.matrix_a",
    "wmma.matrix_b",
)
_ANNOTATION_KEYS = (
    "double_buffer_scope",
    "meta_schedule.auto_tensorize",
    "meta_schedule.auto_tensorize_init",
    "meta_schedule.cooperative_fetch",
    "meta_schedule.layout_rewrite_preproc",
    "meta_schedule.parallel",
    "meta_schedule.random_compute_producer",
    "meta_schedule.thread_extent_high_inclusive",
    "meta_schedule.thread_extent_low_inclusive",
    "meta_schedule.tiling_structure",
    "meta_schedule.unroll_explicit",
    "meta_schedule.unroll_implicit",
    "meta_schedule.vectorize",
    "pragma_auto_unroll_max_step",
    "pragma_unroll_explicit",
    "pragma_vectorize",
    "schedule_rule",
    "software_pipeline_async_stages",
    "software_pipeline_order",
    "software_pipeline_stage",
    "tir.manifest_shared_memory_local_stage",
    "tirx.manifest_shared_memory_local_stage",
    "warp_execution",
)
_DATA_TYPES = ("bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64")

ANN_KEY = Attr("ann_key", Slot(("str",), texts=_ANNOTATION_KEYS))
BUFFER_INDEX = Attr("buffer_index", INT)
# 0 is a buffer that the block reads, 1 one that it writes.
BUFFER_INDEX_TYPE = Attr("buffer_index_type", INT)
BLOCK_NAME = Attr("name", Slot(("str",), texts=("root",)))
DTYPE = Attr("dtype", Slot(("str",), texts=_DATA_TYPES))
FUNC_NAME = Attr("func_name", Slot(("str",), texts=("main",)))
INDEX_MAP_TEXT = Attr("index_map", STR)
PAD_VALUE = Attr("pad_value", STR_OR_NULL)
PRESERVE_UNIT_ITERS = Attr("preserve_unit_iters", FLAG)
PRESERVE_UNIT_LOOPS = Attr("preserve_unit_loops", FLAG)
SCOPE = Attr("storage_scope", Slot(("str",), texts=_STORAGE_SCOPES))
TENSOR_INTRIN = Attr("tensor_intrin", STR)
THREAD_AXIS = Attr("thread_axis", Slot(("str",), texts=_THREAD_AXES))

NOTHING = Outputs("block", 0)
A_BLOCK = Outputs("block", 1)
TWO_BLOCKS = Outputs("block", 2)
BLOCKS = Outputs("block", "any")
A_LOOP = Outputs("loop", 1)
SOME_LOOPS = Outputs("loop", "any")
LOOP_PER_FACTOR = Outputs("loop", "factors")
AN_EXPR = Outputs("expr", 1)
TILE = Outputs("expr", "first attribute")

ALL_BUT_BLOCK_ANNOTATIONS: tuple[Aspect, ...] = tuple(
    aspect for aspect in ASPECTS if aspect != "block annotations"
)


def form(
    *inputs: Slot,
    attrs: tuple[Attr, ...] = (),
    since: str = RELEASES[0],
    until: str = RELEASES[-1],
) -> Form:
    """One form of a kind."""
    return Form(inputs, attrs, since, until)


def kind(
    name: str,
    *forms: Form,
    outputs: Outputs = NOTHING,
    decision: DecisionKind = "none",
    loops: LoopEffect = "changes",
    pure: bool = False,
    looks: tuple[Aspect | OwnAspect, ...] = ASPECTS,
    changes: tuple[Aspect | OwnAspect, ...] = ASPECTS,
    late: int = 0,
    starts_postproc: bool = False,
    meaning: str,
) -> Kind:
    """One row; a kind is there for as long as one of its forms is.

    A kind may look at everything and change everything until its row says less. What is pure
    leaves the module as it is, so there nothing of that need be said.
    """
    if pure:
        changes = ()
        loops = "keeps" if loops == "changes" else loops
    return Kind(
        name,
        meaning,
        forms,
        outputs,
        decision,
        loops,
        pure,
        looks,
        changes,
        late,
        starts_postproc,
        since=min((one.since for one in forms), key=RELEASES.index),
        until=max((one.until for one in forms), key=RELEASES.index),
    )
