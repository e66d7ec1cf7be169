"""What a script is worth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.evaluate.results import STAGES, Latency, Result
from training.rewards import BASE, OCTAVES, WEIGHT, reward, reward_unmeasured, speed

SECONDS = st.floats(1e-9, 1e3)


def measured(seconds):
    return Result("w", "s", "measured", latency=Latency(seconds, seconds, seconds, 9, 1.0))


@given(SECONDS, SECONDS)
def test_right_is_always_better_than_wrong(seconds, reference):
    worth = reward(measured(seconds), reference)
    assert 0 < BASE - OCTAVES * WEIGHT <= worth <= BASE + OCTAVES * WEIGHT
    for stage in STAGES[:-1]:
        assert reward(Result("w", "s", stage, "why"), reference) == 0


@given(SECONDS, SECONDS, SECONDS)
def test_faster_is_never_worth_less(first, second, reference):
    fast, slow = sorted([first, second])
    assert reward(measured(fast), reference) >= reward(measured(slow), reference)


def test_values():
    assert reward(measured(1e-5), 1e-5) == BASE
    assert reward(measured(1e-5), 2e-5) == BASE + WEIGHT
    assert reward(measured(4e-5), 1e-5) == BASE - 2 * WEIGHT
    assert reward(measured(1e-9), 1.0) == BASE + OCTAVES * WEIGHT


def test_what_post_processors_accept():
    found = {stage: reward_unmeasured(Result("w", "s", stage)) for stage in STAGES}
    accepted = {"passes", "compiles", "runs", "correct", "measured"}
    assert found == {stage: BASE if stage in accepted else 0 for stage in STAGES}


def test_a_wrong_kernel_that_has_a_latency_is_worth_nothing():
    timed = Latency(1e-6, 1e-6, 1e-6, 9, 1.0)
    assert reward(Result("w", "s", "runs", "output 0 is wrong", latency=timed), 1.0) == 0


@pytest.mark.parametrize("reference", [0.0, -1.0, float("nan"), float("inf")])
def test_references_that_are_no_times(reference):
    with pytest.raises(ValueError, match="reference: expected a positive time"):
        reward(measured(1e-5), reference)
    with pytest.raises(ValueError, match="expected a positive time"):
        speed(reference, 1.0)
