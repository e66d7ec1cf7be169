r"""What a model of the project is given, as tokens: two tasks, one form.

    construct:  <bos> prompt <bos> script <eos>
    refine:     <bos> prompt <bos> given <bos> script <eos>

A prompt is the text of a workload (`tracescript.workloads`), a script is TraceScript; the model
writes the last one and `<eos>`. The function is called `main` and has the attributes that TVM gives
a function. A given script ends where the post-processors begin, and so does what the model writes.
"""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from tracescript.dependencies.links import is_mark
from tracescript.instructions import KINDS
from tracescript.masks import Constraints, ScriptMasker
from tracescript.model import Instruction, Trace
from tracescript.tokens import Tokenizer
from tracescript.workloads import Attribute, Workload
from tracescript.workloads.defaults import NAME, attributes

__all__ = ["TARGET", "Encoder", "as_usual", "ask", "masker_of", "renamed", "sampled_part"]

TARGET = "nvidia/nvidia-h100"
"""What the model of the project was trained for."""


class Encoder(Protocol):
    """A tokenizer, as far as a question needs it: ours, or one of Hugging Face."""

    @property
    def bos_id(self) -> int:
        """The id that stands in front of each part."""
        ...

    @property
    def eos_id(self) -> int:
        """The id at the end."""
        ...

    @property
    def pad_id(self) -> int:
        """The id that fills up batches."""
        ...

    def encode(self, text: str) -> list[int]:
        """Give the ids of a text, without special tokens."""
        ...


def ask(encoder: Encoder, prompt: str, given: str | None = None) -> list[int]:
    """What the model is given before it writes.

    Args:
        encoder: the tokenizer of the model.
        prompt: the text of a workload.
        given: the script to refine; None is to construct one.
    """
    mark = encoder.bos_id
    ids = [mark, *encoder.encode(prompt), mark]
    return ids if given is None else [*ids, *encoder.encode(given), mark]


def masker_of(tokenizer: Tokenizer) -> ScriptMasker:
    """The masks under which the model writes: it looks up the workload's own blocks alone.

    MetaSchedule's search looks up no others, so the model has not learnt which of them there are.
    """
    return ScriptMasker(tokenizer, constraints=Constraints(own=True))


def as_usual(workload: Workload) -> Workload:
    """The same computation as a function that is called `main` and has nothing unusual."""
    usual = tuple([Attribute(key, value) for key, value in sorted(attributes(NAME).items())])
    return replace(workload, name=NAME, attrs=usual)


def renamed(trace: Trace, old: str, new: str) -> Trace:
    r"""The trace for a function of another name.

    Law: `renamed(renamed(trace, old, new), new, old) == trace`, if it does not name `new` already.

    >>> from tracescript import dumps, loads
    >>> trace = loads('tracescript 1\nGetSBlock | "main" "main" -> b\n')
    >>> print(dumps(renamed(trace, "main", "matmul")), end="")
    tracescript 1
    GetSBlock | "main" "matmul" -> b
    """
    return replace(trace, insts=tuple([_renamed(inst, old, new) for inst in trace.insts]))


def _renamed(inst: Instruction, old: str, new: str) -> Instruction:
    names = [attr.name for attr in KINDS[inst.kind].forms[-1].attrs] if inst.kind in KINDS else []
    if "func_name" not in names or len(names) != len(inst.attrs):
        return inst
    pairs = zip(names, inst.attrs, strict=True)
    changed = [new if name == "func_name" and value == old else value for name, value in pairs]
    return replace(inst, attrs=tuple(changed))


def sampled_part(trace: Trace) -> Trace:
    """What comes before the part of the post-processors, which follows from it and the target."""
    marks = (place for place, inst in enumerate(trace.insts) if is_mark(inst.kind))
    end = next(marks, len(trace.insts))
    return Trace(trace.insts[:end], tuple([each for each in trace.decisions if each.index < end]))
