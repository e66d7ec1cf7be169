"""The strict grammars: what they take, and that three engines take the same.

Laws: a trace that TVM recorded fits the grammar of its release; what fits a strict grammar fits
the open one; lark, llguidance and xgrammar agree on every text.
"""

import re
from functools import lru_cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark
from lark.exceptions import LarkError

from corpora import LOGS, OWN, ROOT
from releases import releases_of
from test_check import traces_of
from tracescript import TraceSyntaxError, dumps, grammar_text, loads
from tracescript.check import check
from tracescript.instructions import RELEASES, kinds
from tracescript.strict import main, strict_grammar

HEADER = "tracescript 1\n"
FOLDER = ROOT / "grammar" / "strict"
EACH_RELEASE = pytest.mark.parametrize("tvm", RELEASES)

ACCEPTED = [
    "",
    'GetSBlock | "C" "main" -> b\n',
    "GetLoops b-1\n",
    "GetLoops b-1 -> l12\n",
    "Split l-3 null v-1 4 | true 0 -> l3\n",
    "Reorder\n",
    "Reorder l-1 l-2 l-3\n",
    "SamplePerfectTile l-3 | 2 -1 -> v2 = [16 8]\n",
    "SamplePerfectTile l-3 | 2 64 -> v2\n",
    'SamplePerfectTile l-3 | 3 64 -> @"_" v2 = [-1 1 1]\n',
    'SamplePartitionedTile l-3 | 1 0 1 -> @"_" = [-1]\n',
    "SampleCategorical | [0 16] [0.5 1] -> v = 1\n",
    "SampleComputeLocation b-1 -> l = -2\n",
    'CacheRead b-1 [] | 0 "shared" -> b\n',
    'CacheInplace b-1 | 0 "local" -> b2\n',
    'Blockize l-1 | true -> b\nBlockize [b-1 b-2] | 1 -> b\nTensorize b-1 | "dot" false\n',
    'TransformLayout b-1 @"{\\"nodes\\": []}" | 0 1 null false\n',
    'TransformLayout b-1 @"{}" | 0 1 "{}" 0\n',
    'Annotate b-1 [1 [1.0 v-1 "x" null true] {"k": [nan "v-1" {}]}] | "key"\n',
    'UnsafeHideBufferAccess b-1 "read" [0 1]\nAnnotateBufferAccess b-1 0 1 @"{}"\n',
    "EnterPostproc\n",
]
"""Bodies that fit TVM 0.27."""

REFUSED = {
    "a kind of another release": ['GetBlock | "C" "main" -> b\n', "Novel\n", '"EnterPostproc"\n'],
    "a form of another release": [
        "Split l-3 null 4 | 1 -> l2\n",
        "Fuse l-2 l-1 -> l\n",
        'CacheRead b-1 | 0 "shared" -> b\n',
    ],
    "a reference of another type": ["GetLoops l-1 -> l2\n", "Fuse l-1 v-1 | 1 -> l\n"],
    "a value of another type": [
        "Fuse l-1 | 2 -> l\n",
        "Fuse l-1 | 1.0 -> l\n",
        "Bind l-1 | 3\n",
        "SampleCategorical | [0.5] [1] -> v\n",
        "SamplePerfectTile l-1 | true 64 -> v2\n",
        'TransformLayout b-1 "{}" | 0 1 null false\n',
        'TransformLayout b-1 @"x" | 0 1 null false\n',
        'Annotate b-1 {"k": v-1} | "key"\n',
    ],
    "outputs of another type or number": [
        "GetLoops b-1 -> b2\n",
        "GetLoops b-1 -> l b\n",
        "Fuse l-1 | 1 -> l2\n",
        "Fuse l-1 | 1\n",
        "Parallel l-1 -> l\n",
        "SampleCategorical | [1] [1] -> l\n",
    ],
    "another decision": [
        "GetLoops b-1 -> l2 = 1\n",
        "SamplePerfectTile l-3 | 2 64 -> v2 = 16\n",
        "SamplePerfectTile l-3 | 2 64 -> v2 = []\n",
        "SamplePerfectTile l-3 | 2 64 -> v2 = [0 16]\n",
        "SamplePerfectTile l-3 | 2 64 -> v2 = [-1 1]\n",
        'SamplePerfectTile l-3 | 2 64 -> @"_" v = [-1 2]\n',
        'SamplePerfectTile l-3 | 2 64 -> @"_" v = [4 2]\n',
        'SamplePerfectTile l-3 | 2 64 -> v @"_" = [-1 1]\n',
        "SampleCategorical | [1] [1] -> v = -1\n",
        "SampleCategorical | [1] [1] -> v = [0]\n",
        "SampleComputeLocation b-1 -> l = -3\n",
        "SampleComputeLocation b-1 -> l = null\n",
    ],
    "what canonical scripts of TVM do not have": [
        'GetLoops @"b0" -> l2\n',
        'GetLoops b-1 -> @"l1"\n',
        "EnterPostproc\n@0 = 1\n",
        'Annotate b-1 @null | "key"\n',
        "EnterPostproc \n",
        "EnterPostproc\n\n",
        "EnterPostproc",
    ],
}
"""Bodies that do not, by what is wrong with them."""


