r"""Learn the model's vocabulary: phrases of the scripts and of the prompts of the training data.

    python -m training.model.vocabulary --size 5120 --out training/model/tokenizer.json

The vocabulary that the library ships was learnt from traces of every era and target. A model that
writes scripts for the workloads of `training/datasets` reads prompts too, and has a smaller world;
its own phrases make scripts and prompts shorter. Decision values, and numbers in prompts, are no
part of phrases: each stays a token, or a few.

Index maps have phrases of their own (`index_maps`); what is left of the scripts is learnt from. The
name of a block has tokens of its own, the same in a prompt and in a script, so that to look a block
up is to copy it, also one that no training workload has.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from tracescript.tokens import Tokenizer
from training.data import files
from training.evaluate.results import files_or_exit
from training.model.index_maps import phrases_of_maps, without
from training.model.sequences import rows

NUMBER = re.compile(r" \d+")

LOOKED_UP = re.compile(r'(?m)(?<=^GetSBlock \|)( "(?!root")[^"\n]*")')
"""The name of a block in a script; all have a root, which no prompt names."""

NAMED = re.compile(r'(?m)^([A-Z]+)( "[^"\n]*")')
"""The name of a buffer, and of the block that writes it, in a prompt."""


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=5120, help="ids, at most (%(default)s)")
    parser.add_argument("--scripts", type=int, default=6000, help="of each set (%(default)s)")
    parser.add_argument("--prompts", type=int, default=1500, help="of workloads (%(default)s)")
    parser.add_argument(
        "--uses", type=int, default=40, help="of a part of index maps (%(default)s)"
    )
    parser.add_argument("--out", type=Path, required=True, help="the vocabulary, a JSON file")
    options = parser.parse_args()
    with files_or_exit("vocabulary"):
        sets = training_sets()
        maps = phrases_of_maps((row["script"] for found in sets for row in found), options.uses)
        texts = corpus(sets, options.scripts, options.prompts, set(maps))
        learnt = Tokenizer.train(texts, options.size - len(maps), progress=print)
        Tokenizer(dict.fromkeys([*learnt.phrases, *maps])).save(options.out)


def training_sets() -> list[list[files.Row]]:
    """The rows of each training set, in an order of chance."""
    sets = [rows(files.DATASETS, name, "train") for name in ("pretrain", "construct", "refine")]
    for found in sets:
        random.Random(0).shuffle(found)
    return sets


def corpus(
    sets: Iterable[list[files.Row]], scripts: int, prompts: int, known: set[str]
) -> Iterator[str]:
    """The texts to learn from: scripts without known index maps, prompts without numbers.

    Where a name begins or ends, a text does.
    """
    for found in sets:
        for row in found[:scripts]:
            for text in without(row["script"], known):
                yield from filter(None, LOOKED_UP.split(text))
    distinct = dict.fromkeys(row["prompt"] for found in sets for row in found)
    for prompt in islice(distinct, prompts):
        for text in NAMED.split(prompt):
            yield from filter(None, NUMBER.split(text))


if __name__ == "__main__":
    main()
