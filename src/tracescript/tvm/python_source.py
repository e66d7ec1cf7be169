"""A trace as Python that anyone with TVM can paste and run; it needs nothing of TraceScript.

TVM's own `Trace.as_python` does not escape what stands in strings, and fails for kinds whose
arguments are not what it expects. Here every value is written by `repr`, and a test runs what comes
out for each kind.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# TVM has no type stubs.

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Sequence
from typing import Any, cast

from tvm import tirx
from tvm.s_tir import Schedule

from tracescript.model import RV, IndexMap, Instruction, Trace
from tracescript.tvm.hazards import KNOWN, form_of
from tracescript.tvm.index_maps import load_text
from tracescript.tvm.traces import from_tvm, to_tvm

__all__ = ["python_source"]

_HEAD = '''\
from copy import deepcopy

{imports}from tvm.s_tir import Schedule


def schedule(module):
    """Schedule a copy of a module, since TVM may change the one that it is given."""
    sch = Schedule(deepcopy(module))
'''

_INTRINSICS = "import tvm.s_tir.tensor_intrin  # registers them\n"

_METHODS = {
    "GetSBlock": "get_sblock",
    "RFactor": "rfactor",
    "ReIndex": "reindex",
    "UnsafeSetDType": "unsafe_set_dtype",
}
"""The methods that are not called like their kind in small letters."""

_SIDES = ("read", "write")
"""What TVM's numbers 0 and 1 stand for, where its methods take a word."""

_OPERATORS: dict[Any, str] = {
    tirx.Add: "+",
    tirx.Sub: "-",
    tirx.Mul: "*",
    tirx.FloorDiv: "//",
    tirx.FloorMod: "%",
}
"""What index maps are made of, but for variables and integers."""

_SAMPLED = re.compile(r"v\d+")


def python_source(trace: Trace) -> str:
    r"""A Python function `schedule` that takes a module and gives the `tvm.s_tir.Schedule`.

    Law: `schedule(module).mod` is structurally equal to `replay(trace, module).mod`, if the trace
    decides all that it samples.

    Args:
        trace: a trace of the release of TVM that is installed.

    Raises:
        ReplayError: it is no such trace.
        ValueError: TVM's methods do not take what an instruction says: an annotation inside
            another one, say, or an index map with more in it than sums, products and divisions.

    >>> from tracescript import loads
    >>> trace = loads('tracescript 1\nGetSBlock | "C" "main" -> b\nComputeInline b-1\n')
    >>> print(*python_source(trace).splitlines()[-4:], sep="\n")
        sch = Schedule(deepcopy(module))
        b0 = sch.get_sblock('C', func_name='main')
        sch.compute_inline(b0)
        return sch
    """
    # With the names that TVM gives, which are Python's names, too.
    trace = from_tvm(to_tvm(trace))
    decisions = {each.index: each.value for each in trace.decisions}
    lines: list[str] = []
    for place, inst in enumerate(trace.insts):
        decided = [f"decision={_python(decisions[place])}"] if place in decisions else []
        lines.append(_statement(inst, decided))
    needs_intrinsics = any(inst.kind == "Tensorize" for inst in trace.insts)
    head = _HEAD.format(imports=_INTRINSICS if needs_intrinsics else "")
    return head + "".join([f"    {line}\n" for line in [*lines, "return sch"]])


def _statement(inst: Instruction, decided: Sequence[str]) -> str:
    """An instruction as a call of the method of its kind, what it defines assigned."""
    name = _METHODS.get(inst.kind) or re.sub(r"(?<!^)(?=[A-Z])", "_", inst.kind).lower()
    _, *parameters = inspect.signature(getattr(Schedule, name)).parameters.values()
    arguments: list[str] = []
    # A decision is the last parameter, and none of the values.
    for parameter, value in zip(parameters, _values(inst), strict=False):
        if parameter.kind is parameter.VAR_POSITIONAL:
            arguments += [_python(each) for each in value]
        elif parameter is parameters[0]:
            arguments.append(_python(value))
        else:
            arguments.append(f"{parameter.name}={_argument(parameter.name, value)}")
    return f"{_targets(inst)}sch.{name}({', '.join([*arguments, *decided])})"


