"""Hypothesis profiles: how long to look."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

__all__ = ["register_profiles"]


def register_profiles() -> None:
    """Register the profiles `quick`, `ci` and `fuzz` with Hypothesis.

    `quick` is for the inner loop, `ci` is derandomised, so that a run of it means the
    same everywhere, and `fuzz` looks for long, without a deadline or a database.
    """
    unhurried = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile("quick", max_examples=50, deadline=None)
    settings.register_profile(
        "ci", max_examples=250, deadline=None, derandomize=True, suppress_health_check=unhurried
    )
    settings.register_profile(
        "fuzz",
        max_examples=100_000,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=unhurried,
    )
