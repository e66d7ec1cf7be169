"""Which releases of TVM can have recorded a trace: what each of its parts tells."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import NamedTuple

from tracescript.instructions import KINDS, RELEASES, Form, forms_of
from tracescript.json_trace import to_json
from tracescript.migration.index_maps import BadIndexMap, releases_of
from tracescript.migration.texts import index_map_texts
from tracescript.model import Instruction, Trace

__all__ = ["RENAMED_KEYS", "Clue", "clues_of", "infer_release", "is_before", "releases_between"]

RENAMED_KEYS = MappingProxyType(
    {"tir.manifest_shared_memory_local_stage": "tirx.manifest_shared_memory_local_stage"}
)
"""Annotations that TVM looks for under another key now. It came with 0.24 or 0.25."""


class Clue(NamedTuple):
    """What one part of a trace tells.

    Attributes:
        path: where it stands, as a path into the JSON form of the trace.
        found: what stands there, in words.
        releases: those that write it, oldest first; none if no release does.
    """

    path: str
    found: str
    releases: tuple[str, ...]


def infer_release(trace: Trace) -> tuple[str, ...]:
    r"""Tell which releases of TVM can have recorded a trace.

    Law: a trace that a release recorded can come from it, as far as it goes: a release that
    knows every kind, has a form for every instruction, and writes index maps like those.

    Returns:
        The releases that the table of kinds covers and that every instruction and every index
        map fits, oldest first. There are none if parts of it exclude each other, or no release
        knows a kind or a form.

    Raises:
        TraceShapeError: the trace holds an object that no trace can hold.

    >>> from tracescript import loads
    >>> script = 'tracescript 1\nGetBlock | "C" "main" -> b\nSplit @"l1" null 4 | 1 0 -> l2\n'
    >>> infer_release(loads(script))
    ('0.17', '0.18', '0.19', '0.20', '0.21', '0.22', '0.23')
    """
    to_json(trace)
    possible = set(RELEASES)
    for clue in clues_of(trace):
        possible.intersection_update(clue.releases)
    return tuple(release for release in RELEASES if release in possible)


def clues_of(trace: Trace) -> Iterator[Clue]:
    """All that tells releases apart, in the order of the trace."""
    for position, inst in enumerate(trace.insts):
        path = f"$[0][{position}]"
        yield _clue_of_form(path, inst)
        yield from _clues_of_texts(path, inst)
        if inst.kind in ("Annotate", "Unannotate"):
            for key in inst.attrs[:1]:
                yield from _clues_of_key(f"{path}[2][0]", key)


def releases_between(first: str, last: str) -> tuple[str, ...]:
    """The releases from one to another, both included."""
    return RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1]


def is_before(left: str, right: str) -> bool:
    """Whether a release came out before another. They do not sort as texts: 0.9, 0.10."""
    return RELEASES.index(left) < RELEASES.index(right)


def _clue_of_form(path: str, inst: Instruction) -> Clue:
    if inst.kind not in KINDS:
        return Clue(f"{path}[0]", f"the kind {inst.kind[:60]!a}", ())
    inputs, attrs = _count(len(inst.inputs), "input"), _count(len(inst.attrs), "attribute")
    found = f"{inst.kind} with {inputs} and {attrs} of these types"
    return Clue(path, found, _releases_with(forms_of(inst)))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _releases_with(forms: tuple[Form, ...]) -> tuple[str, ...]:
    present = {release for form in forms for release in releases_between(form.since, form.until)}
    return tuple(release for release in RELEASES if release in present)


def _clues_of_texts(path: str, inst: Instruction) -> Iterator[Clue]:
    for place, text in index_map_texts(inst):
        try:
            yield Clue(path + place, "an index map in this format", releases_of(text))
        except BadIndexMap as error:
            yield Clue(path + place + error.place, error.reason, ())


def _clues_of_key(path: str, key: object) -> Iterator[Clue]:
    if not isinstance(key, str):
        return
    if key in RENAMED_KEYS:
        yield Clue(path, f"the key {key}", releases_between("0.8", "0.24"))
    elif key in RENAMED_KEYS.values():
        yield Clue(path, f"the key {key}", releases_between("0.24", RELEASES[-1]))
