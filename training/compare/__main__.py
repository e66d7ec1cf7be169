r"""Ask another language model for scripts for the held-out workloads.

    python -m training.compare openai --url http://localhost:8000/v1 --model NAME --label NAME \
        --out attempts.jsonl
    python -m training.compare transformers --model NAME_OR_FOLDER --label NAME --out attempts.jsonl

The questions are those of `training.propose`, and so are the files: `training.evaluate` judges the
attempts, and `attempts.run.json` names the model, the sampling, the tokens that were used and what
went wrong. Interrupt it at any time: the same command asks for what is missing. The key of an
endpoint is read from the environment, OPENAI_API_KEY.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

import torch

from training.attempts import HeldOut, add_arguments, count, questions
from training.compare.endpoint import Endpoint, StoppedError, checked_url, key_of_environment
from training.compare.grammars import FORMS, SERVERS, fields
from training.compare.local import Local
from training.compare.prompts import Examples, messages
from training.compare.record import Job, Record, left
from training.evaluate.card import command_of, run_facts
from training.evaluate.results import files_or_exit, resumable


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    options = _parser().parse_args(arguments)
    with resumable():
        _ask(options, command_of("training.compare", arguments))


def _ask(options: argparse.Namespace, command: str) -> None:
    with files_or_exit("compare"):
        asked = questions(options.datasets, options.splits, options.first)
        examples = Examples(options.datasets)
        model = _local(options) if options.place == "transformers" else _endpoint(options)
        record = Record(options.out, options.label, _settings(options), _about(options))
    record.add_given(asked)
    jobs = _jobs(left(asked, record.attempts, options.copies), examples, options.examples)
    is_gpu = isinstance(model, Local) and torch.cuda.is_available()
    run = run_facts("cuda" if is_gpu else "cpu", command)
    try:
        with record.running(run, len(jobs)):
            if isinstance(model, Local):
                model.ask(jobs, record, options.seed + len(record.attempts))
            else:
                asyncio.run(model.ask(jobs, record))
    except StoppedError as error:
        sys.exit(f"compare: stopped, since no question gets an answer any more: {error}")
    print(json.dumps(record.facts()))
    missing = len(left(asked, record.attempts, options.copies))
    if missing:
        sys.exit(f"compare: {missing} of {len(jobs)} got no answer; the same command asks again")


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--model", required=True, help="its name, or a folder for transformers")
    add_arguments(common)
    common.add_argument("--limit", type=count, default=4096,
                        help="tokens of an answer, thoughts included (%(default)s)")  # fmt: skip
    common.add_argument("--examples", type=int, default=3, choices=range(10), metavar="N",
                        help="worked ones in each question (%(default)s)")  # fmt: skip
    common.add_argument("--grammar", default="none", choices=FORMS,
                        help="that answers keep to, in this form (%(default)s)")  # fmt: skip
    parser = argparse.ArgumentParser(
        prog="python -m training.compare", description=(__doc__ or "").splitlines()[0]
    )
    places = parser.add_subparsers(dest="place", required=True)
    about = "a model behind an endpoint that speaks OpenAI's chat completions"
    endpoint = places.add_parser("openai", parents=[common], help=about, description=about)
    endpoint.add_argument("--url", required=True, help="http://HOST:PORT/v1")
    endpoint.add_argument("--server", default="any", choices=SERVERS,
                          help="its kind, for names of fields (%(default)s)")  # fmt: skip
    endpoint.add_argument("--jobs", type=count, default=8, help="requests at once (%(default)s)")
    endpoint.add_argument("--seconds", type=count, default=300, help="a request (%(default)s)")
    endpoint.add_argument("--retries", type=int, default=5, choices=range(20), metavar="N",
                          help="of a request that fails (%(default)s)")  # fmt: skip
    about = "a causal model of Hugging Face"
    local = places.add_parser("transformers", parents=[common], help=about, description=about)
    local.add_argument("--rows", type=count, default=16, help="at once (%(default)s)")
    local.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    return parser


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """What has to be the same for all attempts of a file."""
    names = ("model", "temperature", "limit", "examples", "grammar")
    return {name: getattr(options, name) for name in names}


def _about(options: argparse.Namespace) -> dict[str, Any]:
    """What may be another thing when a run goes on."""
    if options.place == "transformers":
        return {"rows": options.rows}
    return {"endpoint": options.url, "server": options.server}


def _endpoint(options: argparse.Namespace) -> Endpoint:
    return Endpoint(
        checked_url(options.url),
        options.model,
        options.temperature,
        fields(options.server, options.grammar, options.limit),
        key_of_environment(),
        options.jobs,
        options.seconds,
        options.retries,
    )


def _local(options: argparse.Namespace) -> Local:
    return Local(options.model, options.grammar, options.temperature, options.limit, options.rows)


def _jobs(questions: list[HeldOut], examples: Examples, count: int) -> list[Job]:
    chats = {each: messages(each, examples.near(each, count)) for each in set(questions)}
    return [Job(each, chats[each]) for each in questions]


if __name__ == "__main__":
    main()
