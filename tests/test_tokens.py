"""Text to ids and back: the laws of the tokenizer, at both levels."""

import copy
import hashlib
import io
import json
import pickle
import re
from itertools import accumulate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpora import LOGS, ROOT
from tracescript import TraceScriptError, dumps, iter_records, testing
from tracescript.cli import main
from tracescript.tokens import VOCABULARY_VERSION, Tokenizer, TokenizerError
from tracescript.tokens.pattern import WORD, trie_pattern
from tracescript.tokens.symbols import FIRST_BYTE, FIRST_SYMBOL, SPECIALS, SYMBOL_COUNT, SYMBOLS
from tracescript.tokens.train import pieces

LOG = ROOT / "tests" / "corpus" / "llvm.tuning_record.json"
SYMBOL = Tokenizer.default("symbol")
PHRASE = Tokenizer.default()
BOTH = pytest.mark.parametrize("tokenizer", [SYMBOL, PHRASE], ids=["symbol", "phrase"])

# Where one word could be cut into another, or a phrase could end within a symbol.
_EDGES = (
    *(
        "1600",
        " 16",
        "16",
        "-1",
        " -12",
        " l-1",
        " l-12",
        " l-65",
        "l-8",
        "l-9",
        " b",
        " b2b",
        "b8",
    ),
    *("Split", "Splitter", "xSplit", "_Split", "true", " true", "true1", " null", " @null"),
    *(' "main"', ' "mai', '"', ' "', ' @"', ": ", " =", " = [", "[", "]", "\n", " ", "é", "\u2028"),
    *("0.25", " 0.25", "0.2500", "<eos>", "tracescript 1\n", "xtracescript 1\n", "SSRSRS", "_16"),
)
_phrases = st.sampled_from(PHRASE.phrases)


def edges():
    """Texts in which symbols and phrases touch in unusual ways."""
    cut = st.tuples(_phrases, st.integers(0, 20)).map(lambda pair: pair[0][: -pair[1] or None])
    part = st.one_of(st.sampled_from(_EDGES), _phrases, cut, st.text(max_size=3))
    return st.lists(part, max_size=8).map("".join)


def texts():
    encodable = st.text(st.characters(codec="utf-8"))
    mutated = testing.mutated_scripts()
    return st.one_of(edges(), testing.scripts(), mutated, encodable).filter(is_encodable)


def is_encodable(text):
    return not re.search("[\ud800-\udfff]", text)


def scripts(path):
    return [dumps(record.trace) for record in iter_records(path, strict=False)]


def longest_match(text, tokenizer):
    """The rule of the tokens page, word for word and slowly."""
    guards = {
        tokenizer.token_bytes(token).decode(): (token, *guarded(tokenizer.parts(token)))
        for token in range(FIRST_SYMBOL, tokenizer.vocab_size)
    }
    longest = max(map(len, guards))
    tokens = []
    place = 0
    while place < len(text):
        for end in range(min(len(text), place + longest), place + 1, -1):
            token, before, after = guards.get(text[place:end], (None, False, False))
            if token is None or (before and place and text[place - 1] in WORD):
                continue
            if not (after and text[end : end + 1] and text[end] in WORD):
                tokens.append(token)
                place = end
                break
        else:
            tokens += [FIRST_BYTE + byte for byte in text[place].encode()]
            place += 1
    return tokens


def guarded(parts):
    first, last = SYMBOLS[parts[0]].decode("latin-1"), SYMBOLS[parts[-1]].decode("latin-1")
    return len(first) > 1 and first[0] in WORD, len(last) > 1 and last[-1] in WORD


@BOTH
@given(text=texts())
@example(text="")
@example(text="<eos>")
@example(text='Split l-12 | 1600 "main')
def test_the_laws(tokenizer, text):
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    assert [part for token in tokens for part in tokenizer.parts(token)] == SYMBOL.encode(text)
    assert b"".join(map(tokenizer.token_bytes, tokens)) == text.encode()


@BOTH
@given(text=edges().filter(is_encodable))
def test_the_rule(tokenizer, text):
    assert tokenizer.encode(text) == longest_match(text, tokenizer)


@BOTH
@pytest.mark.parametrize("path", LOGS)
def test_real_logs(tokenizer, path):
    for script in scripts(path):
        tokens = tokenizer.encode(script)
        assert tokenizer.decode(iter(tokens)) == script
        assert [part for token in tokens for part in tokenizer.parts(token)] == SYMBOL.encode(
            script
        )


