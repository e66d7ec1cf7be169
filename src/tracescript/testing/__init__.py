"""Strategies and laws for property-based tests, here and in other projects.

Needs the extra `testing` (Hypothesis). A fuzz test of code that takes traces is
three lines:

    from hypothesis import given
    from tracescript import testing

    @given(testing.traces())
    def test_my_pass(trace): ...
"""

from tracescript.testing.laws import check_script_laws, check_trace_laws, strictly_equal
from tracescript.testing.profiles import register_profiles
from tracescript.testing.random_traces import random_json_trace
from tracescript.testing.strategies import (
    json_traces,
    json_values,
    mutated_scripts,
    scripts,
    traces,
)

__all__ = [
    "check_script_laws",
    "check_trace_laws",
    "json_traces",
    "json_values",
    "mutated_scripts",
    "random_json_trace",
    "register_profiles",
    "scripts",
    "strictly_equal",
    "traces",
]
