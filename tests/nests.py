"""The scope of a mask beside a live schedule: what it says of loops has to be so there."""

from collections import Counter

from tracescript import dumps
from tracescript.decode import read_line
from tracescript.masks.scope import Scope
from tracescript.scope import Scope as Names
from tracescript.tvm.hazards import KNOWN
from tracescript.tvm.steps import Steps
from tracescript.tvm.tasks import constant, task_of


def follow(module, trace):
    """Apply a trace line by line, and compare; how many loops and nests were known, and not."""
    steps, names, scope = Steps(module, trusted=True), Names(), Scope(workload=task_of(module))
    variables = {"b": [], "l": []}
    counts = Counter()
    for line in dumps(trace).splitlines()[1:]:
        inst, decided = read_line(line, names)
        steps.apply(inst, *decided)
        kind = KNOWN[inst.kind]
        scope = scope.after(line, kind)
        letter = kind.outputs.type[0]
        if letter in variables:
            variables[letter] += inst.outputs
        counts += compare(steps, scope, variables, line)
    return counts


def compare(steps, scope, variables, line):
    """Compare all that the variables stand for after a line."""
    counts = Counter()
    asked = steps.schedule.copy()
    assert len(scope.loops) == len(variables["l"])
    for name, extent in zip(variables["l"], scope.loops, strict=True):
        sref = asked.get_sref(steps.values[name]) if is_there(asked, steps.values[name]) else None
        counts["extents", extent is not None] += 1
        if sref is not None and extent is not None:
            assert constant(sref.stmt.extent) == extent, (line[:200], name)
    for place, name in enumerate(variables["b"]):
        block = steps.values[name]
        if not is_there(asked, block):
            continue
        known = scope.loops_of(len(variables["b"]) - place)
        counts["nests", known is not None] += 1
        if known is not None:
            live = [constant(asked.get(loop).extent) for loop in asked.get_loops(block)]
            assert len(live) == len(known), (line[:200], name, live, known)
            pairs = zip(live, known, strict=True)
            assert all(b in (None, a) for a, b in pairs), (line[:200], name, live, known)
    return counts


def is_there(schedule, value):
    """Whether a block or loop is still in the module."""
    try:
        schedule.get(value)
    except Exception:  # TVM raises what it likes for a variable that stands for nothing
        return False
    return True
