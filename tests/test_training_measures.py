"""The numbers of the report."""

import itertools
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.measures import (
    Wins,
    best_of,
    fast_share,
    geometric_mean,
    share,
    solved_within,
    wins,
)

ATTEMPTS = st.lists(st.none() | st.floats(1e-6, 1e3), min_size=1, max_size=7)


@given(st.integers(1, 500), st.floats(0, 1))
def test_a_share_lies_in_its_interval(of, part):
    count = round(part * of)
    found = share(count, of)
    assert 0 <= found.low <= found.rate == count / of <= found.high <= 1
    assert share(count, of, 0.5).high - share(count, of, 0.5).low <= found.high - found.low


def test_known_intervals():
    """The values of Newcombe (1998), table I, and of no failures at all."""
    found = share(81, 263)
    assert (round(found.low, 4), round(found.high, 4)) == (0.2553, 0.3662)
    found = share(15, 148)
    assert (round(found.low, 4), round(found.high, 4)) == (0.0624, 0.1605)
    found = share(0, 20)
    assert (round(found.low, 4), round(found.high, 4)) == (0.0, 0.1611)
    assert share(20, 20).high == 1.0


@pytest.mark.parametrize(("count", "of"), [(0, 0), (3, 2), (-1, 2)])
def test_shares_of_nothing(count, of):
    with pytest.raises(ValueError, match=f"found {count} of {of}"):
        share(count, of)


@given(ATTEMPTS, st.data())
def test_what_k_attempts_give(seconds, data):
    """The closed forms agree with looking at every choice."""
    k = data.draw(st.integers(1, len(seconds)))
    choices = list(itertools.combinations(seconds, k))
    right = [[each for each in choice if each is not None] for choice in choices]
    solved = [bool(each) for each in right]
    assert solved_within([each is not None for each in seconds], k) == pytest.approx(
        statistics.mean(solved)
    )
    fastest = [math.log(min(each)) for each in right if each]
    found = best_of(seconds, k)
    if fastest:
        assert found == pytest.approx(math.exp(statistics.mean(fastest)))
    else:
        assert found is None


@pytest.mark.parametrize("k", [0, 3])
def test_more_attempts_than_there_are(k):
    with pytest.raises(ValueError, match=f"k: expected a number from 1 to 2, found {k}"):
        best_of([1.0, 2.0], k)
    with pytest.raises(ValueError, match="found"):
        solved_within([True, False], k)


def test_means():
    assert geometric_mean([1.0, 4.0]) == 2.0
    for ratios in ([], [1.0, 0.0]):
        with pytest.raises(ValueError, match="positive ratios"):
            geometric_mean(ratios)


def test_fast_shares():
    speedups = [0.5, 1.0, 2.0, None]
    assert [fast_share(speedups, p) for p in (0, 0.5, 1, 2)] == [0.75, 0.5, 0.25, 0.0]


def test_wins():
    ours = {"a": 1.0, "b": 2.0, "c": None, "d": 1.0, "e": None, "f": 1.0}
    theirs = {"a": 2.0, "b": 1.0, "c": 1.0, "d": None, "e": None, "f": 1.0}
    assert wins(ours, theirs) == Wins(2, 2, 2)
    assert wins(theirs, ours) == Wins(2, 2, 2)
    assert wins({"a": 1.0, "b": 1.0}, {"a": 1.04, "b": 1.2}, least=1.05) == Wins(1, 0, 1)
