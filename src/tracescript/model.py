"""What a trace is made of: frozen structs that say exactly what the JSON says.

TVM writes a trace as `[instructions, decisions]`, an instruction as
`[kind, inputs, attrs, outputs]` and a decision as `[index, value]`. The structs
here mirror that, with one difference: an input string of the JSON, which TVM
overloads, is told apart into what it means (see `Input`).

Equality is strict about types, unlike Python's: `1`, `1.0` and `True` differ,
`-0.0` and `0.0` differ, and `nan` equals `nan`. Hashes agree with it.
"""

from __future__ import annotations

import math
from typing import TypeAlias, Union, cast

import msgspec

__all__ = [
    "MAX_DEPTH",
    "MAX_OUTPUTS",
    "NULL",
    "RV",
    "Decision",
    "IndexMap",
    "Input",
    "Instruction",
    "JSONNull",
    "Trace",
    "Value",
    "bare",
]

MAX_DEPTH = 100
"""Lists and dicts may be nested this deep in one value; deeper ones are refused."""

MAX_OUTPUTS = 1_000_000
"""A trace may define this many outputs; the bound keeps `l999999999` from filling the memory."""


class RV(msgspec.Struct, frozen=True, gc=False):
    """A random variable (block, loop or expression) that an instruction uses, by name.

    The name need not be one that the trace defines. It may not be a text that TVM
    reads as something else: `None`, a quoted string, or a JSON object.
    """

    name: str

    def __post_init__(self) -> None:
        if is_quoted(self.name) or self.name == "None" or self.name[:1] == "{":
            raise ValueError(f"not the name of a random variable: {self.name!r}")


class IndexMap(msgspec.Struct, frozen=True, gc=False):
    """An index map among the inputs: the JSON text that TVM stores, kept to the letter.

    The text starts with `{`. TVM has used two formats and several layouts for it,
    so it is never parsed here.
    """

    text: str

    def __post_init__(self) -> None:
        if self.text[:1] != "{":
            raise ValueError(f"not the JSON text of an object: {self.text!r}")


class JSONNull(msgspec.Struct, frozen=True, gc=False):
    """A JSON null among the inputs. TVM writes None as the string "None", never like this."""


NULL = JSONNull()
"""The one `JSONNull` that is needed."""

Value: TypeAlias = Union[bool, int, float, str, "tuple[Value, ...]", "dict[str, Value]", None]
"""A plain JSON value: an attribute, a decision, what is inside a dict. Dicts keep their order."""

Input: TypeAlias = Union[
    RV, IndexMap, JSONNull, bool, int, float, str, "tuple[Input, ...]", "dict[str, Value]", None
]
"""An input: a random variable, an index map or a value. None is TVM's None, a str a string."""


class Instruction(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One schedule primitive as it was applied.

    Attributes:
        kind: the name of the instruction kind, such as `Split`. Unknown kinds are data too.
        inputs: what it was applied to.
        attrs: its compile-time attributes, plain JSON values.
        outputs: the names of the random variables that it defines.
    """

    kind: str
    inputs: tuple[Input, ...] = ()
    attrs: tuple[Value, ...] = ()
    outputs: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instruction):
            return NotImplemented
        return (
            self.kind == other.kind
            and self.outputs == other.outputs
            and _same(self.inputs, other.inputs)
            and _same(self.attrs, other.attrs)
        )

    def __ne__(self, other: object) -> bool:
        # A struct does not derive it from `__eq__`.
        return not self == other

    def __hash__(self) -> int:
        return hash((self.kind, _key(self.inputs), _key(self.attrs), self.outputs))


class Decision(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A sampled decision.

    Attributes:
        index: the position of the instruction that it belongs to. TVM's are in range and
            ascend; other values are data and survive.
        value: what was sampled.
    """

    index: int
    value: Value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return self.index == other.index and _same(self.value, other.value)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.index, _key(self.value)))


class Trace(msgspec.Struct, frozen=True, gc=False):
    """A schedule trace: the instructions in order, and the sampled decisions.

    Two traces are equal exactly when their scripts are: `(a == b) == (dumps(a) == dumps(b))`.
    """

    insts: tuple[Instruction, ...] = ()
    decisions: tuple[Decision, ...] = ()


def is_quoted(text: str) -> bool:
    """Whether TVM reads an input string as a string value: it has quotes around it."""
    return len(text) >= 2 and text[0] == text[-1] == '"'


def bare(text: str) -> Input:
    """Read an input string of the JSON as TVM does.

    >>> bare("b0"), bare("None"), bare('"SSRS"')
    (RV(name='b0'), None, 'SSRS')
    """
    if is_quoted(text):
        return text[1:-1]
    if text == "None":
        return None
    if text[:1] == "{":
        return IndexMap(text)
    return RV(text)


def _same(left: object, right: object) -> bool:
    """Equality of two values that tells types apart, and dicts by their order too."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):
        lefts, rights = cast("tuple[object, ...]", left), cast("tuple[object, ...]", right)
        return len(lefts) == len(rights) and all(map(_same, lefts, rights))
    if isinstance(left, dict):
        pairs = cast("dict[str, object]", left), cast("dict[str, object]", right)
        return _same(tuple(pairs[0].items()), tuple(pairs[1].items()))
    if isinstance(left, float):
        return _key(left) == _key(right)
    return left == right


def _key(value: object) -> object:
    """A hashable stand-in, the same for values that are the same."""
    if isinstance(value, tuple):
        return tuple(map(_key, cast("tuple[object, ...]", value)))
    if isinstance(value, dict):
        return tuple((key, _key(item)) for key, item in cast("dict[str, object]", value).items())
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1.0, value))
    return value
