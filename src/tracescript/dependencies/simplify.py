"""Dead-code elimination."""

from __future__ import annotations

from tracescript.dependencies.links import is_mark
from tracescript.dependencies.scope import resolve
from tracescript.dependencies.subtrace import subtrace
from tracescript.instructions import KINDS
from tracescript.model import Trace

__all__ = ["simplify"]


def simplify(trace: Trace, *, remove_postproc: bool = False) -> Trace:
    r"""Leave out the instructions that only look or sample, and whose outputs nothing uses.

    It does what TVM's `Trace.simplified` does, and counts references that TVM 0.27 overlooks:
    those in lists (the consumers of CacheRead and CacheWrite, the blocks of Blockize, lists
    under Annotate) and in index maps (of TransformLayout and its like). TVM leaves out what
    defines those, and gives a trace that it can neither write nor apply; with an index map it
    writes one that stands for something else. An instruction of an unknown kind stays.

    The names stay what they are, where TVM gives new ones. Decisions go with their
    instructions, and so do decisions that name no instruction.

    Laws: `simplify(simplify(trace)) == simplify(trace)`. No instruction that can change the
    module goes. The result makes the same module of a module, if every sampling instruction
    has its decision; what TVM draws for others depends on how many it draws.

    Args:
        trace: any trace.
        remove_postproc: also leave out all from where the post-processors begin.

    >>> from tracescript import loads
    >>> text = 'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l2\nComputeInline b-1\n'
    >>> [inst.kind for inst in simplify(loads("tracescript 1\n" + text)).insts]
    ['GetSBlock', 'ComputeInline']
    """
    insts = trace.insts
    end = len(insts)
    if remove_postproc:
        end = next((index for index, inst in enumerate(insts) if is_mark(inst.kind)), end)
    scope = resolve(trace)
    used: set[int] = set()
    kept: list[int] = []
    for index in range(end - 1, -1, -1):
        kind = KINDS.get(insts[index].kind)
        outputs = range(scope.first[index], scope.first[index + 1])
        if kind is not None and kind.pure and used.isdisjoint(outputs):
            continue
        kept.append(index)
        used.update(scope.used[index])
    return subtrace(trace, kept[::-1])
