"""Files that hold a kernel: TVMScript, or the JSON that `tvm.ir.save_json` writes.

TVM's parser evaluates the expressions of a TVMScript function as Python. So such a file is run,
as any program is, and this is for the files of whoever calls it. No more of it is run than has to
be: functions and modules with TVM's decorators, and of what stands beside them only constants.
Imports do nothing.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportMissingModuleSource=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import tvm
from tvm.script import from_source, ir, tirx
from tvm.tirx import PrimFunc

from tracescript.errors import WorkloadError
from tracescript.tvm.reasons import reason_of

__all__ = ["read_json", "read_tvmscript"]

_DECORATORS = ("ir_module", "prim_func")

_NAMES: Mapping[str, Any] = {"tvm": tvm, "I": ir, "ir": ir, "T": tirx, "tirx": tirx}
"""What a TVMScript file can name, as TVM prints such files."""


def read_tvmscript(text: str, file: str, function: str | None = None) -> Any:
    """The module of one function of a TVMScript file. Expressions inside the function are run.

    Args:
        text: what stands in the file.
        file: what to call it in errors.
        function: the name of the function, None if there is only one.

    Returns:
        A `tvm.IRModule` with the function under its name.

    Raises:
        WorkloadError: there is no such function, or TVM's parser refuses it.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WorkloadError(file, "TVMScript, which is Python", reason_of(error)) from None
    names = {**_NAMES, **_constants(tree)}
    functions: dict[str, Any] = {}
    for source in _definitions(tree, text):
        try:
            functions |= _functions(from_source(source, names))
        except Exception as error:
            # What the parser evaluates may raise anything.
            raise WorkloadError(file, "what TVM's parser takes", reason_of(error)) from None
    return _only(functions, file, function)


def read_json(text: str, file: str, function: str | None = None) -> Any:
    """The module of one function of a module or function in TVM's JSON.

    Args and errors are those of `read_tvmscript`. Nothing is run, but TVM may die of a text.
    """
    try:
        made = tvm.ir.load_json(text)
    except Exception as error:
        # TVM raises errors of many types.
        raise WorkloadError(file, "JSON of TVM's", reason_of(error)) from None
    return _only(_functions(made), file, function)


def _constants(tree: ast.Module) -> dict[str, Any]:
    """The values of statements such as `N = 128`."""
    found: dict[str, Any] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            targets = [each for each in statement.targets if isinstance(each, ast.Name)]
            found.update({each.id: statement.value.value for each in targets})
    return found


def _definitions(tree: ast.Module, text: str) -> Iterator[str]:
    """The source of each function and module of TVM's, on the lines where it stands."""
    lines = text.split("\n")
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            decorators = statement.decorator_list
            if any(_name(each) in _DECORATORS for each in decorators):
                first = decorators[0].lineno - 1
                yield "\n" * first + "\n".join(lines[first : statement.end_lineno]) + "\n"


def _name(decorator: ast.expr) -> str:
    """The last word of a decorator: `prim_func` of `@T.prim_func(private=True)`."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else ""


def _functions(made: Any) -> dict[str, Any]:
    """The TIR functions of what TVM has made of a text."""
    if isinstance(made, PrimFunc):
        return {str((made.attrs or {}).get("global_symbol", "main")): made}
    if not isinstance(made, tvm.IRModule):
        return {}
    module: Any = made
    pairs = [(str(name.name_hint), value) for name, value in module.functions.items()]
    return {name: value for name, value in pairs if isinstance(value, PrimFunc)}


def _only(functions: Mapping[str, Any], file: str, wanted: str | None) -> Any:
    found = ", ".join(functions) or "none"
    if wanted is None and len(functions) != 1:
        raise WorkloadError(file, "one TIR function, or the name of one", found)
    name = next(iter(functions)) if wanted is None else wanted
    if name not in functions:
        raise WorkloadError(file, f'a TIR function "{name}"', found)
    return tvm.IRModule({name: functions[name]})
