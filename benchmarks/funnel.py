"""How far do scripts get that chance has written? The funnel, from parsing to a CUDA kernel.

    python benchmarks/funnel.py --samples 200 --out benchmarks/funnel

For each workload of TVM's te_workload on a GPU target, scripts are written by a weak model
(`ngrams.py`) and by even chance, without any constraint, by the strict grammar, under the mask
with the workload's task, and under the mask with the oracle. Each goes as far as it can: it
parses, `check` finds no error, it applies to the workload, it passes the post-processors of
MetaSchedule, and NVRTC compiles it, which needs no GPU. MetaSchedule's own sketches with random
decisions are the comparison.

Needs the extras `tvm` and `masks`, and the dependency group `gpu`, but no GPU. Each
job is done in a forked process, which may die, and appended to `jobs.jsonl`; interrupt the run
at any time, the same command goes on from there. At the end it writes `funnel.json`, and the
tables of docs/oracle.md to `funnel.md`.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import platform
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tvm
from ngrams import NGrams
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.testing import te_workload
from tvm.target import Target

from tracescript import TraceScriptError, dumps, iter_records, loads
from tracescript.check import check
from tracescript.masks import Constraints, ScriptMasker
from tracescript.tokens import Tokenizer
from tracescript.tvm import Oracle, ReplayError, from_tvm, import_intrinsics, replay, task_of

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))
from training import pool  # noqa: E402
from training.evaluate.build import sampled_part  # noqa: E402
from training.evaluate.cuda_source import cubin  # noqa: E402

TARGET = "nvidia/nvidia-h100"
ARCHITECTURE = "sm_90a"
STAGES = ("samples", "parses", "checks", "applies", "passes", "compiles")
SETTINGS = ("none", "grammar", "mask", "oracle")
WRITERS = ("model", "chance")
SKETCHES = "sketches"
FAMILIES = tuple(name for name in te_workload.CONFIGS if name != "C2D_WIN_NHWC")
TOKENS = 48
"""Tokens that a script may have; one of the training corpus has 39 in the median."""

TRIES = 192
"""Draws for one script under the oracle, refused ones included."""

_BEGIN = -1
"""Stands before the first token."""

NO_RULES = Constraints(scope=False, counts=False, domains=False, extents=False, names=False)


class Job(NamedTuple):
    """Some samples of one family to write, or one script to finish."""

    family: str
    writer: str
    setting: str
    first: int
    count: int
    script: str | None = None


def main() -> None:
    """Do the jobs that are not done yet, then write what came of all."""
    options = _arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "jobs.jsonl"
    path.touch()
    _prepare(options.families)
    for jobs, seconds in ((_to_write, 120.0), (_to_finish, 10.0)):
        lines = _lines(path)
        done = {json.dumps(line["job"]) for line in lines}
        left = [job for job in jobs(options, lines) if json.dumps(job) not in done]
        _run(left, path, options.jobs, seconds)
    _write(options, _lines(path))


def _run(jobs: list[Job], path: Path, processes: int, limit: float) -> None:
    start = said = time.monotonic()
    with path.open("a") as file:
        for number, (job, answer) in enumerate(pool.results(jobs, _serve, processes, limit), 1):
            died = {
                "job": job,
                "samples": [["died", f"TVM died, or was not done after {limit:g} s", ""]]
                * job.count,
            }
            file.write(json.dumps(json.loads(answer) if answer else died) + "\n")
            file.flush()
            if time.monotonic() - said > 10 or number == len(jobs):
                said = time.monotonic()
                print(f"{number}/{len(jobs)} jobs, {said - start:.0f} s", file=sys.stderr)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200, help="of each family and setting")
    parser.add_argument("--batch", type=int, default=5, help="samples of a job (%(default)s)")
    parser.add_argument("--families", nargs="*", default=FAMILIES, choices=FAMILIES)
    parser.add_argument("--jobs", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "funnel")
    return parser.parse_args()


def _to_write(options: argparse.Namespace, _: list[dict[str, Any]]) -> Iterator[Job]:
    for first in range(0, options.samples, options.batch):
        count = min(options.batch, options.samples - first)
        for family in options.families:
            yield Job(family, SKETCHES, "", first, count)
            for writer in WRITERS:
                for setting in SETTINGS:
                    yield Job(family, writer, setting, first, count)


def _to_finish(_: argparse.Namespace, lines: list[dict[str, Any]]) -> Iterator[Job]:
    """A job for each script that applies: post-processors may hang on what no sketch has."""
    for line in lines:
        job = Job(*line["job"])
        if job.script is None:
            for number, (stage, _, script) in enumerate(line["samples"], job.first):
                if stage == "applies":
                    yield job._replace(first=number, count=1, script=script)


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file; what an interrupted run has left of a last one is cut off."""
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if whole != text:
        os.truncate(path, len(whole))
    return [json.loads(line) for line in whole.splitlines()]


