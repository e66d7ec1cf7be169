"""Proposes scripts with a model of transformers, on the CPU, under masks."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from tracescript import workloads
from tracescript.decode import loads
from tracescript.encode import dumps
from tracescript.errors import ModelError
from tracescript.integrations.transformers import ScriptLogitsProcessor
from tracescript.masks import task_of
from tracescript.model import Trace
from tracescript.proposals.asking import as_usual, ask, masker_of, renamed, sampled_part
from tracescript.proposals.folder import FILES, model_folder
from tracescript.tokens import Tokenizer
from tracescript.workloads.defaults import NAME

__all__ = ["Proposal", "Proposer"]

_LONGEST = 512
"""Tokens that a script may have, far more than the usual one has."""

_SHORTEST = 64
"""Tokens that have to be left for it."""


class Proposal(msgspec.Struct, frozen=True):
    """A script that a model proposes.

    Attributes:
        trace: the script.
        logprob: the logarithm of the probability with which it was drawn: under the mask, at the
            temperature, its end included.
        count: how often it was drawn.
    """

    trace: Trace
    logprob: float
    count: int = 1


class Proposer:
    """A causal model of transformers whose tokens are those of a `Tokenizer`.

    Args:
        folder: what `model_folder` gives.

    Raises:
        ModelError: a file in it is not what it should be.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        folder = model_folder(os.fspath(folder))
        self._tokenizer = Tokenizer.load(folder / FILES[-1])
        self._masker = masker_of(self._tokenizer)
        self._model = _loaded(folder)
        size = self._number("vocab_size", folder)
        if size != self._tokenizer.vocab_size:
            expected = f"a model of {self._tokenizer.vocab_size} tokens, as the tokenizer has"
            raise ModelError(str(folder), expected, f"one of {size}")
        self._longest = self._number("max_position_embeddings", folder)

    def propose(
        self,
        workload: workloads.Workload,
        given: Trace | None = None,
        *,
        count: int = 8,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> list[Proposal]:
        """Draw scripts, different ones, the most likely first.

        Laws: `check` finds no error in them; the same arguments give the same scripts.

        Args:
            workload: what to schedule, with its target.
            given: a script to make a faster one of; None is to construct one.
            count: how many scripts to draw; some may be the same.
            temperature: above 0; the lower, the more alike they are.
            seed: of the draws, a number of 64 bits.

        Raises:
            ModelError: workload and given script are too long for the model.
        """
        ids = self._question(workload, given)
        drawn = self._drawn(ids, workload, count, temperature, seed)
        found: dict[Trace, Proposal] = {}
        for tokens, logprob in drawn:
            trace = renamed(loads(self._tokenizer.decode(tokens)), NAME, workload.name)
            before = found.get(trace)
            if before is None:
                found[trace] = Proposal(trace, logprob)
            else:
                # The same script may be drawn in other tokens.
                found[trace] = Proposal(trace, max(logprob, before.logprob), before.count + 1)
        return sorted(found.values(), key=lambda each: -each.logprob)

    def _number(self, name: str, folder: Path) -> int:
        """A number of the configuration that not every kind of model has."""
        number: int | None = getattr(self._model.config, name, None)
        if number is None:
            raise ModelError(str(folder / FILES[0]), f"a model that has {name}", "none")
        return number

    def _question(self, workload: workloads.Workload, given: Trace | None) -> list[int]:
        script = None
        if given is not None:
            script = dumps(renamed(sampled_part(given), workload.name, NAME))
        return ask(self._tokenizer, workloads.dumps(as_usual(workload)), script)

    def _drawn(
        self,
        ids: list[int],
        workload: workloads.Workload,
        count: int,
        temperature: float,
        seed: int,
    ) -> Iterator[tuple[Sequence[int], float]]:
        """The tokens of each script without its end, and its log-probability."""
        room = self._longest - len(ids)
        if room < _SHORTEST:
            most = self._longest - _SHORTEST
            expected = f"a workload and a given script of at most {most} tokens"
            raise ModelError("the model", expected, f"{len(ids)}")
        limit = min(room, _LONGEST)
        task = task_of(as_usual(workload))
        mask = ScriptLogitsProcessor(self._masker, len(ids), [task], limit)
        # Optional, and slow to import.
        torch: Any = import_module("torch")
        with _drawing(torch, seed), torch.inference_mode():
            asked = torch.tensor([ids])
            made = self._model.generate(
                asked,
                attention_mask=torch.ones_like(asked),
                logits_processor=[mask],
                do_sample=True,
                temperature=temperature,
                # All that the mask lets through may come.
                top_k=0,
                top_p=1.0,
                num_return_sequences=count,
                max_new_tokens=limit,
                bos_token_id=self._tokenizer.bos_id,
                eos_token_id=self._tokenizer.eos_id,
                pad_token_id=self._tokenizer.pad_id,
                return_dict_in_generate=True,
                output_scores=True,
            )
            sums = self._model.compute_transition_scores(
                made.sequences, made.scores, normalize_logits=True
            )
        for row, logprobs in zip(made.sequences[:, len(ids) :].tolist(), sums, strict=True):
            end = row.index(self._tokenizer.eos_id)
            yield row[:end], float(logprobs[: end + 1].sum())


@contextmanager
def _drawing(torch: Any, seed: int) -> Generator[None]:
    """Random numbers of a seed, on one thread; torch's own are as before at the end.

    More threads would wait for each other at each of the many small products: a third less time on
    idle cores, and fifty times as much on busy ones.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def _loaded(folder: Path) -> Any:
    # Optional, and slow to import.
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    try:
        with _quiet(transformers):
            # Nothing is downloaded, and no code is run that comes with a model.
            model, info = transformers.AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
            )
    except Exception as error:
        # transformers and safetensors raise errors of many types.
        reason = " ".join(str(error).split())
        raise ModelError(str(folder), "a causal model of transformers", reason) from None
    missing = sorted(info["missing_keys"])
    if missing:
        # transformers would draw them at random.
        raise ModelError(str(folder / FILES[1]), "all weights", f"no {missing[0]}")
    # What the folder says of it may be of training, which does without the cache, or not sample.
    model.generation_config = transformers.GenerationConfig()
    return model.eval()


@contextmanager
def _quiet(transformers: Any) -> Generator[None]:
    """No progress bar, and no warnings on standard error."""
    logging = transformers.utils.logging
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
