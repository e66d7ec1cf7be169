"""How long masks take: ours, and those of llguidance and xgrammar for the same strict grammar.

    python benchmarks/masks.py

Follows recorded scripts token by token, the end of the script included. At each step it fills the
mask of the next token into an array that is there already, and advances by the true token. The
subjects take turns script by script, on one core, so that slow phases of a shared machine hit all
of them alike. In the first pass a masker is fresh and still makes its tables; the later passes
meet the same scripts again. Nothing is subtracted; what the clock itself takes is a row.

The scripts are a sample of the held-out ones and the logs for CUDA and LLVM of `tests/corpus`. The
latter have workloads, which TVM builds; without TVM nothing is measured with a task. An engine
whose package is missing is left out. Prints Markdown.
"""

from __future__ import annotations

import argparse
import gc
import json
import lzma
import os
import platform
import random
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from workloads import OWN, ROOT

from tracescript import dumps, from_json, grammar_text, iter_records
from tracescript.exports import token_grammar
from tracescript.masks import BlockInfo, IllegalToken, ScriptMasker, TaskInfo
from tracescript.tokens import Tokenizer

TVM = "0.27"
LEVELS = ("symbol", "phrase")
CORPUS = ROOT / "training" / "tokens" / "corpus"
SEED = 0
MOST_SYMBOLS = 3000
STEP_MAX_ITEMS = 10_000_000
FIRST, LATER = "first", "later"
PACKAGES = ("numpy", "llguidance", "xgrammar", "torch")

MASK_P50 = {"symbol": 10.0, "phrase": 60.0}
P99_FACTOR = 10
ADVANCE = 5.0

clock = time.perf_counter_ns


class Script(NamedTuple):
    """A script as tokens of each level, `<eos>` included, and its workload if that is known."""

    tokens: dict[str, list[int]]
    task: TaskInfo | None


class Sequence(NamedTuple):
    """One sequence of an engine."""

    fill: Callable[[], object]
    take: Callable[[int], object]
    """Gives False or raises `IllegalToken` if the token may not come."""


def numbers() -> array[int]:
    """Make an empty list of nanoseconds, which the garbage collector need not look into."""
    return array("q")


@dataclass
class Timings:
    """What the steps of a pass took, in nanoseconds."""

    masks: array[int] = field(default_factory=numbers)
    advances: array[int] = field(default_factory=numbers)
    starts: array[int] = field(default_factory=numbers)


@dataclass
class Subject:
    """An engine with one grammar and one vocabulary.

    Attributes:
        start: begins a sequence, for a workload if that is what the subject is about.
        words: the array that its masks are written to.
        setup: what had to be made before, in milliseconds.
        with_task: whether it takes only scripts whose workload is known.
        once: whether only its first pass is of interest.
        timings: by the name of the pass.
        refused: how many scripts it did not let through.
    """

    name: str
    level: str
    start: Callable[[TaskInfo | None], Sequence]
    words: NDArray[np.int32]
    setup: dict[str, float] = field(default_factory=dict)
    with_task: bool = False
    once: bool = False
    timings: dict[str, Timings] = field(default_factory=dict)
    refused: int = 0


def main() -> int:
    args = arguments()
    begin = time.perf_counter()
    core = pin()
    load = os.getloadavg()[0]
    own = own_scripts()
    scripts = [*sample(heldout_scripts(args.heldout), args.sample), *filter(is_short, own)]
    training = list(islice(texts(args.train), max(args.warm, default=0)))
    subjects = [it for level in LEVELS for it in subjects_of(level, training, args.warm)]
    if not any(script.task for script in scripts):
        subjects = [subject for subject in subjects if not subject.with_task]
    pauses = measure(subjects, scripts, args.passes)
    took = f"load average {load:.1f} before and {os.getloadavg()[0]:.1f} after "
    took += f"{time.perf_counter() - begin:.0f} s"
    left_out = len(own) - sum(map(is_short, own))
    for line in page(subjects, scripts, left_out, f"{core}; {took}", pauses):
        sys.stdout.write(line + "\n")
    return 1 if any(subject.refused for subject in subjects) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heldout", type=Path, default=CORPUS / "heldout.trace.xz")
    parser.add_argument("--train", type=Path, default=CORPUS / "train.trace.xz")
    parser.add_argument("--sample", type=int, default=60, help="how many held-out scripts")
    parser.add_argument(
        "--warm", type=int, nargs="*", default=(30, 300), help="how many scripts warm() is given"
    )
    parser.add_argument("--passes", type=int, default=3, help="the first and the later ones")
    return parser.parse_args()


def pin() -> str:
    """Keep to one core, if the system lets us, and say which."""
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned to a core"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core}"