# One job.


def _serve(pipe: Any) -> None:
    while True:
        job = Job(*pipe.recv())
        answer = _finish(job) if job.script else _written_and_applied(job)
        pipe.send_bytes(json.dumps({"job": job, **answer}).encode())


def _written_and_applied(job: Job) -> dict[str, Any]:
    """The stage that each sample reaches, up to `applies`, what stops it there, and the script."""
    samples: list[tuple[str, str, str]] = []
    tokens: list[int] = []
    start = time.monotonic()
    for number in range(job.first, job.first + job.count):
        rng = random.Random(f"{job.family} {job.writer} {job.setting} {number}")
        if job.writer == SKETCHES:
            samples.append(("applies", "", _sketch(job.family, rng)))
            continue
        ids = _written(job, rng)
        tokens.append(len(ids))
        try:
            script = _tokenizer().decode(ids)
        except TraceScriptError as error:
            samples.append(("samples", f"text: {_short(error)}", ""))
        else:
            samples.append((*_judged(job.family, script), script))
    seconds = round(time.monotonic() - start, 2)
    return {"samples": samples, "tokens": tokens, "seconds": seconds}


def _sketch(family: str, rng: random.Random) -> str:
    """A sketch of MetaSchedule with every decision drawn anew; all of them apply."""
    sketch = rng.choice(_space(family)[1])
    schedule = Schedule(
        _module(family),
        seed=rng.randrange(1, 1 << 30),
        debug_mask="none",
        error_render_level="none",
    )
    anew = tvm.s_tir.schedule.Trace(sketch.trace.insts, {})
    anew.apply_to_schedule(schedule, remove_postproc=True)
    return dumps(from_tvm(schedule.trace))


def _judged(family: str, script: str) -> tuple[str, str]:
    """How far a script gets up to `applies`, and what stops it."""
    try:
        trace = loads(script)
    except TraceScriptError as error:
        return "samples", f"syntax: {_short(error)}"
    problems = [each for each in check(trace, tvm="0.27") if each.severity == "error"]
    if problems:
        return "parses", f"check: {problems[0].message[:60]}"
    try:
        replay(trace, _module(family), seed=1)
    except ReplayError as error:
        return "checks", f"TVM: {error.reason[:60]}"
    return "applies", ""


def _finish(job: Job) -> dict[str, Any]:
    """The last stage that a script reaches, and what stops it there."""
    # Post-processors do their work on what comes before theirs.
    schedule = replay(sampled_part(loads(job.script or "")), _module(job.family), seed=1)
    context, _ = _space(job.family)
    try:
        schedule.enter_postproc()
        for step in context.space_generator.postprocs:
            if not step.apply(schedule):
                return {"samples": [("applies", f"refused by {type(step).__name__}", "")]}
    except Exception as error:
        # A post-processor may meet what no sketch has.
        return {"samples": [("applies", f"a post-processor raises: {_short(error)}", "")]}
    try:
        (kernels,) = tvm.compile(schedule.mod, target=Target(TARGET)).mod.imports
        cubin(kernels.inspect_source(), ARCHITECTURE)
    except Exception as error:
        return {"samples": [("passes", f"compiler: {_short(error)}", "")]}
    return {"samples": [("compiles", "", "")]}


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:60]


# Writing.


def _written(job: Job, rng: random.Random) -> list[int]:
    """The tokens of a script, drawn one by one."""
    tokenizer = _tokenizer()
    if job.setting == "none":
        ids: list[int] = []
        while len(ids) < TOKENS and tokenizer.eos_id not in ids[-1:]:
            ids.append(_choice(job.writer, ids, range(tokenizer.vocab_size), rng))
        return ids
    if job.setting == "oracle":
        state = Oracle(_masker(everything=True), _module(job.family)).new()
    else:
        is_mask = job.setting == "mask"
        state = _masker(everything=is_mask).new(_task(job.family) if is_mask else None)
    _write_under(state, job.writer, rng)
    return state.tokens


def _write_under(state: Any, writer: str, rng: random.Random) -> None:
    """Go on to the end. What is refused is drawn again, as if it had not been among the choices."""
    for _ in range(TRIES):
        tokens = state.tokens
        if state.is_finished():
            return
        # As long as there is room, the model need not wait for a whole mask.
        if writer == "model" and len(tokens) < TOKENS // 2:
            everything = range(_tokenizer().vocab_size)
            if any(state.try_advance([_choice(writer, tokens, everything, rng)]) for _ in range(8)):
                continue
        allowed = state.allowed_tokens(left=TOKENS - len(tokens)).tolist()
        if allowed:
            state.try_advance([_choice(writer, tokens, allowed, rng)])
        else:
            state.retreat()
    if not state.is_accepting():
        state.retreat()
    state.try_advance(state.completion())


