"""Models behind an endpoint that speaks OpenAI's chat completions, far away or on this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
import openai

from training.compare.prompts import Message
from training.compare.record import Answer, Job, Record

__all__ = ["Endpoint", "StoppedError", "checked_url", "key_of_environment"]

KEY = "OPENAI_API_KEY"
"""The variable of the environment that holds the key."""

GIVE_UP = 20
"""Questions in a row that get no answer before a run stops."""

LONGEST_WAIT = 120
"""Seconds that the client of OpenAI waits before it sends a request again, at most."""


class StoppedError(Exception):
    """No question gets an answer any more."""


@dataclass(frozen=True)
class Endpoint:
    """Where and how a model is asked."""

    url: str
    """The address up to `/v1`, as `checked_url` lets it through."""
    model: str
    temperature: float
    fields: dict[str, Any]
    """What else each request holds."""
    key: str = field(repr=False)
    """Goes along with each request, and nowhere else; local servers need none."""
    jobs: int
    """Requests at once."""
    seconds: float
    """What a request may take."""
    retries: int
    """How often a request is sent again, after 408, 409, 429, 5xx or no answer in time. The wait
    is as long as the server says, or twice as long as the last one."""

    async def ask(self, jobs: Sequence[Job], record: Record) -> None:
        """Ask all questions.

        Law: for each job the record is told once, of its answer or of what went wrong, and of
        each request. Whoever is cancelled drops what is on its way.

        Raises:
            StoppedError: too many questions in a row got no answer. The key is not in its text.
        """
        waiting = iter(jobs)
        in_vain = 0

        async def worker() -> None:
            nonlocal in_vain
            for job in waiting:
                try:
                    answer = await self._answer(client, job.chat)
                except (openai.OpenAIError, asyncio.TimeoutError, msgspec.MsgspecError) as error:
                    in_vain += 1
                    record.failed(_reason(error))
                    if in_vain == GIVE_UP:
                        raise StoppedError(_said(error, self.key)) from None
                else:
                    in_vain = 0
                    record.took(job, answer)

        async with self._client(record) as client:
            workers = [asyncio.create_task(worker()) for _ in range(self.jobs)]
            try:
                await asyncio.gather(*workers)
            finally:
                for each in workers:
                    each.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    def _client(self, record: Record) -> openai.AsyncOpenAI:
        async def on_request(_: Any) -> None:
            record.sent()

        return openai.AsyncOpenAI(
            base_url=self.url,
            api_key=self.key or "none",
            timeout=self.seconds,
            max_retries=self.retries,
            http_client=openai.DefaultAsyncHttpxClient(event_hooks={"request": [on_request]}),
        )

    async def _answer(self, client: openai.AsyncOpenAI, chat: list[Message]) -> Answer:
        messages: Any = chat
        asked = client.chat.completions.with_raw_response.create(
            model=self.model,
            messages=messages,
            temperature=self.temperature,
            extra_body=self.fields,
        )
        # The client bounds the wait for each next byte, which a server can draw out for ever.
        longest = (self.seconds + LONGEST_WAIT) * (self.retries + 1)
        response = await asyncio.wait_for(asked, longest)
        return _decoded(response.content)


def key_of_environment() -> str:
    """The key, empty if there is none.

    Raises:
        ValueError: it cannot be sent. It is not in the text of the error.
    """
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"{KEY}: expected ASCII characters without line breaks")
    return key


def checked_url(url: str) -> str:
    """The address of an endpoint, if it holds no secret: it goes into files.

    >>> checked_url("http://localhost:8000/v1")
    'http://localhost:8000/v1'

    Raises:
        ValueError: it is no address, or has a user, a password, a query or a fragment.
    """
    if not _is_plain(url):
        raise ValueError(
            "--url: expected http://HOST:PORT/v1 or https, without user, password or query;"
            f" the key is read from {KEY}"
        )
    return url


def _is_plain(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        return False
    extra = "@" in parts.netloc or parts.query or parts.fragment
    return parts.scheme in ("http", "https") and bool(host) and not extra


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Larger ones are no JSON that others read."""


class _Usage(msgspec.Struct):
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0


class _Completion(msgspec.Struct):
    """A chat completion, as far as it is read; the client itself checks nothing."""

    choices: tuple[_Choice, ...]
    usage: _Usage | None = None


def _decoded(content: bytes) -> Answer:
    completion = msgspec.json.decode(content, type=_Completion)
    if not completion.choices:
        raise msgspec.ValidationError("Expected a choice, got none - at `$.choices`")
    choice, usage = completion.choices[0], completion.usage or _Usage()
    return Answer(
        choice.message.content or "",
        choice.finish_reason == "stop",
        usage.completion_tokens,
        usage.prompt_tokens,
    )


def _reason(error: Exception) -> str:
    """What went wrong, in one of few words: it is counted."""
    if isinstance(error, openai.APIStatusError):
        return f"status {error.status_code}"
    if isinstance(error, (openai.APITimeoutError, asyncio.TimeoutError)):
        return "no answer in time"
    if isinstance(error, openai.APIConnectionError):
        return "no connection"
    return "no chat completion"


def _said(error: Exception, key: str) -> str:
    """What went wrong in a line, without the key, which some servers repeat."""
    text = f"{_reason(error)}: {error}"
    text = text.replace(key, f"<{KEY}>") if key else text
    return "".join(each if each.isprintable() else "?" for each in " ".join(text.split()))[:300]
