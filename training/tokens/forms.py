"""The same trace as another release of TVM would have written it.

Only the form is rewritten, as far as it is known from public logs: names of kinds, numbers of
inputs and attributes, booleans. All are pure functions from trace to trace.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tracescript import IndexMap, Instruction, Trace, Value

Rewrite = Callable[[Instruction], Instruction]
"""What one release did to an instruction."""


def old_form(trace: Trace, number: int) -> Trace:
    r"""Write a trace in one of the older forms, drawn by a number.

    >>> from tracescript import loads
    >>> old_form(loads('tracescript 1\nGetSBlock | "C" "main" -> b\n'), 1).insts[0].kind
    'GetBlock'
    """
    rng = random.Random(number)
    rewrites = rng.choices(list(FORMS.values()), weights=[2, 3, 3, 2, 1])[0]
    insts = trace.insts
    for rewrite in rewrites:
        insts = tuple(map(rewrite, insts))
    return Trace(insts, trace.decisions)


def renamed(trace: Trace, number: int, words: list[str]) -> Trace:
    """Give the blocks of a trace other names, put together from words.

    Logs of other people name their blocks in other ways; a tokenizer should learn to write a
    name it has not seen.
    """
    rng = random.Random(number)
    names: dict[str, str] = {"root": "root"}
    return Trace(tuple(_renamed(inst, names, words, rng) for inst in trace.insts), trace.decisions)


def words_of(trace: Trace) -> list[str]:
    """The parts of the block names of a trace."""
    return [
        word
        for inst in trace.insts
        if inst.kind == "GetSBlock" and isinstance(inst.attrs[0], str)
        for word in inst.attrs[0].split("_")
    ]


def _renamed(
    inst: Instruction, names: dict[str, str], words: list[str], rng: random.Random
) -> Instruction:
    if inst.kind not in ("GetBlock", "GetSBlock") or not isinstance(inst.attrs[0], str):
        return inst
    name = inst.attrs[0]
    if name not in names:
        names[name] = "_".join(rng.choices(words, k=rng.choice((1, 2, 2, 3))))
    return Instruction(inst.kind, inst.inputs, (names[name], *inst.attrs[1:]), inst.outputs)


def _attrs(inst: Instruction, *attrs: Value) -> Instruction:
    return Instruction(inst.kind, inst.inputs, attrs, inst.outputs)


def get_block(inst: Instruction) -> Instruction:
    """Before 0.24."""
    if inst.kind != "GetSBlock":
        return inst
    return Instruction("GetBlock", inst.inputs, inst.attrs, inst.outputs)


def split_with_one_flag(inst: Instruction) -> Instruction:
    """Before 0.17."""
    return _attrs(inst, 1) if inst.kind == "Split" else inst


def compute_at_without_index(inst: Instruction) -> Instruction:
    """In 0.8 and 0.9."""
    if inst.kind not in ("ComputeAt", "ReverseComputeAt"):
        return inst
    return _attrs(inst, *inst.attrs[:1])


def blockize_with_no_flag(inst: Instruction) -> Instruction:
    """Before 0.11."""
    return _attrs(inst) if inst.kind == "Blockize" else inst


def tensorize_with_no_flag(inst: Instruction) -> Instruction:
    """Before 0.11."""
    return _attrs(inst, *inst.attrs[:1]) if inst.kind == "Tensorize" else inst


def cache_without_consumers(inst: Instruction) -> Instruction:
    """In 0.8 and 0.9."""
    if inst.kind not in ("CacheRead", "CacheWrite"):
        return inst
    return Instruction(inst.kind, inst.inputs[:1], inst.attrs, inst.outputs)


def cache_for_all_consumers(inst: Instruction) -> Instruction:
    """As 0.10 to 0.12 wrote it where no consumers were named."""
    if inst.kind not in ("CacheRead", "CacheWrite"):
        return inst
    return Instruction(inst.kind, (*inst.inputs[:1], ()), inst.attrs, inst.outputs)


def layout_with_map_last(inst: Instruction) -> Instruction:
    """In 0.8 to 0.10: the index map was the third attribute."""
    if inst.kind != "TransformLayout" or len(inst.inputs) != 2:
        return inst
    index_map = inst.inputs[1]
    if not isinstance(index_map, IndexMap):
        return inst
    attrs = (*inst.attrs[:2], index_map.text)
    return Instruction(inst.kind, inst.inputs[:1], attrs, inst.outputs)


def layout_with_numbers(inst: Instruction) -> Instruction:
    """As the files of 0.11 to 0.20 have it."""
    if inst.kind != "TransformLayout" or len(inst.inputs) != 2:
        return inst
    return _attrs(inst, *inst.attrs[:3], 0)


def booleans(inst: Instruction) -> Instruction:
    """As Python's `as_json` has it: a file has numbers."""
    return _attrs(inst, *map(bool, inst.attrs)) if inst.kind == "Split" else inst


def numbers(inst: Instruction) -> Instruction:
    """As a file has it."""
    flags = [int(bool(flag)) for flag in inst.attrs]
    return _attrs(inst, *flags) if inst.kind == "Split" else inst


FORMS: dict[str, tuple[Rewrite, ...]] = {
    "0.8": (
        get_block,
        split_with_one_flag,
        compute_at_without_index,
        blockize_with_no_flag,
        tensorize_with_no_flag,
        cache_without_consumers,
        layout_with_map_last,
    ),
    "0.10": (
        get_block,
        split_with_one_flag,
        blockize_with_no_flag,
        tensorize_with_no_flag,
        cache_for_all_consumers,
        layout_with_map_last,
    ),
    "0.12": (get_block, split_with_one_flag, layout_with_numbers),
    "0.20": (get_block, numbers),
    "from Python": (booleans,),
}
"""The rewrites that lead to the form of a release."""
