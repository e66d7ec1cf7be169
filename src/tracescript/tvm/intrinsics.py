"""TVM's own tensor intrinsics, which it does not register before someone imports them."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from types import CodeType, FrameType, ModuleType
from typing import Any

__all__ = ["import_intrinsics"]


@cache
def import_intrinsics() -> None:
    """Register TVM's tensor intrinsics, in a few seconds instead of half a minute.

    Each of the decorators there calls `inspect.stack()`, which asks for the module of every
    frame. While they run, the answers are remembered.
    """
    original = inspect.getmodule
    known: dict[CodeType, ModuleType | None] = {}

    def getmodule(item: Any, filename: str | None = None) -> ModuleType | None:
        if not isinstance(item, FrameType):
            return original(item, filename)
        if item.f_code not in known:
            known[item.f_code] = original(item, filename)
        return known[item.f_code]

    inspect.getmodule = getmodule
    try:
        importlib.import_module("tvm.s_tir.tensor_intrin")
    finally:
        inspect.getmodule = original
