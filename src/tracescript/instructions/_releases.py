"""The table as a whole, and what of it one release has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import msgspec

from tracescript.instructions import _blocks, _loops
from tracescript.instructions._shapes import RELEASES, Form, Kind
from tracescript.model import Trace

__all__ = ["KINDS", "era", "kinds"]

KINDS: Mapping[str, Kind] = MappingProxyType(
    {row.name: row for row in (*_loops.ROWS, *_blocks.ROWS)}
)
"""Every known kind by its name, with the forms of all releases."""


def kinds(tvm: str | None = None) -> Mapping[str, Kind]:
    """The kinds of one release by name, with the forms of that release; None is all of them.

    Raises:
        ValueError: the table has no such release.

    >>> sorted(kinds("0.27").keys() ^ kinds("0.23").keys())
    ['GetBlock', 'GetSBlock', 'SetAxisSeparator']
    >>> [len(kinds(tvm)["Split"].forms) for tvm in ("0.16", "0.27", None)]
    [1, 1, 3]
    """
    return KINDS if tvm is None else _kinds_of(tvm)


@lru_cache(maxsize=len(RELEASES))
def _kinds_of(tvm: str) -> Mapping[str, Kind]:
    if tvm not in RELEASES:
        raise ValueError(f"expected a release of TVM, one of {', '.join(RELEASES)}, found {tvm!r}")
    release = RELEASES.index(tvm)

    def has(row: Kind | Form) -> bool:
        return RELEASES.index(row.since) <= release <= RELEASES.index(row.until)

    return MappingProxyType(
        {
            name: msgspec.structs.replace(row, forms=tuple(filter(has, row.forms)))
            for name, row in KINDS.items()
            if has(row)
        }
    )


def era(trace: Trace) -> str:
    r"""The TVM releases that a trace can come from, as far as two well-known changes tell.

    `GetBlock` became `GetSBlock` in 0.24, and `Split` got its second attribute in 0.17.

    >>> from tracescript import loads
    >>> era(loads('tracescript 1\nGetSBlock | "C" "main" -> b\n'))
    'from 0.24'
    """
    names = {inst.kind for inst in trace.insts}
    splits = {len(inst.attrs) for inst in trace.insts if inst.kind == "Split"}
    first = "0.24" if "GetSBlock" in names else "0.17" if 2 in splits else None
    last = "0.16" if splits & {0, 1} else "0.23" if "GetBlock" in names else None
    if first and last:
        return f"{first} to {last}" if first < last else "of no one release"
    return f"from {first}" if first else f"to {last}" if last else "any"
