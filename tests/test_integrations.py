"""The adapters: whatever a model wants, what comes out is a script; all rows by themselves."""

import json
import random
import sys
from functools import lru_cache
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from tracescript import loads
from tracescript.check import check
from tracescript.integrations import vllm
from tracescript.integrations.rows import Rows
from tracescript.masks import BlockInfo, ScriptMasker, TaskInfo
from tracescript.tokens import Tokenizer

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

TOKENIZERS = {level: Tokenizer.default(level) for level in ("symbol", "phrase")}
EACH_LEVEL = pytest.mark.parametrize("level", TOKENIZERS)
SYMBOL = TOKENIZERS["symbol"]
EOS, PAD = SYMBOL.eos_id, SYMBOL.pad_id
HEADER = "tracescript 1\n"
TASKS = [
    TaskInfo((BlockInfo("matmul", (64, 128, 32), ("A", "B", "C")),)),
    TaskInfo((BlockInfo("relu", (7,), ("X", "Y")), BlockInfo("sum", (4, 9)))),
]


@lru_cache
def masker(level="symbol"):
    return ScriptMasker(TOKENIZERS[level])


def script_of(tokens, level, task=None):
    """The script of a row; it is finished, and nothing is wrong with it."""
    assert EOS in tokens
    body, rest = tokens[: tokens.index(EOS)], tokens[tokens.index(EOS) :]
    assert set(rest) <= {EOS, PAD}
    text = TOKENIZERS[level].decode(body)
    problems = check(loads(text), tvm="0.27")
    assert not [problem for problem in problems if problem.severity == "error"]
    state = masker(level).new(task)
    assert state.try_advance([*body, EOS]) == len(body) + 1
    return text


# Rows, without any engine.


def allowed(rows, *args, vocab_size=SYMBOL.vocab_size):
    flags = Rows(masker(), *args).allowed(rows, vocab_size)
    assert flags.dtype == np.bool_
    assert flags.shape == (len(rows), vocab_size)
    return [np.flatnonzero(row).tolist() for row in flags]


def test_rows_are_masked_as_their_states_say():
    texts = ["", HEADER, HEADER + "GetLoops", HEADER + 'GetSBlock | "C" "main" -> b\nGetLoops']
    rows = [SYMBOL.encode(text) for text in texts]
    states = [masker().new() for _ in rows]
    legal = [state.try_advance(row) for state, row in zip(states, rows, strict=True)]
    assert legal[2] == 1
    expected = [state.allowed_tokens().tolist() for state in states]
    expected[2] = [PAD, EOS]
    assert allowed(rows) == expected
    assert allowed(rows, vocab_size=1300) == expected


def test_a_row_that_has_ended():
    header = SYMBOL.encode(HEADER)
    rows = [[*header, EOS], [*header, EOS, PAD, PAD], [EOS, 300]]
    assert allowed(rows) == [[PAD, EOS]] * 3


def test_rows_of_a_prompt_have_its_task():
    row = SYMBOL.encode(HEADER + 'GetSBlock | "')
    flags = Rows(masker(), [*TASKS, None]).allowed([row] * 6, SYMBOL.vocab_size)
    states = [masker().new(task) for task in (*TASKS, None)]
    for number, state in enumerate(states):
        state.try_advance(row)
        for flag in flags[2 * number : 2 * number + 2]:
            assert np.flatnonzero(flag).tolist() == state.allowed_tokens().tolist()


def test_what_rows_refuse():
    with pytest.raises(ValueError, match="tasks: expected one for each prompt, found none"):
        Rows(masker(), [])
    with pytest.raises(ValueError, match="max_new_tokens: expected 2 or more, found 1"):
        Rows(masker(), None, 1)
    with pytest.raises(ValueError, match=r"rows: expected a multiple of 2, .*, found 3"):
        Rows(masker(), TASKS).allowed([[]] * 3, SYMBOL.vocab_size)
    with pytest.raises(ValueError, match="scores: expected 1252 tokens or more, found 1251"):
        Rows(masker()).allowed([[]], 1251)


def test_states_that_are_forgotten_are_computed_again():
    tokens = SYMBOL.encode(HEADER + 'GetSBlock | "C" "main" -> b\n')
    rows = Rows(masker())
    for length in [*range(len(tokens)), *range(len(tokens))]:
        state = masker().new()
        state.try_advance(tokens[:length])
        flags = rows.allowed([tokens[:length]], SYMBOL.vocab_size)[0]
        assert np.flatnonzero(flags).tolist() == state.allowed_tokens().tolist()


