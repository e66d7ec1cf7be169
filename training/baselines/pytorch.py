r"""Judge and time PyTorch on the held-out workloads: eager (cuBLAS, cuDNN) and compiled.

    python -m training.baselines.pytorch --out torch.jsonl --target nvidia/nvidia-h100 \
        --device cuda

The functions are those of `torch_programs`. They are judged like scripts, against the same float64
reference, and timed in the same way: caches flushed before each run, by device events, over the
same sets of inputs. The host queues all of a run before the device begins it, so the time is that
of the kernels and not of Python. TF32 is off, because it is not right by the evaluator's tolerance;
cuDNN looks for its fastest algorithm. `torch.compile` is used with its defaults, for one shape.

Functions are compiled first, by several processes, into torch's cache on the disk; then one process
loads and times them. Workloads without a function get a result of the stage `given` that says why.
Results are appended; an interrupted run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from threading import RLock
from typing import Any

import msgspec
import torch
from torch import Tensor
from tqdm import tqdm

from training.baselines.judging import Method, judge, parser
from training.baselines.tasks import Listed, chosen
from training.baselines.torch_programs import MissingError, Program, program
from training.evaluate.build import BuildJob, Built, build, workload_of_prompt
from training.evaluate.ends import Kernel, TorchEnd
from training.evaluate.evaluator import PRELOAD, default_builders
from training.evaluate.inputs import SETS, STYLES, draw
from training.evaluate.recording import left
from training.evaluate.results import Candidate, ResultFile, files_or_exit, resumable
from training.pool import results

EAGER, COMPILED = "torch", "torch compiled"
"""The sources of the results."""

QUEUE_CYCLES = 1_000_000
"""How long the device is kept busy before a run: half a millisecond, time enough to queue it."""

SECONDS_PER_COMPILATION = 300.0


class Call(msgspec.Struct, frozen=True):
    """What stands in place of a script."""

    family: str
    arguments: list[Any]
    compiled: bool


class WarmJob(msgspec.Struct, frozen=True):
    """A call to compile."""

    prompt: str
    script: str


def function_of(script: str) -> Program:
    """Return the function that a call names.

    Raises:
        MissingError: there is none.
    """
    call = msgspec.json.decode(script, type=Call)
    function = program(call.family, call.arguments)
    if not call.compiled:
        return function
    # What was compiled before would count as the same function in too many shapes.
    torch.compiler.reset()
    # One process for each is enough: several compile at a time.
    return torch.compile(function, fullgraph=True, dynamic=False, options={"compile_threads": 1})


def build_call(job: BuildJob) -> Built:
    """Write down the call in place of a library, or build the reference of its workload."""
    if job.script is None:
        return build(job)
    call = msgspec.json.decode(job.script, type=Call)
    try:
        program(call.family, call.arguments)
    except MissingError as error:
        return Built("given", str(error))
    Path(job.library).write_text(job.script)
    return Built("compiles")


class ProgramEnd(TorchEnd):
    """An end that runs functions of torch too.

    A function returns its result instead of writing it to an output. So results are kept, and put
    into the outputs when the device is done: a copy is no part of the time.
    """

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self._made: dict[int, tuple[Sequence[Tensor], Tensor]] = {}
        _set_up()

    def load(self, library: Path) -> Kernel:
        """Load a library of TVM, or the function of a call."""
        content = library.read_bytes()
        if not content.startswith(b"{"):
            return super().load(library)
        function = function_of(content.decode())

        def kernel(*arguments: Tensor) -> None:
            self._made[id(arguments[-1])] = (arguments, function(*arguments[:-1]))

        return kernel

    def wait(self) -> None:
        """Synchronize, with all results where they belong."""
        for arguments, result in self._made.values():
            _require_result(arguments, result)
            arguments[-1].copy_(result)
        self._made.clear()
        super().wait()

    def time(self, kernel: Kernel, sets: Sequence[Sequence[Any]], runs: int) -> list[float]:
        """Time, then put the last results into the outputs."""
        seconds = super().time(kernel, sets, runs)
        self.wait()
        return seconds

    def flush(self) -> None:
        """Fill the caches, after a pause in which the host gets ahead of the device."""
        if self.judge_device.startswith("cuda"):
            # Torch has no public name for it.
            torch.cuda._sleep(QUEUE_CYCLES)  # noqa: SLF001
        super().flush()


def _set_up() -> None:
    """Settings of the process, which are a part of what torch's cache goes by."""
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    # Torch compiles under a tqdm, whose usual lock outlives a process that is killed.
    tqdm.set_lock(RLock())


def _require_result(arguments: Sequence[Tensor], result: Tensor) -> None:
    """A result of another kind would be converted by the copy, a view of an input is none."""
    *inputs, output = arguments
    if result.shape != output.shape or result.dtype != output.dtype:
        raise ValueError(f"the function returns {result.dtype} {tuple(result.shape)}")
    memory = result.untyped_storage().data_ptr()
    if any(each.untyped_storage().data_ptr() == memory for each in inputs):
        raise ValueError("the function returns a view of an input")


METHOD = Method(build_call, ProgramEnd)


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    found = parser("pytorch", __doc__)
    found.add_argument("--no-compiled", action="store_true", help="eager functions alone")
    found.add_argument("--compilers", type=int, help="processes that compile (cores less one)")
    options = found.parse_args(arguments)
    with files_or_exit("pytorch"):
        workloads = chosen(options)
        file = ResultFile(options.out)
    calls = [each for workload in workloads for each in candidates(workload)]
    if options.no_compiled:
        calls = [each for each in calls if each.source == EAGER]
    calls = left(calls, file.results)
    with resumable():
        _warm(options.device, options.compilers or default_builders(), workloads, calls)
    judge("pytorch", options, workloads, calls, file, METHOD)


def candidates(workload: Listed) -> list[Candidate]:
    """Return the calls of a workload: eager, and compiled."""
    return [
        Candidate(workload.key, msgspec.json.encode(call).decode(), source)
        for source, call in (
            (EAGER, Call(workload.family, workload.arguments, compiled=False)),
            (COMPILED, Call(workload.family, workload.arguments, compiled=True)),
        )
    ]


# Compiling beforehand.


def _warm(
    device: str, processes: int, workloads: Sequence[Listed], calls: Sequence[Candidate]
) -> None:
    """Compile what will be compiled, in many processes; what fails will fail again and be told."""
    prompts = {each.key: each.prompt for each in workloads}
    jobs = [
        WarmJob(prompts[each.workload], each.script) for each in calls if each.source == COMPILED
    ]
    serve = partial(serve_warm, device)
    ends = results(jobs, serve, processes, SECONDS_PER_COMPILATION, PRELOAD)
    for _ in tqdm(ends, total=len(jobs), unit="function", desc="compiled"):
        pass


def serve_warm(device: str, pipe: Connection) -> None:
    """Compile and run functions; torch keeps what it compiles on the disk."""
    _set_up()
    while True:
        job: WarmJob = pipe.recv()
        try:
            warm(device, job)
        except Exception as error:
            pipe.send_bytes(str(error).encode())
        else:
            pipe.send_bytes(b"")


def warm(device: str, job: WarmJob) -> None:
    """Compile a function by running it once."""
    function = function_of(job.script)
    function(*draw(workload_of_prompt(job.prompt), SETS[0], STYLES[0], device))


if __name__ == "__main__":
    main()
