"""One step of MetaSchedule's search on one workload, as a pure function of what was measured.

The state of a search is its measurements: a step makes the design space anew, teaches the cost
model all that is known of the workload, lets MetaSchedule's evolutionary search propose, and
forgets everything. So a search can be interrupted anywhere, and a process that dies costs a step.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import msgspec
import numpy as np
import tvm
from tvm.s_tir import Schedule, ScheduleError
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.cost_model import XGBModel
from tvm.s_tir.schedule import Trace

from tracescript import dumps, loads
from tracescript.proposals import sampled_part
from tracescript.tvm import from_tvm, import_intrinsics, to_tvm
from tracescript.workloads import Workload
from training.data.draws import Sketch
from training.evaluate.build import module_of_prompt, target_of, workload_of_prompt

POPULATION = 32
"""Schedules of a generation; MetaSchedule's own 512 cost a minute a step on one core."""

GENERATIONS = 2
"""MetaSchedule's own number is 4."""

MOST_NEW = 50
"""Random schedules without which MetaSchedule's search gives up, if the population is not small."""

FAILURES = 5
"""Batches of random schedules of which none passes before the search gives up; MetaSchedule's own
number. A batch has as many as a generation, so a small population gives up sooner."""

EPSILON = 0.05
"""The share of candidates that are picked at random, MetaSchedule's own; they come last."""


class StepJob(msgspec.Struct, frozen=True):
    """What a step starts from."""

    key: str
    prompt: str
    target: str
    count: int
    """How many scripts to propose at most."""
    seed: int
    tries: int = 0
    """If not 0, propose random sketches that pass the post-processors, of so many tries."""
    passing: bool = True
    """Whether random sketches must pass the post-processors to be proposed."""
    measured: tuple[tuple[str, float | None], ...] = ()
    """Scripts that were tried, and their seconds; None for those that failed."""
    population: int = POPULATION
    """Schedules of a generation."""
    generations: int = GENERATIONS
    failures: int = FAILURES


def step(job: StepJob) -> list[str]:
    """Propose new scripts for a workload: the sampled parts of MetaSchedule's candidates."""
    # An untaught cost model scores with numpy's numbers.
    np.random.seed(job.seed)
    context = _context(job)
    sketches = list(context.generate_design_space())
    if not job.tries:
        return _picked(job, _evolved(job, context, sketches))
    known = {script for script, _ in job.measured}
    new = (script for script in _random(job, context, sketches) if script not in known)
    return _first(new, job.count)


def rules_of(workload: Workload, target: str) -> str:
    """The rules that MetaSchedule takes for the target, but for one case.

    TVM 0.27 does not compile tensor-core code that multiplies halves and adds up floats: its
    lowering of access pointers mixes up their dtypes. Such workloads take the rules of CUDA cores.
    """
    dtypes = {buffer.dtype for buffer in workload.buffers}
    if target_of(target).kind.name == "cuda" and {"float16", "float32"} <= dtypes:
        return "cuda"
    return "from-target"


def _context(job: StepJob) -> ms.TuneContext:
    import_intrinsics()  # else the context does it, in half a minute
    rules = rules_of(workload_of_prompt(job.prompt), job.target)
    strategy = ms.search_strategy.EvolutionarySearch(
        population_size=job.population,
        init_min_unmeasured=min(job.population // 2, MOST_NEW),
        max_fail_count=job.failures,
        genetic_num_iters=job.generations,
        eps_greedy=EPSILON,
    )
    return ms.TuneContext(
        # TVM may change the module that a schedule is made of.
        copy.deepcopy(module_of_prompt(job.prompt)),
        target=target_of(job.target),
        space_generator=ms.space_generator.PostOrderApply(
            sch_rules=rules, postprocs=rules, mutator_probs=rules
        ),
        search_strategy=strategy,
        rand_state=job.seed,
        num_threads=1,
    )


def _random(job: StepJob, context: Any, sketches: list[Schedule]) -> Iterator[str]:
    """Sketches with every decision drawn anew: so that most pass, or as TVM draws them."""
    rng = Random(job.seed)
    drawers = [Sketch(sketch.trace) for sketch in sketches]
    for attempt in range(job.tries):
        place = attempt % len(sketches)
        drawn = drawers[place].draw(rng) if job.passing else Trace(sketches[place].trace.insts, {})
        schedule = _fresh(job, seed=rng.randrange(1, 2**31))
        try:
            drawn.apply_to_schedule(schedule, remove_postproc=True)
        except ScheduleError:
            continue
        script = _script(schedule)
        if not job.passing or _passes(context, schedule):
            yield script


def _picked(job: StepJob, proposals: list[str]) -> list[str]:
    """The candidates that MetaSchedule would pick if it knew what was tried in earlier steps.

    Its search has just begun, so scripts that were tried are among the proposals: the best ones by
    the cost model first, then random ones.
    """
    known = {script for script, _ in job.measured}
    end = len(proposals) - int(_asked(job) * EPSILON)
    best, random = (
        list(dict.fromkeys(script for script in part if script not in known))
        for part in (proposals[:end], proposals[end:])
    )
    share = job.count - int(job.count * EPSILON)
    return _first([*best[:share], *random, *best[share:]], job.count)


def _asked(job: StepJob) -> int:
    """How many candidates MetaSchedule is asked for, so that there are enough new ones."""
    return 2 * job.count + len(job.measured)


def _first(scripts: Iterable[str], count: int) -> list[str]:
    """The first so many different ones."""
    found: dict[str, None] = {}
    for script in scripts:
        found[script] = None
        if len(found) == count:
            break
    return list(found)


def _evolved(job: StepJob, context: Any, sketches: list[Schedule]) -> list[str]:
    """What the evolutionary search would measure next."""
    database = ms.database.MemoryDatabase()
    workload = database.commit_workload(context.mod)
    model = XGBModel(num_warmup_samples=1, num_tuning_cores=1)
    candidates, results = [], []
    for script, seconds in job.measured:
        trace = to_tvm(loads(script))
        schedule = _fresh(job, seed=1)
        trace.apply_to_schedule(schedule, remove_postproc=True)
        if not _passes(context, schedule):
            continue
        info = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
        candidates.append(ms.MeasureCandidate(schedule, info))
        if seconds is None:
            results.append(ms.runner.RunnerResult(None, "failed"))
            continue
        database.commit_tuning_record(
            ms.database.TuningRecord(trace, workload, [seconds], context.target, info)
        )
        results.append(ms.runner.RunnerResult([seconds], None))
    if candidates:
        model.update(context, candidates, results)
    context.pre_tuning(
        max_trials=_asked(job),
        num_trials_per_iter=_asked(job),
        design_spaces=sketches,
        database=database,
        cost_model=model,
    )
    proposed = context.generate_measure_candidates()
    context.post_tuning()
    return [_script(candidate.sch) for candidate in proposed or ()]


def _script(schedule: Schedule) -> str:
    return dumps(sampled_part(from_tvm(schedule.trace)))


def _fresh(job: StepJob, seed: int) -> Schedule:
    module: tvm.IRModule = copy.deepcopy(module_of_prompt(job.prompt))
    return Schedule(module, seed=seed, debug_mask="none", error_render_level="none")


def _passes(context: Any, schedule: Schedule) -> bool:
    """Whether the post-processors accept a schedule; one that raises does not."""
    schedule.enter_postproc()
    try:
        return all(each.apply(schedule) for each in context.space_generator.postprocs)
    except Exception:
        return False
