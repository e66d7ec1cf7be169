r"""Reinforce a model with what its scripts are worth on a device: GRPO, with masks while sampling.

    python -m training.rl --start runs/sft --out runs/rl --target nvidia/nvidia-h100 --device cuda \
        --steps 40 --seconds 500
    python -m training.rl --start runs/sft --out runs/valid --target nvidia/nvidia-h100 \
        --device none --no-mask --questions 64 --steps 100

A step asks for scripts of some workloads, a group of each, has them measured, and makes those that
are better than their group more likely. It asks more of the kinds of questions that are sometimes
answered right, see `training.chooser`. Both tasks take part: a constructed script is compared with
the best one that is known of its workload, a refined one with the one that was given. The folder
`--out` holds checkpoints and `results.jsonl` with all that was measured: the same command goes on
from there, and a script that is known is not measured again. `log.json` has rewards, KL and
entropy of each step, what became of its scripts, and the seconds that it took to write and to judge
them.

With `--device none` nothing is compiled: a script is worth something if the post-processors accept
it, which takes a fiftieth of a second on one core. Then the workloads of the pre-training take part
as well, each with a script to refine. It is the first stage, in which the model learns what is
right, as the second one with a device learns what is fast.
"""

from __future__ import annotations

import argparse
import copy
import math
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM
from trl import GRPOConfig, GRPOTrainer

from tracescript.proposals import ask, masker_of
from tracescript.tokens import Tokenizer
from training.chooser import Chooser
from training.data import files
from training.evaluate.card import command_of, run_facts
from training.evaluate.evaluator import Evaluator, evaluator_for
from training.evaluate.results import (
    Candidate,
    Result,
    ResultFile,
    Task,
    files_or_exit,
    read,
    require_compiled,
)
from training.evaluate.screen import Screen
from training.model import network
from training.model.asking import Question, examples, request, text
from training.model.grpo import MaskedGRPOTrainer
from training.model.masks import MaskProcesses, Masks
from training.model.runs import callbacks, run, write_log
from training.model.sample import Sampling, sample
from training.model.sequences import load_tokenizer, rows
from training.rewards import reward, reward_unmeasured

# An experimental part of TRL is used on purpose: it is the one that lets us sample ourselves.
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")


class Compared(Question, frozen=True, kw_only=True):
    """A question, and what its answer is compared with."""

    family: str
    """The family of the workload."""

    reference: float = math.nan
    """Seconds of the script that was given, or of the best that is known; not a number if nothing
    was measured of the workload."""

    @property
    def kind(self) -> tuple[str, str]:
        """What decides how hard it is: its family, and what there is to refine."""
        if self.given is None:
            return self.family, "construct"
        is_for_tensor_cores = "meta_schedule.auto_tensorize" in self.given
        return self.family, "refine tensor cores" if is_for_tensor_cores else "refine"


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--start", required=True, help="a folder of a model")
    parser.add_argument("--out", type=Path, required=True, help="folder of the new model")
    parser.add_argument("--datasets", type=Path, default=files.DATASETS, help="(%(default)s)")
    parser.add_argument("--known", type=Path, nargs="*", default=[], help="results of earlier runs")
    parser.add_argument("--target", required=True, help="a tag or JSON of TVM")
    parser.add_argument(
        "--device",
        default="cpu",
        choices=("cpu", "cuda", "none"),
        help="`none` measures nothing (%(default)s)",
    )
    parser.add_argument("--steps", type=int, default=20, help="(%(default)s)")
    parser.add_argument("--questions", type=int, default=32, help="of a step (%(default)s)")
    parser.add_argument("--copies", type=int, default=8, help="scripts for each (%(default)s)")
    parser.add_argument("--passes", type=int, default=2, help="over a step's scripts (%(default)s)")
    parser.add_argument("--rate", type=float, default=1e-4, help="of learning (%(default)s)")
    parser.add_argument("--kl", type=float, default=0.02, help="weight of the KL (%(default)s)")
    parser.add_argument("--limit", type=int, default=512, help="tokens of a script (%(default)s)")
    parser.add_argument("--no-mask", action="store_true", help="sample without masks")
    parser.add_argument("--maskers", type=int, help="processes that make masks (cores less one)")
    parser.add_argument("--builders", type=int, help="processes that build (cores less one)")
    parser.add_argument("--build-seconds", type=float, default=10.0, help="(%(default)s)")
    parser.add_argument("--seconds", type=float, help="stop so long after the beginning")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    options = parser.parse_args()
    tokenizer = load_tokenizer()
    with files_or_exit("rl"):
        asked = questions(options.datasets, options.seed, measured=options.device != "none")
        warm = examples(options.datasets)
        known: list[Result] = []
        for path in options.known:
            found = read(path, Result)
            require_compiled(found, path, options.device)
            known += found
        if len(asked) < options.questions:
            raise ValueError(f"--questions {options.questions}: there are {len(asked)}")
        file = ResultFile(options.out / "results.jsonl", options.device)
    command = command_of("training.rl")
    facts = run_facts(options.device, command)
    evaluator = evaluator_for(
        options.target,
        options.device,
        builders=options.builders,
        seconds_per_build=options.build_seconds,
    )
    masks = None
    if not options.no_mask:
        masks = MaskProcesses(masker_of(tokenizer), options.maskers, warm)
    with evaluator, closing(file), masks or nullcontext():
        file.begin(facts)
        judge = Judge(evaluator, file, facts.run, [*known, *file.results])
        train(options, tokenizer, asked, judge, masks)