# The three engines.


@lru_cache
def lark_parser(tvm=None):
    return Lark(grammar_text(tvm=tvm), parser="lalr")


def lark_accepts(tvm, text):
    try:
        lark_parser(tvm).parse(text)
    except LarkError:
        return False
    return True


@lru_cache
def llguidance_matcher(tvm):
    import llguidance

    grammar = llguidance.grammar_from("lark", grammar_text(tvm=tvm))
    matcher = llguidance.LLMatcher(llguidance.LLTokenizer("byte"), grammar)
    assert not matcher.is_error(), matcher.get_error()
    return matcher


def llguidance_accepts(tvm, text):
    matcher = llguidance_matcher(tvm).deep_copy()
    data = list(text.encode())
    return matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting()


@lru_cache
def xgrammar_compiled(tvm):
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar brings torch; group `interop`")
    vocabulary = [bytes([byte]) for byte in range(256)] + [b"<eos>"]
    tokenizer = xgrammar.TokenizerInfo(
        vocabulary, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256]
    )
    return xgrammar.GrammarCompiler(tokenizer).compile_lark(grammar_text(tvm=tvm))


def xgrammar_accepts(tvm, text):
    import xgrammar

    matcher = xgrammar.GrammarMatcher(xgrammar_compiled(tvm), terminate_without_stop_token=True)
    return matcher.accept_string(text) and matcher.is_terminated()


def accepts(tvm, text):
    """The verdict of all engines; it has to be one, and a yes one of the open grammar, too."""
    verdict = lark_accepts(tvm, text)
    assert llguidance_accepts(tvm, text) == verdict, text
    assert xgrammar_accepts(tvm, text) == verdict, text
    if verdict:
        lark_parser().parse(text)
    return verdict


# What they take.


@pytest.mark.parametrize("body", ACCEPTED)
def test_what_tvm_can_write(body):
    assert accepts("0.27", HEADER + body)


@pytest.mark.parametrize(
    "body", [pytest.param(body, id=f"{why}: {body}") for why in REFUSED for body in REFUSED[why]]
)
def test_what_tvm_cannot_write(body):
    assert not accepts("0.27", HEADER + body)


def test_the_header_is_there():
    assert not accepts("0.27", "")
    assert not accepts("0.27", "tracescript 2\n")


@pytest.mark.parametrize("path", LOGS)
def test_recorded_traces_fit_the_releases_that_can_have_recorded_them(path):
    """Each line once: to a strict grammar no line depends on another."""
    lines = {line: None for trace in traces_of(path) for line in lines_of(dumps(trace))}
    for tvm in releases_of(path):
        assert accepts(tvm, HEADER + "".join(lines)), [
            line for line in lines if not accepts(tvm, HEADER + line)
        ]


@pytest.mark.parametrize("path", LOGS)
def test_recorded_traces_fit_the_open_grammar(path):
    lines = {line: None for trace in traces_of(path) for line in lines_of(dumps(trace))}
    assert accepts(None, HEADER + "".join(lines)), [
        line for line in lines if not accepts(None, HEADER + line)
    ]


def lines_of(script):
    return [f"{line}\n" for line in script.removeprefix(HEADER).split("\n")[:-1]]