@EACH_LEVEL
@pytest.mark.parametrize("budget", [2, 3, 12])
def test_random_rows_keep_the_budget(level, budget):
    """Any token that is let through, at any time: there is always a way to finish."""
    random.seed(budget)
    rows = Rows(masker(level), TASKS, budget)
    tokens = [[] for _ in range(4)]
    for _ in range(budget):
        for row, flags in zip(
            tokens, rows.allowed(tokens, TOKENIZERS[level].vocab_size), strict=True
        ):
            choice = np.flatnonzero(flags).tolist()
            # Rather not the end, and rather what takes long to finish.
            row.append(random.choice([token for token in choice if token != EOS] or [EOS]))
    for number, row in enumerate(tokens):
        script_of(row, level, TASKS[number // 2])


def test_a_row_beyond_the_budget_takes_the_shortest_way():
    row = SYMBOL.encode(HEADER + "SamplePerfectTile")
    state = masker().new()
    state.try_advance(row[:1])
    row = SYMBOL.encode(HEADER + 'GetSBlock | "')
    state.try_advance(row[1:])
    rows = Rows(masker(), None, len(row) + 1).allowed([row], SYMBOL.vocab_size)
    assert np.flatnonzero(rows[0]).tolist() == state.allowed_tokens(left=0).tolist()
    assert rows[0][state.completion()[0]]


# transformers.


@lru_cache
def model(level, padding=60):
    torch = pytest.importorskip("torch", reason="torch is optional")
    transformers = pytest.importorskip("transformers", reason="transformers is optional")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=TOKENIZERS[level].vocab_size + padding,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=512,
        pad_token_id=PAD,
        bos_token_id=SYMBOL.bos_id,
        eos_token_id=EOS,
    )
    return transformers.LlamaForCausalLM(config).eval()


@EACH_LEVEL
@pytest.mark.parametrize(
    "options",
    [
        {"do_sample": True, "num_return_sequences": 2, "temperature": 3.0},
        {"do_sample": False},
        {"do_sample": False, "num_beams": 3},
        {"do_sample": True, "num_beams": 3, "num_return_sequences": 2},
    ],
    ids=["sampling", "greedy", "beams", "sampled beams"],
)
def test_transformers_generates_scripts(level, options):
    torch = pytest.importorskip("torch", reason="torch is optional")
    from tracescript.integrations.transformers import ScriptLogitsProcessor

    torch.manual_seed(1)
    prompts = torch.tensor([[SYMBOL.bos_id, 300, 301], [PAD, SYMBOL.bos_id, 302]])
    processor = ScriptLogitsProcessor(masker(level), 3, TASKS, 16)
    outputs = model(level).generate(
        prompts,
        attention_mask=(prompts != PAD).long(),
        logits_processor=[processor],
        max_new_tokens=16,
        **options,
    )
    per_prompt = options.get("num_return_sequences", 1)
    assert len(outputs) == 2 * per_prompt
    for number, output in enumerate(outputs.tolist()):
        script_of(output[3:], level, TASKS[number // per_prompt])


def test_transformers_without_a_budget():
    torch = pytest.importorskip("torch", reason="torch is optional")
    from tracescript.integrations.transformers import ScriptLogitsProcessor

    torch.manual_seed(2)
    processor = ScriptLogitsProcessor(masker(), 1)
    (output,) = model("symbol").generate(
        torch.tensor([[SYMBOL.bos_id]]),
        logits_processor=[processor],
        do_sample=True,
        max_new_tokens=40,
    )
    tokens = output.tolist()[1:]
    assert masker().new().validate(tokens) == len(tokens)


def test_the_scores_of_the_processor():
    torch = pytest.importorskip("torch", reason="torch is optional")
    from tracescript.integrations.transformers import ScriptLogitsProcessor

    scores = torch.arange(2 * 1300, dtype=torch.float32).reshape(2, 1300)
    header = SYMBOL.encode(HEADER)
    ids = torch.tensor([[5, *header], [5, EOS]])
    masked = ScriptLogitsProcessor(masker(), 1)(ids, scores)
    state = masker().new()
    state.try_advance(header)
    for row, (allowed_tokens, before) in enumerate(
        [(state.allowed_tokens().tolist(), scores[0]), ([PAD, EOS], scores[1])]
    ):
        kept = masked[row].isfinite()
        assert kept.nonzero().flatten().tolist() == allowed_tokens
        assert (masked[row][kept] == before[kept]).all()


# outlines.


@EACH_LEVEL
def test_outlines_generates_scripts(level):
    torch = pytest.importorskip("torch", reason="torch is optional")
    outlines = pytest.importorskip("outlines", reason="outlines is optional")
    from tracescript.integrations.outlines import script_processor

    torch.manual_seed(3)
    tokenizer = TOKENIZERS[level]
    wrapped = outlines.from_transformers(model(level), tokenizer.to_huggingface())
    processor = script_processor(wrapped, masker(level), TASKS[:1], 14)
    generate = outlines.Generator(wrapped, processor=processor)
    for prompt in ("GetLoops", "Split l-1 4"):
        text = generate(prompt, max_new_tokens=14, do_sample=True)
        script_of([*tokenizer.encode(text), EOS], level, TASKS[0])
    both = script_processor(wrapped, masker(level), TASKS, 14)
    texts = outlines.Generator(wrapped, processor=both).batch(
        ["GetLoops", "Split"], max_new_tokens=14, do_sample=True
    )
    for text, task in zip(texts, TASKS, strict=True):
        script_of([*tokenizer.encode(text), EOS], level, task)


def test_outlines_on_numpy():
    pytest.importorskip("outlines", reason="outlines is optional")
    from tracescript.integrations.outlines import script_processor

    processor = script_processor(SimpleNamespace(tensor_library_name="numpy"), masker())
    logits = np.zeros((1, SYMBOL.vocab_size))
    masked = processor(np.array([[5, 6]]), logits)
    assert np.flatnonzero(np.isfinite(masked[0])).tolist() == SYMBOL.encode(HEADER)


# vLLM: what its documentation says of the interface, in a few lines.


class Adapter:
    """A stand-in for vLLM's class that calls one processor for each request."""

    def __init__(self, *_):
        self.requests = {}

    def update_state(self, batch_update):
        if batch_update is None:
            return
        for index in batch_update.removed:
            self.requests.pop(index, None)
        for index, params, _, output_ids in batch_update.added:
            processor = self.new_req_logits_processor(params)
            self.requests.pop(index, None)
            if processor is not None:
                self.requests[index] = (processor, output_ids)
        for source, target in batch_update.moved:
            self.requests[target] = self.requests.pop(source)

    def apply(self, logits):
        for index, (processor, output_ids) in self.requests.items():
            logits[index] = processor(output_ids, logits[index])
        return logits


def update(removed=(), added=(), moved=()):
    return SimpleNamespace(removed=removed, added=added, moved=moved)


def params(extra, max_tokens=30):
    return SimpleNamespace(extra_args=extra, max_tokens=max_tokens)


@pytest.fixture
def installed(monkeypatch):
    """As if vLLM were installed."""
    names = ("vllm", "vllm.v1", "vllm.v1.sample", "vllm.v1.sample.logits_processor")
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules[names[-1]].AdapterLogitsProcessor = Adapter
    vllm._default_class.cache_clear()
    yield
    vllm._default_class.cache_clear()


WISH = {
    "tvm": "0.27",
    "task": {"blocks": [{"name": "matmul", "loops": [64, 128, 32], "buffers": ["A", "B", "C"]}]},
    "constraints": {"domains": True},
}


@pytest.mark.usefixtures("installed")
def test_vllm_masks_the_requests_that_ask_for_it():
    torch = pytest.importorskip("torch", reason="torch is optional")
    processor = vllm.processor_class(SYMBOL)(None, torch.device("cpu"), False)
    assert processor.is_argmax_invariant() is False
    outputs = {"task": [], "plain": [], "none": []}
    wish = json.dumps(WISH)
    asked = {"task": params({"tracescript": wish}), "plain": params({"tracescript": {}})}
    asked["none"] = params(None)
    places = ["none", "task", "plain"]
    for place, name in enumerate(places):
        processor.validate_params(asked[name])
        added = [(place, asked[name], [1], outputs[name])]
        processor.update_state(update(added=added))
    torch.manual_seed(4)
    for step in range(30):
        processor.update_state(update([0], (), [(2, 0)]) if step == 5 else None)
        places = ["plain", "task"] if step >= 5 else places
        logits = torch.randn(len(places), SYMBOL.vocab_size + 4)
        logits[:, EOS] = -100.0
        for name, row in zip(places, processor.apply(logits.clone()), strict=True):
            outputs[name].append(int(row.argmax()))
    assert outputs["none"] != []
    script_of(outputs["plain"], "symbol")
    script_of(outputs["task"], "symbol", TASKS[0])


@pytest.mark.usefixtures("installed")
def test_vllm_finds_the_class_of_the_default_tokenizer_by_name():
    processor = vllm.ScriptLogitsProcessor(None, None, False)
    assert type(processor) is vllm.ScriptLogitsProcessor
    assert processor.new_req_logits_processor(params(None)) is None
    assert processor.new_req_logits_processor(params({"tracescript": {}}, None)) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        vllm.Other  # noqa: B018


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (3, r"extra_args\['tracescript'\]: Expected `object`"),
        ({"release": "0.27"}, "unknown field `release`"),
        ({"task": {"blocks": [{"name": 1}]}}, r"Expected `str`, got `int` - at `\$\.task"),
        ({"tvm": "1.0"}, r"found '1\.0'"),
        ("{", r"extra_args\['tracescript'\]: Input data was truncated"),
    ],
)
def test_vllm_refuses_other_wishes(wish, message):
    with pytest.raises(ValueError, match=message):
        vllm.processor_class().validate_params(params({"tracescript": wish}))


def test_vllm_refuses_a_budget_without_a_script():
    with pytest.raises(ValueError, match="max_new_tokens: expected 2 or more, found 1"):
        vllm.Requests().processor(params({"tracescript": {}}, 1))


def test_vllm_must_tell_the_tokens():
    torch = pytest.importorskip("torch", reason="torch is optional")
    processor = vllm.RequestProcessor(masker())
    with pytest.raises(ValueError, match="use --no-async-scheduling"):
        processor([SYMBOL.encode(HEADER)[0], -1], torch.zeros(SYMBOL.vocab_size))


def test_vllm_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tracescript\[vllm\]'"):
        vllm.processor_class()
