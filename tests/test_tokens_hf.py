"""The same ids in Hugging Face's tokenizers, and the engines that read those.

The failures that are silent elsewhere: a byte that is forced turns into an unknown token, a
newline into an empty one, the name of a special token in a text into that token.
"""

import json
import random

import pytest

from corpora import LOGS, ROOT
from test_tokens import PHRASE, SYMBOL, is_encodable, scripts
from tracescript import dumps, grammar_text, testing
from tracescript.json_trace import from_json
from tracescript.tokens.hf import add_to
from tracescript.tokens.symbols import SPECIALS, SYMBOL_COUNT

pytest.importorskip("transformers", reason="transformers is optional")
# The hub is not asked, and old interfaces are not our concern.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

LOG = ROOT / "tests" / "corpus" / "llvm.tuning_record.json"
SCRIPT = 'tracescript 1\nGetSBlock | "C" "main" -> b\nGetLoops b-1 -> l3\nSplit l-2 null 7 -> l2\n'
END = "<|endoftext|>"
_PIECES = (
    *("1", "16", " 1600", "-1", "é", "\u2028", "\U0001f600", "<eos>", "<pad>", "\n", " ", '"'),
    *(
        "Split",
        " l-1",
        "l-99",
        " b",
        " = [",
        "]",
        "true",
        "\\n  ",
        '\\"',
        "tracescript 1\n",
        "\x00",
    ),
)


@pytest.fixture(scope="module", params=[SYMBOL, PHRASE], ids=["symbol", "phrase"])
def both(request, tmp_path_factory):
    """Our tokenizer, and the one that `AutoTokenizer` reads from the files."""
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    made = request.param.to_huggingface(folder)
    read = AutoTokenizer.from_pretrained(folder)
    assert made.get_vocab() == read.get_vocab()
    return request.param, read


def ids_of(huggingface, text):
    return huggingface(text, add_special_tokens=False).input_ids


@pytest.mark.parametrize("path", LOGS)
def test_the_same_ids_for_real_logs(both, path):
    ours, theirs = both
    for script in scripts(path):
        ids = ours.encode(script)
        assert ids_of(theirs, script) == ids
        assert theirs.decode(ids) == script


def test_the_same_ids_for_any_text(both):
    """Random scripts, scripts with random changes, and texts that are no scripts."""
    ours, theirs = both
    rng = random.Random(7)
    texts = [*SPECIALS, "", " ", SCRIPT, *_PIECES, *ours.phrases[::10]]
    real = scripts(LOG)
    for _ in range(300):
        texts.append(changed(rng.choice(real), rng))
        texts.append("".join(rng.choices(_PIECES, k=rng.randint(1, 9))))
        texts.append(dumps(from_json(testing.random_json_trace(rng))))
        texts.append(changed(rng.choice([*ours.phrases, SCRIPT]), rng))
    for text in filter(is_encodable, texts):
        ids = ours.encode(text)
        assert ids_of(theirs, text) == ids, text
        assert theirs.decode(ids) == text


def changed(text, rng):
    characters = list(text)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(characters) + 1)
        characters[place : place + rng.randint(0, 3)] = rng.choice(_PIECES)
    return "".join(characters)


def test_special_tokens(both):
    ours, theirs = both
    assert (theirs.pad_token_id, theirs.bos_token_id, theirs.eos_token_id) == (
        ours.pad_id,
        ours.bos_id,
        ours.eos_id,
    )
    assert len(theirs) == theirs.vocab_size == ours.vocab_size
    assert ours.to_huggingface().get_vocab() == theirs.get_vocab()
    assert theirs.unk_token_id is None
    ids = [ours.bos_id, *ours.encode(SCRIPT), ours.eos_id, ours.pad_id]
    assert theirs.decode(ids, skip_special_tokens=True) == ours.decode(ids) == SCRIPT


