"""The steps: what TVM changed about instructions from one release to the next.

Each step answers one change of TVM. It rewrites an instruction of the older form, leaves any
other alone, and refuses what cannot be known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import msgspec
from msgspec.structs import replace

from tracescript.migration.clues import RENAMED_KEYS, is_before
from tracescript.migration.index_maps import FORMAT, BadIndexMap, releases_of
from tracescript.migration.texts import with_texts
from tracescript.model import IndexMap, Instruction, Value

__all__ = ["STEPS", "Journey", "Refused", "Step"]


class Journey(NamedTuple):
    """Where a trace comes from and where it goes.

    Attributes:
        releases: those that can have recorded it.
        to: the release that it shall be for.
    """

    releases: tuple[str, ...]
    to: str


class Refused(Exception):
    """A step does not know how. Never leaves the package: a `MigrationError` does.

    Attributes:
        place: where in the instruction, as the end of a JSON path.
        reason: what stands in the way.
        advice: what to do about it.
    """

    def __init__(self, place: str, reason: str, advice: str) -> None:
        super().__init__(place, reason, advice)
        self.place = place
        self.reason = reason
        self.advice = advice


Rewrite = Callable[[Instruction, Journey], Instruction]
"""Gives the instruction in the newer form, or the very same one if the step is not about it."""


class Step(msgspec.Struct, frozen=True):
    """One change of TVM.

    Attributes:
        name: a short name.
        since: the first release with the change.
        reference: the pull requests that made it.
        effect: what the step does, in one sentence.
        rewrite: does it.
    """

    name: str
    since: str
    reference: str
    effect: str
    rewrite: Rewrite


def _appending(kind: str, count: int, value: Value) -> Rewrite:
    """Append an attribute to instructions of a kind that have so many of them."""

    def rewrite(inst: Instruction, _journey: Journey) -> Instruction:
        if inst.kind != kind or len(inst.attrs) != count:
            return inst
        return replace(inst, attrs=(*inst.attrs, value))

    return rewrite


def _for_all_consumers(kind: str) -> Rewrite:
    def rewrite(inst: Instruction, _journey: Journey) -> Instruction:
        if inst.kind != kind or len(inst.inputs) != 1:
            return inst
        return replace(inst, inputs=(*inst.inputs, ()))

    return rewrite


def _map_among_inputs(inst: Instruction, _journey: Journey) -> Instruction:
    if inst.kind != "TransformLayout" or len(inst.inputs) != 1 or len(inst.attrs) != 4:
        return inst
    buffer_index, buffer_index_type, text, pad_value = inst.attrs
    # TVM knows an index map among the inputs by its first character.
    index_map = IndexMap(str(text).lstrip())
    attrs = (buffer_index, buffer_index_type, pad_value, 0)
    return replace(inst, inputs=(*inst.inputs, index_map), attrs=attrs)


def _cache_of_one_buffer(inst: Instruction, _journey: Journey) -> Instruction:
    if inst.kind != "CacheIndex" or len(inst.attrs) != 1:
        return inst
    reason = "CacheIndex of 0.11 caches the indices of one buffer; since 0.12 it takes a block's"
    raise Refused("[2]", reason, "tune anew, or write the CacheIndex that you want by hand")


def _padding_by_factor(inst: Instruction, journey: Journey) -> Instruction:
    is_amount = [is_before(release, "0.13") for release in journey.releases]
    if inst.kind != "PadEinsum" or not any(is_amount) or journey.to in journey.releases:
        return inst
    if not all(is_amount):
        reason = (
            "PadEinsum adds so many iterations until 0.12 and pads to a multiple since 0.13, and "
            "the trace can come from either"
        )
        raise Refused("[2][0]", reason, "say which release recorded it, by recorded_by")
    amounts = cast("tuple[int, ...]", inst.attrs[0])
    if any(amounts):
        reason = (
            "PadEinsum until 0.12 adds so many iterations; the multiple to pad to, which it takes "
            "since 0.13, follows from extents that the trace does not have"
        )
        raise Refused("[2][0]", reason, "tune anew, or write multiples, recorded by 0.13")
    return replace(inst, attrs=((1,) * len(amounts),))


def _no_predicate(inst: Instruction, _journey: Journey) -> Instruction:
    if inst.kind != "Split" or len(inst.attrs) != 1:
        return inst
    # A flag is true or false where Python wrote it, 1 or 0 where a file was written.
    flag = False if isinstance(inst.attrs[0], bool) else 0
    return replace(inst, attrs=(*inst.attrs, flag))


def _sblock(inst: Instruction, _journey: Journey) -> Instruction:
    return replace(inst, kind="GetSBlock") if inst.kind == "GetBlock" else inst


def _renamed_key(inst: Instruction, _journey: Journey) -> Instruction:
    if inst.kind not in ("Annotate", "Unannotate") or inst.attrs[0] not in RENAMED_KEYS:
        return inst
    return replace(inst, attrs=(RENAMED_KEYS[str(inst.attrs[0])],))


def _no_axis_separator(inst: Instruction, _journey: Journey) -> Instruction:
    if inst.kind != "SetAxisSeparator":
        return inst
    reason = "buffers have no axis separators since 0.26"
    raise Refused("[0]", reason, "stay with 0.25, or tune anew without SetAxisSeparator")


def _index_map_format(inst: Instruction, _journey: Journey) -> Instruction:
    def write(place: str, text: str, indented: bool) -> str:
        # Imported late: few traces need it, and `import tracescript` stays cheap without it.
        from tracescript.migration.index_maps.convert import converted

        try:
            if FORMAT in releases_of(text):
                return text
            return converted(text, indented=indented)
        except BadIndexMap as error:
            advice = "build the index map anew with TVM and put its text here"
            raise Refused(place + error.place, error.reason, advice) from None

    after = with_texts(inst, write)
    return inst if after == inst else after


STEPS: tuple[Step, ...] = (
    Step(
        "index-map-format",
        FORMAT,
        "#18188, #18913, #19875, #20249",
        "Index maps are written anew as 0.27 writes them. The format changed in 0.22, and the "
        "names and fields of its nodes in 0.24, 0.26 and 0.27.",
        _index_map_format,
    ),
    Step(
        "fuse-flag",
        "0.9",
        "#11585",
        "`Fuse` gets `preserve_unit_iters` 0: 0.8 dropped iterators of extent 1.",
        _appending("Fuse", 0, 0),
    ),
    Step(
        "split-flag",
        "0.9",
        "#11585",
        "`Split` gets `preserve_unit_iters` 0, for the same reason.",
        _appending("Split", 0, 0),
    ),
    Step(
        "cache-read-consumers",
        "0.10",
        "#12505",
        "`CacheRead` gets the empty list of consumers, which stands for all of them.",
        _for_all_consumers("CacheRead"),
    ),
    Step(
        "compute-at-index",
        "0.10",
        "#12450",
        "`ComputeAt` gets `index` -1, the last place that is possible.",
        _appending("ComputeAt", 1, -1),
    ),
    Step(
        "reverse-compute-at-index",
        "0.10",
        "#12450",
        "`ReverseComputeAt` gets `index` -1, likewise.",
        _appending("ReverseComputeAt", 1, -1),
    ),
    Step(
        "layout-padding",
        "0.10",
        "#12720",
        "`TransformLayout` gets `pad_value` null: it pads with no value in particular.",
        _appending("TransformLayout", 3, None),
    ),
    Step(
        "cache-write-consumers",
        "0.11",
        "#13510",
        "`CacheWrite` gets the empty list of consumers.",
        _for_all_consumers("CacheWrite"),
    ),
    Step(
        "blockize-flag",
        "0.11",
        "#13579",
        "`Blockize` gets `preserve_unit_iters` 0: until 0.10 it dropped iterators of extent 1.",
        _appending("Blockize", 0, 0),
    ),
    Step(
        "tensorize-flag",
        "0.11",
        "#13579",
        "`Tensorize` gets `preserve_unit_iters` 0, for the same reason.",
        _appending("Tensorize", 1, 0),
    ),
    Step(
        "layout-map",
        "0.12",
        "#13930, #14095",
        "The index map of `TransformLayout` becomes an input; it gets "
        "`assume_injective_transform` 0.",
        _map_among_inputs,
    ),
    Step(
        "cache-index-block",
        "0.12",
        "#13700",
        "`CacheIndex` of one buffer is refused: no later form does the same.",
        _cache_of_one_buffer,
    ),
    Step(
        "pad-einsum-factor",
        "0.13",
        "#15168",
        "`PadEinsum` by 0 becomes padding to a multiple of 1; other amounts are refused, since "
        "the multiple follows from extents that no trace has.",
        _padding_by_factor,
    ),
    Step(
        "split-predication",
        "0.17",
        "#16862",
        "`Split` gets `disable_predication` 0.",
        _no_predicate,
    ),
    Step(
        "get-sblock",
        "0.24",
        "#18689",
        "`GetBlock` becomes `GetSBlock`.",
        _sblock,
    ),
    Step(
        "tirx-annotation",
        "0.24",
        "#18913",
        "The key `tir.manifest_shared_memory_local_stage` becomes "
        "`tirx.manifest_shared_memory_local_stage`.",
        _renamed_key,
    ),
    Step(
        "axis-separator",
        "0.26",
        "#20019",
        "`SetAxisSeparator` is refused: buffers have no axis separators any more.",
        _no_axis_separator,
    ),
)
"""All steps. Each takes an instruction as the steps before it leave it: oldest change first, but
for index maps, which are refused by the place where they stand in the trace that was given."""
