"""The laws of masks over a long random walk: `python tests/fuzz_masks.py --steps 1000000`.

Hypothesis draws sequences, most of them for a workload, and makes a failing one short. Half of
the steps are at each level. From each sequence there has to be a way to the end, no longer than
`remaining_min` says, and `check` must have no error for what comes of it.
"""

import argparse
import time

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from test_masks import NEWEST, PHRASES, SYMBOLS, TASKS, finish, walk

BATCH = 500
LONGEST = 400


def main() -> None:
    """Walk at both levels until there were enough steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000, help="tokens in all (%(default)s)")
    steps = parser.parse_args().steps
    start, done = time.monotonic(), 0
    for number, tokenizer in enumerate((SYMBOLS, PHRASES), 1):
        while done < steps * number // 2:
            done += batch(tokenizer)
            level, seconds = tokenizer.level, time.monotonic() - start
            print(f"{level}: {done:,} steps of {steps:,}, {seconds:.0f} s", flush=True)


def batch(tokenizer):
    """Some sequences; the number of their tokens."""
    done = 0

    @settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False), st.sampled_from(TASKS), st.integers(1, LONGEST))
    def law(choices, task, length):
        nonlocal done
        state = walk(NEWEST[tokenizer], task, choices, length)
        finish(state, tokenizer)
        done += len(state.tokens)

    law()
    return done


if __name__ == "__main__":
    main()