def questions(datasets: Path, seed: int, *, measured: bool = True) -> list[Compared]:
    """What is asked, from the training examples of both tasks, in a random order.

    Each workload is asked for once; so is a script to refine. Of a workload of the pre-training set
    that is the first one.

    Args:
        datasets: the folder of the data sets.
        seed: of the order.
        measured: whether answers are compared, so that only workloads will do of which something
            was measured; else those of the pre-training set are asked for, too.
    """
    found: dict[tuple[str, str | None], Compared] = {}
    for name, latency in (("construct", "best_latency"), ("refine", "given_latency")):
        for row in rows(datasets, name, "train"):
            given = row.get("given")
            task = Task(row["key"], row["prompt"])
            found[row["key"], given] = Compared(
                task=task, given=given, family=row["family"], reference=row[latency]
            )
    if not measured:
        firsts: dict[str, str] = {}
        for row in rows(datasets, "pretrain", "train"):
            task = Task(row["key"], row["prompt"])
            for given in (None, firsts.setdefault(row["key"], row["script"])):
                new = Compared(task=task, given=given, family=row["family"])
                found.setdefault((row["key"], given), new)
    everything = list(found.values())
    random.Random(seed).shuffle(everything)
    return everything


class Judge:
    """Measures scripts, each once.

    Args:
        evaluator: measures those that are not known yet.
        file: what is measured is added to it.
        run: the run that measures, as the file names it.
        known: results of earlier runs.
    """

    def __init__(
        self, evaluator: Evaluator | Screen, file: ResultFile, run: str, known: Sequence[Result]
    ) -> None:
        self._evaluator = evaluator
        self._file = file
        self._run = run
        self._known = {(each.workload, each.script): each for each in known}

    def __call__(self, jobs: Sequence[tuple[Task, str]]) -> list[Result]:
        """What became of scripts, in their order."""
        new = [
            (task, script)
            for task, script in dict.fromkeys(jobs)
            if (task.key, script) not in self._known
        ]
        tasks = {task.key: task for task, _ in new}.values()
        candidates = [Candidate(task.key, script, "model") for task, script in new]
        for result in self._evaluator.evaluate(tasks, candidates):
            named = msgspec.structs.replace(result, run=self._run)
            self._file.add([named])
            self._known[result.workload, result.script] = named
        return [self._known[task.key, script] for task, script in jobs]


