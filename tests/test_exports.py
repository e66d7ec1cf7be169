"""The grammar in other forms: the same language, as the engines that read them see it.

Laws: GBNF takes the texts that the Lark text takes; the token grammar takes what `encode` gives
for a script that fits, and whatever it takes is a script that fits.
"""

from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark

from corpora import LOGS, OWN
from releases import releases_of
from test_check import traces_of
from test_strict_grammar import (
    ACCEPTED,
    HEADER,
    REFUSED,
    lark_accepts,
    lark_parser,
    lines_of,
    mutated_lines,
)
from tracescript import dumps, grammar_text, testing
from tracescript.cli import main
from tracescript.exports import to_gbnf, token_grammar
from tracescript.exports.automaton import automaton_of
from tracescript.exports.gbnf import lark_to_gbnf
from tracescript.exports.lark_text import read_grammar
from tracescript.exports.nodes import Name, Repeat, Text
from tracescript.exports.patterns import read_pattern
from tracescript.exports.token_rules import automaton_rules, disjoint, id_set
from tracescript.exports.token_text import _Writer
from tracescript.instructions import RELEASES
from tracescript.tokens import Tokenizer, TokenizerError

SYMBOL = Tokenizer.default("symbol")
TOKENS = [SYMBOL.token_bytes(token) or b"<%d>" % token for token in range(SYMBOL.vocab_size)]
EACH_RELEASE = pytest.mark.parametrize("tvm", RELEASES)
SOME_RELEASES = ("0.8", "0.16", "0.27")


# The engines.


def llguidance_matcher(tokenizer, grammar):
    import llguidance

    matcher = llguidance.LLMatcher(tokenizer, llguidance.grammar_from("lark", grammar))
    assert not matcher.is_error(), matcher.get_error()
    return matcher


def llguidance_takes(matcher, tokens):
    matcher = matcher.deep_copy()
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def xgrammar_or_skip():
    return pytest.importorskip("xgrammar", reason="xgrammar brings torch; group `interop`")


def xgrammar_compiler(vocabulary, end):
    xgrammar = xgrammar_or_skip()
    info = xgrammar.TokenizerInfo(
        vocabulary, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[end]
    )
    return xgrammar.GrammarCompiler(info)


def xgrammar_takes(compiled, tokens, end):
    matcher = xgrammar_or_skip().GrammarMatcher(compiled)
    return all(matcher.accept_token(token) for token in [*tokens, end])


@lru_cache
def gbnf_engines(tvm):
    """GBNF in xgrammar, which reads it as EBNF, and in llguidance, by its own converter.

    llguidance gets strict grammars only: its converter makes one lexeme of the rule for outputs,
    and its lexer does not go back. In the open grammar more of them may follow, or a decision.
    """
    import llguidance
    from llguidance.gbnf_to_lark import gbnf_to_lark

    text = to_gbnf(tvm)
    compiler = xgrammar_compiler([bytes([byte]) for byte in range(256)] + [b""], 256)
    compiled = compiler.compile_grammar(xgrammar_or_skip().Grammar.from_ebnf(text))
    if tvm is None:
        return compiled, None
    return compiled, llguidance_matcher(llguidance.LLTokenizer("byte"), gbnf_to_lark(text))


def gbnf_takes(tvm, text):
    compiled, matcher = gbnf_engines(tvm)
    data = list(text.encode())
    verdict = xgrammar_takes(compiled, data, 256)
    assert matcher is None or llguidance_takes(matcher, data) == verdict, text
    return verdict


class Vocabulary:
    """What llguidance wants to know of a tokenizer."""

    eos_token_id = SYMBOL.eos_id
    bos_token_id = SYMBOL.bos_id
    special_token_ids = (SYMBOL.pad_id, SYMBOL.bos_id, SYMBOL.eos_id)
    tokens = TOKENS

    def __call__(self, text):
        return SYMBOL.encode(text if isinstance(text, str) else text.decode())


@lru_cache
def token_engines(tvm):
    import llguidance

    text = token_grammar(SYMBOL, tvm)
    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Vocabulary()))
    compiled = xgrammar_compiler(TOKENS, SYMBOL.eos_id).compile_lark(text)
    return llguidance_matcher(tokenizer, text), compiled


