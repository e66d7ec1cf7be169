"""What the processes of the evaluator need, imported once by the server they are forked from."""

import tempfile

from training.evaluate.build import compile_smallest

with tempfile.TemporaryDirectory() as folder:
    # TVM imports much of itself when it first compiles.
    compile_smallest(f"{folder}/warm.so")