class Roller:
    """Samples the scripts of a step, and says what they are worth.

    TRL calls it for scripts, then for rewards; a prompt of TRL stands for one of the questions that
    `choose` has chosen.

    Args:
        asked: the questions.
        judge: measures scripts.
        masks: makes masks; None samples without.
        limit: tokens of a script.
        seed: of the draws.
        worth: the reward of a result and the seconds that it is compared with.
    """

    def __init__(
        self,
        asked: Sequence[Compared],
        judge: Judge,
        tokenizer: Tokenizer,
        masks: Masks | None,
        limit: int,
        seed: int,
        worth: Callable[[Result, float], float],
    ) -> None:
        self._asked = asked
        self._judge = judge
        self._tokenizer = tokenizer
        self._masks = masks
        self._limit = limit
        self._seed = seed
        self._worth = worth
        self._chooser = Chooser([each.kind for each in asked], seed, self._fits)
        self._chosen: dict[str, int] = {}
        self.kept_masks: dict[tuple[int, ...], NDArray[np.int32]] = {}
        """The masks of the last scripts, see `MaskedGRPOTrainer`; empty without masks."""
        self.stages: list[dict[str, int]] = []
        """What became of the scripts of each step."""
        self.seconds: list[dict[str, float]] = []
        """How long each step has written scripts, and judged them."""

    def _fits(self, number: int) -> bool:
        each = self._asked[number]
        tokens = len(ask(self._tokenizer, each.task.prompt, each.given)) + self._limit
        return tokens <= network.LONGEST

    def choose(self, prompts: Iterable[str]) -> list[Compared]:
        """The next questions, one for each prompt, which stands for it until the next ones.

        Raises:
            ValueError: there are fewer that leave room for an answer.
        """
        names = list(prompts)
        self._chosen = dict(zip(names, self._chooser.choose(len(names)), strict=True))
        return [self._asked[number] for number in self._chosen.values()]

    def rollout(self, prompts: list[str], trainer: Any) -> dict[str, list[list[Any]]]:
        """Scripts for prompts, one for each, as TRL takes them."""
        begin = time.monotonic()
        # A copy, so that sampling changes nothing of what is trained, its dtype included.
        model = copy.deepcopy(trainer.accelerator.unwrap_model(trainer.model)).eval()
        if model.device.type == "cuda":
            model = model.to(torch.bfloat16)
        wanted = Counter(prompts)
        (copies,) = set(wanted.values())
        chosen = self.choose(wanted)
        requests = [request(self._tokenizer, each) for each in chosen]
        drawn = sample(
            model,
            requests,
            Sampling(copies=copies, limit=self._limit, keep_masks=True),
            eos=self._tokenizer.eos_id,
            masks=self._masks,
            # Another one each step, the same again after an interruption.
            seed=self._seed * 1_000_003 + trainer.state.global_step,
        )
        left = {prompt: iter(draws) for prompt, draws in zip(wanted, drawn, strict=True)}
        ids = dict(zip(wanted, (request.ids for request in requests), strict=True))
        pairs = [(ids[prompt], next(left[prompt])) for prompt in prompts]
        end = [self._tokenizer.eos_id]
        self.kept_masks.clear()
        if self._masks is not None:
            for asked, draw in pairs:
                self.kept_masks[tuple(asked + draw.ids + end * draw.ended)] = np.stack(draw.masks)
        self.seconds.append({"writing": time.monotonic() - begin})
        return {
            "prompt_ids": [asked for asked, _ in pairs],
            "completion_ids": [draw.ids + end * draw.ended for _, draw in pairs],
            "logprobs": [draw.logprobs for _, draw in pairs],
        }

    def rewards(
        self, prompts: list[str], completion_ids: list[list[int]], **_: object
    ) -> list[float]:
        """What scripts are worth."""
        begin = time.monotonic()
        asked = [self._asked[self._chosen[prompt]] for prompt in prompts]
        end = self._tokenizer.eos_id
        # A script that was cut off is none.
        whole = [ids if ids[-1] == end else [] for ids in completion_ids]
        scripts = [text(self._tokenizer, ids) for ids in whole]
        results = self._judge([(each.task, s) for each, s in zip(asked, scripts, strict=True)])
        self.stages.append(dict(Counter(result.stage for result in results)))
        pairs = zip(asked, results, strict=True)
        worth = [self._worth(result, each.reference) for each, result in pairs]
        for prompt, number in self._chosen.items():
            answers = zip(prompts, worth, strict=True)
            self._chooser.learn(number, [each > 0 for of, each in answers if of == prompt])
        self.seconds[-1]["judging"] = time.monotonic() - begin
        return worth


def train(
    options: argparse.Namespace,
    tokenizer: Tokenizer,
    asked: list[Compared],
    judge: Judge,
    masks: Masks | None,
) -> None:
    """Train, and write model and log."""
    # torch and the device are used from here on, after the evaluator's processes have begun.
    with files_or_exit("rl"):
        model = AutoModelForCausalLM.from_pretrained(options.start, dtype=torch.float32)
    roller = Roller(
        asked,
        judge,
        tokenizer,
        masks,
        options.limit,
        options.seed,
        reward_unmeasured if options.device == "none" else reward,
    )
    # Optional, and slow to import.
    from datasets import Dataset

    make = GRPOTrainer if options.no_mask else partial(MaskedGRPOTrainer, masks=roller.kept_masks)
    trainer = make(
        model=model,
        reward_funcs=[roller.rewards],
        args=arguments(options),
        # What is asked, the roller chooses.
        train_dataset=Dataset.from_list([{"prompt": str(n)} for n in range(options.questions)]),
        processing_class=tokenizer.to_huggingface(),
        rollout_func=roller.rollout,
        callbacks=callbacks(options.seconds),
    )
    history = run(trainer, options.out)
    write_log(options.out, history=history, stages=roller.stages, seconds=roller.seconds)


def arguments(options: argparse.Namespace) -> GRPOConfig:
    """What TRL is told: a step of ours is one of sampling and `passes` of learning."""
    on_gpu = torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(options.out),
        max_steps=options.steps * options.passes,
        per_device_train_batch_size=options.questions * options.copies,
        num_generations=options.copies,
        num_iterations=options.passes,
        max_completion_length=options.limit,
        temperature=1.0,
        beta=options.kl,
        learning_rate=options.rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=2,
        adam_beta2=0.98,
        max_grad_norm=1.0,
        bf16=on_gpu,
        use_cpu=not on_gpu,
        save_steps=5 * options.passes,
        save_total_limit=1,
        logging_steps=1,
        report_to="none",
        seed=options.seed,
    )


if __name__ == "__main__":
    main()