@EACH_RELEASE
def test_each_kind_is_a_rule_with_its_meaning(tvm):
    text = grammar_text(tvm=tvm)
    found = re.findall(r'^// (.+)\n\w+: "(\w+)"', text, re.MULTILINE)
    assert found == [(kind.meaning, kind.name) for kind in kinds(tvm).values()]


@EACH_RELEASE
def test_nothing_makes_a_server_take_the_file_for_another_format(tvm):
    """vLLM takes a grammar for EBNF if any line of it contains `::=`."""
    assert "::=" not in grammar_text(tvm=tvm)


# Differences.

LINES = sorted({line for path in OWN for it in traces_of(path) for line in lines_of(dumps(it))})
PIECES = [*'blv0123456789 -|>=[]{}"@\\_:\n', " | ", " -> ", " = ", "-1", "null", "true", "1.5", "é"]


@st.composite
def mutated_lines(draw):
    """Recorded lines of any kind, some characters of them replaced, inserted or deleted."""
    body = "".join(draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.integers(0, 3)))
        body = body[:start] + draw(st.sampled_from(["", *PIECES])) + body[end:]
    return HEADER + body


@given(mutated_lines(), st.sampled_from([None, *RELEASES]))
def test_mutated_scripts_get_one_verdict(text, tvm):
    accepts(tvm, text)


@lru_cache
def generated(tvm):
    return st.tuples(st.just(tvm), from_lark(lark_parser(tvm)))


@given(from_lark(lark_parser()))
def test_what_the_open_grammar_generates(text):
    assert accepts(None, text)


@given(st.sampled_from(RELEASES).flatmap(generated))
def test_what_a_grammar_generates(case):
    """All engines take it, and of the errors of `check` only those about numbers are left."""
    tvm, text = case
    assert accepts(tvm, text)
    try:
        trace = loads(in_scope(text))
    except TraceSyntaxError as error:
        assert error.message == "this key is in the dict already"
        assume(False)
    for problem in check(trace, tvm=tvm):
        assert problem.severity == "note" or NUMBERS.search(problem.message), problem


NUMBERS = re.compile("expected .* (outputs?|factors?|candidates?), found|expected one probability")


def in_scope(text):
    """The script with references to the newest of each type, and with numbers of a usual size."""
    text = text.replace(HEADER, f'{HEADER}"Anything" -> b l v\n', 1)
    text = re.sub("([blv]-)[0-9]+", r"\g<1>1", text)
    text = re.sub("( [blv])[0-9]{4,}", r"\g<1>9", text)
    return re.sub("(e[+-]?)[0-9]{3,}", r"\g<1>9", text)


# The files.


@EACH_RELEASE
def test_the_files_are_what_the_table_says(tvm):
    path = FOLDER / f"tvm-{tvm}.lark"
    assert path.is_file(), "run `python -m tracescript.strict`"
    assert path.read_text(encoding="utf-8") == strict_grammar(tvm) == grammar_text(tvm=tvm)


def test_there_are_no_other_files():
    names = {f"tvm-{tvm}.lark" for tvm in RELEASES}
    assert {path.name for path in FOLDER.iterdir()} == names


def test_a_release_without_a_grammar():
    for function in (strict_grammar, lambda tvm: grammar_text(tvm=tvm)):
        with pytest.raises(ValueError, match=r"found '1\.0'"):
            function("1.0")


def test_the_command_writes_and_compares(tmp_path, capsys):
    folder = tmp_path / "strict"
    assert main(["--check", str(folder)]) == 1
    assert capsys.readouterr().err.count("is not what the table of kinds says\n") == len(RELEASES)
    assert not folder.exists()
    assert main([str(folder)]) == 0
    assert capsys.readouterr().out.count("wrote ") == len(RELEASES)
    assert main(["--check", str(folder)]) == 0
    (folder / "tvm-0.8.lark").write_text("start:\n")
    assert main(["--check", str(folder)]) == 1
    assert capsys.readouterr().err == f"{folder}/tvm-0.8.lark is not what the table of kinds says\n"
    assert main([str(folder)]) == 0
    assert capsys.readouterr().out == f"wrote {folder}/tvm-0.8.lark\n"
    for tvm in RELEASES:
        name = f"tvm-{tvm}.lark"
        assert (folder / name).read_bytes() == (FOLDER / name).read_bytes()
