r"""Train the tokenizer that TraceScript ships.

    python -m training.tokens.train --corpus training/tokens/corpus \
        --out src/tracescript/tokens/phrases.json

Needs Hugging Face `tokenizers`. Reads `train.trace.xz` of the corpus. Some traces are added once
more in an older form, with other names, or without some of their lines, so that the phrases suit
logs of other releases, operators and rules. The same corpus gives the same file.
"""

from __future__ import annotations

import argparse
import lzma
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tracescript import Trace, dumps, iter_records
from tracescript.tokens import Tokenizer
from training.tokens.forms import old_form, renamed, words_of

OLD = 4
"""One trace in so many is added in an older form."""

RENAMED = 8
"""One trace in so many is added with other names, in an older form too."""

RAGGED = 4
"""One trace in so many is added in an older form without some of its lines."""

LEFT_OUT = 0.3
"""The share of lines that such a trace loses."""


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="the folder of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--vocab", type=int, default=4096, help="number of ids (%(default)s)")
    args = parser.parse_args()
    start = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - start:6.1f} s  {text}", flush=True)

    traces = read(args.corpus / "train.trace.xz")
    tell(f"{len(traces)} traces")
    tokenizer = Tokenizer.train(scripts(traces), args.vocab, progress=tell)
    tokenizer.save(args.out)
    tell(f"{args.out}: {tokenizer}")


def read(path: Path) -> list[Trace]:
    """Read the traces of a compressed log."""
    with lzma.open(path) as file:
        return [record.trace for record in iter_records(file)]


def scripts(traces: list[Trace]) -> Iterator[str]:
    """The scripts to train on: all traces, and some of them again, changed."""
    words = sorted({word for trace in traces for word in words_of(trace) if word})
    for number, trace in enumerate(traces):
        yield dumps(trace)
        if number % OLD == 1:
            yield dumps(old_form(trace, number))
        if number % RENAMED == 2:
            yield dumps(old_form(renamed(trace, number, words), number))
        if number % RAGGED == 3:
            yield ragged(dumps(old_form(trace, number)), number)


def ragged(script: str, number: int) -> str:
    """Leave out some lines of a script, so that the others have new neighbours."""
    rng = Random(number)
    return "".join([line for line in script.splitlines(keepends=True) if rng.random() > LEFT_OUT])


if __name__ == "__main__":
    main()
