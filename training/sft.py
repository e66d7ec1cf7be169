r"""Train a model to write scripts: from scratch, or from any causal model of Hugging Face.

    python -m training.sft valid --out runs/valid --epochs 20
    python -m training.sft measured --start runs/valid --out runs/sft --epochs 4

`valid` is the pre-training on scripts that pass the post-processors, for a workload alone or beside
another script for it; `measured` is the two tasks on measured ones. `--start` takes a model that an
earlier call wrote, or one of Hugging Face by its name, then with `--lora` if only adapters are to
be trained. The folder `--out` holds checkpoints: the same command goes on from the last one.
`log.json` beside the model has the losses.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.utils import find_adapter_config_file

from tracescript.proposals import Encoder
from training.data import files
from training.evaluate.results import files_or_exit
from training.model import network, sequences
from training.model.batches import TokenBatches
from training.model.runs import callbacks, run, write_log
from training.model.sequences import Part, load_tokenizer

PARTS: tuple[Part, Part] = ("train", "validation")


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", choices=("valid", "measured"), help="the training set")
    parser.add_argument("--datasets", type=Path, default=files.DATASETS, help="(%(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the model")
    parser.add_argument("--start", help="a folder of a model, or its name; else from scratch")
    parser.add_argument("--size", default="small", choices=network.SIZES, help="(%(default)s)")
    parser.add_argument("--lora", type=int, help="rank of adapters, which alone are trained")
    parser.add_argument("--epochs", type=float, default=10, help="(%(default)s)")
    parser.add_argument("--rate", type=float, default=1e-3, help="of learning (%(default)s)")
    parser.add_argument("--tokens", type=int, default=32768, help="a batch (%(default)s)")
    parser.add_argument("--first", type=int, help="only so many examples")
    parser.add_argument("--seconds", type=float, help="stop so long after the beginning")
    parser.add_argument("--save-every", type=int, default=500, help="steps (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    options = parser.parse_args()
    set_seed(options.seed)
    with files_or_exit("sft"):
        encoder = encoder_of(options.start)
        # Before the model, as this forks.
        train, validation = (examples(encoder, options, part) for part in PARTS)
        model = load(options.start, options.size, options.lora)
    trainer = ScriptTrainer(
        tokens=options.tokens,
        model=model,
        args=arguments(options),
        train_dataset=train,
        eval_dataset=validation,
        data_collator=Padding(encoder.pad_id),
        callbacks=callbacks(options.seconds),
    )
    history = run(trainer, options.out)
    write_log(options.out, parameters=model.num_parameters(), history=history)


def encoder_of(start: str | None) -> Encoder:
    """The tokenizer of a model: ours, or its own if it has another vocabulary.

    Args:
        start: a folder of a model, its name, or None for random weights.
    """
    tokenizer = load_tokenizer()
    if start is None:
        return tokenizer
    base = _base(start)
    if AutoConfig.from_pretrained(base).vocab_size == tokenizer.vocab_size:
        return tokenizer
    return HuggingFaceEncoder(AutoTokenizer.from_pretrained(base))


def _base(start: str) -> str:
    """The model that adapters were made for; any other model itself."""
    adapters = find_adapter_config_file(start)
    if adapters is None:
        return start
    return str(json.loads(Path(adapters).read_text())["base_model_name_or_path"])


def load(start: str | None, size: str, lora: int | None) -> Any:
    """The model to train.

    Args:
        start: a folder of a model, its name, or None for random weights.
        size: of a model from scratch.
        lora: the rank of adapters, None to train all weights.
    """
    if start is None:
        return network.make(size, load_tokenizer())
    model = AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32)
    if lora:
        # Optional, and only for adapters.
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(
            model, LoraConfig(r=lora, lora_alpha=2 * lora, target_modules="all-linear")
        )
    return model


class HuggingFaceEncoder:
    """A tokenizer of Hugging Face, as `Encoder` has it.

    Args:
        tokenizer: one with an end-of-sequence token, which also marks the parts if there is none
            for the beginning.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.eos_id = int(tokenizer.eos_token_id)
        own = [tokenizer.bos_token_id, tokenizer.pad_token_id]
        self.bos_id, self.pad_id = (self.eos_id if each is None else int(each) for each in own)

    def encode(self, text: str) -> list[int]:
        """Give the ids of a text, without special tokens."""
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]


def arguments(options: argparse.Namespace) -> TrainingArguments:
    """What transformers is told."""
    on_gpu = torch.cuda.is_available()
    return TrainingArguments(
        output_dir=str(options.out),
        num_train_epochs=options.epochs,
        learning_rate=options.rate,
        lr_scheduler_type="cosine",
        warmup_steps=100,
        weight_decay=0.1,
        adam_beta2=0.98,
        max_grad_norm=1.0,
        bf16=on_gpu,
        use_cpu=not on_gpu,
        per_device_eval_batch_size=64,
        eval_strategy="epoch",
        save_steps=options.save_every,
        save_total_limit=1,
        logging_steps=50,
        report_to="none",
        seed=options.seed,
        remove_unused_columns=False,
        disable_tqdm=False,
    )


def examples(
    encoder: Encoder, options: argparse.Namespace, part: Part
) -> list[dict[str, list[int]]]:
    """The examples of a training set, as transformers takes them."""
    read = {"valid": sequences.valid, "measured": sequences.measured}[options.data]
    chosen = read(part, options.datasets)[: options.first]
    made = sequences.sequences(encoder, chosen)
    return [
        {"input_ids": each.ids, "labels": each.labels}
        for each in made
        if len(each.ids) <= network.LONGEST
    ]


class Padding:
    """Fill up the sequences of a batch at the right.

    Args:
        pad: the id that fills; it is neither attended to nor learnt.
    """

    def __init__(self, pad: int) -> None:
        self._pad = pad

    def __call__(self, rows: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        """A batch of tensors, (rows, longest) each."""
        width = max(len(row["input_ids"]) for row in rows)
        fills = {"input_ids": self._pad, "labels": -100}
        batch = {
            name: torch.tensor([row[name] + [fill] * (width - len(row[name])) for row in rows])
            for name, fill in fills.items()
        }
        lengths = torch.tensor([len(row["input_ids"]) for row in rows])
        batch["attention_mask"] = (torch.arange(width) < lengths[:, None]).long()
        return batch


class ScriptTrainer(Trainer):
    """transformers' trainer, with batches of about as many tokens each."""

    def __init__(self, *, tokens: int, **rest: Any) -> None:
        super().__init__(**rest)
        self._tokens = tokens

    def get_train_dataloader(self) -> DataLoader[Any]:
        """The batches of `TokenBatches`."""
        lengths = [len(each["input_ids"]) for each in self.train_dataset]
        batches = TokenBatches(lengths, self._tokens, self.args.seed)
        loader = DataLoader(
            self.train_dataset, batch_sampler=batches, collate_fn=self.data_collator
        )
        return self.accelerator.prepare(loader)


if __name__ == "__main__":
    main()
