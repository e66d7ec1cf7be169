"""What is different between two traces, matched through the dependency graph."""

from tracescript.difference.difference import Difference, diff
from tracescript.difference.parts import Changed, DecisionChange, Pair, Placed, Renamed

__all__ = [
    "Changed",
    "DecisionChange",
    "Difference",
    "Pair",
    "Placed",
    "Renamed",
    "diff",
]