@pytest.mark.parametrize("path", LOGS)
def test_each_integer_of_a_decision_is_a_token_of_its_own(path):
    for script in scripts(path):
        tokens = [PHRASE.token_bytes(token) for token in PHRASE.encode(script)]
        starts = dict(zip(accumulate(map(len, tokens), initial=0), [*tokens, b""], strict=True))
        data = script.encode()
        for decision in re.finditer(rb" =(?: \[)?((?: ?-?[0-9]+)+)\]?$", data, re.MULTILINE):
            for value in re.finditer(rb" ?-?[0-9]+", decision[1]):
                if value[0] in SYMBOLS:
                    assert starts.get(decision.start(1) + value.start()) == value[0], decision


def test_both_levels_share_the_first_ids():
    assert SYMBOL.vocab_size == SYMBOL_COUNT < PHRASE.vocab_size == 4096
    for token in range(SYMBOL_COUNT):
        assert PHRASE.token_bytes(token) == SYMBOL.token_bytes(token)
        assert PHRASE.parts(token) == (token,)
    assert (SYMBOL.level, PHRASE.level) == ("symbol", "phrase")
    assert (SYMBOL.pad_id, SYMBOL.bos_id, SYMBOL.eos_id) == (0, 1, 2)
    assert repr(SYMBOL) == f"<Tokenizer: {SYMBOL_COUNT} ids, symbol level>"


def test_every_token_has_a_text_of_its_own():
    known = [PHRASE.token_bytes(token) for token in range(len(SPECIALS), PHRASE.vocab_size)]
    assert len(set(known)) == len(known)
    assert all(PHRASE.token_bytes(token) == b"" for token in range(len(SPECIALS)))
    assert PHRASE.decode(range(len(SPECIALS))) == ""
    for token in range(SYMBOL_COUNT, PHRASE.vocab_size):
        assert PHRASE.encode(PHRASE.token_bytes(token).decode()) == [token]


def test_the_ids_of_a_vocabulary_version_never_change():
    """If this fails, `VOCABULARY_VERSION` must grow: trained models know the ids."""
    digest = hashlib.sha256(b"\x00".join(SYMBOLS)).hexdigest()
    assert {VOCABULARY_VERSION: digest} == {
        1: "9320e22fdb988830a8d6a99d7c7a10e6e9671dd96c5b86a8aad8967fa0c1dc74"
    }


def test_the_default_is_made_once():
    assert Tokenizer.default() is Tokenizer.default("phrase") is PHRASE
    with pytest.raises(TokenizerError, match="level: expected symbol or phrase, found 'word'"):
        Tokenizer.default("word")


@BOTH
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([3, -1], r"ids\[1\]: expected an id from 0 to \d+, found -1"),
        ([1 << 40], r"ids\[0\]: expected an id from 0 to \d+, found 1099511627776"),
        (["x"], r"ids\[0\]: expected an id from 0 to \d+, found 'x'"),
        ([3.0], r"ids\[0\]: expected an id from 0 to \d+, found 3\.0"),
        ([3 + 0x41, 3 + 0xC3], r"ids: expected tokens whose bytes are UTF-8, found .* at byte 1"),
    ],
)
def test_ids_that_are_no_text(tokenizer, ids, message):
    with pytest.raises(TokenizerError, match=f"^{message}$"):
        tokenizer.decode(ids)


@pytest.mark.parametrize("level", ["symbol", "phrase"])
def test_a_tokenizer_can_be_copied(level):
    tokenizer = Tokenizer.default(level)
    for again in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
        assert again.phrases == tokenizer.phrases
        assert again.encode(LOG.read_text()) == tokenizer.encode(LOG.read_text())


@pytest.mark.parametrize("token", [-1, 1 << 40, "x", 3.0])
def test_ids_that_are_no_token(token):
    for method in (PHRASE.parts, PHRASE.token_bytes):
        with pytest.raises(TokenizerError, match=r"^ids\[0\]: expected an id from 0 to"):
            method(token)


def test_a_text_that_utf8_cannot_hold():
    with pytest.raises(TokenizerError, match=r"can hold, found '.ud800' at character 1") as caught:
        PHRASE.encode("a\ud800")
    assert isinstance(caught.value, TraceScriptError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.place, again.expected, str(again)) == (
        "text",
        "a text that UTF-8 can hold",
        str(caught.value),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (7, "a text of ASCII characters"),
        ("é", "a text of ASCII characters"),
        ("ab" * 5000, "at most 1000 characters"),
        ("a", "a text of two symbols or more"),
        ("Split", "a text of two symbols or more"),
        (" = 3", "a text without a decision value"),
        (" = [1", "a text without a decision value"),
        ("-> v = [ ]", "a text without a decision value"),
        (" 8 4", "a text without a decision value"),
        (" 8\n", "a text without a decision value"),
        (" [4 4]\n", "a text without a decision value"),
        ("17]\n", "a text without a decision value"),
        (' | "', "a text that has the same symbols wherever it stands"),
        ("Fuse ", "a text that has the same symbols wherever it stands"),
        ("[1", "a text without a decision value"),
        ('"b-', "a text that has the same symbols wherever it stands"),
        ("\nSpli", "a text that has the same symbols wherever it stands"),
    ],
)
def test_texts_that_are_no_phrases(text, expected):
    with pytest.raises(TokenizerError) as caught:
        Tokenizer(["Fuse l-1", text])
    assert (caught.value.place, caught.value.expected) == ("phrases[1]", expected)


