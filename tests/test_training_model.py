"""The model's sequences, batches and samples, and a supervised training in small."""

import copy
import gc
import json
import math
import os
import signal
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from training.attempts import Attempt
from training.data import files, tables
from training.evaluate.results import Candidate, read
from training.model import network, runs, sequences
from training.model.batches import TokenBatches
from training.model.decoder import Decoder
from training.model.index_maps import index_maps, parts_of_map, pieces
from training.model.masks import Begun, MaskProcesses, MasksHere, Taken
from training.model.sample import Request, Sampling, sample
from training.model.vocabulary import LOOKED_UP, corpus, training_sets
from training.sft import HuggingFaceEncoder
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Trainer,
    TrainingArguments,
)

from tracescript import loads, workloads
from tracescript.check import check
from tracescript.masks import ScriptMasker, task_of
from tracescript.masks.reading import first_distance
from tracescript.masks.reading import read as read_words
from tracescript.masks.scope import Scope
from tracescript.proposals import ask, masker_of
from tracescript.tokens import Tokenizer

ROOT = Path(__file__).parents[1]
PROMPT = 'h100\nA "x" "float32" 8 64\nB "double" 8 64: A*2\n'
SCRIPT = 'tracescript 1\nGetSBlock | "double" "main" -> b\nComputeInline b-1\n'


@pytest.fixture(scope="module")
def tokenizer():
    return sequences.load_tokenizer()


@pytest.fixture(scope="module")
def toy(tokenizer):
    torch.manual_seed(1)
    return network.make("toy", tokenizer).eval()


def draws(model, tokenizer, requests, masks=None, **sampling):
    found = Sampling(**sampling)
    return sample(model, requests, found, eos=tokenizer.eos_id, masks=masks, seed=3)


def request(tokenizer, prompt):
    return Request(ask(tokenizer, prompt), task_of(workloads.loads(prompt)))


def test_a_sequence_is_its_parts(tokenizer):
    made = sequences.sequence(tokenizer, PROMPT, SCRIPT, given=SCRIPT)
    mark, end = tokenizer.bos_id, tokenizer.eos_id
    first, second = (place for place, token in enumerate(made.ids) if token == mark and place)
    assert tokenizer.decode(made.ids[1:first]) == PROMPT
    assert tokenizer.decode(made.ids[first + 1 : second]) == SCRIPT
    assert tokenizer.decode(made.ids[second + 1 : -1]) == SCRIPT
    assert (made.ids[0], made.ids[-1], made.start) == (mark, end, second + 1)
    assert made.labels == [-100] * made.start + made.ids[made.start :]
    assert made.ids[: made.start] == ask(tokenizer, PROMPT, SCRIPT)


def test_construct_and_refine_begin_alike(tokenizer):
    construct = ask(tokenizer, PROMPT)
    refine = ask(tokenizer, PROMPT, SCRIPT)
    assert refine[: len(construct)] == construct


def test_many_processes_encode_in_order(tokenizer):
    rows = sequences.measured("train")
    rows = rows[:1100] + rows[-1100:]
    alone = [
        sequences.sequence(tokenizer, row["prompt"], row["script"], row.get("given"))
        for row in rows
    ]
    assert sequences.sequences(tokenizer, rows, 3) == alone
    assert sequences.sequences(tokenizer, [], 3) == []


def test_an_example_that_cannot_be_encoded(tokenizer):
    row = {"prompt": PROMPT, "script": "\ud800"}
    with pytest.raises(RuntimeError, match="were not encoded: the process died, exit status 1"):
        sequences.sequences(tokenizer, [row], 1)


def test_validation_has_workloads_of_its_own():
    prompts = {}
    for part in ("train", "validation"):
        prompts[part] = {row["prompt"] for row in sequences.measured(part)}
    assert all(prompts.values())
    assert not prompts["train"] & prompts["validation"]


def test_valid_scripts_are_there_alone_and_beside_another(tmp_path):
    row = {"family": "f", "target": "t", "prompt": "p", "reproduced": True}
    scripts = [("b", "3"), ("a", "1"), ("b", "1"), ("b", "2"), ("c", "1"), ("c", "1")]
    made = [{"key": key, "script": script, **row} for key, script in scripts]
    tables.write(tmp_path / "pretrain" / "train.parquet", made, tables.PRETRAIN)
    found = [
        (each["key"], each.get("given"), each["script"])
        for each in sequences.valid("train", tmp_path)
    ]
    assert found[:6] == [(key, None, script) for key, script in scripts]
    assert found[6:] == [("b", "2", "1"), ("b", "3", "2"), ("b", "1", "3")]


