"""The exported grammar, and how servers that can decode by one are asked to."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from tracescript import grammar_text
from tracescript.exports import to_gbnf
from training.compare.prompts import TVM

__all__ = ["FORMS", "SERVERS", "Form", "fields", "text"]

Form = Literal["none", "gbnf", "lark"]

FORMS: tuple[Form, ...] = get_args(Form)


class Server(msgspec.Struct, frozen=True):
    """What a kind of server takes beyond the common fields of a chat completion."""

    limit: str
    """The field that bounds the tokens of an answer."""
    forms: tuple[Form, ...] = ()
    """The grammars that it reads."""
    path: tuple[str, ...] = ()
    """Where a grammar stands in the request: the names of fields, the outer one first."""


SERVERS = {
    "any": Server("max_tokens"),
    # Its later models refuse `max_tokens`.
    "openai": Server("max_completion_tokens"),
    # Release 0.12 no longer reads what came before it, `guided_grammar`.
    "vllm": Server("max_tokens", ("gbnf", "lark"), ("structured_outputs", "grammar")),
    "llama.cpp": Server("max_tokens", ("gbnf",), ("grammar",)),
    "sglang": Server("max_tokens", ("gbnf",), ("ebnf",)),
}


def text(form: Form) -> str | None:
    """The grammar of scripts of the release in a form; None for none."""
    if form == "none":
        return None
    return to_gbnf(TVM) if form == "gbnf" else grammar_text(tvm=TVM)


def fields(kind: str, form: Form, limit: int) -> dict[str, Any]:
    """The fields of a request that go by the kind of the server.

    >>> fields("openai", "none", 512)
    {'max_completion_tokens': 512}

    Args:
        kind: one of `SERVERS`.
        form: of the grammar.
        limit: tokens of an answer.

    Raises:
        ValueError: that kind of server reads no grammar of that form.
    """
    server, grammar = SERVERS[kind], text(form)
    if grammar is None:
        return {server.limit: limit}
    if form not in server.forms:
        able = [name for name, each in SERVERS.items() if form in each.forms]
        raise ValueError(f"no server of kind {kind!r} reads {form}: expected {' or '.join(able)}")
    found: Any = grammar
    for name in reversed(server.path):
        found = {name: found}
    return {server.limit: limit, **found}
