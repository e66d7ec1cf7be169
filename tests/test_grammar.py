"""The grammar as other engines read it, and as people read it."""

import json

import pytest
from lark import Lark

from corpora import ROOT
from tracescript import dumps, from_json, grammar_text, loads, to_json

ACCEPTED = [
    "",
    "EnterPostproc\n",
    'GetSBlock | "C" "main" -> b\nGetLoops b-1 -> l3\nSplit l-3 null 4 | true -> l2\n',
    'SamplePerfectTile l-3 | 4 64 -> v4 = [1 8 4 2]\n@9 = {"a": [nan -inf 1e-05]}\n',
    '"odd kind" @null @"x y" [[] {}] | {} -> @"q" b l10 = null\n',
    "ComputeAt b-1 l-1 -1 -0.5 -inf | 1 -1 -2.5e-07 -inf -12 -> b = -1\n",
    "A -1\n",
    'A "\\u{10ffff} \\" \\\\ \\n é \u2028"\n',
]
REFUSED = [
    "A",
    "A \n",
    "A  1\n",
    " A\n",
    "A\n\n",
    "A | \n",
    "A -> \n",
    "A -> l1\n",
    "A -> l0\n",
    "A = 1 2\n",
    "A = b-1\n",
    "A | b-1\n",
    "A l-0\n",
    "A 01\n",
    "A -0\n",
    "A 1.\n",
    "A +1\n",
    "A 'x'\n",
    'A "\n"\n',
    'A "\\u{110000}"\n',
    'A {"a": b-1}\n',
    'A {"a":1}\n',
    "A [1, 2]\n",
    "A [1 2 ]\n",
    "@1 = 2\nA\n",
    "A -> b | 1\n",
]


def lark_accepts(text):
    try:
        Lark(grammar_text(), parser="lalr").parse(text)
    except Exception:
        return False
    return True


def llguidance_accepts(text):
    import llguidance

    grammar = llguidance.grammar_from("lark", grammar_text())
    matcher = llguidance.LLMatcher(llguidance.LLTokenizer("byte"), grammar)
    data = list(text.encode())
    return matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting()


def xgrammar_accepts(text):
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar brings torch; group `interop`")
    vocabulary = [bytes([byte]) for byte in range(256)] + [b"<eos>"]
    tokenizer = xgrammar.TokenizerInfo(
        vocabulary, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256]
    )
    compiled = xgrammar.GrammarCompiler(tokenizer).compile_lark(grammar_text())
    matcher = xgrammar.GrammarMatcher(compiled, terminate_without_stop_token=True)
    return matcher.accept_string(text) and matcher.is_terminated()


ENGINES = pytest.mark.parametrize("accepts", [lark_accepts, llguidance_accepts, xgrammar_accepts])


@ENGINES
@pytest.mark.parametrize("body", ACCEPTED)
def test_every_engine_accepts(accepts, body):
    assert accepts("tracescript 1\n" + body)


@ENGINES
@pytest.mark.parametrize("body", REFUSED)
def test_every_engine_refuses(accepts, body):
    assert not accepts("tracescript 1\n" + body)


def test_nothing_makes_a_server_take_the_file_for_another_format():
    """vLLM takes a grammar for EBNF if any line of it contains `::=`."""
    assert "::=" not in grammar_text()


def test_the_examples(subtests):
    """Each example is a pair, and each half gives the other."""
    folder = ROOT / "grammar" / "examples"
    scripts = sorted(folder.glob("*.trace"))
    assert {path.stem for path in scripts} == {path.stem for path in folder.glob("*.json")}
    for path in scripts:
        with subtests.test(path.stem):
            value = json.loads(path.with_suffix(".json").read_text())
            assert dumps(from_json(value)) == path.read_text()
            assert to_json(loads(path.read_text())) == value
