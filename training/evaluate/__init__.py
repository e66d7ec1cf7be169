"""Judge schedule scripts on a device: how far they come, whether they are right, how fast.

Processes are forked from a server that has imported TVM and torch. Importing TVM makes torch look
for GPUs, and that would initialise CUDA, after which no fork can use it; asked to look through
NVML, torch leaves CUDA alone.
"""

import os

os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
