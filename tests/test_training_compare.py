"""Other models: what they are asked, what is made of their answers, and what survives."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM

pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

from training.attempts import GIVEN, Attempt, HeldOut, questions
from training.compare import endpoint, grammars, local
from training.compare.__main__ import main
from training.compare.prompts import LONGEST, Examples, instructions, messages, plain, script_in
from training.compare.record import Answer, left
from training.data import files, tables
from training.evaluate.__main__ import CPU
from training.evaluate.allowed import KINDS
from training.evaluate.results import Result, Task, read
from training.model.sequences import rows

import cheats
from chat_server import StandIn, drip, hang, said
from tracescript import grammar_text, loads
from tracescript.exports import to_gbnf
from tracescript.tokens import Tokenizer
from tracescript.tvm import workload_of
from tracescript.workloads import dumps

ROOT = Path(__file__).parents[1]
KEY = "sk-secret-0123456789"
SPLITS = ("test", "hard")

# Questions and answers.


@pytest.fixture(scope="module")
def shipped():
    return Examples()


@pytest.fixture(scope="module")
def held_out():
    return questions(files.DATASETS, list(SPLITS))


def test_no_example_is_held_out(shipped, held_out):
    assert len(held_out) > 300
    keys = {each.task.key for each in held_out}
    prompts = {each.task.prompt for each in held_out}
    for question in held_out:
        near = shipped.near(question, 3)
        assert len({each.key for each in near}) == 3
        for each in near:
            assert each.key not in keys
            assert each.prompt not in prompts
            assert (each.given is None) == (question.given is None)
            assert max(len(each.script), len(each.given or "")) <= LONGEST


def test_examples_are_of_the_same_family_or_a_near_one(shipped):
    family = {
        row["key"]: row["family"]
        for kind in ("construct", "refine")
        for split in ("train", *SPLITS)
        for row in rows(files.DATASETS, kind, split)
    }
    asked = questions(files.DATASETS, ["test"])
    nearest = [(each, shipped.near(each, 3)[-1]) for each in asked]
    alike = sum(family[each.task.key] == family[near.key] for each, near in nearest)
    assert alike > 0.97 * len(asked)
    near = {
        (family[each.task.key], family[shipped.near(each, 3)[-1].key])
        for each in questions(files.DATASETS, ["hard"])
    }
    assert {one for name, one in near if name == "group_norm"} <= {"batch_norm", "instance_norm"}
    assert all(one.startswith("conv") for name, one in near if name.startswith("conv"))


def test_the_same_question_has_the_same_examples(shipped, held_out):
    again = Examples()
    for question in held_out[::29]:
        assert again.near(question, 3) == shipped.near(question, 3)
        assert shipped.near(question, 1) == shipped.near(question, 3)[-1:]


def test_the_task_names_all_that_is_allowed():
    told = set(re.findall(r"^- (\w+)", instructions().split("# The instructions")[1], re.MULTILINE))
    assert told == KINDS
    used = {
        line.split(" ")[0]
        for row in rows(files.DATASETS, "construct", "train")
        for line in row["script"].splitlines()[1:]
    }
    assert used <= told


def test_a_question_is_a_chat(shipped, held_out):
    for question in (held_out[0], held_out[-1]):
        near = shipped.near(question, 2)
        chat = messages(question, near)
        assert [each["role"] for each in chat] == ["system", *["user", "assistant"] * 2, "user"]
        assert [each["content"] for each in chat[2::2]] == [each.script for each in near]
        for turn, one in zip(chat[1::2], [*near, question], strict=True):
            prompt = one.task.prompt if isinstance(one, HeldOut) else one.prompt
            assert prompt in turn["content"]
            assert turn["content"].endswith(prompt if one.given is None else one.given)
        text = plain(chat)
        assert [text.count(f"### {role}\n") for role in ("user", "assistant")] == [3, 3]


scripts = st.sampled_from(
    [row["script"] for row in rows(files.DATASETS, "construct", "train")[::50]]
)
prose = st.text(st.characters(codec="utf-8", exclude_characters="`"), max_size=60).filter(
    lambda text: "tracescript" not in text
)


@given(scripts, prose, prose, st.sampled_from(["", "\n", "```\n", "```tracescript\n"]))
def test_the_script_in_an_answer(script, before, after, fence):
    assert script_in(script) == script
    assert script_in(script.removesuffix("\n")) == script
    assert script_in(f"{before}\n{fence}{script}{fence[:3] or chr(10)}{after}") == script
    assert script_in(script.replace("\n", "\r\n")) == script
    assert script_in(f"<think>\n{script}No: {before}\n</think>\n{script}") == script


@given(prose)
def test_an_answer_without_a_script(text):
    assert script_in(text) == ""
    assert script_in(f"Is it `tracescript 1`?{text}") == ""


def test_the_first_copies_of_all_questions_come_first():
    asked = [
        HeldOut(task=Task(key, ""), kind=kind, split="test", given=None)
        for key, kind in (("a", "construct"), ("a", "refine"), ("b", "refine"))
    ]

    def done(question, source="other"):
        key, kind = question.task.key, question.kind
        return Attempt(key, "", source, kind=kind, split="test", tokens=1, ended=True, logprob=0.0)

    assert left(asked, [], 2) == asked * 2
    assert left(asked, [done(asked[1]), done(asked[1], GIVEN)], 2) == [asked[0], asked[2], *asked]
    assert left(asked, [done(each) for each in asked * 3], 2) == []


# Models behind an endpoint.

RELU = 'tracescript 1\nGetSBlock | "y" "main" -> b\nGetLoops b-1 -> l2\n'
FOUND = [f"{RELU}Parallel l-2\n", f"{RELU}Vectorize l-1\n"]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """Data sets for the CPU: one workload to train on, and one that is held out."""
    folder = tmp_path_factory.mktemp("datasets")
    held = dumps(workload_of(cheats.relu(), json.loads(CPU)))
    for part, prompt in (("train", held.replace('"y"', '"other"')), ("test", held)):
        scripts = [each.replace('"y"', '"other"') if part == "train" else each for each in FOUND]
        row = {"key": part, "family": "relu", "target": "llvm-2", "prompt": prompt}
        row |= {"script": scripts[0], "latency": 1e-5, "best_latency": 1e-5}
        given = {"given": scripts[1], "given_latency": 2e-5, "ratio": 2.0}
        tables.write(folder / "construct" / f"{part}.parquet", [row], tables.CONSTRUCT)
        tables.write(folder / "refine" / f"{part}.parquet", [{**row, **given}], tables.REFINE)
        task = msgspec.json.encode(Task(part, prompt))
        (folder / f"{part}.tasks.jsonl").write_bytes(task + b"\n")
    return folder


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def arguments(server, datasets, out, *more):
    url = server if isinstance(server, str) else server.url
    place = ["--url", url, "--datasets", datasets, "--splits", "test", "--out", out]
    return [str(each) for each in ("openai", *place, "--model", "m", "--label", "other", *more)]


def facts_of(out):
    return json.loads(out.with_suffix(".run.json").read_bytes())


def own(out):
    return [each for each in read(out, Attempt) if each.source != GIVEN]


def test_attempts_are_judged_like_ours(datasets, tmp_path):
    """The whole way: asked, answered, written, and judged on the CPU."""
    right = rows(datasets, "construct", "test")[0]["script"]
    wrong = right.replace('"main"', '"nobody"')
    answers = [f"Here it is:\n```\n{right}```\n", right, wrong, "I cannot do that.", right, right]
    out = tmp_path / "new" / "attempts.jsonl"

    def reply(number, _):
        return said(answers[number - 1], "length" if number == 5 else "stop", tokens=number)

    with StandIn(reply) as server:
        more = ("--copies", 3, "--jobs", 1, "--temperature", 0.5, "--limit", 99, "--examples", 1)
        main(arguments(server, datasets, out, *more))
    assert server.keys == [f"Bearer {KEY}"] * 6
    near = Examples(datasets)
    asked = questions(datasets, ["test"])
    for body, question in zip(server.bodies, asked * 3, strict=True):
        assert body == {
            "model": "m",
            "messages": messages(question, near.near(question, 1)),
            "temperature": 0.5,
            "max_tokens": 99,
        }
    found = own(out)
    assert [each.script for each in found] == [right, right, wrong, "", "", right]
    assert [each.kind for each in found] == ["construct", "refine"] * 3
    assert [each.tokens for each in found] == [1, 2, 3, 4, 5, 6]
    assert [each.ended for each in found] == [True] * 4 + [False, True]
    (given,) = [each for each in read(out, Attempt) if each.source == GIVEN]
    assert given.script == rows(datasets, "refine", "test")[0]["given"]
    facts = facts_of(out)
    assert facts["seconds"] > 0
    assert {
        name: facts[name] for name in facts.keys() - {"run", "seconds", "scripts_per_second"}
    } == {
        "label": "other",
        "model": "m",
        "endpoint": server.url,
        "server": "any",
        "grammar": "none",
        "temperature": 0.5,
        "limit": 99,
        "examples": 1,
        "masked": False,
        "scripts": 6,
        "ended": 5,
        "tokens_median": 3.5,
        "requests": 6,
        "prompt_tokens": 600,
        "completion_tokens": 21,
        "errors": {},
    }
    assert KEY not in out.with_suffix(".run.json").read_text() + out.read_text()
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "training.evaluate", out, "--out", results]
    command += ["--tasks", datasets / "test.tasks.jsonl", "--builders", "2"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    stages = {each.script: each.stage for each in read(results, Result)}
    assert stages == {right: "measured", given.script: "measured", wrong: "checks", "": "given"}


@pytest.mark.parametrize(
    ("server", "form", "sent"),
    [
        ("openai", "none", {"max_completion_tokens": 50}),
        ("vllm", "none", {"max_tokens": 50}),
        ("vllm", "gbnf", {"max_tokens": 50, "structured_outputs": {"grammar": to_gbnf("0.27")}}),
        (
            "vllm",
            "lark",
            {"max_tokens": 50, "structured_outputs": {"grammar": grammar_text(tvm="0.27")}},
        ),
        ("llama.cpp", "gbnf", {"max_tokens": 50, "grammar": to_gbnf("0.27")}),
        ("sglang", "gbnf", {"max_tokens": 50, "ebnf": to_gbnf("0.27")}),
    ],
)
def test_what_each_kind_of_server_is_sent(datasets, tmp_path, server, form, sent):
    with StandIn(lambda *_: said("tracescript 1\n")) as stand_in:
        more = ("--copies", 1, "--limit", 50, "--server", server, "--grammar", form)
        main(arguments(stand_in, datasets, tmp_path / "a.jsonl", *more))
    for body in stand_in.bodies:
        assert body.keys() == {"model", "messages", "temperature", *sent}
        assert {name: body[name] for name in sent} == sent


def test_a_server_that_reads_no_such_grammar():
    for name, server in grammars.SERVERS.items():
        for form in {"gbnf", "lark"} - set(server.forms):
            with pytest.raises(ValueError, match=f"no server of kind '{name}' reads {form}"):
                grammars.fields(name, form, 1)


def test_a_busy_server_is_asked_again(datasets, tmp_path):
    busy = {1: (429, b"{}"), 2: (503, b"{}"), 4: (500, b"oops")}
    out = tmp_path / "a.jsonl"
    with StandIn(lambda number, _: busy.get(number, said("tracescript 1\n"))) as server:
        main(arguments(server, datasets, out, "--copies", 1, "--jobs", 1))
    assert len(server.bodies) == 5
    assert [each.script for each in own(out)] == ["tracescript 1\n"] * 2
    assert facts_of(out)["requests"] == 5
    assert facts_of(out)["errors"] == {}


BAD = {
    "no JSON": b"<html>busy</html>",
    "cut off": said("x")[1][:-9],
    "nothing": b"",
    "no choices": b'{"choices": []}',
    "another shape": b'{"choices": [{"message": {"content": 5}}]}',
    "no text": b'{"choices": [{"message": {"content": "\\ud800"}}]}',
    "a number beyond JSON's": said("x")[1].replace(b"107", b"1").replace(b"7,", b"9" * 40 + b","),
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("content", BAD.values(), ids=list(BAD))
def test_what_is_no_answer_is_asked_again_later(datasets, tmp_path, content):
    out = tmp_path / "a.jsonl"
    command = ("--copies", 2, "--jobs", 1)
    with (
        StandIn(
            lambda number, _: (200, content) if number == 2 else said("tracescript 1\n")
        ) as one,
        pytest.raises(SystemExit, match="compare: 1 of 4 got no answer"),
    ):
        main(arguments(one, datasets, out, *command))
    assert facts_of(out)["errors"] == {"no chat completion": 1}
    before = out.read_bytes()
    with StandIn(lambda *_: said("tracescript 1\nEnterPostproc\n")) as two:
        main(arguments(two, datasets, out, *command))
        assert len(two.bodies) == 1
        assert two.bodies[0] == one.bodies[1]
        main(arguments(two, datasets, out, *command))
        assert len(two.bodies) == 1
    assert out.read_bytes().startswith(before)
    assert len(own(out)) == 4
    facts = facts_of(out)
    assert (facts["requests"], facts["errors"]) == (5, {"no chat completion": 1})
    assert (facts["prompt_tokens"], facts["endpoint"]) == (400, two.url)


@pytest.mark.parametrize("late", [hang, drip])
def test_a_server_that_takes_too_long(datasets, tmp_path, monkeypatch, late):
    monkeypatch.setattr(endpoint, "LONGEST_WAIT", 0)
    out = tmp_path / "a.jsonl"
    begin = time.monotonic()
    with StandIn(lambda number, _: late if number == 1 else said("tracescript 1\n")) as server:
        more = ("--copies", 1, "--jobs", 1, "--seconds", 1, "--retries", 0)
        with pytest.raises(SystemExit, match="1 of 2 got no answer"):
            main(arguments(server, datasets, out, *more))
    assert time.monotonic() - begin < 20
    assert facts_of(out)["errors"] == {"no answer in time": 1}
    assert len(own(out)) == 1


def test_nobody_is_asked_in_vain_for_ever(datasets, tmp_path, capsys):
    """And a server that repeats the key does not get it shown or written."""
    out = tmp_path / "a.jsonl"
    refusal = json.dumps({"error": {"message": f"bad key\x1b[31m {KEY}"}}).encode()
    with StandIn(lambda *_: (401, refusal)) as server, pytest.raises(SystemExit) as caught:
        main(arguments(server, datasets, out, "--copies", 50, "--jobs", 3))
    message = str(caught.value)
    assert message.startswith(
        "compare: stopped, since no question gets an answer any more: status 401"
    )
    assert "bad key" in message
    assert message.isprintable()
    assert endpoint.GIVE_UP <= len(server.bodies) <= endpoint.GIVE_UP + 3
    printed = capsys.readouterr()
    everything = message + printed.out + printed.err
    everything += "".join(path.read_text() for path in tmp_path.iterdir())
    assert KEY not in everything
    assert facts_of(out)["errors"].keys() == {"status 401"}


def test_no_server(datasets, tmp_path):
    with StandIn(lambda *_: said("")) as server:
        url = server.url
    with pytest.raises(SystemExit, match="compare: 2 of 2 got no answer"):
        main(arguments(url, datasets, tmp_path / "a.jsonl", "--copies", 1, "--retries", 0))
    assert facts_of(tmp_path / "a.jsonl")["errors"] == {"no connection": 2}


def test_an_interrupted_run_goes_on(datasets, tmp_path):
    out = tmp_path / "a.jsonl"
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    environment.pop("OPENAI_API_KEY", None)
    with StandIn(lambda number, _: said("tracescript 1\n") if number <= 5 else hang) as server:
        command = arguments(server, datasets, out, "--copies", 4, "--jobs", 2)
        run = subprocess.Popen(
            [sys.executable, "-m", "training.compare", *command],
            cwd=ROOT, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while len(server.bodies) < 7 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        run.send_signal(signal.SIGINT)
        _, complaint = run.communicate(timeout=30)
    assert run.returncode == 1
    assert complaint.splitlines()[-1] == "interrupted: the same command goes on from here"
    assert "Traceback" not in complaint
    assert len(own(out)) == 5
    assert facts_of(out)["requests"] == 7
    assert facts_of(out)["run"]["command"].endswith("--copies 4 --jobs 2")
    with open(out, "ab") as file:
        file.write(b'{"workload":"2","scri')  # as a run that was killed leaves it
    with StandIn(lambda *_: said("tracescript 1\n")) as server:
        main(arguments(server, datasets, out, "--copies", 4, "--jobs", 2))
    assert len(server.bodies) == 3
    assert len(own(out)) == 8
    assert {(each.kind, each.split, each.workload) for each in own(out)} == {
        ("construct", "test", "test"),
        ("refine", "test", "test"),
    }


def test_an_interrupt_before_the_first_question(datasets, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Examples, "__init__", interrupted)
    with pytest.raises(SystemExit, match=r"^interrupted: the same command goes on from here$"):
        main(arguments("http://localhost:1/v1", datasets, tmp_path / "a.jsonl"))


SECRETS = ["http://user:secret@host/v1", "http://host/v1?key=secret", "http://host:secret/v1",
           "secret", "http://host/v1#secret", "ftp://secret/v1", "http://[secret/v1"]  # fmt: skip


@pytest.mark.parametrize("url", SECRETS)
def test_an_address_holds_no_secret(datasets, tmp_path, url):
    with pytest.raises(SystemExit) as caught:
        main(arguments(url, datasets, tmp_path / "a.jsonl"))
    assert str(caught.value).startswith("compare: --url: expected http://HOST:PORT/v1")
    assert "secret" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_key_that_cannot_be_sent(datasets, tmp_path, monkeypatch):
    for secret in ("secret\nkey", "sécret"):
        monkeypatch.setenv("OPENAI_API_KEY", secret)
        with pytest.raises(SystemExit, match=r"^compare: OPENAI_API_KEY: expected ASCII") as caught:
            main(arguments("http://localhost:1/v1", datasets, tmp_path / "a.jsonl"))
        assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--temperature", 0.1), r"with temperature 1.0, expected 0.1; name another --out"),
        (("--examples", 1), r"with examples 3, expected 1"),
        (("--label", "new"), r"with label 'other', expected 'new'"),
        (("--grammar", "gbnf", "--server", "vllm"), r"with grammar 'none', expected 'gbnf'"),
    ],
)
def test_a_file_has_attempts_of_one_kind(datasets, tmp_path, more, complaint):
    out = tmp_path / "a.jsonl"
    with StandIn(lambda *_: said("tracescript 1\n")) as server:
        main(arguments(server, datasets, out, "--copies", 1))
        before = out.read_bytes(), facts_of(out)
        with pytest.raises(SystemExit, match=complaint):
            main(arguments(server, datasets, out, "--copies", 2, *more))
    assert (out.read_bytes(), facts_of(out)) == before


ODD = {
    "text": b"some\ntext",
    "a result": b'{"workload":"a","script":"","stage":"given"}\n',
    "of somebody else": msgspec.json.encode(
        Attempt("2", "", "ours", kind="refine", split="test", tokens=1, ended=True, logprob=0.0)
    )
    + b"\n",
}


@pytest.mark.parametrize("content", ODD.values(), ids=list(ODD))
def test_a_file_of_something_else_stays_as_it_is(datasets, tmp_path, content):
    out = tmp_path / "a.jsonl"
    out.write_bytes(content)
    with pytest.raises(SystemExit, match=r"^compare: .*a\.jsonl"):
        main(arguments("http://localhost:1/v1", datasets, out))
    assert out.read_bytes() == content
    assert list(tmp_path.iterdir()) == [out]


def test_facts_that_are_none(datasets, tmp_path):
    out = tmp_path / "a.jsonl"
    out.with_suffix(".run.json").write_text("[]")
    with pytest.raises(SystemExit, match=r"^compare: .*a\.run\.json: Expected `object`"):
        main(arguments("http://localhost:1/v1", datasets, out))


@pytest.mark.parametrize(
    "more",
    [("--copies", "0"), ("--first", "0"), ("--first", "-1"), ("--temperature", "nan"),
     ("--temperature", "-0.1"), ("--limit", "x")],
)  # fmt: skip
def test_options_out_of_range(datasets, tmp_path, capsys, more):
    with pytest.raises(SystemExit) as caught:
        main(arguments("http://localhost:1/v1", datasets, tmp_path / "a.jsonl", *more))
    assert caught.value.code == 2
    assert more[0] in capsys.readouterr().err


def test_no_questions(tmp_path):
    with pytest.raises(SystemExit, match=r"compare: .*test\.parquet: no such file"):
        main(arguments("http://localhost:1/v1", tmp_path / "none", tmp_path / "a.jsonl"))


# Models of transformers.

TEMPLATE = "{% for m in messages %}<bos>{{ m.role }}\n{{ m.content }}{% endfor %}<bos>assistant\n"


def toy(folder, template=None, positions=65536):
    """A tiny model with random weights and a tokenizer of Hugging Face."""
    symbols = Tokenizer.default("symbol")
    tokenizer = symbols.to_huggingface()
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=symbols.vocab_size,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=positions,
        bos_token_id=symbols.bos_id,
        eos_token_id=symbols.eos_id,
        pad_token_id=symbols.pad_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def transformers(model, datasets, out, *more):
    place = ["--model", model, "--datasets", datasets, "--splits", "test", "--out", out]
    return [str(each) for each in ("transformers", *place, "--label", "toy", "--rows", 3, *more)]


@pytest.mark.parametrize("template", [None, TEMPLATE])
def test_a_model_of_transformers(datasets, tmp_path, template):
    model, out = toy(tmp_path / "model", template), tmp_path / "a.jsonl"
    more = ("--copies", 2, "--limit", 40, "--examples", 1)
    main(transformers(model, datasets, out, *more))
    found = own(out)
    assert [each.kind for each in found] == ["construct", "refine"] * 2
    assert all(each.tokens <= 40 for each in found)
    assert all(each.ended or each.tokens == 40 for each in found)
    facts = facts_of(out)
    assert (facts["scripts"], facts["rows"]) == (4, 3)
    assert facts["completion_tokens"] == sum(each.tokens for each in found)
    again = tmp_path / "b.jsonl"
    main(transformers(model, datasets, again, *more))
    assert again.read_bytes() == out.read_bytes()
    main(transformers(model, datasets, out, "--copies", 3, *more[2:]))
    assert out.read_bytes().startswith(again.read_bytes())
    assert len(own(out)) == 6


@pytest.mark.parametrize("form", ["gbnf", "lark"])
def test_a_model_of_transformers_keeps_to_the_grammar(datasets, tmp_path, form):
    pytest.importorskip("xgrammar", reason="xgrammar brings torch; group `interop`")
    model, out = toy(tmp_path / "model", TEMPLATE), tmp_path / "a.jsonl"
    main(
        transformers(model, datasets, out, "--copies", 12, "--limit", 24, "--rows", 24,
                     "--examples", 0, "--grammar", form)
    )  # fmt: skip
    ended = [each for each in own(out) if each.ended]
    assert ended
    for each in ended:
        loads(each.script)


def test_special_tokens_are_no_text_of_a_grammar(tmp_path):
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar brings torch; group `interop`")
    tokenizer = Tokenizer.default("symbol")
    model = local.Local(str(toy(tmp_path / "model")), "gbnf", 1.0, 40, 3)
    matcher = xgrammar.GrammarMatcher(model._grammar)
    assert matcher.accept_string('tracescript 1\nGetSBlock | "')
    assert not matcher.accept_token(tokenizer.pad_id)
    assert matcher.accept_token(tokenizer.encode("x")[0])


def test_the_most_likely_answer(datasets, tmp_path):
    model, out = toy(tmp_path / "model", TEMPLATE), tmp_path / "a.jsonl"
    more = ("--copies", 2, "--limit", 9, "--temperature", 0, "--examples", 0)
    main(transformers(model, datasets, out, *more))
    first, second = own(out)[:2], own(out)[2:]
    assert first == second


def test_a_template_without_a_system_turn(tmp_path):
    refusing = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
    model = local.Local(str(toy(tmp_path / "model", refusing + TEMPLATE)), "none", 1.0, 40, 3)
    chat = [
        {"role": role, "content": f"{role}'s words"} for role in ("system", "user", "assistant")
    ]
    text = model.tokenizer.decode(model._encoded(chat))
    assert text == (
        "<bos>user\nsystem's words\n\nuser's words<bos>assistant\nassistant's words<bos>assistant"
    )


def test_a_model_without_turns_stops_where_the_next_one_begins(datasets, tmp_path, monkeypatch):
    tokenizer = Tokenizer.default("symbol")
    model = toy(tmp_path / "model")
    ids = tokenizer.encode(f"{RELU}\n### user\n")
    end, fill = tokenizer.eos_id, tokenizer.pad_id
    answer = local.Local(str(model), "none", 1.0, 40, 3)._answer
    assert answer([*ids, fill, fill], 9) == Answer(RELU, True, len(ids), 9)
    assert answer(ids[:5], 9) == Answer(tokenizer.decode(ids[:5]), False, 5, 9)
    assert answer([*ids[:5], end, fill], 9) == Answer(tokenizer.decode(ids[:5]), True, 6, 9)
    # A token that is only said, as padding is here, ends nothing.
    assert answer([fill, *ids[:5]], 9) == Answer(tokenizer.decode(ids[:5]), False, 6, 9)
    monkeypatch.setattr(local, "STOP", " ")
    out = tmp_path / "a.jsonl"
    main(transformers(model, datasets, out, "--copies", 6, "--limit", 40, "--examples", 0))
    assert any(each.ended and each.tokens < 30 for each in own(out))


def test_what_is_too_long_for_a_model(datasets, tmp_path):
    model, out = toy(tmp_path / "model", positions=3000), tmp_path / "a.jsonl"
    with pytest.raises(SystemExit, match="compare: 2 of 2 got no answer"):
        main(transformers(model, datasets, out, "--copies", 1, "--limit", 8))
    assert facts_of(out)["errors"] == {"too long for the model": 2}
    assert own(out) == []


def test_no_model(datasets, tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(SystemExit, match=r"^compare: .*model: no model") as caught:
        main(transformers(tmp_path / "model", datasets, tmp_path / "a.jsonl"))
    assert len(str(caught.value).splitlines()) == 1
    assert not (tmp_path / "a.jsonl").exists()
