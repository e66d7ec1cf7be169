"""What a model is asked and proposes, and which of its scripts is the best."""

import json
import math
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given

import toy_model
from tracescript import Trace, dumps, from_json, loads, testing, workloads
from tracescript.check import check
from tracescript.proposals import (
    Attempt,
    ModelError,
    Proposer,
    Trial,
    ask,
    best,
    model_folder,
    sampled_part,
)
from tracescript.proposals.asking import as_usual, renamed
from tracescript.tokens import Tokenizer

torch = pytest.importorskip("torch", reason="the extra `model` is not installed")
pytest.importorskip("transformers", reason="the extra `model` is not installed")

from transformers import BloomConfig, BloomForCausalLM  # noqa: E402
from transformers.utils import logging  # noqa: E402

WORKLOAD = workloads.loads(toy_model.PROMPT)


@pytest.fixture(scope="module")
def proposer():
    return Proposer(toy_model.folder())


# Asking.


def test_a_question_is_its_parts():
    tokenizer = Tokenizer.default()
    mark, script = tokenizer.bos_id, toy_model.SLOW
    asked = ask(tokenizer, toy_model.PROMPT, script)
    parts = [tokenizer.encode(text) for text in (toy_model.PROMPT, script)]
    assert asked == [mark, *parts[0], mark, *parts[1], mark]
    assert ask(tokenizer, toy_model.PROMPT) == [mark, *parts[0], mark]


@given(testing.traces())
def test_another_name_and_back(trace):
    before = dumps(trace)
    there = renamed(trace, "main", "a new name")
    assert dumps(renamed(there, "a new name", "main")) == before


def test_a_name_stands_where_a_block_is_looked_up():
    script = 'tracescript 1\nGetSBlock | "main" "main" -> b\nAnnotate b-1 "main" | "main"\n'
    changed = dumps(renamed(loads(script + "X | 1\n"), "main", "f"))
    assert changed == script.replace('"main" "main" ->', '"main" "f" ->') + "X | 1\n"
    odd = from_json([[["GetSBlock", [], ["main"], ["b0"]]], []])
    assert renamed(odd, "main", "f") == odd


def test_what_the_post_processors_add_is_cut_off():
    trace = loads(
        'tracescript 1\nGetSBlock | "C" "main" -> b\nSampleComputeLocation b-1 -> l = -1\n'
        "EnterPostproc\nSampleComputeLocation b-1 -> l = -1\n"
    )
    cut = sampled_part(trace)
    assert dumps(cut) == "".join(dumps(trace).splitlines(keepends=True)[:3])
    assert sampled_part(cut) == cut
    assert sampled_part(loads("tracescript 1\nMyKind\n")).insts


def test_a_workload_as_the_model_knows_it():
    odd = '@"f" {"tirx.noalias": null}\nA "x" "float32" 8\nB "y": A*2\n'
    assert workloads.dumps(as_usual(workloads.loads(odd))) == odd.split("\n", 1)[1]


# The folder.


def test_the_folder_of_the_installed_model(monkeypatch):
    made = SimpleNamespace(FOLDER=toy_model.folder())
    monkeypatch.setattr("tracescript.proposals.folder.find_spec", lambda name: name)
    monkeypatch.setattr(
        "tracescript.proposals.folder.import_module", {"tracescript_model": made}.get
    )
    assert model_folder() == toy_model.folder()
    monkeypatch.setattr("tracescript.proposals.folder.find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install ./training/weights\), found neither"):
        model_folder()


def test_the_package_of_the_weights_names_its_folder():
    weights = toy_model.__file__.replace("tests/toy_model.py", "training/weights")
    code = "import tracescript_model as m; print(m.FOLDER)"
    done = subprocess.run([sys.executable, "-c", code], cwd=weights, capture_output=True, text=True)
    assert done.stdout.strip() == f"{weights}/tracescript_model"


def changed(path, name, content):
    """A copy of the model with another file, or without it."""
    shutil.copytree(toy_model.folder(), path)
    if content is None:
        (path / name).unlink()
    else:
        (path / name).write_bytes(content)
    return path


def test_what_is_no_folder_of_a_model(tmp_path):
    with pytest.raises(ModelError, match=r"nowhere: expected a folder of a model, found none"):
        Proposer(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"expected the files .*, found no model.safetensors"):
        Proposer(changed(tmp_path / "a", "model.safetensors", None))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("model.safetensors", b"\xff" * 100, "expected a causal model of transformers, found"),
        ("config.json", b"[]", "expected a causal model of transformers, found"),
        ("config.json", b'{"model_type": "t5"}', "expected a causal model of transformers, found"),
        ("tokenizer.json", b"{}", "tokenizer.json"),
    ],
)
def test_what_is_no_model(tmp_path, name, content, said):
    with pytest.raises(Exception, match=said) as caught:
        Proposer(changed(tmp_path / "model", name, content))
    assert "\n" not in str(caught.value)


def test_a_model_of_other_tokens(tmp_path):
    path = changed(tmp_path / "model", "tokenizer.json", b"")
    other = Tokenizer.default("symbol")
    other.save(path / "tokenizer.json")
    known = Tokenizer.load(toy_model.folder() / "tokenizer.json").vocab_size
    wanted = f"expected a model of {other.vocab_size} tokens, .* found one of {known}$"
    with pytest.raises(ModelError, match=wanted):
        Proposer(path)


def with_config(path, **entries):
    config = json.loads((toy_model.folder() / "config.json").read_text())
    return changed(path, "config.json", json.dumps(config | entries).encode())


