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
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import torch
from tqdm import tqdm
from transformers import AutoModelForCausalLM

from tracescript.proposals import masker_of
from tracescript.tokens import Tokenizer
from training.attempts import (
    Attempt,
    HeldOut,
    add_arguments,
    count,
    facts_path,
    given,
    questions,
    summary,
)
from training.data import files
from training.evaluate.card import command_of, run_facts
from training.evaluate.results import files_or_exit
from training.model.asking import examples, request, text
from training.model.masks import MaskProcesses
from training.model.sample import Draw, Sampling, sample
from training.model.sequences import load_tokenizer


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="a folder of a model")
    add_arguments(parser)
    parser.add_argument("--limit", type=count, default=512, help="tokens of a script (%(default)s)")
    parser.add_argument("--rows", type=count, default=2048, help="at once (%(default)s)")
    parser.add_argument("--no-mask", action="store_true", help="sample without masks")
    parser.add_argument("--maskers", type=count, help="processes that make masks (cores less one)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    options = parser.parse_args()
    tokenizer = load_tokenizer()
    with files_or_exit("propose"):
        asked = questions(options.datasets, options.splits, options.first)
    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    with files_or_exit("propose"):
        model: Any = AutoModelForCausalLM.from_pretrained(options.model, dtype=dtype)
    model = model.to("cuda" if on_gpu else "cpu").eval()
    requests = [request(tokenizer, each) for each in asked]
    sampling = Sampling(options.copies, options.temperature, options.limit, options.rows)
    masks = None
    if not options.no_mask:
        warm = examples(options.datasets)
        masks = MaskProcesses(masker_of(tokenizer), options.maskers, warm)
    bar = tqdm(total=len(asked) * options.copies, unit="script")
    with masks.wait() if masks else nullcontext(), bar:
        begin = time.monotonic()
        drawn = sample(
            model,
            requests,
            sampling,
            eos=tokenizer.eos_id,
            masks=masks,
            seed=options.seed,
            progress=bar.update,
        )
        seconds = time.monotonic() - begin
    attempts = [
        _attempt(tokenizer, question, draw, options.label)
        for question, draws in zip(asked, drawn, strict=True)
        for draw in draws
    ]
    lines = [*attempts, *given(asked)]
    encoded = b"".join(msgspec.json.encode(each) + b"\n" for each in lines)
    command = command_of("training.propose")
    report = {
        "run": msgspec.to_builtins(run_facts("cuda" if on_gpu else "cpu", command)),
        "label": options.label,
        "parameters": model.num_parameters(),
        "bytes": sum(path.stat().st_size for path in Path(options.model).glob("*.safetensors")),
        "masked": not options.no_mask,
        "rows": options.rows,
        "temperature": options.temperature,
        **summary(attempts, seconds),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    files.write(options.out, encoded)
    files.write(facts_path(options.out), json.dumps(report, indent=1).encode() + b"\n")
    print(json.dumps({key: report[key] for key in report if key != "run"}))


def _attempt(tokenizer: Tokenizer, question: HeldOut, draw: Draw, label: str) -> Attempt:
    return question.attempt(
        text(tokenizer, draw.ids),
        label,
        tokens=len(draw.logprobs),
        ended=draw.ended,
        logprob=sum(draw.logprobs),
    )


if __name__ == "__main__":
    main()