def tokens_take(tvm, tokens):
    """The verdict of both engines, and that what they take is a script that fits."""
    matcher, compiled = token_engines(tvm)
    verdict = llguidance_takes(matcher, tokens)
    assert xgrammar_takes(compiled, tokens, SYMBOL.eos_id) == verdict, tokens
    if verdict:
        assert lark_accepts(tvm, SYMBOL.decode(tokens))
    return verdict


# GBNF.


@pytest.mark.parametrize("body", ACCEPTED)
def test_gbnf_takes_what_tvm_can_write(body):
    assert gbnf_takes("0.27", HEADER + body)
    assert gbnf_takes(None, HEADER + body)


@pytest.mark.parametrize("body", [body for bodies in REFUSED.values() for body in bodies])
def test_gbnf_refuses_what_tvm_cannot_write(body):
    assert not gbnf_takes("0.27", HEADER + body)
    assert gbnf_takes(None, HEADER + body) == lark_accepts(None, HEADER + body)


@pytest.mark.parametrize("path", LOGS)
def test_gbnf_takes_recorded_traces(path):
    text = HEADER + "".join(lines_in(path))
    for tvm in (None, *releases_of(path)[-1:]):
        assert gbnf_takes(tvm, text)


@lru_cache
def lines_in(path):
    """Each line once: to a grammar no line depends on another."""
    return tuple({line: None for it in traces_of(path) for line in lines_of(dumps(it))})


@given(mutated_lines(), st.sampled_from((None, *SOME_RELEASES)))
def test_gbnf_agrees_with_lark_on_mutated_lines(text, tvm):
    assert gbnf_takes(tvm, text) == lark_accepts(tvm, text)


@settings(max_examples=60)
@given(
    testing.mutated_scripts().filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
)
def test_gbnf_agrees_with_lark_on_mutated_scripts(text):
    assert gbnf_takes(None, text) == lark_accepts(None, text)


@EACH_RELEASE
def test_gbnf_keeps_to_what_every_reader_knows(tvm):
    lines = [line for line in to_gbnf(tvm).split("\n") if " ::= " in line]
    names = [line.partition(" ::= ")[0] for line in lines]
    assert names[0] == "root"
    assert all(name.isascii() and name.isalnum() for name in names)
    assert len({name.lower() for name in names}) == len(names)


def gbnf(text):
    return lark_to_gbnf(f"start: {text}\n").removeprefix("root ::= ")


def test_each_part_of_the_dialect_in_gbnf():
    assert gbnf('"a" ["b" | "c"] -> name') == '"a" ("b" | "c")?\n'
    assert gbnf('"a"~3') == '"a" "a" "a"\n'
    assert gbnf('"ab"~1..3') == '("ab") (("ab") ("ab")?)?\n'
    assert gbnf("/a{0,2}b+[^\\n-]*/") == '("a" "a"?)? "b"+ [^\\x0a\\x2d]*\n'
    assert gbnf("/(?:a|)[\\x41-Z]/") == '("a" | "") [A-Z]\n'
    assert gbnf(r"/\/\t/ | ") == '"/\t" | ""\n'
    assert lark_to_gbnf("start: a_b\n?a_b: AB\nAB: /x/\nnever: AB\n") == (
        'root ::= aB\naB ::= AB2\nAB2 ::= "x"\n'
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("start: A\nA.2: /a/\n", "A with a priority or parameters"),
        ("start{x}: x\n", "start with a priority or parameters"),
        ("%ignore /a/\n", "found ignore"),
        ('start: "a".."z"\n', "found literal range"),
        ("start: x{y}\n", "found template usage"),
        ("start: /a/i\n", "the flag of /a/i"),
        ('start: "\\x41"\n', r"the escape in .\\x41"),
    ],
)
def test_what_is_not_in_the_dialect(text, found):
    with pytest.raises(ValueError, match=f"expected rules and terminals.*{found}"):
        read_grammar(text)


