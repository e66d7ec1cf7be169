"""Expressions to text: precedence, indices, and the names of shared parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tracescript.literals import quote
from tracescript.workloads.inference import Dtypes
from tracescript.workloads.model import Cast, Const, Expr, Load, Op, Var
from tracescript.workloads.names import AXES, BUFFERS, letter
from tracescript.workloads.numbers import number_text

__all__ = ["Formulas"]

_CHOICE, _OR, _AND, _COMPARISON, _SHIFT, _SUM, _TERM, _FACTOR, _POSTFIX, _ATOM = range(10)
"""How tightly a text holds together; a looser one needs parentheses inside a tighter one."""

_BINARY = {
    "|": _OR,
    "&": _AND,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), _COMPARISON),
    **dict.fromkeys(("<<", ">>"), _SHIFT),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "//", "%"), _TERM),
}
_LESS = ("<", "<=")


class _Text(NamedTuple):
    text: str
    level: int

    def at(self, level: int) -> str:
        """The text inside one that holds together as tightly as the level says."""
        return self.text if self.level >= level else f"({self.text})"


class Formulas:
    """Writes the expressions of one block.

    Args:
        dtypes: the dtypes of buffers and iteration variables.
        place: the indices of the element that is written.
    """

    def __init__(self, dtypes: Dtypes, place: tuple[Expr, ...]) -> None:
        self._dtypes = dtypes
        self._place = place
        self._names: dict[Expr, str] = {}

    def name(self, expr: Expr, name: str) -> None:
        """Write an expression by a name from now on."""
        self._names[expr] = name

    def text(self, expr: Expr, wanted: str | None) -> str:
        """The text of an expression whose place gives it a dtype, or None."""
        return self._write(expr, wanted).text

    def indices(self, indices: Sequence[Expr]) -> str:
        """The text of an index."""
        text, before = "", None
        for index in indices:
            plain = isinstance(index, Var)
            comma = "" if before is None or (plain and before) else ","
            text += comma + self.text(index, self._dtypes.axes)
            before = plain
        return f"[{text}]"

    def _write(self, expr: Expr, wanted: str | None) -> _Text:
        name = self._names.get(expr)
        if name is not None:
            return _Text(name, _ATOM)
        match expr:
            case Var(axis):
                return _Text(letter(AXES, axis), _ATOM)
            case Const():
                return _constant(expr, wanted)
            case Load(buffer, indices):
                place = "" if indices == self._place else self.indices(indices)
                return _Text(letter(BUFFERS, buffer) + place, _ATOM)
            case Cast(dtype, value):
                return _Text(f"{self._inside(value, None, _POSTFIX)} {quote(dtype)}", _POSTFIX)
            case Op():
                return self._op(expr, self._dtypes.of_operands(expr, wanted))
            case _:
                value = self._inside(expr.value, None, _POSTFIX)
                return _Text(f"{value} as {quote(expr.dtype)}", _POSTFIX)

    def _inside(self, expr: Expr, wanted: str | None, level: int) -> str:
        return self._write(expr, wanted).at(level)

    def _op(self, op: Op, wanted: list[str | None]) -> _Text:
        if op.name == "?":
            condition, yes, no = map(self._write, op.args, wanted)
            return _Text(f"{condition.at(_OR)}?{yes.at(_CHOICE)}:{no.at(_CHOICE)}", _CHOICE)
        if op.name == "!":
            return _Text(f"!{self._inside(op.args[0], wanted[0], _FACTOR)}", _FACTOR)
        if op.name == "&":
            return _Text("&".join(self._conditions(op)), _AND)
        if op.name not in _BINARY:
            operands = ",".join(map(self.text, op.args, wanted))
            return _Text(f"{op.name}({operands})", _ATOM)
        level = _BINARY[op.name]
        left, right = map(self._write, op.args, wanted)
        # Comparisons do not chain, but for those of `_between`.
        least = level + (level == _COMPARISON)
        return _Text(f"{left.at(least)}{op.name}{right.at(level + 1)}", level)

    def _conditions(self, op: Op) -> list[str]:
        """The conditions that a chain of ands joins; two bounds of one value are one text."""
        spine: list[Expr] = []
        rest: Expr = op
        while isinstance(rest, Op) and rest.name == "&" and (rest is op or rest not in self._names):
            spine.append(rest.args[1])
            rest = rest.args[0]
        conditions = [rest, *reversed(spine)]
        texts: list[str] = []
        while conditions:
            between = self._between(*conditions[:2])
            texts.append(between or self._inside(conditions[0], "bool", _COMPARISON))
            del conditions[: 2 if between else 1]
        return texts

    def _between(self, low: Expr, high: Expr | None = None) -> str | None:
        """Write `a <= x` and `x < b` as `a<=x<b`, if that is what the conditions are."""
        if not isinstance(low, Op) or not isinstance(high, Op):
            return None
        if not (low.name in _LESS and high.name in _LESS and low.args[1] == high.args[0]):
            return None
        dtype = self._dtypes.known(high.args[0])
        if dtype is None or low in self._names or high in self._names:
            return None
        parts = (low.args[0], high.args[0], high.args[1])
        least, value, most = [self._inside(part, dtype, _SHIFT) for part in parts]
        return f"{least}{low.name}{value}{high.name}{most}"


def _constant(const: Const, wanted: str | None) -> _Text:
    text = number_text(const)
    return _Text(text if const.dtype == wanted else f"{text} {quote(const.dtype)}", _FACTOR)
