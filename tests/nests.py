"""The scope of a mask beside a live schedule: what it says of loops has to be so there."""

from collections import Counter

from tvm.ir import save_json
from tvm.tirx import For, IndexMap

from tracescript import dumps, loads
from tracescript.decode import read_line
from tracescript.encode import HEADER
from tracescript.literals import quote
from tracescript.masks.scope import Scope
from tracescript.scope import Scope as Names
from tracescript.tvm.hazards import KNOWN
from tracescript.tvm.steps import Refusal, Steps
from tracescript.tvm.tasks import constant, task_of


def follow(module, trace, every=1):
    """Apply a trace line by line, and compare; how many loops and nests were known, and not.

    What a line defines is compared after it, and all that there is after each `every` lines.
    """
    steps, names, scope = Steps(module, trusted=True), Names(), Scope(workload=task_of(module))
    variables = {"b": [], "l": []}
    counts = Counter()
    lines = dumps(trace).splitlines()[1:]
    for number, line in enumerate(lines, 1):
        inst, decided = read_line(line, names)
        steps.apply(inst, *decided)
        kind = KNOWN[inst.kind]
        scope = scope.after(line)
        letter = kind.outputs.type[0]
        if letter in variables:
            variables[letter] += inst.outputs
        everything = number % every == 0 or number == len(lines)
        counts += compare(steps, scope, variables, line, None if everything else inst.outputs)
    return counts


def compare(steps, scope, variables, line, only=None):
    """Compare what the variables stand for after a line, all of them or only some."""
    counts = Counter()
    assert len(scope.loops) == len(variables["l"])
    for name, extent in zip(variables["l"], scope.loops, strict=True):
        if only is not None and name not in only:
            continue
        sref = sref_of(steps, name)
        counts["extents", extent is not None] += 1
        if sref is not None and extent is not None:
            assert constant(sref.stmt.extent) == extent, (line[:200], name)
    for place, name in enumerate(variables["b"]):
        if only is not None and name not in only:
            continue
        sref = sref_of(steps, name)
        known = scope.loops_of(len(variables["b"]) - place)
        counts["nests", known is not None] += 1
        if sref is not None and known is not None:
            live = extents_around(sref)
            assert len(live) == len(known), (line[:200], name, live, known)
            pairs = zip(live, known, strict=True)
            assert all(b in (None, a) for a, b in pairs), (line[:200], name, live, known)
    return counts


def sref_of(steps, name):
    """The block or loop of a variable in the module, None if it is not there any more."""
    try:
        sref = steps.schedule.get_sref(steps.values[name])
    except Exception:  # TVM raises what it likes for a variable that stands for nothing
        return None
    return None if sref.stmt is None else sref


def extents_around(sref):
    """The extents of the loops around a block, the outermost first."""
    # `get_loops` would be recorded, and a copy cannot be made after Tensorize.
    loops = []
    at = sref.parent
    while isinstance(at.stmt, For):
        loops.append(constant(at.stmt.extent))
        at = at.parent
    return loops[::-1]


def wander(module, chance, steps):
    """A trace of lines that are drawn; those that TVM refuses are no part of it."""
    made, names = Steps(module, trusted=True), Names()
    lines = [f'GetSBlock | {quote(block.name)} "main" -> b' for block in task_of(module).blocks]
    variables = {"b": [], "l": []}
    drawn = iter(lines)
    script = HEADER
    for _ in range(steps):
        begins = len(script.splitlines()) < 2 * len(lines)
        line = next(drawn, None) or _drawn(made, variables, chance, begins=begins)
        read = names.copy()
        inst, decided = read_line(line, read)
        try:
            made.apply(inst, *decided)
        except Refusal:
            continue
        names = read
        script += line + "\n"
        letter = KNOWN[inst.kind].outputs.type[0]
        variables.get(letter, []).extend(inst.outputs)
    return loads(script)


def _drawn(steps, variables, chance, *, begins):
    """A line, of a kind and with references that are drawn.

    Blocks are mapped and padded at the beginning: later on, TVM 0.27 breaks modules with that.
    """
    draw, blocks, loops = chance.choice, variables["b"], variables["l"]
    place = chance.randrange(len(blocks))
    block = f"b-{len(blocks) - place}"
    sref = sref_of(steps, blocks[place])
    around = [] if sref is None else extents_around(sref)
    look = f"GetLoops {block} -> l{len(around)}".removesuffix("1" * (len(around) == 1))
    if not loops or (around and chance.random() < 0.3):
        return look if around else f"ComputeInline {block}"
    # Mostly the newest, so that neighbours come together.
    some = sorted({min(int(chance.expovariate(0.3)) + 1, len(loops)) for _ in range(3)})
    loop = f"l-{some[0]}"
    nest = " ".join(f"l-{each}" for each in reversed(range(some[0], some[-1] + 1)))
    multiples = " ".join(str(draw([1, 1, 3, 16])) for _ in around)
    side = draw([0, 1])
    lines = [
        f"ReIndex {block} | {draw([0, 1])} {side} -> b",
        f"PadEinsum {block} | [{multiples}]",
        f"TransformBlockLayout {block} | {quote(_map_of(around, chance))}",
        f"TransformLayout {block} @{quote(_map_of(around, chance))} | 0 {side} null true",
    ]
    if begins:
        return draw(lines)
    lines = [
        f"Split {loop} null {draw([2, 16])} | true false -> l2",
        f"Split {loop} 2 null 8 | true false -> l3",
        f"Fuse {nest} | 1 -> l",
        "Reorder " + " ".join(chance.sample(nest.split(), nest.count(" ") + 1)),
        f'CacheRead {block} [] | {draw([0, 0, 1])} "shared" -> b',
        f'CacheWrite {block} [] | 0 "local" -> b',
        f"ComputeAt {block} {loop} | {draw([0, 1])} -1",
        f"ReverseComputeAt {block} {loop} | {draw([0, 1])} -1",
        f"ComputeInline {block}",
        f"ReverseComputeInline {block}",
        f"Blockize {loop} | true -> b",
        f'Bind {loop} | "threadIdx.x"',
    ]
    return f"AddUnitLoop {loop} -> l" if chance.random() < 0.01 else draw(lines)


def _map_of(extents, chance):
    """A map of indices: another order, some of them fused or cut."""
    order = chance.sample(range(len(extents)), len(extents))
    way = chance.choice(["order", "fuse", "cut"])

    def mapped(*given):
        values = [given[place] for place in order]
        if way == "fuse" and len(values) > 1:
            return [values[0] * (extents[order[1]] or 1) + values[1], *values[2:]]
        if way == "cut" and values:
            return [values[0] // 2, values[0] % 2, *values[1:]]
        return values

    return save_json(IndexMap.from_func(mapped, ndim=len(extents)))
