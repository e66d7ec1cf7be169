"""Names from outputs and distances, while a script is read from its first line to its last."""

from __future__ import annotations

from tracescript.model import MAX_OUTPUTS, RV

__all__ = ["NAMES", "Scope", "ScopeError"]

# Nearly every trace stays within these, so their names need not be built again.
_COMMON = 256
NAMES = {letter: tuple([f"{letter}{n}" for n in range(_COMMON)]) for letter in "blv"}
"""By type letter, the first names that TVM gives: `NAMES["l"][7]` is `l7`."""

_RVS = {letter: [RV(name) for name in names] for letter, names in NAMES.items()}


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
        if end <= _COMMON:
            self.values[letter] += _RVS[letter][first:end]
            return NAMES[letter][first:end]
        values = [RV(f"{letter}{number}") for number in range(first, end)]
        self.values[letter] += values
        return tuple([value.name for value in values])

    def define_named(self, name: str) -> tuple[str, ...]:
        """Define one output whose name is written out."""
        self._grow(1)
        return (name,)

    def _grow(self, count: int) -> int:
        if self._outputs + count > MAX_OUTPUTS:
            raise ScopeError(f"a script may define at most {MAX_OUTPUTS} outputs")
        self._outputs += count
        return self._outputs
