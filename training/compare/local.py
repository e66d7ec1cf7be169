"""Causal models of Hugging Face, through `generate` of transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

from training.compare.grammars import Form, text
from training.compare.prompts import Message, plain
from training.compare.record import Answer, Job, Record

__all__ = ["Local"]

STOP = "\n### "
"""Where a model that knows no turns begins the next one."""


class Local:
    """A model with its own tokenizer, on a GPU if there is one.

    Args:
        name: a folder, or a name of Hugging Face. Code that comes with a model is never run.
        form: the grammar that answers keep to.
        temperature: of the model's whole distribution; 0 takes the most likely token.
        limit: tokens of an answer.
        rows: answers that are written at once.

    Raises:
        ValueError: there is no such model, or transformers does not know its kind or tokenizer.
    """

    def __init__(self, name: str, form: Form, temperature: float, limit: int, rows: int) -> None:
        on_gpu = torch.cuda.is_available()
        self.tokenizer, model = _loaded(name, torch.bfloat16 if on_gpu else torch.float32)
        self.model = model.to("cuda" if on_gpu else "cpu").eval()
        self._limit, self._rows = limit, rows
        self._has_turns = self.tokenizer.chat_template is not None
        self._ends = _ends(self.model, self.tokenizer)
        self._options = self._generation(temperature)
        self._grammar = _compiled(self.model, self.tokenizer, self._ends, form)

    def ask(self, jobs: Sequence[Job], record: Record, seed: int) -> None:
        """Ask all questions.

        Law: for each job the record is told once, of its answer or that it is too long for the
        model. The same jobs, seed and machine give the same answers.
        """
        set_seed(seed)
        waiting: list[tuple[Job, list[int]]] = []
        for job in jobs:
            ids = self._encoded(job.chat)
            if len(ids) + self._limit > _most(self.model):
                record.failed("too long for the model")
            else:
                waiting.append((job, ids))
        for start in range(0, len(waiting), self._rows):
            batch = waiting[start : start + self._rows]
            answers = self._answers([ids for _, ids in batch])
            for (job, _), answer in zip(batch, answers, strict=True):
                record.took(job, answer)

    def _generation(self, temperature: float) -> dict[str, Any]:
        """What `generate` is told each time."""
        # What else a model comes with would change its distribution.
        whole = {"temperature": temperature, "top_k": 0, "top_p": 1.0, "min_p": None}
        options: dict[str, Any] = {
            "do_sample": temperature > 0,
            "repetition_penalty": 1.0,
            "max_new_tokens": self._limit,
            "eos_token_id": self._ends,
            "pad_token_id": self.tokenizer.pad_token_id,
            **(whole if temperature > 0 else {}),
        }
        return options if self._has_turns else {**options, "stop_strings": [STOP]}

    def _encoded(self, chat: Sequence[Message]) -> list[int]:
        if not self._has_turns:
            return self.tokenizer(plain(chat))["input_ids"]
        # The template writes the special tokens.
        return self.tokenizer(_rendered(self.tokenizer, chat), add_special_tokens=False)[
            "input_ids"
        ]

    @torch.inference_mode()
    def _answers(self, prompts: list[list[int]]) -> list[Answer]:
        batch = self.tokenizer.pad({"input_ids": prompts}, return_tensors="pt")
        width = batch["input_ids"].shape[1]
        written = self.model.generate(
            **batch.to(self.model.device),
            **self._options,
            tokenizer=self.tokenizer,
            logits_processor=self._processors(),
        )
        rows = written[:, width:].tolist()
        return [self._answer(row, len(ids)) for row, ids in zip(rows, prompts, strict=True)]

    def _processors(self) -> list[Any]:
        if self._grammar is None:
            return []
        # Optional; and one processor serves one call.
        from xgrammar.contrib.hf import LogitsProcessor

        return [LogitsProcessor(self._grammar)]

    def _answer(self, ids: list[int], prompt_tokens: int) -> Answer:
        """What a row says, that is filled up after its end."""
        place = next((place for place, token in enumerate(ids) if token in self._ends), None)
        own = ids[: place + 1] if place is not None else _stripped(ids, self.tokenizer.pad_token_id)
        text = self.tokenizer.decode(own, skip_special_tokens=True)
        stops = not self._has_turns and STOP in text
        text = text.partition(STOP)[0] if stops else text
        return Answer(text, stops or place is not None, len(own), prompt_tokens)


def _stripped(ids: list[int], fill: int) -> list[int]:
    count = len(ids)
    while count and ids[count - 1] == fill:
        count -= 1
    return ids[:count]


def _loaded(name: str, dtype: torch.dtype) -> tuple[Any, Any]:
    """The tokenizer, which fills up at the left, and the model."""
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(name, padding_side="left")
        model: Any = AutoModelForCausalLM.from_pretrained(name, dtype=dtype)
    except (OSError, ValueError) as error:
        # What transformers says has many lines.
        raise ValueError(
            f"{name}: no model, or none that transformers knows: {error!s:.200}".split("\n")[0]
        ) from None
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer, model


def _most(model: Any) -> float:
    """Tokens that a model can have before it, as far as it says."""
    config = model.config.get_text_config()
    return getattr(config, "max_position_embeddings", None) or float("inf")


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end an answer."""
    said = model.generation_config.eos_token_id
    listed = said if isinstance(said, list) else [said]
    return sorted({*listed, tokenizer.eos_token_id} - {None})


def _rendered(tokenizer: Any, chat: Sequence[Message]) -> str:
    """A chat by the template of the model.

    Some templates know no system's turn. Its text then opens the first turn of the user.
    """
    try:
        return tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    except TemplateError:
        system, first, *others = chat
        opened = {**first, "content": f"{system['content']}\n\n{first['content']}"}
        return tokenizer.apply_chat_template(
            [opened, *others], tokenize=False, add_generation_prompt=True
        )


def _compiled(model: Any, tokenizer: Any, ends: list[int], form: Form) -> Any:
    """The grammar for the vocabulary of a model; None for none."""
    grammar = text(form)
    if grammar is None:
        return None
    # Optional.
    import xgrammar

    size = model.config.get_text_config().vocab_size
    read = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=size)
    # xgrammar takes special tokens for text, which a string may hold. So they get none.
    known = tokenizer.added_tokens_decoder
    texts = [
        b"" if token in known and known[token].special else data
        for token, data in enumerate(read.decoded_vocab)
    ]
    info = xgrammar.TokenizerInfo(
        texts,
        vocab_type=xgrammar.VocabType.RAW,
        vocab_size=size,
        stop_token_ids=ends,
        add_prefix_space=read.add_prefix_space,
    )
    compiler = xgrammar.GrammarCompiler(info)
    return compiler.compile_lark(grammar) if form == "lark" else compiler.compile_grammar(grammar)