def test_masks_know_the_extent_of_every_tile():
    """Also those of tensor cores, after maps, paddings and wrapped blocks."""
    rows = sequences.rows(files.DATASETS, "pretrain", "validation")
    tiles = for_tensor_cores = 0
    for row in rows:
        scope = Scope(workload=task_of(workloads.loads(row["prompt"])))
        wrapped = False
        for line in row["script"].splitlines()[1:]:
            kind = line.partition(" ")[0]
            if kind == "SamplePerfectTile":
                factors = line.rpartition("[")[2][:-1].split()
                assert scope.extent(first_distance(line)) == math.prod(map(int, factors))
                tiles += 1
                for_tensor_cores += wrapped
            if kind == "GetLoops":
                known = scope.loop_count(first_distance(line))
                assert known in (None, read_words(line).outputs)
            wrapped |= kind == "Blockize"
            scope = scope.after(line)
    assert tiles > 3 * len(rows) > 0
    assert for_tensor_cores > tiles / 10


def test_the_vocabulary_makes_sequences_short(tokenizer):
    """Against that of the library, which knows no prompts and more traces."""
    shipped = Tokenizer.default()
    rows = sequences.rows(files.DATASETS, "construct", "train")[:300]
    for column, share in (("prompt", 0.4), ("script", 0.7)):
        ours = sum(len(tokenizer.encode(row[column])) for row in rows)
        assert ours < share * sum(len(shipped.encode(row[column])) for row in rows)
        assert all(tokenizer.decode(tokenizer.encode(row[column])) == row[column] for row in rows)


def test_to_look_a_block_up_is_to_copy_its_name(tokenizer):
    """The tokens of a name are the same in a prompt and in a script, known or new."""

    def has(text, name):
        ids, part = tokenizer.encode(text), tokenizer.encode(name)
        return any(ids[place : place + len(part)] == part for place in range(len(ids)))

    prompt = PROMPT.replace("double", "never_seen_before")
    named = [(prompt, SCRIPT.replace("double", "never_seen_before"))]
    for of in (("construct", "train"), ("pretrain", "validation")):
        rows = sequences.rows(files.DATASETS, *of)[:300]
        named += [(row["prompt"], row["script"]) for row in rows]
    pairs = [(*both, name) for both in named for name in set(LOOKED_UP.findall(both[1]))]
    assert len(pairs) > 800
    copied = [has(prompt, name) and has(script, name) for prompt, script, name in pairs]
    assert copied[0]
    # What one statement names twice, as the buffers of an argmax, a prompt may write in two lines.
    assert copied.count(False) <= len(copied) // 100


@pytest.mark.parametrize("cut", [pieces, parts_of_map])
def test_an_index_map_is_what_it_is_cut_into(cut):
    rows = sequences.rows(files.DATASETS, "pretrain", "train")[::4]
    maps = {text for row in rows for text in index_maps(row["script"])}
    assert len(maps) > 500
    assert 565 <= min(map(len, maps)) <= max(map(len, maps)) <= 4248
    for text in maps:
        parts = list(cut(text))
        assert "".join(parts) == text
        assert max(map(len, parts)) <= 1000


def test_a_token_of_an_index_map_is_a_choice(tokenizer):
    """By characters, maps are longer than the rest of a script; by tokens they are not."""
    maps = [
        text
        for row in sequences.rows(files.DATASETS, "pretrain", "validation")[:500]
        for text in index_maps(row["script"])
    ]
    assert len(maps) > 500
    lengths = sorted(len(tokenizer.encode(text)) for text in maps)
    assert lengths[len(maps) // 2] <= 3
    assert lengths[len(maps) * 9 // 10] <= 13


def test_the_vocabulary_is_learnt_from_training_data_alone():
    sets = training_sets()
    train = [
        row
        for name in ("pretrain", "construct", "refine")
        for row in sequences.rows(files.DATASETS, name, "train")
    ]
    assert {row["script"] for found in sets for row in found} == {row["script"] for row in train}
    some = [found[:500] for found in sets]
    assert "".join(corpus(some, 10**9, 0, set())) == "".join(
        row["script"] for found in some for row in found
    )
    # A short script may be right for many workloads; what tells them apart is the workload.
    held = {
        row["key"]
        for name in ("construct", "refine")
        for split in ("test", "hard")
        for row in sequences.rows(files.DATASETS, name, split)
    }
    assert len(held) > 300
    assert not held & {row["key"] for row in train}


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 500), st.integers(0, 3))
def test_batches_have_each_sequence_once(lengths, tokens, epoch):
    batches = TokenBatches(lengths, tokens)
    batches.set_epoch(epoch)
    made = list(batches)
    assert len(batches) == len(made)
    assert made == list(batches)
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= tokens