def _targets(inst: Instruction) -> str:
    if not inst.outputs:
        return ""
    if KNOWN[inst.kind].outputs.count == 1:
        return f"{inst.outputs[0]} = "
    names = ", ".join(inst.outputs)
    return f"({names},) = " if len(inst.outputs) == 1 else f"{names} = "


def _values(inst: Instruction) -> list[Any]:
    """The values of the parameters of TVM's method, in their order."""
    form, late = form_of(inst), KNOWN[inst.kind].late
    inputs: list[Any] = list(inst.inputs)
    if form.is_open:
        fixed = sum(slot.types != form.inputs[-1].types for slot in form.inputs)
        inputs = [*inputs[:fixed], tuple(inputs[fixed:])]
    attrs = [
        bool(value) if attr.slot.is_flag else value
        for attr, value in zip(form.attrs, inst.attrs, strict=True)
    ]
    names = [attr.name for attr in form.attrs]
    if "buffer_index_type" in names:
        # One parameter of the method, ("read", 0).
        place = names.index("buffer_index_type")
        attrs[place - 1 : place + 1] = [(_SIDES[cast("int", attrs[place])], attrs[place - 1])]
        late = max(late - 1, 0)
    return [*inputs[:1], *attrs[:late], *inputs[1:], *attrs[late:]]


def _argument(name: str, value: Any) -> str:
    if name == "index_map":
        return _lambda(value, "({},)")
    if name == "gen_new_ranges":
        return _lambda(value, "[{}]", in_pairs=True)
    if name == "buf_type" and isinstance(value, int):
        return repr(_SIDES[value])
    if name == "buffer":
        return repr(value)
    if name == "pad_value" and isinstance(value, str):
        (constant,) = load_text(value, trusted=False).final_indices
        return _expression(constant, [])
    if name == "ann_val":
        _require_annotation(value)
    return _python(value)


def _python(value: Any) -> str:
    if isinstance(value, RV):
        return value.name
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float('{value}')"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_python, cast('tuple[Any, ...]', value)))}]"
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value).items()
        return f"{{{', '.join([f'{key!r}: {_python(each)}' for key, each in entries])}}}"
    return repr(value)


def _require_annotation(value: Any) -> None:
    """Refuse what only TVM's file reader annotates with, not its method."""
    items: list[Any] = [value]
    if isinstance(value, (tuple, dict)):
        items = list(value.values() if isinstance(value, dict) else value)
    if not items or not all(isinstance(each, (RV, str, int, float)) for each in items):
        wanted = "a number, a string, or a list or dict of some"
        raise ValueError(f"expected an annotation that is {wanted}, found {_python(value)}")


# Index maps.


def _lambda(value: IndexMap | str, result: str, *, in_pairs: bool = False) -> str:
    index_map = load_text(value if isinstance(value, str) else value.text, trusted=False)
    own = list(index_map.initial_indices)
    found = [_expression(index, own) for index in index_map.final_indices]
    if in_pairs:
        found = [f"({', '.join(pair)})" for pair in zip(found[::2], found[1::2], strict=True)]
    names = ", ".join(f"i{number}" for number in range(len(own)))
    return f"lambda {names}: {result.format(', '.join(found))}"


def _expression(node: Any, own: Sequence[Any]) -> str:
    """An expression of an index map, whose variables are i0, i1 and so on."""
    for number, variable in enumerate(own):
        if node.same_as(variable):
            return f"i{number}"
    if _is_sampled(node):
        return str(node.name)
    if isinstance(node, (tirx.IntImm, tirx.FloatImm)):
        return _python(node.value)
    sign = _OPERATORS.get(type(node))
    if sign is None:
        raise ValueError(f"expected an index map of sums, products and divisions, found {node}")
    return f"({_expression(node.a, own)} {sign} {_expression(node.b, own)})"


def _is_sampled(node: Any) -> bool:
    return isinstance(node, tirx.Var) and bool(_SAMPLED.fullmatch(str(node.name)))
