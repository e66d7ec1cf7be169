"""Traces with annotation values and names of every sort.

TVM's Python wrapper refuses some values that the C++ primitive takes: empty and nested lists,
`{"a": {"b": 1}}`, null. `_annotate_any` goes past the wrapper for those.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import _modules as modules
from _example import Example, register
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import SBlockRV, _ffi_api

EXAMPLES: list[Example] = []
"""TVM writes these to a file that is JSON, and reads them back."""

UNLOADABLE: list[Example] = []
"""TVM takes these, and writes lines for them that it cannot read back."""

example = partial(register, EXAMPLES)
unloadable = partial(register, UNLOADABLE)


def _annotate_any(sch: Schedule, block: SBlockRV, key: str, value: Any) -> None:
    _ffi_api.ScheduleAnnotate(sch, block, key, value)


@example(modules.TWO_STEPS)
def annotate_with_strings(sch: Schedule) -> None:
    block = sch.get_sblock("B")
    texts = ("", '"', "'", 'say "hi"', "\\", "\\n", "line\nline", "\t", "a/b", " ", "SSRS")
    for index, text in enumerate(texts):
        sch.annotate(block, f"text.{index}", text)
    for text in ("None", "b0", "v3", "null", "true", "1", "[1]", '{"a": 1}', "#", ",", "=>"):
        sch.annotate(block, text, text)
    sch.annotate(block, "", "an empty key")
    sch.annotate(block, 'a "quoted"\nkey \\', "x")
    sch.unannotate(block, "")


@example(modules.TWO_STEPS)
def annotate_with_numbers(sch: Schedule) -> None:
    block = sch.get_sblock("B")
    integers = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
    floats = (
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        1 / 3,
        0.5,
        1e-5,
        1e16,
        1e20,
        123456789.125,
        3.0e38,
        1e-300,
    )
    for index, number in enumerate((*integers, *floats, True, False)):
        sch.annotate(block, f"number.{index}", number)


@example(modules.TWO_STEPS)
def annotate_with_containers(sch: Schedule) -> None:
    block = sch.get_sblock("B")
    sch.annotate(block, "list", [1, 1.0, True, "1", "", "b0", -0.5])
    sch.annotate(block, "dict", {"z": 1, "a": "b0", "x": 0.1, "": "", "t": True, "one": 1.0})
    sch.annotate(block, "dict of lists", {"a": [1, 2.0, False], "b": ["x", "None"]})
    sch.annotate(block, "empty dict", {})
    _annotate_any(sch, block, "empty list", [])
    _annotate_any(sch, block, "buffer_dim_align", [[0, 0, 32, 8], [1, -1, 16, 4]])
    _annotate_any(sch, block, "nested", [[], [[]], [[1, ["x", [2.5]]]], {"k": [{"k": {}}]}])
    _annotate_any(sch, block, "null", None)
    _annotate_any(sch, block, "nulls", [None, "None", [None]])


@example(modules.TWO_STEPS)
def annotate_with_variables(sch: Schedule) -> None:
    block = sch.get_sblock("B")
    i, j = sch.get_loops(block)
    one = sch.sample_categorical([4, 8], [0.5, 0.5], decision=1)
    two, three = sch.sample_perfect_tile(j, n=2, decision=[32, 4])
    sch.annotate(i, "pragma_unroll_explicit", one)
    sch.annotate(block, "list", [one, two, 3, "v3"])
    sch.annotate(j, "software_pipeline_stage", [0, 0, 1])
    _annotate_any(sch, block, "nested", [[three, [one]], 1.5])
    sch.unannotate(i, "pragma_unroll_explicit")


# --- what TVM writes and cannot read back -------------------------------------------------


@unloadable(modules.ODD_NAMES)
def unicode_block_name(sch: Schedule) -> None:
    sch.get_loops(sch.get_sblock("блок_é_块"))


@unloadable(modules.TWO_STEPS)
def unicode_annotations(sch: Schedule) -> None:
    block = sch.get_sblock("B")
    sch.annotate(block, "é", "块 \u2028 😀")
    sch.annotate(block, "list", ["é"])
    sch.annotate(block, "dict", {"é": "é"})


@unloadable(modules.TWO_STEPS)
def control_characters(sch: Schedule) -> None:
    sch.annotate(sch.get_sblock("B"), "controls", "\x00\x01\x07\x08\x0b\x0c\r\x1b\x7f")


@unloadable(modules.TWO_STEPS)
def infinity(sch: Schedule) -> None:
    sch.annotate(sch.get_sblock("B"), "inf", [float("inf"), float("-inf")])


@unloadable(modules.TWO_STEPS)
def not_a_number(sch: Schedule) -> None:
    sch.annotate(sch.get_sblock("B"), "nan", float("nan"))


@unloadable(modules.TWO_STEPS)
def subnormal(sch: Schedule) -> None:
    sch.annotate(sch.get_sblock("B"), "smallest", 5e-324)
