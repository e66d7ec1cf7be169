"""Which files hold benchmarks, and one core for all of them."""

from __future__ import annotations

import os

import pytest
from workloads import note


def pytest_configure(config: pytest.Config) -> None:
    """Collect `bench_*.py`, and stay on one core from here on."""
    config.addinivalue_line("python_files", "bench_*.py")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which traces were timed."""
    terminalreporter.write_line(note())