def test_the_files(tmp_path):
    SYMBOL.to_huggingface(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    # Any other class would need code of its own where the files are read.
    assert config["tokenizer_class"] in ("PreTrainedTokenizerFast", "TokenizersBackend")
    model = json.loads((tmp_path / "tokenizer.json").read_text())["model"]
    assert (model["type"], model["ignore_merges"], model["unk_token"]) == ("BPE", True, None)


def test_every_token_alone(both):
    ours, theirs = both
    for token in range(len(SPECIALS), ours.vocab_size):
        text = ours.token_bytes(token)
        assert text
        if text.isascii():
            assert theirs.decode([token]) == text.decode()
            assert ids_of(theirs, text.decode()) == [token]


def llguidance_tokenizer(huggingface):
    llguidance_hf = pytest.importorskip("llguidance.hf")
    return llguidance_hf.from_tokenizer(huggingface)


def test_llguidance_knows_the_bytes_of_each_token(both):
    ours, theirs = both
    tokenizer = llguidance_tokenizer(theirs)
    assert tokenizer.vocab_size == ours.vocab_size
    assert tokenizer.eos_token == ours.eos_id
    for text in (SCRIPT, "l", "l-", "\n", "é", "\n\n", "tracescr"):
        assert tokenizer.tokenize_str(text) == ours.encode(text), text


def test_llguidance_forces_bytes_without_unknown_tokens(both):
    """Where one text alone can follow, its first token must be allowed, and be of that text."""
    import llguidance

    ours, theirs = both
    tokenizer = llguidance_tokenizer(theirs)
    for text in ("l", "\n", "GetL", "tracescript 1\nGet", "é"):
        grammar = llguidance.grammar_from("lark", f"start: {json.dumps(text)}")
        matcher = llguidance.LLMatcher(tokenizer, grammar)
        assert not matcher.is_error(), matcher.get_error()
        for token in ours.encode(text):
            allowed = allowed_by_llguidance(matcher, ours.vocab_size)
            assert token in allowed
            assert not allowed & set(range(len(SPECIALS)))
            assert matcher.consume_token(token)
        assert matcher.is_accepting()


def test_llguidance_follows_scripts(both):
    import llguidance

    ours, theirs = both
    tokenizer = llguidance_tokenizer(theirs)
    grammar = llguidance.grammar_from("lark", grammar_text())
    # It gives up after so many steps, which is few for long phrases, and then allows <eos> alone.
    limits = llguidance.LLParserLimits(step_max_items=10_000_000)
    for text in [SCRIPT, *scripts(LOG)[:3]]:
        # Its lexer takes the minus of a negative number that follows a value for an arrow.
        script = text.replace(" -1", " 0")
        matcher = llguidance.LLMatcher(tokenizer, grammar, limits=limits)
        ids = ours.encode(script)
        for token in ids[:40]:
            assert token in allowed_by_llguidance(matcher, ours.vocab_size)
            assert matcher.consume_token(token)
        assert matcher.try_consume_tokens(ids[40:]) == len(ids[40:])
        assert matcher.is_accepting()


def allowed_by_llguidance(matcher, vocab_size):
    mask = matcher.compute_bitmask()
    return {token for token in range(vocab_size) if mask[token // 8] >> token % 8 & 1}


def xgrammar_matcher(info):
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar brings torch; group `interop`")
    compiled = xgrammar.GrammarCompiler(info).compile_lark(grammar_text())
    return xgrammar.GrammarMatcher(compiled)


def allowed_by_xgrammar(matcher, vocab_size):
    import xgrammar

    mask = xgrammar.allocate_token_bitmask(1, vocab_size)
    matcher.fill_next_token_bitmask(mask)
    words = [int(word) & 0xFFFFFFFF for word in mask[0]]
    return {token for token in range(vocab_size) if words[token // 32] >> token % 32 & 1}


def xgrammar_infos(ours, theirs):
    """Both ways to tell xgrammar about a tokenizer."""
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar brings torch; group `interop`")
    raw = xgrammar.TokenizerInfo(
        [ours.token_bytes(token) for token in range(ours.vocab_size)],
        vocab_type=xgrammar.VocabType.RAW,
        stop_token_ids=[ours.eos_id],
    )
    return raw, xgrammar.TokenizerInfo.from_huggingface(theirs)


def test_xgrammar_knows_the_bytes_of_each_token(both):
    ours, theirs = both
    raw, read = xgrammar_infos(ours, theirs)
    assert str(read.vocab_type) == "VocabType.BYTE_LEVEL"
    assert list(read.stop_token_ids) == [ours.eos_id]
    texts = [ours.token_bytes(token) for token in range(len(SPECIALS), ours.vocab_size)]
    assert raw.decoded_vocab[len(SPECIALS) :] == texts
    assert read.decoded_vocab[len(SPECIALS) :] == texts


def test_xgrammar_follows_scripts(both):
    ours, theirs = both
    for info in xgrammar_infos(ours, theirs):
        for script in [SCRIPT, *scripts(LOG)[:2]]:
            matcher = xgrammar_matcher(info)
            for token in ours.encode(script):
                assert matcher.accept_token(token)
            assert ours.eos_id in allowed_by_xgrammar(matcher, ours.vocab_size)


def test_xgrammar_takes_special_tokens_for_text_unless_they_have_none(both):
    """Why the RAW way is the one to use: in a string, `<pad>` would be allowed otherwise."""
    ours, theirs = both
    for info, allowed in zip(xgrammar_infos(ours, theirs), (False, True), strict=True):
        matcher = xgrammar_matcher(info)
        assert matcher.accept_string('tracescript 1\nGetSBlock | "')
        assert (ours.pad_id in allowed_by_xgrammar(matcher, ours.vocab_size)) == allowed


def qwen_like():
    """A small byte-level tokenizer that cuts numbers into digits, as those of Qwen do."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = tokenizers.Tokenizer(models.BPE())
    pattern = r"\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    prose = (ROOT / "README.md").read_text() + (ROOT / "docs" / "format.md").read_text()
    backend.train_from_iterator(prose.splitlines(keepends=True), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END)


def test_symbols_added_to_a_pretrained_tokenizer(tmp_path):
    from transformers import AutoTokenizer

    tokenizer = qwen_like()
    before, known = len(tokenizer), tokenizer.get_vocab()
    texts = [*scripts(LOG), SCRIPT, "Prose about 1600 loops: l-12, because\n\nb\u00e9b\u00e9 <eos>"]
    lengths = [len(ids_of(tokenizer, text)) for text in texts]
    added = add_to(tokenizer)
    assert 0 < added == len(tokenizer) - before < SYMBOL_COUNT
    assert add_to(tokenizer) == 0
    assert {token: known[token] for token in known} == {
        token: tokenizer.get_vocab()[token] for token in known
    }
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    for text, length in zip(texts, lengths, strict=True):
        ids = ids_of(tokenizer, text)
        assert tokenizer.decode(ids) == text
        assert ids_of(again, text) == ids
        assert again.decode(ids) == text
        assert len(ids) < length
    # What the tokenizer had before, it has still.
    assert ids_of(tokenizer, " because") == ids_of(qwen_like(), " because")