def _choice(writer: str, before: list[int], allowed: Any, rng: random.Random) -> int:
    return (
        _model().draw([_BEGIN, *before], allowed, rng) if writer == "model" else rng.choice(allowed)
    )


@lru_cache
def _tokenizer() -> Tokenizer:
    return Tokenizer.default()


@lru_cache
def _model() -> NGrams:
    """Trigrams of the sampled parts of the training corpus that the tokenizer was made of."""
    tokenizer, model = _tokenizer(), NGrams(order=3)
    with lzma.open(ROOT / "training" / "tokens" / "corpus" / "train.trace.xz") as file:
        traces = [sampled_part(record.trace) for record in iter_records(file)]
    model.learn([_BEGIN, *tokenizer.encode(dumps(trace)), tokenizer.eos_id] for trace in traces)
    return model


@lru_cache
def _masker(everything: bool) -> ScriptMasker:
    return (
        ScriptMasker(_tokenizer())
        if everything
        else ScriptMasker(_tokenizer(), constraints=NO_RULES)
    )


@lru_cache
def _module(family: str) -> tvm.IRModule:
    """The first workload of a family, in the sizes of TVM's own tests."""
    function = te_workload.create_te_workload(family, 0)
    return tvm.IRModule({"main": function.with_attr("global_symbol", "main")})


@lru_cache
def _task(family: str) -> Any:
    return task_of(_module(family))


@lru_cache
def _space(family: str) -> tuple[ms.TuneContext, list[Schedule]]:
    rules = ms.space_generator.PostOrderApply(sch_rules="cuda", postprocs="cuda", mutator_probs={})
    context = ms.TuneContext(
        _module(family), target=Target(TARGET), space_generator=rules, rand_state=1, num_threads=1
    )
    return context, list(context.generate_design_space())


def _prepare(families: list[str]) -> None:
    """Make what every process needs, before they are forked."""
    import_intrinsics()
    _model()
    scripts = [dumps(from_tvm(sketch.trace)) for name in families for sketch in _space(name)[1]]
    for everything in (False, True):
        _masker(everything).warm(scripts)
    for name in families:
        _masker(everything=True).warm(scripts, _task(name))


# What came of it.


def _write(options: argparse.Namespace, lines: list[dict[str, Any]]) -> None:
    settings: dict[str, Any] = {}
    for line in lines:
        job = Job(*line["job"])
        found = settings.setdefault(
            f"{job.writer} {job.setting}".strip(),
            {"families": {}, "tokens": [], "seconds": 0.0, "reasons": Counter()},
        )
        counts = found["families"].setdefault(job.family, Counter())
        for stage, reason, _ in line["samples"]:
            reached = STAGES.index(stage) if stage in STAGES else 0
            # A script that is finished was counted up to `applies` when it was written.
            first = STAGES.index("passes") if job.script else 0
            counts.update(STAGES[first : reached + 1])
            if reason:
                found["reasons"][reason] += 1
        found["tokens"] += line.get("tokens", [])
        found["seconds"] += line.get("seconds", 0.0)
    for found in settings.values():
        tokens = found.pop("tokens")
        found["median_tokens"] = int(np.median(tokens)) if tokens else None
        found["seconds"] = round(found["seconds"])
        found["reasons"] = found["reasons"].most_common(12)
    result = {
        "command": f"python benchmarks/funnel.py --samples {options.samples}",
        "tvm": tvm.__version__,
        "target": TARGET,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {options.jobs} processes",
        "settings": settings,
    }
    _replace(options.out / "funnel.json", json.dumps(result, indent=1) + "\n")
    _replace(options.out / "funnel.md", _tables(settings))


def _tables(settings: dict[str, Any]) -> str:
    """The funnel of each setting, then the share that compiles for each family."""
    rows = ["| | " + " | ".join(STAGES) + " |", "|---" * (len(STAGES) + 1) + "|"]
    for key, found in settings.items():
        sums = {stage: sum(c[stage] for c in found["families"].values()) for stage in STAGES}
        cells = [str(sums["samples"])] + [_share(sums[s], sums["samples"]) for s in STAGES[1:]]
        rows.append(f"| {key} | " + " | ".join(cells) + " |")
    names = list(settings)
    rows += ["", "| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for family in FAMILIES:
        cells = [_applies_and_compiles(settings[name]["families"].get(family)) for name in names]
        rows.append(f"| {family} | " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else ""


def _applies_and_compiles(counts: dict[str, int] | None) -> str:
    if not counts:
        return ""
    return " / ".join(_share(counts[s], counts["samples"]) for s in ("applies", "compiles"))


def _replace(path: Path, text: str) -> None:
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(text)
    os.replace(scratch, path)


if __name__ == "__main__":
    main()