def test_each_epoch_has_an_order_of_its_own():
    batches = TokenBatches(list(range(1, 50)), 60)
    first = list(batches)
    batches.set_epoch(1)
    assert list(batches) != first


def test_masked_samples_are_scripts(toy, tokenizer):
    masks = MasksHere(ScriptMasker(tokenizer))
    other = PROMPT.replace("8 64", "12 5 7")
    requests = [request(tokenizer, each) for each in (PROMPT, other)]
    for found in draws(toy, tokenizer, requests, masks, copies=3, limit=24):
        assert len(found) == 3
        for draw in found:
            assert draw.ended
            assert len(draw.ids) < 24
            assert not check(loads(tokenizer.decode(draw.ids)))


def test_masks_let_all_training_scripts_through(tokenizer):
    """Though they let only blocks of the workload be looked up, and only its function."""
    masker = masker_of(tokenizer)
    tasks = {}
    for name in ("pretrain", "construct", "refine"):
        for row in sequences.rows(files.DATASETS, name, "train")[::100]:
            prompt = row["prompt"]
            if prompt not in tasks:
                tasks[prompt] = task_of(workloads.loads(prompt))
            state = masker.new(tasks[prompt])
            ids = tokenizer.encode(row["script"])
            assert state.try_advance(ids) == len(ids)
            assert state.is_accepting()
    assert len(tasks) > 500


@pytest.mark.parametrize("masked", [False, True])
def test_log_probabilities_are_those_of_the_model(toy, tokenizer, masked, monkeypatch):
    """What rows of several prompts, taken in turn, and masks make is what one row alone has.

    In the end the batch gets smaller: masked scripts end at places of their own.
    """
    monkeypatch.setattr("training.model.sample._FEWEST", 1)
    kept = []
    keep = Decoder.keep
    monkeypatch.setattr(Decoder, "keep", lambda *told: (kept.append(told[1]), keep(*told)))
    masker = ScriptMasker(tokenizer)
    prompts = [PROMPT, PROMPT.replace("8 64", "12 5 7 9 11 13"), PROMPT + 'C "y" 8 64: B+1\n']
    requests = [request(tokenizer, each) for each in prompts]
    limit, temperature = 16, 0.7
    options = {"copies": 4, "limit": limit, "temperature": temperature, "rows": 5}
    found = draws(toy, tokenizer, requests, MasksHere(masker) if masked else None, **options)
    assert len({tuple(draw.ids) for each in found for draw in each}) > 6
    assert kept
    for asked, each in zip(requests, found, strict=True):
        for draw in each:
            tokens = [*draw.ids, tokenizer.eos_id] if draw.ended else draw.ids
            with torch.inference_mode():
                logits = toy(torch.tensor([asked.ids + tokens])).logits[0, len(asked.ids) - 1 :]
            expected, state = [], masker.new(asked.task) if masked else None
            for place, token in enumerate(tokens):
                line = logits[place] / temperature
                if state is not None:
                    allowed = torch.full_like(line, float("-inf"))
                    allowed[torch.tensor(state.allowed_tokens(left=limit - place)).long()] = 0
                    line = line + allowed
                    state.advance(token)
                expected.append(float(line.log_softmax(-1)[token]))
            assert draw.logprobs == pytest.approx(expected, abs=1e-4)


def test_the_same_seed_gives_the_same_samples(toy, tokenizer):
    requests = [request(tokenizer, PROMPT)] * 3
    assert draws(toy, tokenizer, requests, limit=9) == draws(toy, tokenizer, requests, limit=9)


def test_models_that_share_heads_are_refused(tokenizer):
    config = LlamaConfig(num_attention_heads=4, num_key_value_heads=2, hidden_size=32)
    config.num_hidden_layers = 1
    model = LlamaForCausalLM(config)
    with pytest.raises(ValueError, match="as many key-value heads as heads"):
        draws(model, tokenizer, [Request([1])], limit=4)