def test_weights_that_are_missing_are_not_drawn(tmp_path):
    path = with_config(tmp_path / "model", num_hidden_layers=3)
    with pytest.raises(ModelError, match=r"expected all weights, found no model.layers.2"):
        Proposer(path)


def test_a_model_of_no_known_length(tmp_path):
    """Some kinds of models have no positions."""
    tokenizer = Tokenizer.load(toy_model.folder() / "tokenizer.json")
    config = BloomConfig(vocab_size=tokenizer.vocab_size, hidden_size=8, n_layer=1, n_head=1)
    BloomForCausalLM(config).save_pretrained(tmp_path)
    tokenizer.save(tmp_path / "tokenizer.json")
    wanted = r"config.json: expected a model that has max_position_embeddings, found none"
    with pytest.raises(ModelError, match=wanted):
        Proposer(tmp_path)


def test_loading_leaves_the_settings_of_transformers(capfd):
    before = logging.get_verbosity()
    for switch in (logging.disable_progress_bar, logging.enable_progress_bar):
        switch()
        shown = logging.is_progress_bar_enabled()
        Proposer(toy_model.folder())
        assert logging.is_progress_bar_enabled() == shown
    assert logging.get_verbosity() == before
    assert capfd.readouterr() == ("", "")


# Proposing.


def test_proposals_are_what_the_model_has_learnt(proposer):
    found = proposer.propose(WORKLOAD, count=24, seed=1)
    assert {dumps(each.trace) for each in found} >= set(toy_model.SCRIPTS)
    assert sum(each.count for each in found) == 24
    assert [each.logprob for each in found] == sorted([each.logprob for each in found])[::-1]
    for each in found[:5]:
        assert each.logprob == pytest.approx(math.log(1 / 5), abs=0.7)
    for each in found:
        assert not check(each.trace, tvm="0.27")


def test_a_given_script_is_asked_about(proposer):
    for given_script, faster in toy_model.REFINED.items():
        (first, *_) = proposer.propose(WORKLOAD, loads(given_script), count=4, temperature=0.2)
        assert dumps(first.trace) == faster
    whole = loads(toy_model.SLOW + "EnterPostproc\n")
    assert proposer.propose(WORKLOAD, whole, seed=2) == proposer.propose(
        WORKLOAD, loads(toy_model.SLOW), seed=2
    )


def test_the_same_arguments_give_the_same_scripts(proposer):
    torch.manual_seed(3)
    state = torch.random.get_rng_state()
    first = proposer.propose(WORKLOAD, seed=5)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert proposer.propose(WORKLOAD, seed=5) == first
    assert proposer.propose(WORKLOAD, seed=6) != first


def test_log_probabilities_are_those_of_the_draws(proposer):
    """Of few draws at a temperature, the likeliest scripts come about as often as they say."""
    found = proposer.propose(WORKLOAD, count=200, temperature=0.8, seed=1)
    for each in found[:3]:
        assert each.count / 200 == pytest.approx(math.exp(each.logprob), abs=0.12)


def watch(proposer, see):
    """A list of what is seen of the tokens that the model is given, step by step."""
    seen = []
    embeddings = proposer._model.get_input_embeddings()
    embeddings.register_forward_pre_hook(lambda _, inputs: seen.append(see(inputs[0])))
    return seen


def test_it_takes_one_thread_and_leaves_torch_its_own():
    proposer = Proposer(toy_model.folder())
    threads = watch(proposer, lambda _: torch.get_num_threads())
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        proposer.propose(WORKLOAD)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(threads) == {1}


def test_settings_that_come_with_a_model_are_not_taken(tmp_path, proposer):
    """Those of training do without the cache; others would draw something else."""
    path = with_config(tmp_path / "model", use_cache=False)
    (path / "generation_config.json").write_text('{"num_beams": 2, "repetition_penalty": 2.0}')
    other = Proposer(path)
    lengths = watch(other, lambda ids: ids.shape[1])
    assert other.propose(WORKLOAD, seed=5) == proposer.propose(WORKLOAD, seed=5)
    first, *rest = lengths
    assert first > 1
    assert set(rest) == {1}


def test_a_function_of_another_name(proposer):
    text = toy_model.PROMPT.replace("A", '@"f" {"tirx.noalias": null}\nA', 1)
    found = proposer.propose(workloads.loads(text), count=4, seed=1)
    same = proposer.propose(WORKLOAD, count=4, seed=1)
    assert [each.trace for each in found] == [renamed(each.trace, "main", "f") for each in same]
    script = renamed(loads(toy_model.SLOW), "main", "f")
    found = proposer.propose(workloads.loads(text), script, count=4, temperature=0.2)
    assert dumps(found[0].trace) == toy_model.FAST.replace('"main"', '"f"')


def test_what_is_too_long_for_the_model(proposer):
    long = Trace(loads(toy_model.SLOW).insts * 200)
    with pytest.raises(ModelError, match=r"given script of at most 1984 tokens, found \d{4}"):
        proposer.propose(WORKLOAD, long)


# Ranking.


def attempt(verdict, seconds=None, logprob=-1.0):
    return Attempt(Trial(verdict=verdict, seconds=seconds), logprob)


def test_the_best_is_the_fastest_or_the_likeliest():
    slow, fast, again = (attempt("right", seconds) for seconds in (3.0, 2.0, 2.0))
    unlikely, likely = (attempt("not measured", logprob=value) for value in (-9.0, -2.0))
    start = attempt("not measured", logprob=None)
    assert best([slow, fast, again]) is fast
    assert best([start, unlikely, likely]) is likely
    assert best([start, attempt("refused")]) is start
    assert best([attempt("wrong"), attempt("does not build")]) is None
    assert best([]) is None
