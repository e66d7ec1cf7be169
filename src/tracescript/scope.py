"""Names from outputs and distances, while a script is read from its first line to its last."""

from __future__ import annotations

from tracescript.model import MAX_OUTPUTS, RV

__all__ = ["Scope", "ScopeError", "canonical_names"]

# Names are made once and kept, up to a number that few traces exceed.
_FIRST = 256
_MOST = 8192
_NAMES: dict[str, tuple[str, ...]] = {}
_RVS: dict[str, list[RV]] = {}


def canonical_names(letter: str, first: int, end: int) -> tuple[str, ...]:
    """The names that TVM gives to outputs `first` to `end - 1` of a trace, all of one type.

    >>> canonical_names("l", 7, 9)
    ('l7', 'l8')
    """
    if end <= len(_NAMES[letter]) or _keep(end):
        return _NAMES[letter][first:end]
    return tuple([f"{letter}{number}" for number in range(first, end)])


def _keep(end: int) -> bool:
    """Make the names up to `end` and more, unless they are too many to keep."""
    if end > _MOST:
        return False
    size = min(max(2 * end, _FIRST), _MOST)
    for letter in "blv":
        _NAMES[letter] = tuple([f"{letter}{number}" for number in range(size)])
        _RVS[letter] = [RV(name) for name in _NAMES[letter]]
    return True


_keep(0)


class ScopeError(Exception):
    """A reference or an output that cannot be given a name; readers add the place."""


class Scope:
    """The values that the lines so far have defined.

    The n-th output of a script, counted from 0 over all types, is named with the
    letter of its type and n, unless the script writes its name out.

    Attributes:
        values: the values of each type that a distance can reach, oldest first.
    """

    def __init__(self) -> None:
        self.values: dict[str, list[RV]] = {"b": [], "l": [], "v": []}
        self._outputs = 0

    def copy(self) -> Scope:
        """A second scope that goes on from here by itself."""
        twin = Scope()
        twin.values = {letter: list(values) for letter, values in self.values.items()}
        twin._outputs = self._outputs
        return twin

    def resolve(self, letter: str, distance: int) -> RV:
        """The value that stands `distance` back among those of its type, 1 being the newest."""
        values = self.values[letter]
        if distance > len(values):
            have = f"only {len(values)} of that type are" if values else "none of that type is"
            raise ScopeError(f"{letter}-{distance} refers too far back: {have} defined before it")
        return values[-distance]

    def define(self, letter: str, count: int) -> tuple[str, ...]:
        """Define a run of outputs and give their names."""
        first, end = self._outputs, self._grow(count)
        names = canonical_names(letter, first, end)
        at_hand = end <= len(_RVS[letter])
        self.values[letter] += _RVS[letter][first:end] if at_hand else map(RV, names)
        return names

    def define_named(self, name: str) -> tuple[str, ...]:
        """Define one output whose name is written out."""
        self._grow(1)
        return (name,)

    def _grow(self, count: int) -> int:
        if self._outputs + count > MAX_OUTPUTS:
            raise ScopeError(f"a script may define at most {MAX_OUTPUTS} outputs")
        self._outputs += count
        return self._outputs