@pytest.mark.parametrize(
    ("pattern", "place", "expected"),
    [
        ("a.", 1, "a character"),
        ("*", 0, "a character"),
        ("(a", 2, "'\\)'"),
        ("a)", 1, "the end"),
        ("(?=a)", 1, "a plain group"),
        ("a*?", 3, "one quantifier"),
        ("\\d", 0, ".*an escaped sign"),
        ("[a", 2, "a character"),
    ],
)
def test_what_is_not_in_a_pattern(pattern, place, expected):
    with pytest.raises(ValueError, match=rf"/\[{place}\]: expected {expected}, found "):
        read_pattern(pattern)


# Tokens.


@pytest.mark.parametrize("path", LOGS)
def test_recorded_traces_fit_the_token_grammar(path):
    for tvm in releases_of(path)[-1:]:
        assert tokens_take(tvm, SYMBOL.encode(HEADER + "".join(lines_in(path))))


@pytest.mark.parametrize("body", ACCEPTED)
def test_tokens_of_what_tvm_can_write(body):
    assert tokens_take("0.27", SYMBOL.encode(HEADER + body))


@pytest.mark.parametrize("body", [body for bodies in REFUSED.values() for body in bodies])
def test_tokens_of_what_tvm_cannot_write(body):
    assert not tokens_take("0.27", SYMBOL.encode(HEADER + body))


@lru_cache
def generated(tvm):
    return st.tuples(st.just(tvm), from_lark(lark_parser(tvm)))


@given(st.sampled_from(("0.16", "0.27")).flatmap(generated))
def test_tokens_of_what_a_grammar_generates(case):
    tvm, text = case
    assert tokens_take(tvm, SYMBOL.encode(text))


LINES = sorted({line for path in OWN for line in lines_in(path)})


@st.composite
def mutated_tokens(draw):
    """The tokens of recorded lines, some of them replaced, inserted or deleted."""
    lines = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=3))
    tokens = SYMBOL.encode(HEADER + "".join(lines))
    any_token = st.integers(3, SYMBOL.vocab_size - 1) | st.sampled_from(tokens)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(tokens)))
        end = min(len(tokens), start + draw(st.integers(0, 2)))
        tokens[start:end] = draw(st.lists(any_token, max_size=2))
    return tokens


@given(mutated_tokens())
def test_mutated_tokens_get_one_verdict(tokens):
    tokens_take("0.27", tokens)


def bytes_of(text):
    return [SYMBOL.encode(" ")[0] - ord(" ") + byte for byte in text.encode()]


@pytest.mark.parametrize(
    ("before", "word", "after"),
    [
        ("GetLoops", " b-1", " -> l3\n"),
        ("GetLoops b-1 ->", " l3", "\n"),
        ("", "EnterPostproc", "\n"),
        ("PadEinsum b-1 |", " [", "16 1]\n"),
        ("PadEinsum b-1 | [", "16", " 1]\n"),
        ("PadEinsum b-1 | [16", " 1", "]\n"),
        ("SampleCategorical | [1] [", "0.5", "] -> v\n"),
        ("Annotate b-1", " 1e+16", ' | "key"\n'),
    ],
)
def test_a_word_is_a_token_or_else_bytes(before, word, after):
    before, after = SYMBOL.encode(HEADER + before), SYMBOL.encode(after)
    canonical = SYMBOL.encode(SYMBOL.decode([*before, *SYMBOL.encode(word), *after]))
    assert tokens_take("0.27", canonical)
    spelled = [*before, *bytes_of(word), *after]
    assert tokens_take("0.27", spelled) == (spelled == canonical)


def test_both_engines_give_the_same_masks():
    import llguidance.numpy

    matcher, compiled = token_engines("0.27")
    matcher, other = matcher.deep_copy(), xgrammar_or_skip().GrammarMatcher(compiled)
    mask = llguidance.numpy.allocate_token_bitmask(1, SYMBOL.vocab_size)
    other_mask = xgrammar_or_skip().allocate_token_bitmask(1, SYMBOL.vocab_size)
    for token in SYMBOL.encode(HEADER + "".join(LINES[::40])):
        llguidance.numpy.fill_next_token_bitmask(matcher, mask, 0)
        other.fill_next_token_bitmask(other_mask, 0)
        assert (mask == other_mask.numpy()).all()
        assert matcher.consume_token(token)
        assert other.accept_token(token)


