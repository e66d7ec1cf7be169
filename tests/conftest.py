"""Hypothesis profiles: choose one with HYPOTHESIS_PROFILE, `ci` is the default.

One thread for torch, here and in the processes of tests: others run beside it, and threads that
wait for each other on busy cores take many times as long.
"""

import os

from hypothesis import settings

from tracescript import testing

testing.register_profiles()
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

os.environ.setdefault("OMP_NUM_THREADS", "1")

# A program of its own; it needs atheris.
collect_ignore = ["fuzz_atheris.py"]