def test_masks_are_the_same_in_processes(toy, tokenizer):
    """Whatever slots scripts have, and though rows are taken over and let go."""
    masker = ScriptMasker(tokenizer)
    requests = [request(tokenizer, PROMPT), Request([tokenizer.bos_id]), request(tokenizer, PROMPT)]
    options = {"copies": 3, "limit": 16, "rows": 4, "keep_masks": True}
    here = draws(toy, tokenizer, requests, MasksHere(masker), **options)
    assert all(len(draw.masks) == len(draw.logprobs) for each in here for draw in each)
    assert any(draw.ended for each in here for draw in each)
    with MaskProcesses(masker, 3, [(SCRIPT, requests[0].task)]) as masks:
        for _ in range(2):
            there = draws(toy, tokenizer, requests, masks, **options)
            for draw, other in zip(chain(*here), chain(*there), strict=True):
                assert (draw.ids, draw.logprobs) == (other.ids, other.logprobs)
                assert np.array_equal(draw.masks, other.masks)


def test_a_process_that_makes_no_mask(tokenizer):
    task = task_of(workloads.loads(PROMPT))
    with MaskProcesses(ScriptMasker(tokenizer), 2) as masks:
        masks.reset(3)
        masks.update([Begun(0, task, 64), Begun(1, None, 64)])
        assert masks.bits([1, 0]).any(axis=1).all()
        # No such token comes at the beginning.
        masks.update([Taken(1, tokenizer.pad_id, 63)])
        with pytest.raises(RuntimeError, match=r"could not make a mask: token .* cannot come"):
            masks.bits([1])
    with MaskProcesses(ScriptMasker(tokenizer), 1) as masks:
        masks.wait()
        os.kill(masks._processes[0].pid, signal.SIGKILL)
        masks._processes[0].join()
        with pytest.raises(RuntimeError, match="a process that makes masks has died"):
            masks.reset(1)


def test_masks_end_with_the_process_that_asks_for_them():
    code = """if True:
        import os
        from training.model.masks import MaskProcesses
        from training.model.sequences import load_tokenizer
        from tracescript.masks import ScriptMasker
        if __name__ == "__main__":
            masks = MaskProcesses(ScriptMasker(load_tokenizer()), 1).wait()
            print(masks._processes[0].pid, flush=True)
            os._exit(0)  # as a process ends that is killed
    """
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    deadline = time.monotonic() + 60
    while Path(f"/proc/{int(done.stdout)}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_nothing_to_sample(toy, tokenizer):
    assert draws(toy, tokenizer, []) == []


def test_collections_wait_for_the_samples_alone(toy, tokenizer):
    class Interrupted(Exception):
        pass

    seen = []

    def interrupt(_ended):
        seen.append(gc.isenabled())
        raise Interrupted

    requests = [Request([tokenizer.bos_id])]
    with pytest.raises(Interrupted):
        sample(toy, requests, Sampling(limit=1), eos=tokenizer.eos_id, progress=interrupt)
    assert seen == [False]
    assert gc.isenabled()


def test_without_temperature_the_likeliest_token_is_taken(toy, tokenizer):
    asked = request(tokenizer, PROMPT)
    ((draw,),) = draws(toy, tokenizer, [asked], limit=4, temperature=0)
    ids = list(asked.ids)
    for token in draw.ids:
        assert token == int(toy(torch.tensor([ids])).logits[0, -1].argmax())
        ids.append(token)


def run(*arguments, module="training.sft"):
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def losses(folder):
    history = json.loads((folder / "log.json").read_text())["history"]
    return [each["eval_loss"] for each in history if "eval_loss" in each]


def test_supervised_training(tmp_path):
    """Pre-training, stopped and gone on with, then both tasks from there."""
    toy = ["--size", "toy", "--first", 60, "--tokens", 1024, "--rate", 0.01]
    valid, measured = tmp_path / "valid", tmp_path / "measured"
    run("valid", "--out", valid, *toy, "--epochs", 3, "--seconds", 0.01)
    assert json.loads((valid / "log.json").read_text())["history"][-1]["epoch"] < 1
    run("valid", "--out", valid, *toy, "--epochs", 3)
    first = losses(valid)
    assert len(first) == 3
    assert first[-1] < first[0]
    run("measured", "--start", valid, "--out", measured, *toy, "--epochs", 1)
    model = AutoModelForCausalLM.from_pretrained(measured)
    assert model.config.vocab_size == sequences.load_tokenizer().vocab_size


def test_a_step_that_is_no_number_is_left_out(toy, tmp_path):
    """Or each weight would be none from then on, as it was once on a GPU."""
    model = copy.deepcopy(toy).train()
    norms, passes = [], iter(range(100))

    def spoil(gradient):
        return gradient * float("nan") if next(passes) == 1 else gradient

    model.lm_head.weight.register_hook(spoil)
    ids = torch.arange(8)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            str(tmp_path),
            max_steps=4,
            per_device_train_batch_size=1,
            logging_steps=1,
            report_to="none",
            use_cpu=True,
        ),
        train_dataset=[{"input_ids": ids, "labels": ids}] * 4,
        callbacks=runs.callbacks(None),
    )
    for entry in runs.run(trainer, tmp_path):
        norms += [entry["grad_norm"]] if "grad_norm" in entry else []
    assert [math.isfinite(norm) for norm in norms] == [True, False, True, True]
    weights = model.state_dict()
    assert all(bool(value.isfinite().all()) for value in weights.values())
    assert not torch.equal(weights["lm_head.weight"], toy.state_dict()["lm_head.weight"])


