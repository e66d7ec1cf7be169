r"""How many tokens the prompts of workloads are, family by family.

    python benchmarks/prompts.py

Draws workloads of each family of `training.workloads`, with a target each, and counts the tokens of
their texts by the tokenizer of the package. Needs TVM.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from training.workloads.families import FAMILIES, RECOMMENDER, WITH_WEIGHT, Family  # noqa: E402
from training.workloads.spaces import module  # noqa: E402
from training.workloads.workload import GPUS, TARGETS, Workload  # noqa: E402

from tracescript.tokens import Tokenizer  # noqa: E402
from tracescript.tvm import workload_of  # noqa: E402
from tracescript.workloads import dumps  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description="How many tokens prompts are.")
    parser.add_argument("--draws", type=int, default=40, help="workloads of each family")
    parser.add_argument("--target", choices=TARGETS, help="one target for all; else drawn")
    args = parser.parse_args()
    tokenizer = Tokenizer.default()
    say("| family | median | largest |\n|---|---:|---:|")
    counts: list[int] = []
    for name, family in (FAMILIES | RECOMMENDER).items():
        texts = prompts(name, family, args.draws, args.target)
        found = [len(tokenizer.encode(text)) for text in texts]
        say(f"| `{name}` | {statistics.median(found):.0f} | {max(found)} |")
        counts += found
    median, mean = statistics.median(counts), statistics.mean(counts)
    say(f"| all {len(counts):,} | {median:.0f} | {max(counts)} |\n\nThe mean is {mean:.0f}.")


def prompts(name: str, family: Family, draws: int, target: str | None) -> Iterator[str]:
    """The texts of random workloads of a family."""
    rng = Random(name)  # noqa: S311 - repeatable, not secret
    shares = [share for _, share in TARGETS.values()]
    for _ in range(draws):
        chosen = target or rng.choices(list(TARGETS), shares)[0]
        arguments = family.arguments(rng)
        layout_free = chosen not in GPUS and name in WITH_WEIGHT and rng.random() < 0.35
        made = module(Workload(name, arguments, chosen, "cuda", layout_free, 0))
        yield dumps(workload_of(made, TARGETS[chosen][0]))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
