"""Masks for constrained decoding: which tokens may come next in a script."""

from tracescript.errors import IllegalToken
from tracescript.masks.masker import Constraints, ScriptMasker
from tracescript.masks.of_workload import task_of
from tracescript.masks.scope import Scope
from tracescript.masks.state import MaskState
from tracescript.masks.task import BlockInfo, TaskInfo

__all__ = [
    "BlockInfo",
    "Constraints",
    "IllegalToken",
    "MaskState",
    "Scope",
    "ScriptMasker",
    "TaskInfo",
    "task_of",
]
