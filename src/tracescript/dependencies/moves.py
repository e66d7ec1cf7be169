"""Which instructions may change places."""

from __future__ import annotations

from tracescript.dependencies.effects import ALIVE
from tracescript.dependencies.links import Links
from tracescript.dependencies.scope import Scope

__all__ = ["commute"]


def commute(links: Links, earlier: int, later: int) -> bool:
    """Whether two instructions could stand the other way around, if nothing were between them.

    Either may change nothing that the other looks at or changes, nor may the later one remove
    a block or a loop that the earlier one is given: another random variable may stand for it.
    The other way around that cannot be, since what is gone does not come back.
    """
    if (links.marks >> earlier | links.marks >> later) & 1:
        return False
    if _names_meet(links.scope, earlier, later):
        return False
    one, other = links.effects[earlier], links.effects[later]
    if one.key is not None and other.key is not None and one.key != other.key:
        return True
    given = ALIVE if _takes_places(links.scope, earlier) else 0
    return not (one.changes & (other.looks | other.changes) or other.changes & (one.looks | given))


def _names_meet(scope: Scope, earlier: int, later: int) -> bool:
    """Whether one defines a name that the other uses, or defines too."""
    names, defined = scope.names, scope.defined
    return not (
        defined[earlier].isdisjoint(defined[later])
        and defined[earlier].isdisjoint(names[later])
        and defined[later].isdisjoint(names[earlier])
    )


def _takes_places(scope: Scope, inst: int) -> bool:
    """Whether it is given a block or a loop, or what may be one."""
    return any(scope.types[value] != "expr" for value in scope.used[inst])
