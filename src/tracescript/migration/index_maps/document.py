"""The text of an index map as a JSON value, within bounds, and what it tells of its release."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

from tracescript.instructions import RELEASES

__all__ = ["FORMAT", "BadIndexMap", "Document", "Node", "read", "releases_of"]

FORMAT = "0.27"
"""The one release that index maps are written for."""

_MAX_TEXT = 1 << 20
_MAX_NODES = 1 << 14
"""The largest map of a public log has 9,000 characters and some 100 nodes."""


class BadIndexMap(Exception):
    """A text is no index map that can be converted. Never leaves the package.

    Attributes:
        place: where in the text, as the end of a JSON path; empty for the whole.
        reason: what is wrong there.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(place, reason)
        self.place = place
        self.reason = reason


class Node(NamedTuple):
    """A node as it stands in a text from 0.22 on: the name of its type, and its data."""

    type: str
    data: object = None


class Document(NamedTuple):
    """A graph of nodes.

    Attributes:
        era: `root` for the format until 0.21, `root_index` for that since 0.22.
        root: the number of the node that is the index map.
        nodes: the nodes as they stand in the text.
        version: the TVM that wrote it, if the text says so.
    """

    era: Literal["root", "root_index"]
    root: int
    nodes: list[dict[str, Any]]
    version: str | None


def read(text: str) -> Document:
    """Read the frame of a text. The nodes are dicts, and nothing else is known of them."""
    if len(text) > _MAX_TEXT:
        raise BadIndexMap("", f"an index map of more than {_MAX_TEXT} characters")
    try:
        value: object = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError):
        raise BadIndexMap("", "a text that is not the JSON of an index map") from None
    top = _dict(value, "")
    era = "root" if "root" in top else "root_index"
    nodes, root = top.get("nodes"), top.get(era)
    if type(nodes) is not list or not all(type(node) is dict for node in cast("list[Any]", nodes)):
        raise BadIndexMap("['nodes']", "no list of nodes")
    count = len(cast("list[Any]", nodes))
    if count > _MAX_NODES:
        raise BadIndexMap("['nodes']", f"more than {_MAX_NODES} nodes")
    if type(root) is not int or not 0 <= root < count:
        raise BadIndexMap(f"['{era}']", "no number of a node")
    about = top.get("attrs" if era == "root" else "metadata", {})
    version = _dict(about, "").get("tvm_version")
    return Document(era, root, nodes, version if isinstance(version, str) else None)


def releases_of(text: str) -> tuple[str, ...]:
    """The releases that can have written an index map, oldest first.

    They follow from the format, the names of the nodes, and the version that the text may
    hold. A development version may be from before what its release changed, so it stands for
    the release before it, too.

    Raises:
        BadIndexMap: the text is not an index map of any release.
    """
    document = read(text)
    if document.era == "root":
        first, last = RELEASES[0], "0.21"
    else:
        first, last = _era_of_names([str(node.get("type")) for node in document.nodes])
    version = re.match(r"(0\.\d+)\.(\d+\.)?(dev)?", (document.version or "") + ".")
    low, high = RELEASES.index(first), RELEASES.index(last)
    if version and version[1] in RELEASES:
        named = RELEASES.index(version[1])
        low, high = max(low, named - bool(version[3])), min(high, named)
    return RELEASES[low : high + 1]


def _era_of_names(types: Sequence[str]) -> tuple[str, str]:
    """The releases that call their nodes like that; the first and the last of them.

    Whether 0.24 wrote `tir` or `tirx` is not known: the renaming fell between 0.23 and 0.25.
    """
    prefixes = {name.split(".")[0] for name in types if name != "tirx.IndexMap"}
    if "prim" in prefixes or "int" in types:
        return "0.27", "0.27"
    if "tir" in prefixes:
        return "0.22", "0.24"
    if "tirx.Var" in types:
        return "0.24", "0.25"
    if "ir.Var" in types:
        return "0.26", "0.26" if "tirx" in prefixes else "0.27"
    return "0.24", "0.26" if "tirx" in prefixes else "0.27"


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def _dict(value: object, place: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise BadIndexMap(place, "no JSON object")
    return cast("dict[str, Any]", value)
