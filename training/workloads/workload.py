"""Which workloads the corpus holds: their targets and design spaces, and the list of them.

A workload is drawn from a seed and its index alone, without TVM, so that the list of workloads is
the same in every run and a longer run begins with a shorter one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from training.workloads.families import FAMILIES, WITH_WEIGHT, Arguments

HELD_OUT_PERCENT = 8


class Workload(NamedTuple):
    """One operator or fused chain on one target, with the rules of its design space."""

    family: str
    arguments: Arguments
    target: str
    """A key of `TARGETS`."""
    rules: str
    """A key of `spaces.SPACES`."""
    layout_free: bool
    """Whether the second parameter is a constant weight, whose layout the rules may choose."""
    seed: int
    """The seed of all sampling."""

    def split(self) -> str:
        """Return `heldout` for about 8%, whatever the rules: no workload is on both sides."""
        name = json.dumps([self.family, self.arguments, self.target])
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
        return "heldout" if number % 100 < HELD_OUT_PERCENT else "train"


def draw(count: int, seed: int) -> list[Workload]:
    """Return the first `count` different workloads of a seed."""
    found: dict[tuple[Any, ...], Workload] = {}
    for index, workload in enumerate(_endless(seed)):
        key = (*map(repr, workload[:5]),)
        found.setdefault(key, workload._replace(seed=seed * 1_000_000 + index))
        if len(found) >= count:
            return list(found.values())
    raise AssertionError("unreachable: the stream has no end")


def _endless(seed: int) -> Iterator[Workload]:
    shares = [family.share for family in FAMILIES.values()]
    rng = Random(seed)
    while True:
        family = rng.choices(list(FAMILIES), shares)[0]
        target = rng.choices(list(TARGETS), [share for _, share in TARGETS.values()])[0]
        arguments = FAMILIES[family].arguments(rng)
        rules = _rules(rng, family, target, halves="float16" in json.dumps(arguments))
        layout_free = target not in GPUS and family in WITH_WEIGHT and rng.random() < 0.35
        yield Workload(family, arguments, target, rules, layout_free, 0)


def _rules(rng: Random, family: str, target: str, *, halves: bool) -> str:
    """Draw the rules; special hardware is asked for where it fits, or little of it would come."""
    if target not in GPUS:
        return rng.choices(*CPU_RULES)[0]
    if family == "dense_int8":
        return rng.choice(("cuda", "dp4a", "cuda-int8" if target in TENSOR_CORES else "dp4a"))
    if halves and target in TENSOR_CORES and rng.random() < 0.6:
        return rng.choice(("cuda-tensorcore", "cuda-tensorcore", "cuda-mma"))
    return rng.choices(*GPU_RULES)[0]


TARGETS: dict[str, tuple[Any, int]] = {
    "h100": ("nvidia/nvidia-h100", 36),
    "a100": ("nvidia/nvidia-a100", 7),
    "rtx-4090": ("nvidia/geforce-rtx-4090", 7),
    "rtx-3090": ("nvidia/geforce-rtx-3090", 6),
    "v100": ("nvidia/nvidia-v100", 3),
    "xavier": ("nvidia/jetson-agx-xavier", 2),
    "llvm-16": ({"kind": "llvm", "num-cores": 16}, 13),
    "llvm-4": ({"kind": "llvm", "num-cores": 4}, 4),
    "cascadelake": ({"kind": "llvm", "mcpu": "cascadelake", "num-cores": 8}, 9),
    "skylake-avx512": ({"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 12}, 4),
    "znver3": ({"kind": "llvm", "mcpu": "znver3", "num-cores": 32}, 4),
    "cortex-a72": ("raspberry-pi/4b-aarch64", 3),
    "arm-dotprod": (
        {
            "kind": "llvm",
            "mtriple": "aarch64-linux-gnu",
            "mattr": ["+v8.2a", "+dotprod"],
            "num-cores": 4,
        },
        3,
    ),
}
"""Name to what `tvm.target.Target` takes, and the share of the workloads."""

GPUS = frozenset({"h100", "a100", "rtx-4090", "rtx-3090", "v100", "xavier"})
TENSOR_CORES = GPUS - {"v100", "xavier"}
"""Where TVM itself offers the tensor-core rules: compute capability 7.5 and above."""

GPU_RULES = (("cuda", "from-target", "gpu-other-tiles", "gpu-auto-bind"), (70, 8, 12, 10))
CPU_RULES = (("from-target", "llvm", "cpu-other-tiles", "cpu-rfactor"), (55, 20, 15, 10))
