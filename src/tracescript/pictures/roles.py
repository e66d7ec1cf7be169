"""What an instruction does, as far as a picture tells apart."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tracescript.instructions import KINDS, RVType
from tracescript.model import Instruction

__all__ = ["Role", "defined_type", "role_of"]

Role: TypeAlias = Literal["sample", "look", "change", "mark", "unknown"]
"""It samples, only looks at the module, changes it, or marks where the post-processors begin."""


def role_of(inst: Instruction) -> Role:
    """The role of an instruction; that of a kind which the table lacks is unknown.

    >>> role_of(Instruction("GetLoops")), role_of(Instruction("Split"))
    ('look', 'change')
    """
    kind = KINDS.get(inst.kind)
    if kind is None:
        return "unknown"
    if kind.starts_postproc:
        return "mark"
    if kind.decision != "none":
        return "sample"
    return "look" if kind.pure else "change"


def defined_type(inst: Instruction) -> RVType | Literal["unknown"]:
    """The type of the random variables that an instruction defines.

    >>> defined_type(Instruction("GetLoops")), defined_type(Instruction("Custom"))
    ('loop', 'unknown')
    """
    kind = KINDS.get(inst.kind)
    return kind.outputs.type if kind and kind.outputs.count != 0 else "unknown"
