"""Make the list of workloads that the data sets are of.

    python -m training.data.catalogue

Needs TVM, no GPU. There are two lists. `workloads.jsonl.xz` has layers of known networks, kernels
of recommenders and random workloads, each small enough to be measured many times; what is held out
comes first. `workloads-pretrain.jsonl.xz` has further random ones of any size, for scripts that
nobody measures. The same code gives the same files. An interrupted run goes on from what it has
found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import string
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import tvm
from tvm.s_tir.analysis import estimate_tir_flops
from tvm_ffi import structural_hash

from tracescript import workloads
from tracescript.tvm import import_intrinsics, workload_of
from training import pool
from training.data import files
from training.data.splits import CONSTRUCT, HARD, REFINE, split_of
from training.workloads import spaces
from training.workloads.families import FAMILIES, RECOMMENDER, Arguments, Family
from training.workloads.networks import layers
from training.workloads.workload import TARGETS, Workload

SEED = 20261202
MOST_FLOPS = 8e9
MOST_BYTES = 256 << 20
LEAST_FLOPS = 1e6
LEAST_BYTES = 256 << 10
"""A workload that is below both is as fast as an empty kernel, whatever its schedule."""

RECOMMENDERS, RANDOM, OF_EACH_HARD, PRETRAIN = 640, 1500, 60, 10_000
"""How many workloads are drawn; those that do not fit or come twice are left out."""

HARD_OF_EACH = 15
"""How many workloads of a hard family are kept."""

ALL = FAMILIES | RECOMMENDER
Facts = dict[str, Any]


class Drawn(NamedTuple):
    """A workload that may come into the list."""

    part: str
    """`measured` or `pretrain`."""
    family: str
    arguments: Arguments
    layers: tuple[str, ...] = ()
    """The layers of networks that it is."""

    @property
    def name(self) -> str:
        """Return what tells it from others."""
        return json.dumps([self.part, self.family, self.arguments])

    def workload(self) -> Workload:
        """Return it as the design spaces take it; the seed follows from family and arguments."""
        name = json.dumps([self.family, self.arguments]).encode()
        seed = 1 + int.from_bytes(hashlib.sha256(name).digest()[:3], "big")
        return Workload(self.family, self.arguments, "h100", "from-target", False, seed)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=files.DATASETS, help="folder (%(default)s)")
    parser.add_argument("--parts", type=Path, default=files.PARTS / "catalogue.jsonl")
    parser.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    args = parser.parse_args()
    wanted = drawn()
    with files.Parts(args.parts) as parts:
        _examine(wanted, parts, args.jobs)
        rows = list(chosen((each, parts.read(each.name)) for each in wanted))
    for part, file in (("measured", files.WORKLOADS), ("pretrain", files.FURTHER)):
        listed = [row for row in rows if row["set"] == part]
        listed.sort(key=lambda row: row["split"] == "train")
        files.write_lines(args.out / file.name, map(json.dumps, listed))
        print(f"{file.name}: {dict(Counter(row['split'] for row in listed))}", file=sys.stderr)


def drawn() -> list[Drawn]:
    """Return all candidates, in the order in which they are considered.

    More of them come at the end of a part, in a list of their own, or the sets would change.
    """
    measured = [Drawn("measured", *layer) for layer in layers()]
    measured += _draws("measured", RECOMMENDER, RECOMMENDERS, SEED)
    measured += _draws("measured", FAMILIES, RANDOM, SEED + 1)
    for number, family in enumerate(sorted(HARD)):
        measured += _draws("measured", {family: ALL[family]}, OF_EACH_HARD, SEED + 2 + number)
    Random(SEED).shuffle(measured)
    return measured + list(_draws("pretrain", ALL, PRETRAIN, SEED + 100))


def _draws(part: str, families: dict[str, Family], count: int, seed: int) -> Iterator[Drawn]:
    rng = Random(seed)
    shares = [family.share for family in families.values()]
    for _ in range(count):
        family = rng.choices(list(families), shares)[0]
        yield Drawn(part, family, families[family].arguments(rng))


def chosen(candidates: Iterable[tuple[Drawn, Facts]]) -> Iterator[Facts]:
    """Yield the rows of the list.

    No two have the same structure. Two that are the same but for float types or for names are on
    one side: the second one stays out if it would be on the other.
    """
    seen: set[str] = set()
    sides: dict[str, bool] = {}
    counts: Counter[str] = Counter()
    for each, facts in candidates:
        split = split_of(each.family, each.arguments)
        if _is_unfit(each.part, split, facts, counts) or facts["hash"] in seen:
            continue
        if sides.setdefault(facts["twin"], split == "train") != (split == "train"):
            continue
        seen.add(facts["hash"])
        counts[split, each.family] += 1
        counts[split] += 1
        yield _row(each, facts, _task(split, counts[split]))


def _is_unfit(part: str, split: str, facts: Facts, counts: Counter[Any]) -> bool:
    if facts["error"]:
        return True
    if part == "pretrain":
        return split != "train"
    small = facts["flops"] < LEAST_FLOPS and facts["bytes"] < LEAST_BYTES
    large = facts["flops"] > MOST_FLOPS or facts["bytes"] > MOST_BYTES
    full = split == "hard" and counts["hard", facts["family"]] >= HARD_OF_EACH
    return small or large or full


def _task(split: str, number: int) -> str:
    """Call what is held out but not needed `spare`."""
    most = {"construct": CONSTRUCT, "refine": REFINE}.get(split, number)
    return split if number <= most else "spare"


def _row(each: Drawn, facts: Facts, split: str) -> Facts:
    workload = each.workload()
    return {
        "key": facts["key"],
        "family": each.family,
        "arguments": each.arguments,
        "layers": each.layers,
        "target": workload.target,
        "rules": workload.rules,
        "seed": workload.seed,
        "set": each.part,
        "split": split,
        "flops": facts["flops"],
        "bytes": facts["bytes"],
        "prompt": facts["prompt"],
        "hash": facts["hash"],
    }


def _examine(wanted: Sequence[Drawn], parts: files.Parts, jobs: int) -> None:
    """Append what is found about each candidate that is not there yet."""
    left = {each.name: each for each in wanted if each.name not in parts}
    if not left:
        return
    import_intrinsics()
    start = time.monotonic()
    for count, outcome in enumerate(pool.results(left.values(), _serve, jobs), 1):
        dead = {"family": outcome.job.family, "error": "the process died or took too long"}
        parts.add(outcome.job.name, json.loads(outcome.answer) if outcome.answer else dead)
        if count % 500 == 0 or count == len(left):
            print(f"{count}/{len(left)}, {time.monotonic() - start:.0f} s", file=sys.stderr)


def _serve(pipe: Connection) -> None:
    """Answer jobs in a process of its own."""
    while True:
        each: Drawn = pipe.recv()
        try:
            facts = examine(each)
        except Exception as error:
            facts = {"error": f"{type(error).__name__}: {str(error)[-200:]}"}
        pipe.send_bytes(json.dumps({"family": each.family, "error": "", **facts}).encode())


def examine(each: Drawn) -> Facts:
    """Return what is to be known of a workload; it raises if there is no schedule of it."""
    workload = each.workload()
    module = spaces.module(workload)
    form = workload_of(module, TARGETS[workload.target][0])
    prompt = workloads.dumps(form)
    facts = {
        "key": hashlib.sha256(prompt.encode()).hexdigest()[:16],
        "hash": _hash(module),
        "twin": _hash(spaces.module(workload._replace(arguments=_single(each.arguments)))),
        "flops": estimate_tir_flops(module),
        "bytes": buffer_bytes(form),
        "prompt": prompt,
    }
    if each.part == "measured" and next(spaces.samples(workload, module, 1, 8), None) is None:
        raise ValueError("TVM refuses all samples")
    return facts


def buffer_bytes(workload: workloads.Workload) -> int:
    """Return the bytes of all buffers: inputs, outputs and what is between them."""
    return sum(
        prod(buffer.shape) * max(int(buffer.dtype.lstrip(string.ascii_letters) or 8) // 8, 1)
        for buffer in workload.buffers
    )


def _single(arguments: Arguments) -> Arguments:
    """Replace float16 by float32, in types of numbers alone."""
    return tuple(
        each.replace("float16", "float32") if isinstance(each, str) else each for each in arguments
    )


def _hash(module: tvm.IRModule) -> str:
    return f"{structural_hash(module) & (2**64 - 1):016x}"


if __name__ == "__main__":
    main()
