"""From a workload to its text: `dumps`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracescript.encode import write_value
from tracescript.literals import quote
from tracescript.model import Value
from tracescript.workloads import defaults
from tracescript.workloads.formulas import Formulas
from tracescript.workloads.inference import Dtypes
from tracescript.workloads.model import (
    Axis,
    Block,
    Buffer,
    Const,
    Expr,
    Load,
    Op,
    Output,
    Workload,
)
from tracescript.workloads.names import BUFFERS, SHARED, letter
from tracescript.workloads.reductions import REDUCERS, identity
from tracescript.workloads.sharing import Parts
from tracescript.workloads.validity import require_valid

__all__ = ["dumps"]


def dumps(workload: Workload) -> str:
    r"""Write the text of a workload, for a model or a person to read.

    Laws: `loads(dumps(workload)) == workload`, and `dumps(loads(text)) == text` for every text
    that this writes.

    Raises:
        WorkloadError: the workload uses what is not there, or its expressions are too large.

    >>> from tracescript.workloads import loads
    >>> print(dumps(loads('A "A" "float32" 8 16\nB "sum" 8 | 16: 0;B+A[i,j]\n')), end="")
    A "A" "float32" 8 16
    B "sum" 8 | 16: +/A[ij]
    """
    require_valid(workload)
    return _Writer(workload).text()


_is_word = re.compile(r"[a-z][a-z0-9-]*").fullmatch


class _Writer:
    """Writes one workload, line by line."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._dtypes = Dtypes([each.dtype for each in workload.buffers], workload.index_dtype)
        self._made = 0
        self._dtype: str | None = None
        self._sizes: tuple[int, ...] | None = None
        self._blocks: set[str] = set()

    def text(self) -> str:
        """The whole text."""
        workload = self._workload
        lines = [*self._target(), *self._function()]
        lines += [self._input(buffer) for buffer in workload.inputs]
        lines += [self._block(block) for block in workload.blocks]
        return "".join([f"{line}\n" for line in lines])

    def _target(self) -> Iterator[str]:
        target = self._workload.target
        if isinstance(target, str):
            word = target.removeprefix(defaults.VENDOR)
            yield word if word != target and _is_word(word) else quote(target)
        elif target is not None:
            yield write_value({attr.key: attr.value for attr in target})

    def _function(self) -> Iterator[str]:
        """What is unusual about the function."""
        workload = self._workload
        text = "" if workload.name == defaults.NAME else quote(workload.name)
        if workload.index_dtype != defaults.INDEX_DTYPE:
            text += f" index {quote(workload.index_dtype)}"
        if workload.params != defaults.parameters(workload.inputs, workload.blocks):
            letters = [letter(BUFFERS, place) for place in workload.params]
            text += f" params({' '.join(letters)})"
        changed = self._changed_attributes()
        if changed:
            text += f" {write_value(changed)}"
        if text:
            yield f"@{text}"

    def _changed_attributes(self) -> dict[str, Value]:
        """The attributes that are not the usual ones; a null takes a usual one away."""
        found = {attr.key: attr for attr in self._workload.attrs}
        usual = defaults.attributes(self._workload.name)
        changed: dict[str, Value] = {}
        for key in sorted({*found, *usual}):
            if key not in found:
                changed[key] = None
            elif key not in usual or write_value(usual[key]) != write_value(found[key].value):
                changed[key] = found[key].value
        return changed

    def _input(self, buffer: Buffer) -> str:
        text = f"{self._letter()} {quote(buffer.name)}{self._new_dtypes([buffer.dtype])}"
        return text + self._new_sizes(buffer.shape)

    def _letter(self) -> str:
        self._made += 1
        return letter(BUFFERS, self._made - 1)

    def _new_dtypes(self, dtypes: Sequence[str]) -> str:
        """The dtypes of a line, if they are not those of the line before."""
        usual = all(dtype == self._dtype for dtype in dtypes)
        self._dtype = dtypes[-1]
        return "" if usual else "".join([f" {quote(dtype)}" for dtype in dtypes])

    def _block(self, block: Block) -> str:
        outputs = block.outputs
        # Before the computation, no element is written yet.
        head = Formulas(self._dtypes, ())
        reduction = self._reduction(block)
        names = [self._output(block, number, head) for number in range(len(outputs))]
        self._blocks.add(block.name)
        text = f"{' '.join(names)} {quote(block.name)}"
        text += self._new_dtypes([output.buffer.dtype for output in outputs])
        text += self._extents(block.axes, head)
        if block.annotations:
            text += f" {write_value({attr.key: attr.value for attr in block.annotations})}"
        formulas = Formulas(self._dtypes, outputs[0].indices)
        return f"{text}: {_computation(outputs, reduction, formulas)}"

    def _output(self, block: Block, number: int, formulas: Formulas) -> str:
        output = block.outputs[number]
        name, buffer = self._letter(), output.buffer
        several = number if len(block.outputs) > 1 else None
        usual = defaults.buffer_name(block.name, self._blocks, several)
        usual_place = output.indices == defaults.place(block.axes)
        if usual_place and buffer.shape == defaults.shape(block.axes):
            return name if buffer.name == usual else f"{name}({quote(buffer.name)})"
        sizes = " ".join(map(str, buffer.shape))
        return f"{name}({quote(buffer.name)} [{sizes}] {formulas.indices(output.indices)})"

    def _new_sizes(self, sizes: tuple[int, ...]) -> str:
        """The extents of a line, if they are not the spatial ones of the line before."""
        usual, self._sizes = sizes == self._sizes, sizes
        return "" if usual else "".join([f" {size}" for size in sizes]) or " |"

    def _extents(self, axes: Sequence[Axis], formulas: Formulas) -> str:
        sizes = defaults.shape(axes)
        if sizes is not None and len(sizes) == len(axes):
            return self._new_sizes(sizes)
        self._sizes = sizes
        text, kind = "", "S"
        for axis in axes:
            text += "" if axis.kind == kind else " |"
            kind = axis.kind
            extent = axis.extent
            if isinstance(extent, int):
                text += f" {extent}"
            else:
                text += f" ({formulas.text(extent, self._dtypes.axes)})"
        return text

    def _reduction(self, block: Block) -> tuple[str, Expr] | None:
        """The operator that the only output is reduced by, and with what, if it is."""
        output = block.outputs[0]
        value = output.value
        if len(block.outputs) > 1 or not isinstance(value, Op) or value.name not in REDUCERS:
            return None
        own = Load(self._made, output.indices)
        if value.args[0] != own or output.init != identity(value.name, output.buffer.dtype):
            return None
        return value.name, value.args[1]


def _computation(
    outputs: Sequence[Output], reduction: tuple[str, Expr] | None, formulas: Formulas
) -> str:
    dtypes = [output.buffer.dtype for output in outputs]
    if reduction is not None:
        reducer, value = reduction
        text = _definitions([value], formulas)
        return f"{text}{reducer}/{formulas.text(value, dtypes[0])}"
    values = [output.value for output in outputs]
    text = _definitions(values, formulas)
    inits = [output.init for output in outputs if output.init is not None]
    if inits:
        text += ",".join(map(formulas.text, inits, dtypes)) + ";"
    return text + ",".join(map(formulas.text, values, dtypes))


def _definitions(values: Sequence[Expr], formulas: Formulas) -> str:
    """Define the parts that are worth a name of their own."""
    text, count = "", 0
    parts = Parts(values)
    for part, uses in zip(parts.exprs, parts.uses, strict=True):
        if uses < 2 or isinstance(part, Const):
            continue
        own = formulas.text(part, None)
        # With a name, `a=OWN;` comes once, and `a` at each use.
        if (uses - 1) * len(own) > uses + len("a=;"):
            name = letter(SHARED, count)
            count += 1
            text += f"{name}={own};"
            formulas.name(part, name)
    return text