@pytest.mark.parametrize("text", ["xy", '"T_', "a16", "GetLoops b-1", "] 8", " 8 true", " = ["])
def test_texts_that_are_phrases(text):
    assert Tokenizer([text]).phrases == (text,)


def test_a_phrase_twice():
    with pytest.raises(TokenizerError, match=r"phrases\[2\]: .* not yet phrases\[0\]"):
        Tokenizer(["ab", "cd", "ab"])


def test_too_many_phrases():
    with pytest.raises(TokenizerError, match="phrases: expected at most"):
        Tokenizer(["ab"] * (1 << 17))


def test_a_file(tmp_path):
    path = tmp_path / "tokens.json"
    PHRASE.save(path)
    again = Tokenizer.load(path)
    assert again.phrases == PHRASE.phrases
    stream = io.BytesIO()
    again.save(stream)
    assert stream.getvalue() == path.read_bytes()
    SYMBOL.save(path)
    assert Tokenizer.load(path).level == "symbol"


GOOD = {"format": "tracescript tokens", "version": 1, "vocabulary": 1, "phrases": []}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected JSON, found something else"),
        (b"\xff", "expected JSON, found something else"),
        (b"[" * 100_000, "expected JSON, found something else"),
        ([], "expected a JSON object, found list"),
        ({}, "format: expected 'tracescript tokens', found None"),
        ({**GOOD, "format": "x" * 99}, r"format: expected .*, found 'x+\.\.\."),
        ({**GOOD, "version": 2}, "version: expected 1, found 2"),
        ({**GOOD, "version": True}, "version: expected 1, found True"),
        ({**GOOD, "vocabulary": 2}, "vocabulary: expected 1, found 2"),
        ({**GOOD, "phrases": "ab"}, "phrases: expected a list, found 'ab'"),
        ({**GOOD, "phrases": [["a"]]}, r"phrases\[0\]: expected a text of ASCII .*, found \['a'\]"),
        ({**GOOD, "phrases": ["ab", "a"]}, r"phrases\[1\]: expected a text of two .*, found 'a'"),
    ],
)
def test_a_bad_file(content, message, tmp_path):
    path = tmp_path / "tokens.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(TokenizerError, match=message) as caught:
        Tokenizer.load(path)
    assert caught.value.place.startswith(str(path))


def test_a_file_without_end(monkeypatch):
    monkeypatch.setattr("tracescript.tokens.phrases._MAX_FILE", 100)
    with pytest.raises(TokenizerError, match="<stream>: expected at most 100 bytes, found more"):
        Tokenizer.load(io.BytesIO(b"1" * 101))


def test_patterns_find_the_longest():
    entries = [
        ("ab", False, False),
        ("abc", True, True),
        ("abcd", False, True),
        (" b", False, True),
    ]
    find = re.compile(trie_pattern(entries) + r"|[\s\S]").findall
    assert find("abc abcd xabc ab bc b") == [
        *("abc", " ", "abcd", " ", "x", "ab", "c", " ", "ab", " ", "b", "c", " b"),
    ]
    assert re.findall(trie_pattern([(" |\n", False, False)]), " |\n |") == [" |\n"]


def test_training():
    pytest.importorskip("tokenizers")
    traces = [record.trace for record in iter_records(LOG)]
    heard = []
    small = Tokenizer.train(traces, SYMBOL_COUNT + 50, progress=heard.append)
    assert small.vocab_size == SYMBOL_COUNT + 50
    assert "different pieces of" in heard[0]
    again = Tokenizer.train(map(dumps, traces), SYMBOL_COUNT + 50)
    assert again.phrases == small.phrases
    whole = Tokenizer.train(traces)
    lengths = [
        sum(len(tokenizer.encode(dumps(trace))) for trace in traces)
        for tokenizer in (SYMBOL, small, whole)
    ]
    assert lengths[0] > 2 * lengths[1] > 2 * lengths[2]


def test_training_on_nothing():
    pytest.importorskip("tokenizers")
    assert Tokenizer.train([]).level == "symbol"


