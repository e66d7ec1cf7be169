"""Check the laws of the codec on random traces: `python -m tracescript.testing`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from random import Random

from tracescript.files.parallel import ordered_map
from tracescript.testing.laws import check_trace_laws
from tracescript.testing.random_traces import random_json_trace

_CHUNK = 500


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tracescript.testing", description=__doc__)
    parser.add_argument("--traces", type=int, default=10_000, help="how many (default: 10000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    start = time.perf_counter()
    done = characters = 0
    for count, length in ordered_map(_check, _chunks(options.first, options.traces), options.jobs):
        done += count
        characters += length
        if sys.stderr.isatty():
            print(f"\r{done:,} traces", end="", file=sys.stderr)
    seconds = time.perf_counter() - start
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(
        f"{done:,} traces, {characters:,} characters of script, {seconds:.0f} s: no law is broken"
    )


def _chunks(first: int, total: int) -> Iterator[range]:
    for start in range(first, first + total, _CHUNK):
        yield range(start, min(start + _CHUNK, first + total))


def _check(seeds: range) -> tuple[int, int]:
    characters = 0
    for seed in seeds:
        try:
            characters += len(check_trace_laws(random_json_trace(Random(seed))))
        except Exception as error:
            raise AssertionError(f"a law is broken for the trace of seed {seed}") from error
    return len(seeds), characters


if __name__ == "__main__":
    main()