# The scripts.


def heldout_scripts(path: Path) -> list[Script]:
    return [script_of(text, None) for text in texts(path)]


def is_short(script: Script) -> bool:
    """Whether a script is not mostly index maps, which are strings of kilobytes."""
    return len(script.tokens["symbol"]) <= MOST_SYMBOLS


def sample(scripts: list[Script], count: int) -> list[Script]:
    """Choose some of the short scripts, always the same ones."""
    short = list(filter(is_short, scripts))
    chosen = random.Random(SEED)  # noqa: S311 -- a sample, no secret
    return chosen.sample(short, min(count, len(short)))


def texts(path: Path) -> Iterator[str]:
    with lzma.open(path) as file:
        for record in iter_records(file, strict=False):  # type: ignore[arg-type]
            yield dumps(record.trace)


def own_scripts() -> list[Script]:
    """Read the logs whose workloads TVM can build again."""
    scripts: list[Script] = []
    for log in ("cuda", "llvm"):
        tasks = tasks_of(log)
        for line in (OWN / f"{log}.tuning_record.json").read_text().splitlines():
            workload, (trace, *_) = json.loads(line)
            scripts.append(script_of(dumps(from_json(trace)), tasks[workload] if tasks else None))
    return scripts


def script_of(text: str, task: TaskInfo | None) -> Script:
    tokens = {}
    for level in LEVELS:
        tokenizer = Tokenizer.default(level)
        tokens[level] = [*tokenizer.encode(text), tokenizer.eos_id]
    return Script(tokens, task)


def tasks_of(log: str) -> list[TaskInfo]:
    """Describe the workloads of a log, in its order; an empty list without TVM."""
    if find_spec("tvm") is None:
        return []
    sys.path.append(str(OWN))
    if log == "cuda":
        from _cuda import SPACES as CASES
    else:
        from _llvm import TASKS as CASES
    return [task_of(case.module()) for case in CASES]


def task_of(module: Any) -> TaskInfo:
    """Describe the blocks of a module, as TVM sees them."""
    from tvm.s_tir import Schedule

    schedule = Schedule(module)
    blocks: list[BlockInfo] = []
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        made = schedule.get(block)
        loops = tuple(int(schedule.get(loop).extent) for loop in schedule.get_loops(block))
        buffers = {region.source.name for region in [*made.reads, *made.writes]}
        blocks.append(BlockInfo(made.name_hint, loops, tuple(sorted(buffers))))
    return TaskInfo(tuple(blocks))


# The subjects.


def subjects_of(level: str, training: list[str], warm: Iterable[int]) -> Iterator[Subject]:
    """Set up all subjects of a level."""
    tokenizer = Tokenizer.default(level)
    yield tracescript_subject("tracescript", tokenizer)
    for count in warm:
        name = f"tracescript after `warm()`, {count} scripts"
        yield tracescript_subject(name, tokenizer, training=training[:count])
    yield tracescript_subject("tracescript with a task", tokenizer, with_task=True)
    grammars = {"grammar of text": grammar_text(tvm=TVM)}
    if level == "symbol":
        grammars["grammar of tokens"] = token_grammar(tokenizer, TVM)
    for package, make in (("llguidance", llguidance_subject), ("xgrammar", xgrammar_subject)):
        if find_spec(package) is not None:
            for name, grammar in grammars.items():
                yield make(f"{package}, {name}", tokenizer, grammar)
    yield Subject("no mask, the clock alone", level, clock_alone, filled(tokenizer)[0])


def clock_alone(_: TaskInfo | None) -> Sequence:
    """Begin a sequence where a step is the fastest call that there is."""
    return Sequence(bool, bool)


