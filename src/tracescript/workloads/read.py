"""From a text to the workload: `loads`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from lark import Token, Tree

from tracescript.decode import read_value
from tracescript.errors import TraceSyntaxError
from tracescript.literals import unquote
from tracescript.model import Value
from tracescript.workloads import defaults
from tracescript.workloads.inference import Dtypes
from tracescript.workloads.model import (
    MAX_NODES,
    Attribute,
    Axis,
    Block,
    Buffer,
    Expr,
    Output,
    Workload,
)
from tracescript.workloads.names import BUFFERS, letter, position
from tracescript.workloads.reductions import identity
from tracescript.workloads.syntax import Node, Source
from tracescript.workloads.terms import Terms

__all__ = ["loads"]

_Parts = dict[str, "list[Tree[Token]]"]

_MAX_DIGITS = 19
"""As many as the largest size has."""


def loads(text: str) -> Workload:
    r"""Read the text of a workload.

    Laws: `loads(dumps(workload)) == workload`, and `dumps(loads(text)) == text` for every text
    that `dumps` writes. The length of a text is bounded, and so is what its expressions hold.

    Raises:
        TraceSyntaxError: the text is none of a workload; the error has the line, the column and
            what was expected there.

    >>> workload = loads('A "A" "float32" 8 16\nB "sum" 8 | 16: +/A[ij]\n')
    >>> [(axis.kind, axis.extent) for axis in workload.blocks[0].axes]
    [('S', 8), ('R', 16)]
    """
    return _Reader(Source(text)).workload()


def _parts(tree: Tree[Token]) -> _Parts:
    """The parts of a tree by their rules."""
    parts: _Parts = {}
    for part in tree.children:
        if isinstance(part, Tree):
            parts.setdefault(str(part.data), []).append(part)
    return parts


def _token(tree: Tree[Token]) -> Token:
    """The only token of a tree."""
    return cast("Token", tree.children[0])


def _sorted(entries: dict[str, Value]) -> tuple[Attribute, ...]:
    return tuple([Attribute(key, entries[key]) for key in sorted(entries)])


class _Reader:
    """Reads one text, line by line."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._inputs: list[Buffer] = []
        self._blocks: list[Block] = []
        self._names: set[str] = set()
        self._dtypes: list[str] = []
        self._index_dtype = defaults.INDEX_DTYPE
        self._sizes: tuple[int, ...] | None = None
        self._nodes = 0

    def workload(self) -> Workload:
        """The whole workload."""
        tree = self._source.tree()
        parts = _parts(tree)
        function = _parts(parts["function"][0]) if "function" in parts else {}
        name = unquote(_token(function["name"][0])) if "name" in function else defaults.NAME
        if "index_dtype" in function:
            self._index_dtype = unquote(_token(function["index_dtype"][0]))
        for line in cast("list[Tree[Token]]", tree.children):
            if line.data == "input":
                self._inputs.append(self._input(line))
            elif line.data == "block":
                self._blocks.append(self._block(line))
        if not self._blocks:
            raise self._source.error(tree, "a workload has at least one block")
        return Workload(
            tuple(self._inputs),
            tuple(self._blocks),
            self._params(function),
            self._target(parts),
            name,
            self._index_dtype,
            self._attributes(function, name),
        )

    # The head of the text.

    def _target(self, parts: _Parts) -> str | tuple[Attribute, ...] | None:
        if "target" not in parts:
            return None
        child = parts["target"][0].children[0]
        if isinstance(child, Tree):
            return _sorted(self._dict(child))
        return defaults.VENDOR + child if child.type == "WORD" else unquote(child)

    def _attributes(self, function: _Parts, name: str) -> tuple[Attribute, ...]:
        usual = defaults.attributes(name)
        found = dict(usual)
        for tree in function.get("dict", ()):
            found.update(self._dict(tree))
        # A null takes a usual one away.
        return _sorted(
            {key: found[key] for key in found if found[key] is not None or key not in usual}
        )

    def _dict(self, tree: Tree[Token]) -> dict[str, Value]:
        try:
            return cast("dict[str, Value]", read_value(self._source.slice(tree)))
        except TraceSyntaxError as error:
            raise self._source.error(tree, error.message) from None

    def _params(self, function: _Parts) -> tuple[int, ...]:
        if "params" not in function:
            return defaults.parameters(self._inputs, self._blocks)
        letters = cast("list[Token]", function["params"][0].children)
        places: dict[int, None] = {}
        for name in letters:
            place = position(BUFFERS, name)
            if place >= len(self._dtypes) or place in places:
                raise self._source.error(name, "expected buffers of the lines below, each once")
            places[place] = None
        return tuple(places)

    # Lines.

    def _input(self, line: Tree[Token]) -> Buffer:
        parts = _parts(line)
        outputs, name = parts["output"], parts["name"][0]
        if self._blocks:
            raise self._source.error(line, "inputs come before blocks")
        if len(outputs) > 1 or len(outputs[0].children) > 1 or "dict" in parts:
            raise self._source.error(line, "an input has a letter, a name, a dtype and a shape")
        self._add_buffers(parts)
        axes = self._axes(line)
        sizes = defaults.shape(axes)
        if sizes is None or len(sizes) < len(axes):
            raise self._source.error(line, "the shape of an input is a list of integers")
        return Buffer(unquote(_token(name)), self._dtypes[-1], sizes)

    def _block(self, line: Tree[Token]) -> Block:
        parts = _parts(line)
        first, count = len(self._dtypes), len(parts["output"])
        self._add_buffers(parts)
        name = unquote(_token(parts["name"][0]))
        axes = self._axes(line)
        buffers: list[Buffer] = []
        places: list[tuple[Expr, ...]] = []
        for number, output in enumerate(parts["output"]):
            several = number if count > 1 else None
            default = defaults.buffer_name(name, self._names, several)
            buffer, place = self._output(output, default, axes, self._dtypes[first + number])
            buffers.append(buffer)
            places.append(place)
        self._names.add(name)
        terms = self._terms(len(axes), places[0])
        values, inits = self._computation(parts["computation"][0], terms, buffers, first)
        self._count(line, terms)
        annotations = self._dict(parts["dict"][0]) if "dict" in parts else {}
        outputs = map(Output, buffers, places, values, inits)
        return Block(name, axes, tuple(outputs), _sorted(annotations))

    def _add_buffers(self, parts: _Parts) -> None:
        """Define the letters of a line, with its dtypes or else that of the line before."""
        outputs = parts["output"]
        written = [unquote(_token(dtype)) for dtype in parts.get("dtype", ())]
        if not written and self._dtypes:
            written = self._dtypes[-1:] * len(outputs)
        if len(written) != len(outputs):
            raise self._source.error(parts["name"][0], f"expected {len(outputs)} dtypes after this")
        for output, dtype in zip(outputs, written, strict=True):
            wanted = letter(BUFFERS, len(self._dtypes))
            if _token(output) != wanted:
                raise self._source.error(output, f"expected {wanted}, the next letter")
            self._dtypes.append(dtype)

    def _axes(self, line: Tree[Token]) -> tuple[Axis, ...]:
        """The axes of a line, or else the spatial ones of the line before."""
        axes: list[Axis] = []
        kind: Literal["S", "R"] = "S"
        bars = 0
        for child in line.children:
            if isinstance(child, Token) and child.type == "BAR":
                kind = "R" if kind == "S" else "S"
                bars += 1
            elif isinstance(child, Tree) and child.data == "extent":
                axes.append(Axis(kind, self._extent(child.children[0], len(axes))))
        if not axes and not bars:
            if self._sizes is None:
                raise self._source.error(line, "expected extents; no line before has constant ones")
            return tuple([Axis("S", size) for size in self._sizes])
        self._sizes = defaults.shape(axes)
        return tuple(axes)

    def _extent(self, node: Node, axes: int) -> int | Expr:
        if isinstance(node, Token):
            return self._integer(node)
        terms = self._terms(axes, ())
        extent = terms.expr(node, self._index_dtype)
        self._count(node, terms)
        return extent

    def _integer(self, token: Token) -> int:
        if len(token) > _MAX_DIGITS or int(token) >= 1 << 63:
            raise self._source.error(token, "expected a size below 2 to the power of 63")
        return int(token)

    def _terms(self, axes: int, place: tuple[Expr, ...]) -> Terms:
        return Terms(self._source, Dtypes(self._dtypes, self._index_dtype), axes, place)

    def _count(self, node: Node, terms: Terms) -> None:
        """Bound what all expressions hold together."""
        self._nodes += terms.nodes
        if self._nodes > MAX_NODES:
            raise self._source.error(node, f"more than {MAX_NODES} parts of expressions")

    def _output(
        self, output: Tree[Token], name: str, axes: tuple[Axis, ...], dtype: str
    ) -> tuple[Buffer, tuple[Expr, ...]]:
        """The buffer and the place of an output."""
        _, *explicit = output.children
        if explicit:
            name = unquote(cast("Token", explicit[0]))
        if len(explicit) > 1:
            shape, index = cast("list[Tree[Token]]", explicit[1:])
            sizes = tuple([self._integer(cast("Token", size)) for size in shape.children])
            terms = self._terms(len(axes), ())
            place = terms.index(index)
            self._count(index, terms)
            return Buffer(name, dtype, sizes), place
        sizes = defaults.shape(axes)
        if sizes is None:
            message = "the extents are not constant: write the shape and the index, too"
            raise self._source.error(output, message)
        return Buffer(name, dtype, sizes), defaults.place(axes)

    def _computation(
        self, tree: Tree[Token], terms: Terms, buffers: list[Buffer], first: int
    ) -> tuple[list[Expr], Sequence[Expr | None]]:
        """The values of a block, and what they begin with."""
        parts = _parts(tree)
        for definition in parts.get("definition", ()):
            name, node = definition.children
            terms.define(cast("Token", name), node)
        if "reduction" in parts:
            return self._reduction(parts["reduction"][0], terms, buffers, first)
        values = self._list(parts["values"][0], terms, buffers)
        if "inits" not in parts:
            return values, [None] * len(values)
        return values, self._list(parts["inits"][0], terms, buffers)

    def _list(self, tree: Tree[Token], terms: Terms, buffers: list[Buffer]) -> list[Expr]:
        if len(tree.children) != len(buffers):
            raise self._source.error(tree, f"expected {len(buffers)}, one for each buffer")
        dtypes = [buffer.dtype for buffer in buffers]
        return [terms.expr(*pair) for pair in zip(tree.children, dtypes, strict=True)]

    def _reduction(
        self, tree: Tree[Token], terms: Terms, buffers: list[Buffer], first: int
    ) -> tuple[list[Expr], list[Expr | None]]:
        reducer, node = tree.children
        name = cast("Token", reducer)[:-1]
        dtype = buffers[0].dtype
        init = identity(name, dtype)
        if len(buffers) > 1 or init is None:
            raise self._source.error(tree, "write what each buffer begins with, and its value")
        return [terms.reduction(name, first, node, dtype)], [init]
