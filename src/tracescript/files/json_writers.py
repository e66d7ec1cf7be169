"""The programs that write logs, told apart by the bytes they write for one value.

A float or a blank looks different from one writer to the next, so a file that is
to come back byte for byte has to say who wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from json.encoder import encode_basestring_ascii
from typing import Any, cast

from tracescript.literals import format_int

__all__ = ["DEFAULT_WRITER", "WRITERS", "write_tvm"]


def write_tvm(value: object) -> str:
    """Write JSON as TVM's JSONDatabase does: no blanks, floats with 20 significant digits.

    TVM writes text beyond ASCII as C escapes, which are not JSON; no value that was read
    from a JSON file can need them.

    Source: `JSONDumps` of `s_tir/meta_schedule/utils.h` in TVM 0.27.

    >>> write_tvm([0, [1.5, 0.2, None]])
    '[0,[1.5,0.2000000000000000111,null]]'
    """
    write_scalar = _SCALARS.get(type(value))
    if write_scalar is not None:
        return write_scalar(value)
    if type(value) is list:
        return "[" + ",".join([write_tvm(item) for item in cast("list[Any]", value)]) + "]"
    entries = cast("dict[str, Any]", value)
    pairs = [f"{encode_basestring_ascii(key)}:{write_tvm(item)}" for key, item in entries.items()]
    return "{" + ",".join(pairs) + "}"


_SCALARS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring_ascii,
    int: format_int,
    float: "{:.20g}".format,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): {None: "null"}.__getitem__,
}

_compact = (",", ":")

WRITERS: dict[str, Callable[[Any], str]] = {
    "tvm": write_tvm,
    "python": json.dumps,
    "python_utf8": partial(json.dumps, ensure_ascii=False),
    "compact": partial(json.dumps, separators=_compact),
    "compact_utf8": partial(json.dumps, separators=_compact, ensure_ascii=False),
}
"""By name, the functions that turn a JSON value into the text of one line."""

DEFAULT_WRITER = "tvm"
"""The writer of a `.trace` file that names none."""
