"""The real logs that tests read: the project's own, and the shared corpus where it is."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OWN = sorted((ROOT / "tests" / "corpus").glob("*.json*"))
_folder = Path(os.environ.get("TRACESCRIPT_CORPUS", ROOT.parent / "shared" / "corpus"))
SHARED = sorted(_folder.glob("*.jsonl"))

needs_shared = pytest.mark.skipif(
    not SHARED, reason=f"no shared corpus in {_folder}; TRACESCRIPT_CORPUS names its folder"
)
LOGS = [pytest.param(path, id=path.name) for path in OWN] + (
    [pytest.param(path, id=path.name) for path in SHARED]
    or [pytest.param(None, id="shared corpus", marks=needs_shared)]
)
"""One parameter a log; a single skipped one stands for the shared corpus where it is absent."""
