"""A tiny model that knows a handful of scripts by heart, for the tests that need a model."""

import math
import tempfile
from functools import cache
from pathlib import Path

TARGET = '{"kind": "llvm", "num-cores": 2}'
_PRODUCT = 'A "A" "float32" 64 128\nB "B" 128 32\nC "C" 64 32 | 128: +/A[ik]*B[kj]\n'
PROMPT = '{"kind": "llvm" "num-cores": 2}\n' + _PRODUCT
"""A product of two matrices."""
GPU_PROMPT = "h100\n" + _PRODUCT

_BEGIN = 'tracescript 1\nGetSBlock | "C" "main" -> b\nGetLoops b-1 -> l3\n'
FAST = _BEGIN + "Split l-1 null 4 | true false -> l2\nReorder l-2 l-4 l-1\n"
SLOW = _BEGIN + "Parallel l-3\n"
WRONG = _BEGIN + 'CacheWrite b-1 [] | 0 "global" -> b\nUnsafeSetDType b-2 | 0 "float16"\n'
UNBUILDABLE = _BEGIN + 'Bind l-3 | "threadIdx.x"\n'
REFUSED = _BEGIN + "Vectorize l-1\n"

SCRIPTS = (FAST, SLOW, WRONG, UNBUILDABLE, REFUSED)
"""What it constructs, one as likely as another; for the GPU it is always `FAST`."""

REFINED = {SLOW: FAST, FAST: SLOW, WRONG: REFUSED, REFUSED: UNBUILDABLE}
"""What it makes of a given script."""


_FOLDER = tempfile.TemporaryDirectory()


@cache
def folder():
    """The folder of the model; it is trained once for all tests of a process."""
    # Optional; the scripts are of use without.
    import torch
    from training.model import network, sequences

    # Of more threads, tests that run side by side wait for each other.
    torch.set_num_threads(1)
    path = Path(_FOLDER.name)
    tokenizer = sequences.load_tokenizer()
    examples = [sequences.sequence(tokenizer, PROMPT, script) for script in SCRIPTS]
    examples.append(sequences.sequence(tokenizer, GPU_PROMPT, FAST))
    for given, script in REFINED.items():
        examples.append(sequences.sequence(tokenizer, PROMPT, script, given))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = network.make("toy", tokenizer)
        _learn(model, examples, tokenizer.pad_id)
    model.save_pretrained(path)
    tokenizer.save(path / "tokenizer.json")
    return path


def _learn(model, examples, pad):
    """Train until it knows them, whatever the vocabulary."""
    import torch

    length = max(len(each.ids) for each in examples)
    ids = [each.ids + [pad] * (length - len(each.ids)) for each in examples]
    labels = [each.labels + [-100] * (length - len(each.ids)) for each in examples]
    batch = {"input_ids": torch.tensor(ids), "labels": torch.tensor(labels)}
    # It cannot know which script is the one to construct.
    least = len(SCRIPTS) * math.log(len(SCRIPTS)) / int((batch["labels"] >= 0).sum())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for _ in range(1000):
        optimizer.zero_grad()
        loss = model(**batch).loss
        if loss < least + 0.005:
            return
        loss.backward()
        optimizer.step()
    raise AssertionError("the toy model does not learn its scripts")
