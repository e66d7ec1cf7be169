r"""Sample scripts for the held-out workloads, to be judged by `training.evaluate`.

    python -m training.propose runs/rl --label rl --copies 8 --out attempts.jsonl
    python -m training.evaluate attempts.jsonl --tasks training/datasets/workloads.jsonl.xz ...

Each line of the file is a candidate of the evaluator, and says besides which question it answers.
The scripts that refine tasks give are lines too: judged in the same run, they are what the attempts
are compared with. Beside the file, `attempts.run.json` names the machine, the sampling, and the
scripts written a second.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, Literal

import msgspec
import torch
from tqdm import tqdm
from transformers import AutoModelForCausalLM

from tracescript.masks import ScriptMasker
from tracescript.tokens import Tokenizer
from training.data import files
from training.evaluate.card import run_facts
from training.evaluate.results import Candidate, Task, files_or_exit
from training.model.asking import Question, request, text, warm
from training.model.sample import Draw, Sampling, sample
from training.model.sequences import load_tokenizer, rows

Kind = Literal["construct", "refine"]

GIVEN = "given"
"""The source of a script that a task gives."""

WARM = 300
"""Examples of the training data from which the tables of masks are made beforehand."""


class HeldOut(Question, frozen=True, kw_only=True):
    """A held-out task."""

    kind: Kind
    split: str


class Attempt(Candidate, frozen=True, kw_only=True, omit_defaults=True):
    """A script that answers a question; its source is the label of who wrote it."""

    kind: Kind
    split: str
    tokens: int
    """How many it took, the end included."""
    ended: bool
    """Whether it came to its end; one that did not is wrong."""
    logprob: float


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="a folder of a model")
    parser.add_argument("--label", required=True, help="names the model in the results")
    parser.add_argument("--out", type=Path, required=True, help="JSONL of attempts")
    parser.add_argument("--datasets", type=Path, default=files.DATASETS, help="(%(default)s)")
    parser.add_argument("--splits", nargs="+", default=["test", "hard"], help="(%(default)s)")
    parser.add_argument("--first", type=int, help="only so many questions of each set")
    parser.add_argument("--copies", type=int, default=8, help="scripts for each (%(default)s)")
    parser.add_argument("--temperature", type=float, default=1.0, help="(%(default)s)")
    parser.add_argument("--limit", type=int, default=512, help="tokens of a script (%(default)s)")
    parser.add_argument("--rows", type=int, default=2048, help="at once (%(default)s)")
    parser.add_argument("--no-mask", action="store_true", help="sample without masks")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    options = parser.parse_args()
    tokenizer = load_tokenizer()
    with files_or_exit("propose"):
        asked = questions(options.datasets, options.splits, options.first)
        if not asked:
            raise ValueError("nothing to ask: expected --first 1 or more")
    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    with files_or_exit("propose"):
        model: Any = AutoModelForCausalLM.from_pretrained(options.model, dtype=dtype)
    model = model.to("cuda" if on_gpu else "cpu").eval()
    masker = None if options.no_mask else ScriptMasker(tokenizer)
    requests = [request(tokenizer, each, masker) for each in asked]
    if masker is not None:
        warm(masker, _examples(options.datasets))
    sampling = Sampling(options.copies, options.temperature, options.limit, options.rows)
    with tqdm(total=len(asked) * options.copies, unit="script") as bar:
        begin = time.monotonic()
        drawn = sample(
            model, requests, sampling, eos=tokenizer.eos_id, seed=options.seed, progress=bar.update
        )
        seconds = time.monotonic() - begin
    attempts = [
        attempt(tokenizer, question, draw, options.label)
        for question, draws in zip(asked, drawn, strict=True)
        for draw in draws
    ]
    lines = [*attempts, *given(asked)]
    encoded = b"".join(msgspec.json.encode(each) + b"\n" for each in lines)
    command = shlex.join(["python", "-m", "training.propose", *sys.argv[1:]])
    report = {
        "run": msgspec.to_builtins(run_facts("cuda" if on_gpu else "cpu", command)),
        "label": options.label,
        "parameters": model.num_parameters(),
        "bytes": sum(path.stat().st_size for path in Path(options.model).glob("*.safetensors")),
        "masked": masker is not None,
        "scripts": len(attempts),
        "rows": options.rows,
        "temperature": options.temperature,
        "seconds": round(seconds, 2),
        "scripts_per_second": round(len(attempts) / seconds, 1),
        "tokens_median": median(each.tokens for each in attempts),
        "ended": sum(each.ended for each in attempts),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    files.write(options.out, encoded)
    files.write(options.out.with_suffix(".run.json"), json.dumps(report, indent=1).encode() + b"\n")
    print(json.dumps({key: report[key] for key in report if key != "run"}))


def questions(datasets: Path, splits: list[str], first: int | None = None) -> list[HeldOut]:
    """The held-out tasks of both kinds, in the order of their files."""
    found: list[HeldOut] = []
    kinds: tuple[Kind, ...] = ("construct", "refine")
    for kind in kinds:
        for split in splits:
            for row in rows(datasets, kind, split)[:first]:
                task = Task(row["key"], row["prompt"])
                found.append(HeldOut(task=task, given=row.get("given"), kind=kind, split=split))
    return found


def attempt(tokenizer: Tokenizer, question: HeldOut, draw: Draw, label: str) -> Attempt:
    """A sampled script as the answer to a question; one that did not end is none."""
    return Attempt(
        question.task.key,
        text(tokenizer, draw.ids) if draw.ended else "",
        label,
        kind=question.kind,
        split=question.split,
        tokens=len(draw.logprobs),
        ended=draw.ended,
        logprob=sum(draw.logprobs),
    )


def given(asked: list[HeldOut]) -> list[Attempt]:
    """The scripts that tasks give, as candidates for the evaluator."""
    return [
        Attempt(
            each.task.key,
            each.given,
            GIVEN,
            kind=each.kind,
            split=each.split,
            tokens=0,
            ended=True,
            logprob=0.0,
        )
        for each in asked
        if each.given is not None
    ]


def _examples(datasets: Path) -> list[files.Row]:
    found = rows(datasets, "pretrain", "train")
    return found[:: max(len(found) // WARM, 1)]


if __name__ == "__main__":
    main()