@pytest.mark.parametrize("size", [0, SYMBOL_COUNT, 1 << 40])
def test_a_vocabulary_that_cannot_be(size):
    with pytest.raises(
        TokenizerError, match=f"vocab_size: expected a number from .*, found {size}"
    ):
        Tokenizer.train([], size)


def test_training_texts_have_no_decision_values():
    script = "A -> v2 = [8 4]\nB = 3\nC = [[1 2] 3]\nD | 4\n@7 = true\n"
    cut = [b"".join(SYMBOLS[symbol] for symbol in piece) for piece in pieces(SYMBOL.encode(script))]
    assert cut == [b"A -> v2 = [", b"]\nB =", b"\nC = [", b"]\nD | 4\n@7 =", b"\n"]
    assert pieces(SYMBOL.encode("A =")) == [tuple(SYMBOL.encode("A ="))]


def test_the_command_trains_and_counts(tmp_path, capfd):
    pytest.importorskip("tokenizers")
    output = tmp_path / "own.json"
    mixed = tmp_path / "mixed.json"
    mixed.write_bytes(LOG.read_bytes() + b"\noops\n")
    size = str(SYMBOL_COUNT + 9)
    assert main(["tokens", "train", str(mixed), "-o", str(output), "--vocab", size]) == 0
    told = capfd.readouterr().err
    assert f"{mixed}: 40 traces, 1 other lines\n" in told
    assert f"{output}: {size} tokens\n" in told
    again = tmp_path / "again.json"
    assert main(["tokens", "train", "-q", str(mixed), "-o", str(again), "--vocab", size]) == 0
    assert capfd.readouterr().err == ""
    assert again.read_bytes() == output.read_bytes()
    assert main(["tokens", "count", str(mixed), "--tokenizer", str(output)]) == 0
    table = capfd.readouterr().out.splitlines()
    assert table[0] == f"{mixed}: 40 traces, 1 other lines"
    assert table[1].split() == ["total", "p10", "median", "p90", "max"]
    assert main(["tokens", "count", "--json", str(LOG)]) == 0
    report = json.loads(capfd.readouterr().out)
    lengths = [len(PHRASE.encode(script)) for script in scripts(LOG)]
    assert (report["traces"], report["tokens"]["total"]) == (40, sum(lengths))
    assert report["symbols"]["max"] == max(len(SYMBOL.encode(script)) for script in scripts(LOG))


def test_counting_nothing(tmp_path, capfd):
    (tmp_path / "empty").touch()
    assert main(["tokens", "count", str(tmp_path / "empty")]) == 0
    assert "0 traces, 0 other lines" in capfd.readouterr().out


def test_a_bad_vocabulary_on_the_command_line(tmp_path, capfd):
    (tmp_path / "bad").write_text("{}")
    assert main(["tokens", "count", str(LOG), "--tokenizer", str(tmp_path / "bad")]) == 1
    assert "bad: format: expected 'tracescript tokens', found None" in capfd.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt, ModuleNotFoundError("x", name="tokenizers")])
def test_training_that_ends_early_leaves_no_file(error, tmp_path, capfd, monkeypatch):
    def train(*_, **__):
        raise error

    monkeypatch.setattr(Tokenizer, "train", train)
    output = tmp_path / "own.json"
    status = main(["tokens", "train", "-q", str(LOG), "-o", str(output)])
    assert status == (130 if error is KeyboardInterrupt else 1)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err in (
        "tracescript: interrupted\n",
        "tracescript: training needs the package tokenizers\n",
    )


def test_training_on_a_file_without_traces(tmp_path, capfd):
    output, readme = tmp_path / "own.json", tmp_path / "README.md"
    readme.write_text("no log\n")
    assert main(["tokens", "train", "-q", str(readme), "-o", str(output)]) == 1
    expected = f"tracescript: {readme}: expected a trace to learn from, found none\n"
    assert capfd.readouterr().err == expected
    assert not output.exists()


def test_training_does_not_overwrite_its_log(tmp_path, capfd):
    log = tmp_path / "log.json"
    log.write_bytes(LOG.read_bytes())
    with pytest.raises(SystemExit) as caught:
        main(["tokens", "train", "missing.json", str(log), "-o", str(log)])
    assert caught.value.code == 2
    assert f"{log} is one of the logs to learn from" in capfd.readouterr().err
    assert log.read_bytes() == LOG.read_bytes()


def test_training_checks_its_output_first(tmp_path, capfd):
    output = tmp_path / "missing" / "own.json"
    assert main(["tokens", "train", str(LOG), "-o", str(output)]) == 1
    assert capfd.readouterr().err == f"tracescript: {output}: No such file or directory\n"