def test_the_hugging_face_tokenizer_does_as_well():
    pytest.importorskip("transformers", reason="only where it is installed")
    import llguidance.hf

    tokenizer = llguidance.hf.from_tokenizer(SYMBOL.to_huggingface())
    matcher = llguidance_matcher(tokenizer, token_grammar(SYMBOL))
    assert llguidance_takes(matcher, SYMBOL.encode(HEADER + "GetLoops b-1 -> l3\n"))


def test_phrases_are_no_words():
    with pytest.raises(TokenizerError, match="tokenizer: expected one of the symbol level, found"):
        token_grammar(Tokenizer.default())
    with pytest.raises(ValueError, match=r"found '1\.0'"):
        token_grammar(SYMBOL, "1.0")


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ('start: " "', "expected a word after each blank"),
        ('start: " " "a"?', "expected a word, found"),
    ],
)
def test_a_blank_without_a_word(grammar, message):
    with pytest.raises(ValueError, match=message):
        _Writer(SYMBOL, grammar + "\n").text("0.27")


# Automata.


def accepts(pattern, text):
    return automaton_of(read_pattern(pattern)).takes(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("char", ["a", "\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000"])
def test_a_negated_class_takes_any_other_character(char):
    assert accepts("[^\\n]", char)
    assert accepts("[^\\n]", "\U00010000")
    assert accepts("[^\\n]", "\U0010ffff")
    assert not accepts("[^\\n]", "\n")
    assert not accepts("[^\\n]", "\ud800")


def test_repetition():
    taken = [count for count in range(6) if accepts("a{2,4}", "a" * count)]
    assert taken == [2, 3, 4]
    assert accepts("(a|bc)*d", "abcbcad")
    assert not accepts("(a|bc)*d", "abd")
    assert accepts("(a*b)*", "")
    assert automaton_of(Repeat(Text("ab"), 3, None)).takes(b"abababab")


def test_what_an_automaton_cannot_be_made_of():
    with pytest.raises(ValueError, match="expected a class of ASCII characters"):
        automaton_of(read_pattern("[à-é]"))
    with pytest.raises(ValueError, match="expected texts and patterns, found Name"):
        automaton_of(Name("OTHER"))


def test_an_automaton_without_some_words():
    automaton = automaton_of(read_pattern("[0-9]+")).without([b"1", b"10", b"x"])
    assert [text for text in ("0", "1", "10", "11", "100") if automaton.takes(text.encode())] == [
        "0",
        "11",
        "100",
    ]


def test_rules_of_an_automaton():
    tokens = {1: b"a", 2: b"b", 3: b"c", 4: b"ab"}
    assert automaton_rules("x", automaton_of(read_pattern("a*b")), tokens) == {
        "x": "<[1]>* <[2,4]>"
    }
    assert automaton_rules("x", automaton_of(read_pattern("(a|bc)*")), tokens) == {
        "x": "(<[1]> | <[2,4]> x_1_again)*",
        "x_1_again": "<[3]>",
    }
    with pytest.raises(ValueError, match="x: expected loops through one state, found others"):
        automaton_rules("x", automaton_of(read_pattern("(ab)*c(ab)*c")), tokens)


def test_sets_become_disjoint():
    rules = {"x": "<[1-3]> | <[3-4]> y", "y": "<[7]>"}
    assert disjoint(rules) == {
        "x": "set_1 | set_2 y",
        "y": "<[7]>",
        "set_1": "<[1-2]> | <[3]>",
        "set_2": "<[3]> | <[4]>",
    }
    assert id_set([]) == "<[]>"


# The command.


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], grammar_text),
        (["--tvm", "0.16"], lambda: grammar_text(tvm="0.16")),
        (["--format", "gbnf"], to_gbnf),
        (["--format", "gbnf", "--tvm", "0.16"], lambda: to_gbnf("0.16")),
        (["--format", "tokens", "--tvm", "0.16"], lambda: token_grammar(SYMBOL, "0.16")),
    ],
)
def test_the_command_prints_a_grammar(options, text, capsys):
    assert main(["grammar", *options]) == 0
    assert capsys.readouterr().out == text()
