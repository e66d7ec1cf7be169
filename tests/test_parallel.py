"""Batches in order, on one process or several; faults in order, too."""

import signal
import subprocess
import sys
import threading

import pytest

from tracescript._interrupts import interrupts_after
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


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_an_interrupt_amid_a_fork_is_not_lost():
    """What Python runs after a fork cannot raise, so there an interrupt would be dropped."""
    code = """if True:
        import multiprocessing, os, signal
        from tracescript.files.parallel import ordered_map
        multiprocessing.set_start_method("fork")
        results = ordered_map(abs, iter(int, 1), 2)
        os.register_at_fork(after_in_parent=lambda: signal.raise_signal(signal.SIGINT))
        try:
            for result in results:
                print("went on")
                break
        except KeyboardInterrupt:
            print("interrupted")
    """
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_interrupts_come_after_the_block():
    steps = []

    @interrupts_after()
    def work():
        signal.raise_signal(signal.SIGINT)
        steps.append("all of the block")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["all of the block"]


def test_without_interrupts_the_handler_stays():
    before = signal.getsignal(signal.SIGINT)
    with interrupts_after():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_has_no_interrupts():
    seen = []

    def work():
        with interrupts_after():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