def filled(tokenizer: Tokenizer) -> NDArray[np.int32]:
    return np.full((1, -(-tokenizer.vocab_size // 32)), -1, dtype=np.int32)


def tracescript_subject(
    name: str,
    tokenizer: Tokenizer,
    *,
    with_task: bool = False,
    training: tuple[str, ...] | list[str] = (),
) -> Subject:
    """Make a masker, and let it read the training scripts if there are any."""
    masker, constructor = timed(lambda: ScriptMasker(tokenizer, tvm=TVM))
    setup = {"masker": constructor}
    if training:
        _, setup["`warm()`"] = timed(lambda: masker.warm(training))
    out = filled(tokenizer)

    def start(task: TaskInfo | None) -> Sequence:
        state = masker.new(task if with_task else None)
        return Sequence(partial(state.fill_bitmask, out), state.advance)

    return Subject(name, tokenizer.level, start, out[0], setup, with_task, once=bool(training))


class Vocabulary:
    """What llguidance wants to know of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        ids = range(tokenizer.vocab_size)
        self.eos_token_id = tokenizer.eos_id
        self.bos_token_id = tokenizer.bos_id
        self.special_token_ids = (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id)
        self.tokens = [tokenizer.token_bytes(token) or b"<%d>" % token for token in ids]
        self._encode = tokenizer.encode

    def __call__(self, text: str | bytes) -> list[int]:
        """Encode a text."""
        return self._encode(text if isinstance(text, str) else text.decode())


def llguidance_subject(name: str, tokenizer: Tokenizer, grammar: str) -> Subject:
    import llguidance
    import llguidance.numpy

    fill = llguidance.numpy.fill_next_token_bitmask
    wrapped, vocabulary = timed(
        lambda: llguidance.LLTokenizer(llguidance.TokenizerWrapper(Vocabulary(tokenizer)))
    )
    limits = llguidance.LLParserLimits(step_max_items=STEP_MAX_ITEMS)
    matcher, compiled = timed(
        lambda: llguidance.LLMatcher(
            wrapped, llguidance.grammar_from("lark", grammar), limits=limits
        )
    )
    assert not matcher.is_error(), matcher.get_error()
    out = llguidance.numpy.allocate_token_bitmask(1, tokenizer.vocab_size)

    def start(_: TaskInfo | None) -> Sequence:
        copy = matcher.deep_copy()
        return Sequence(partial(fill, copy, out, 0), copy.consume_token)

    setup = {"vocabulary": vocabulary, "grammar": compiled}
    return Subject(name, tokenizer.level, start, out[0], setup)


def xgrammar_subject(name: str, tokenizer: Tokenizer, grammar: str) -> Subject:
    import xgrammar

    tokens = [tokenizer.token_bytes(token) for token in range(tokenizer.vocab_size)]
    info, vocabulary = timed(
        lambda: xgrammar.TokenizerInfo(
            tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[tokenizer.eos_id]
        )
    )
    compiled, seconds = timed(
        lambda: xgrammar.GrammarCompiler(info, max_threads=1).compile_lark(grammar)
    )
    out = xgrammar.allocate_token_bitmask(1, tokenizer.vocab_size)

    def start(_: TaskInfo | None) -> Sequence:
        matcher = xgrammar.GrammarMatcher(compiled)
        return Sequence(partial(matcher.fill_next_token_bitmask, out, 0), matcher.accept_token)

    setup = {"vocabulary": vocabulary, "grammar": seconds}
    return Subject(name, tokenizer.level, start, out.numpy()[0], setup)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Give what a call gives, and the milliseconds that it took."""
    begin = clock()
    result = call()
    return result, (clock() - begin) / 1e6


# Measuring.


def measure(subjects: list[Subject], scripts: list[Script], passes: int) -> list[float]:
    """Let the subjects take turns, script by script; who is first changes.

    Python's garbage collector stays on, but need not look into what was there before, which is
    mostly torch and TVM. Gives the milliseconds that it took each time.
    """
    pauses: list[float] = []
    began = 0

    def note_pause(phase: str, _: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = clock()
        else:
            pauses.append((clock() - began) / 1e6)

    gc.collect()
    gc.freeze()
    gc.callbacks.append(note_pause)
    for number in range(passes):
        run_pass(subjects, scripts, number)
    gc.callbacks.remove(note_pause)
    gc.unfreeze()
    return pauses


def run_pass(subjects: list[Subject], scripts: list[Script], number: int) -> None:
    """Follow each script once with each subject that it is for."""
    name = FIRST if number == 0 else LATER
    for place, script in enumerate(scripts):
        turn = (place + number) % len(subjects)
        for subject in [*subjects[turn:], *subjects[:turn]]:
            left_out = (subject.once and number > 0) or (subject.with_task and not script.task)
            if not left_out:
                follow(subject, script, subject.timings.setdefault(name, Timings()))


def follow(subject: Subject, script: Script, timings: Timings) -> None:
    """Follow a script to its end, or to a token that is refused or missing in the mask."""
    begin = clock()
    fill, take = subject.start(script.task)
    timings.starts.append(clock() - begin)
    words, masks, advances = subject.words, timings.masks, timings.advances
    for token in script.tokens[subject.level]:
        before = clock()
        fill()
        between = clock()
        try:
            taken = take(token)
        except IllegalToken:
            taken = False
        after = clock()
        masks.append(between - before)
        advances.append(after - between)
        if taken is False or not words[token >> 5] >> (token & 31) & 1:
            subject.refused += 1
            return


# What is printed.


def page(
    subjects: list[Subject], scripts: list[Script], left_out: int, run: str, pauses: list[float]
) -> Iterator[str]:
    """Give the lines of the report."""
    tasks = sum(script.task is not None for script in scripts)
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES if find_spec(name))
    yield f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores, {run}."
    yield (
        f"{len(scripts)} scripts, {tasks} with a task; {left_out} of the logs are left out, "
        f"which have more than {MOST_SYMBOLS} symbols."
    )
    yield (
        f"Python's garbage collector ran {len(pauses)} times, for {sum(pauses):.0f} ms in all and "
        f"{max(pauses, default=0):.0f} ms at most."
    )
    for level in LEVELS:
        chosen = [subject for subject in subjects if subject.level == level]
        counts = [len(script.tokens[level]) for script in scripts]
        yield ""
        yield f"### {level.capitalize()} level"
        yield ""
        yield (
            f"{Tokenizer.default(level).vocab_size} tokens; a script has {np.median(counts):.0f} "
            f"steps in the median and {max(counts)} at most, all together {sum(counts)}."
        )
        yield ""
        yield from table(STEP_COLUMNS, map(steps_row, *passes_of(chosen)))
        yield ""
        yield from table(SETUP_COLUMNS, (setup_row(it) for it in chosen if it.setup))
    yield ""
    yield "### Targets"
    yield ""
    ours = [subject for subject in subjects if subject.name.startswith("tracescript")]
    yield from table(TARGET_COLUMNS, map(target_row, *passes_of(ours)))


STEP_COLUMNS = (
    "subject",
    "pass",
    "mask, µs: p50 / p99 / mean / max",
    "advance, µs: p50 / p99 / mean / max",
    "ms a script",
    "of that masks",
    "of that the slowest 1% of steps",
)
SETUP_COLUMNS = ("subject", "made before, ms", "begin a sequence, µs: p50 / max", "let through")
TARGET_COLUMNS = (
    "subject",
    "pass",
    f"mask p50, at most {MASK_P50['symbol']:.0f} µs, for phrases {MASK_P50['phrase']:.0f}",
    f"mask p99, at most {P99_FACTOR} times that",
    f"mask p99 / p50, at most {P99_FACTOR}",
    f"advance p50, at most {ADVANCE:.0f} µs",
)


def passes_of(subjects: Iterable[Subject]) -> tuple[list[Subject], list[str]]:
    """Name each pass of each subject, as two lists of the same length."""
    pairs = [(subject, name) for subject in subjects for name in subject.timings]
    return [subject for subject, _ in pairs], [name for _, name in pairs]


def steps_row(subject: Subject, name: str) -> list[str]:
    timings = subject.timings[name]
    masks, advances = microseconds(timings.masks), microseconds(timings.advances)
    steps = np.sort(masks + advances)
    slowest = steps[-max(1, len(steps) // 100) :]
    return [
        subject.name,
        name,
        summary(masks),
        summary(advances),
        shown(float(steps.sum()) / len(timings.starts) / 1000),
        f"{masks.sum() / steps.sum():.0%}",
        f"{slowest.sum() / steps.sum():.0%}",
    ]


def setup_row(subject: Subject) -> list[str]:
    made = ", ".join(f"{what} {shown(time)}" for what, time in subject.setup.items())
    starts = [microseconds(timings.starts) for timings in subject.timings.values()]
    begin = np.concatenate(starts)
    return [
        subject.name,
        made,
        f"{shown(np.median(begin))} / {shown(begin.max())}",
        f"{len(begin) - subject.refused} of {len(begin)}",
    ]


def target_row(subject: Subject, name: str) -> list[str]:
    timings = subject.timings[name]
    masks, advances = microseconds(timings.masks), microseconds(timings.advances)
    p50, p99 = np.percentile(masks, (50, 99))
    limit = MASK_P50[subject.level]
    return [
        f"{subject.name}, {subject.level} level",
        name,
        verdict(p50, limit),
        verdict(p99, P99_FACTOR * limit),
        verdict(p99 / p50, P99_FACTOR),
        verdict(np.median(advances), ADVANCE),
    ]


def verdict(measured: float, limit: float) -> str:
    return f"{shown(measured)} {'reached' if measured <= limit else '**missed**'}"


def microseconds(nanoseconds: array[int]) -> NDArray[np.float64]:
    return np.array(nanoseconds) / 1000


def summary(times: NDArray[np.float64]) -> str:
    p50, p99 = np.percentile(times, (50, 99))
    return " / ".join(map(shown, (p50, p99, times.mean(), times.max())))


def shown(number: float) -> str:
    """Write a number with about three digits."""
    digits = 2 if number < 10 else 1 if number < 100 else 0
    return f"{number:,.{digits}f}"


def table(columns: Iterable[str], rows: Iterable[list[str]]) -> Iterator[str]:
    heads = list(columns)
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    sys.exit(main())
