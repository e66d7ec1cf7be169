"""The evaluator on a real GPU: cheats are caught there too, and faults cost themselves only."""

import shutil
from functools import partial

import msgspec
import pytest
import tvm
from training.evaluate.bench import Judged
from training.evaluate.build import BuildJob, build, target_of
from training.evaluate.ends import TorchEnd
from training.evaluate.evaluator import PRELOAD, RunJob, serve_runs
from training.evaluate.results import Task
from training.pool import Pool, wait

import cheats
from tracescript.tvm import workload_of
from tracescript.workloads import dumps

TARGET = "nvidia/nvidia-h100"

REASONS = {
    # The driver has two errors for it, by where the address lies.
    "writes far outside": ("illegal memory access", "not supported on global/shared address space"),
    "never ends": ("took longer than 20 s",),
}

pytestmark = pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="needs a GPU")


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    """A function that judges the kernel with a body on the GPU."""
    from training.evaluate import cuda_source

    cuda_source.install("sm_90a")
    folder = tmp_path_factory.mktemp("gpu")
    task = Task("relu", dumps(workload_of(cheats.relu(), TARGET)))
    library = str(folder / "exact.so")
    assert build(BuildJob(task.key, task.prompt, TARGET, library)).stage == "compiles"
    pool = Pool(partial(serve_runs, partial(TorchEnd, "cuda")), 1, 20, PRELOAD)

    def judged(body):
        kernel = folder / f"{abs(hash(body))}.so"
        tvm.compile(cheats.kernel(body, gpu=True), target=target_of(TARGET)).export_library(
            str(kernel)
        )
        pool.submit(RunJob(task.key, task.prompt, library, str(kernel)))
        while True:
            wait([pool])
            for outcome in pool.ready():
                return outcome

    yield judged
    pool.close()


def test_the_right_kernel_is_measured(gpu):
    outcome = gpu(cheats.RIGHT)
    assert outcome.answer is not None, outcome.reason
    judged = msgspec.json.decode(outcome.answer, type=Judged)
    assert judged.stage == "measured", judged
    # Half a megabyte is read and as much written: microseconds, not milliseconds.
    assert 5e-7 < judged.latency.median < 1e-4


@pytest.mark.parametrize("name", cheats.BODIES)
def test_a_cheating_kernel_is_caught(gpu, name):
    outcome = gpu(cheats.BODIES[name])
    judged = msgspec.json.decode(outcome.answer, type=Judged)
    assert judged.stage == "runs", judged


@pytest.mark.parametrize("name", cheats.FAULTS)
def test_a_fault_costs_itself_only(gpu, name):
    outcome = gpu(cheats.FAULTS[name])
    assert outcome.answer is None
    assert any(reason in outcome.reason for reason in REASONS[name])
    assert b'"measured"' in gpu(cheats.RIGHT).answer
