"""The one table of what is known about TVM's instruction kinds: data, one row a kind.

The codec never reads it: a kind or a form that is missing here is written and read all
the same. It is for those who want to know what a trace means: `check`, the strict
grammars, the page of kinds in the documentation.

It covers every kind that TVM 0.8 to 0.27 registered. `KINDS` is their union, `kinds` has
what one release knows. Laws: each instruction that TVM recorded has a form in `KINDS`,
and one in `kinds(tvm)` for the release that recorded it.

The rows are Python and no data file, for three reasons: the type checker reads them, they
need no parser on a Python that has none for the format, and they ship with no step that
finds and loads them.
"""

from tracescript.instructions._releases import KINDS, forms_of, kinds
from tracescript.instructions._shapes import (
    ASPECTS,
    LETTERS,
    RELEASES,
    Aspect,
    Assumption,
    Attr,
    DecisionKind,
    Form,
    Kind,
    LoopEffect,
    Outputs,
    OwnAspect,
    RVType,
    Slot,
    ValueType,
)

__all__ = [
    "ASPECTS",
    "KINDS",
    "LETTERS",
    "RELEASES",
    "Aspect",
    "Assumption",
    "Attr",
    "DecisionKind",
    "Form",
    "Kind",
    "LoopEffect",
    "Outputs",
    "OwnAspect",
    "RVType",
    "Slot",
    "ValueType",
    "forms_of",
    "kinds",
]
