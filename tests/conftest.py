"""Hypothesis profiles: choose one with HYPOTHESIS_PROFILE, `ci` is the default."""

import os

from hypothesis import settings

from tracescript import testing

testing.register_profiles()
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A program of its own; it needs atheris.
collect_ignore = ["fuzz_atheris.py"]
