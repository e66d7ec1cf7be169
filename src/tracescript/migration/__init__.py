"""Old traces on a new TVM: which releases one can come from, and the way to a later one.

Nothing here happens by itself: a trace is read and written as it is until someone migrates
it. `clues` says what tells releases apart, `steps` has the changes of TVM one by one, `run`
takes a trace through them, and `logs` takes whole logs.
"""

from tracescript.migration.clues import infer_release
from tracescript.migration.run import AppliedStep, Migration, migrate
from tracescript.migration.steps import STEPS, Step

__all__ = ["STEPS", "AppliedStep", "Migration", "Step", "infer_release", "migrate"]
