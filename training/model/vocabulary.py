r"""Learn the model's vocabulary: phrases of the scripts and of the prompts of the training data.

    python -m training.model.vocabulary --size 4096 --out training/model/tokenizer.json

The vocabulary that the library ships was learnt from traces of every era and target. A model that
writes scripts for the workloads of `training/datasets` reads prompts too, and has a smaller world;
its own phrases make scripts and prompts shorter. Decision values, and numbers in prompts, are no
part of phrases: each stays a token, or a few.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

from tracescript.tokens import Tokenizer
from training.data import files
from training.model.sequences import rows

NUMBER = re.compile(r" \d+")


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=4096, help="ids (%(default)s)")
    parser.add_argument("--scripts", type=int, default=6000, help="of each set (%(default)s)")
    parser.add_argument("--prompts", type=int, default=1500, help="of workloads (%(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="the vocabulary, a JSON file")
    options = parser.parse_args()
    texts = list(corpus(options.scripts, options.prompts))
    Tokenizer.train(texts, options.size, progress=print).save(options.out)


def corpus(scripts: int, prompts: int) -> Iterator[str]:
    """The texts to learn from: scripts, and what lies between the numbers of prompts."""
    seen: set[str] = set()
    for name in ("pretrain", "construct", "refine"):
        found = rows(files.DATASETS, name, "train")
        random.Random(0).shuffle(found)
        for row in found[:scripts]:
            yield row["script"]
        for row in found:
            if len(seen) < prompts and row["prompt"] not in seen:
                seen.add(row["prompt"])
                yield from filter(None, NUMBER.split(row["prompt"]))


if __name__ == "__main__":
    main()
