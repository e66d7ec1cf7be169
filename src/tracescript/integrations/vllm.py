"""A logits processor for vLLM, for requests that ask for it.

A request says what it wants in `SamplingParams.extra_args`:

    {"tracescript": {"tvm": "0.27", "task": {"blocks": [{"name": "C", "loops": [64, 64]}]}}}

All parts are optional, `{"tracescript": {}}` will do; a request without the key is left alone.
The scripts are finished within `max_tokens` of the request. Over HTTP, `vllm_xargs` holds no
objects, so there the wishes are a text, the same as JSON.

This is the interface of the V1 model runner (`VLLM_USE_V2_MODEL_RUNNER=0` where V2 is the
default). It reads the tokens so far, so vLLM must not schedule ahead of them: a processor that
is given when the engine starts makes sure of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import msgspec

from tracescript.integrations.rows import Rows
from tracescript.masks import Constraints, ScriptMasker, TaskInfo
from tracescript.tokens import Tokenizer

__all__ = ["KEY", "RequestProcessor", "Requests", "processor_class"]

KEY = "tracescript"
"""The key in `extra_args`."""


class _Wishes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a request can ask for."""

    tvm: str | None = "0.27"
    task: TaskInfo | None = None
    constraints: Constraints = Constraints()


class SamplingParams(Protocol):
    """What is read of vLLM's class of this name."""

    @property
    def extra_args(self) -> Mapping[str, Any] | None: ...
    @property
    def max_tokens(self) -> int | None: ...


class RequestProcessor:
    """The mask of one request, as vLLM calls it: the tokens so far, and the logits of a row.

    Args:
        masker: for the tokenizer of the model.
        task: the workload of the request.
        max_tokens: that of the request: the script is finished within it.

    Raises:
        ValueError: no script is as short as `max_tokens`.
    """

    def __init__(
        self, masker: ScriptMasker, task: TaskInfo | None = None, max_tokens: int | None = None
    ) -> None:
        self._rows = Rows(masker, [task], max_tokens)

    def __call__(self, output_ids: Sequence[int], logits: Any) -> Any:
        """The logits, minus infinity for all tokens that may not come.

        Raises:
            ValueError: a token is not known yet, or there are too few logits.
        """
        # vLLM has it in any case.
        torch: Any = import_module("torch")
        if output_ids and min(output_ids) < 0:
            raise ValueError(
                "output_ids: expected the tokens so far, found the mark of one that is not known "
                "yet; give the processor when vLLM starts, or use --no-async-scheduling"
            )
        allowed = torch.from_numpy(self._rows.allowed([output_ids], logits.shape[-1])[0])
        return logits.masked_fill(~allowed.to(logits.device), float("-inf"))


class Requests:
    """Reads what requests ask for; maskers are made once.

    Args:
        tokenizer: that of the model; None is the default one, of phrases.
    """

    def __init__(self, tokenizer: Tokenizer | None = None) -> None:
        self._tokenizer = Tokenizer.default() if tokenizer is None else tokenizer
        self._masker = cache(self._new_masker)

    def _new_masker(self, tvm: str | None, constraints: Constraints) -> ScriptMasker:
        return ScriptMasker(self._tokenizer, tvm=tvm, constraints=constraints)

    def processor(self, params: SamplingParams) -> RequestProcessor | None:
        """The processor of a request, None if it asks for none.

        Raises:
            ValueError: it asks for something that there is not.
        """
        asked = (params.extra_args or {}).get(KEY)
        if asked is None:
            return None
        try:
            if isinstance(asked, str):
                wishes = msgspec.json.decode(asked, type=_Wishes)
            else:
                wishes = msgspec.convert(asked, _Wishes)
        except msgspec.DecodeError as error:
            raise ValueError(f"extra_args[{KEY!r}]: {error}") from None
        masker = self._masker(wishes.tvm, wishes.constraints)
        return RequestProcessor(masker, wishes.task, params.max_tokens)


def processor_class(tokenizer: Tokenizer | None = None) -> type[Any]:
    """Make the class for `LLM(..., logits_processors=[...])`.

    vLLM also takes a name, `tracescript.integrations.vllm:ScriptLogitsProcessor`: the class for
    the default tokenizer. Nothing is registered by itself, since vLLM would load it always.

    Args:
        tokenizer: that of the model; None is the default one, of phrases.

    Raises:
        ModuleNotFoundError: vLLM is not installed.
    """
    try:
        adapter: Any = import_module("vllm.v1.sample.logits_processor").AdapterLogitsProcessor
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "this needs vLLM with its V1 model runner: pip install 'tracescript[vllm]'",
            name=error.name,
        ) from None
    requests = Requests(tokenizer)

    class ScriptLogitsProcessor(adapter):
        @classmethod
        def validate_params(cls, sampling_params: SamplingParams) -> None:
            """Refuse a request whose wishes cannot be met."""
            requests.processor(sampling_params)

        def is_argmax_invariant(self) -> bool:
            """A mask changes which token is the best."""
            return False

        def new_req_logits_processor(self, params: SamplingParams) -> RequestProcessor | None:
            """The processor of a request, None if it asks for none."""
            return requests.processor(params)

    return ScriptLogitsProcessor


@cache
def _default_class() -> type[Any]:
    return processor_class()


def __getattr__(name: str) -> type[Any]:
    # vLLM looks the class up by name; vLLM itself is imported only then.
    if name == "ScriptLogitsProcessor":
        return _default_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
