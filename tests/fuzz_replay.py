"""Does TVM survive mutated traces? `python tests/fuzz_replay.py --traces 10000` tells.

Real traces of all kinds are mutated: numbers, references, lists and the order. What is not
refused before TVM sees it is rehearsed in the other process, and each death is shown.
"""

import argparse
import copy
import random
import time
from collections import Counter

import tvm_cases
from tracescript import dumps, from_json, to_json
from tracescript.tvm import ReplayError, from_tvm, replay
from tracescript.tvm.hazards import require_harmless

NUMBERS = [
    0,
    -1,
    -2,
    -5,
    1,
    2,
    3,
    7,
    64,
    1000,
    1 << 20,
    1 << 31,
    1 << 62,
    (1 << 63) - 1,
    -(1 << 63),
]
FLOATS = [0.0, -1.0, float("nan"), float("inf"), 1e308]


def main() -> None:
    """Mutate, replay, and count what became of the traces."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=int, default=10_000, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the mutations (%(default)s)")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    start = time.monotonic()
    for number in range(options.traces):
        counts[attempt(random.Random(options.seed + number))] += 1
        if (number + 1) % 1000 == 0 or number + 1 == options.traces:
            print(
                f"{number + 1:,} traces, {time.monotonic() - start:.0f} s: {dict(counts)}",
                flush=True,
            )


def attempt(rng: random.Random) -> str:
    """What becomes of one mutated trace."""
    module, value = rng.choice(originals())
    trace = from_json(mutated(value, rng))
    try:
        require_harmless(trace)
    except ReplayError:
        return "refused unseen"
    try:
        replay(trace, module, isolated=True, seed=1)
    except ReplayError as error:
        if "TVM died" not in error.reason and "was not done" not in error.reason:
            return "refused by TVM"
        print(f"{error}\n{dumps(trace)}", flush=True)
        return error.reason
    return "applied"


def originals(known=[]):  # noqa: B006 - made once
    """Modules and traces in JSON form."""
    if not known:
        known += [(e.module, to_json(from_tvm(e.schedule(1).trace))) for e in tvm_cases.EXAMPLES]
        for log in ("cuda", "llvm"):
            known += [(module, to_json(trace)) for module, trace in tvm_cases.records(log)[::4]]
        known[:] = [pair for pair in known if pair[1][0]]
    return known


def mutated(value, rng):
    """A copy with one to three mutations."""
    insts, decisions = value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2, 3))):
        inst = rng.choice(insts)
        part = rng.choice((1, 2))
        if decisions and rng.random() < 0.35:
            decision = rng.choice(decisions)
            decision[1] = other(decision[1], rng)
        elif rng.random() < 0.1 and not decisions:
            insts.insert(rng.randrange(len(insts)), insts.pop(rng.randrange(len(insts))))
        elif inst[part]:
            place = rng.randrange(len(inst[part]))
            if part == 1 and isinstance(inst[1][place], str):
                names = [name for one in insts for name in one[3]]
                inst[1][place] = rng.choice([*names, *NUMBERS])
            else:
                inst[part][place] = other(inst[part][place], rng)
    return value


def other(value, rng):
    """A value like this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(NUMBERS)
    if isinstance(value, float):
        return rng.choice(FLOATS)
    if not isinstance(value, list):
        return value
    if not value or rng.random() < 0.2:
        return [*value, rng.choice(NUMBERS)]
    place = rng.randrange(len(value))
    if rng.random() < 0.2:
        return value[:place] + value[place + 1 :]
    return [*value[:place], other(value[place], rng), *value[place + 1 :]]


if __name__ == "__main__":
    main()