def test_an_id_of_zero_is_an_id():
    symbols = Tokenizer.default("symbol")
    assert symbols.pad_id == 0
    encoder = HuggingFaceEncoder(symbols.to_huggingface())
    assert (encoder.pad_id, encoder.bos_id, encoder.eos_id) == (0, symbols.bos_id, symbols.eos_id)


@pytest.mark.parametrize(
    ("module", "options", "said"),
    [
        (
            "training.sft",
            ["valid", "--out", "model", "--size", "toy"],
            "train.parquet: no such file",
        ),
        ("training.propose", ["nowhere", "--label", "a", "--out", "a.jsonl"], "test.parquet: no"),
    ],
)
def test_what_is_missing_is_said_in_a_line(tmp_path, module, options, said):
    command = [sys.executable, "-m", module, *options, "--datasets", str(tmp_path / "none")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode
    assert said in done.stderr.splitlines()[-1]
    assert not (ROOT / "model").exists()


def test_adapters_of_another_model(tmp_path):
    """The way of large models, on a tiny one with a tokenizer of Hugging Face."""
    base, out = tmp_path / "base", tmp_path / "out"
    symbols = Tokenizer.default("symbol")
    symbols.to_huggingface(base)
    config = LlamaConfig(
        vocab_size=symbols.vocab_size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    LlamaForCausalLM(config).save_pretrained(base)
    options = ["--first", 8, "--epochs", 1, "--lora", 4]
    run("measured", "--start", base, "--out", out, *options)
    assert (out / "adapter_model.safetensors").is_file()
    assert losses(out)
    run("measured", "--start", out, "--out", tmp_path / "more", *options)
    assert (tmp_path / "more" / "adapter_model.safetensors").is_file()
    assert losses(tmp_path / "more")


def test_proposals(tmp_path, toy):
    """Attempts at the held-out tasks, which the evaluator reads as candidates."""
    toy.save_pretrained(tmp_path / "model")
    out = tmp_path / "attempts.jsonl"
    options = ["--label", "toy", "--out", out, "--first", 1, "--copies", 2, "--limit", 16]
    run(tmp_path / "model", *options, module="training.propose")
    lines = read(out, Attempt)
    attempts = [each for each in lines if each.source == "toy"]
    assert [(each.kind, each.split) for each in attempts[::2]] == [
        ("construct", "test"),
        ("construct", "hard"),
        ("refine", "test"),
        ("refine", "hard"),
    ]
    for each in attempts:
        assert each.ended
        assert each.tokens <= 16
        assert each.logprob < 0
        assert not check(loads(each.script))
    given = [
        sequences.rows(files.DATASETS, "refine", split)[0]["given"] for split in ("test", "hard")
    ]
    assert [each.script for each in lines if each.source == "given"] == given
    assert [each.script for each in read(out, Candidate)] == [each.script for each in lines]
    assert len(lines) == len(attempts) + 2
    report = json.loads(out.with_suffix(".run.json").read_text())
    assert report["scripts"] == report["ended"] == len(attempts) == 8
    assert report["masked"]
    assert report["parameters"] == toy.num_parameters()
    run(tmp_path / "model", *options, "--no-mask", module="training.propose")
    assert all(not each.script for each in read(out, Attempt) if not each.ended)
