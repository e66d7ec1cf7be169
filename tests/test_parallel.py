"""Batches in order, on one process or several; faults in order, too."""

import signal

import pytest

from tracescript.files.parallel import _ignore_interrupts, batches, ordered_map


def source(length, fault=None):
    yield from range(length)
    if fault:
        raise fault


def double(number):
    if number == 13:
        raise ValueError(f"no {number}")
    return 2 * number


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order(jobs):
    assert list(ordered_map(double, source(12), jobs)) == list(range(0, 24, 2))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fault_of_the_source_comes_last(jobs):
    results = ordered_map(double, source(12, KeyError("source")), jobs)
    assert [next(results) for _ in range(12)] == list(range(0, 24, 2))
    with pytest.raises(KeyError, match="source"):
        next(results)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_fault_is_the_one_reported(jobs):
    with pytest.raises(ValueError, match="no 13"):
        list(ordered_map(double, source(15, KeyError("source")), jobs))


def test_batches_keep_every_item():
    assert list(batches(source(5), lambda _: 1, 2)) == [[0, 1], [2, 3], [4]]
    assert list(batches([], len, 2)) == []
    found = batches(source(3, KeyError("source")), lambda _: 1, 2)
    assert [next(found), next(found)] == [[0, 1], [2]]
    with pytest.raises(KeyError, match="source"):
        next(found)


def test_workers_leave_interrupts_to_their_parent():
    before = signal.getsignal(signal.SIGINT)
    try:
        _ignore_interrupts()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
