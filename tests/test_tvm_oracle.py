"""A live schedule beside the mask: what it lets through, TVM applies."""

import random

import pytest

from tracescript import dumps, loads
from tracescript.check import check
from tracescript.masks import Constraints, ScriptMasker
from tracescript.tokens import Tokenizer

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

import tvm_cases  # noqa: E402
from tracescript.tvm import IllegalToken, Oracle, RefusedToken, from_tvm, replay  # noqa: E402

TOKENIZERS = {level: Tokenizer.default(level) for level in ("symbol", "phrase")}
MASKERS = {level: ScriptMasker(tokenizer) for level, tokenizer in TOKENIZERS.items()}


@pytest.fixture(params=["symbol", "phrase"])
def level(request):
    return request.param


def write(state, level, text):
    """Let a state take a text; the number of tokens taken, and of all."""
    tokens = TOKENIZERS[level].encode(text)
    return state.try_advance(tokens), len(tokens)


def oracle(level, name="sample_at_random", **options):
    return Oracle(MASKERS[level], tvm_cases.example(name).module, **options)


def allowed(state, level):
    return [TOKENIZERS[level].token_bytes(token).decode() for token in state.allowed_tokens()]


@pytest.mark.parametrize("log", ["cuda", "llvm"])
def test_what_happened_is_let_through(level, log):
    for module, trace in tvm_cases.records(log)[::5]:
        state = Oracle(MASKERS[level], module).new()
        taken, count = write(state, level, dumps(trace))
        assert taken == count, state.refused
        tvm.ir.assert_structural_equal(state.schedule.mod, replay(trace, module).mod)


@pytest.mark.parametrize("seed", range(12))
def test_chance_under_the_oracle_writes_what_tvm_applies(level, seed):
    choices = random.Random(seed)
    module = tvm_cases.modules("cuda")[seed % len(tvm_cases.modules("cuda"))]
    state = Oracle(MASKERS[level], module).sample(
        lambda _, allowed: int(choices.choice(allowed)), tokens=160, tries=600
    )
    assert state.is_finished()
    trace = loads(TOKENIZERS[level].decode(state.tokens))
    assert not [problem for problem in check(trace, tvm="0.27") if problem.severity == "error"]
    schedule = replay(trace, module)
    tvm.ir.assert_structural_equal(schedule.mod, state.schedule.mod)
    assert from_tvm(schedule.trace).decisions == trace.decisions


START = 'tracescript 1\nGetSBlock | "matmul" "main" -> b\n'


def test_names_counts_and_extents_are_those_of_the_schedule():
    state = oracle("symbol").new()
    write(state, "symbol", 'tracescript 1\nGetSBlock | "')
    assert set(allowed(state, "symbol")) == {"m", "r", "ro", "root"} & set(allowed(state, "symbol"))
    write(state, "symbol", 'matmul" "main" -> b\nGetLoops b-1 ->')
    assert allowed(state, "symbol") == [" l3"]
    write(state, "symbol", " l3\nSplit l-3 4 16 | true false -> l2\nGetLoops b-1 ->")
    assert allowed(state, "symbol") == [" l4"]
    assert state.scope.loops == (64, 64, 64, 4, 16)
    write(state, "symbol", " l4\nSamplePerfectTile l-3 | 2 64 -> v2 = [")
    assert allowed(state, "symbol") == ["1", "2", "4", "8", "16"]
    write(state, "symbol", '2 8]\nCacheRead b-1 [] | 0 "shared" -> b\nGetSBlock | "A_')
    assert state.scope.exprs == (2, 8)
    assert state.scope.blocks == ("matmul", "A_shared")
    assert write(state.fork(), "symbol", 'local"')[0] == 0
    assert (
        write(state, "symbol", 'shared" "main" -> b\n')
        == (len(TOKENIZERS["symbol"].encode('shared" "main" -> b\n')),) * 2
    )


def test_how_far_the_end_is_goes_by_the_loops_of_the_schedule():
    """Twenty loops are too many to be a symbol, and any block may be meant."""
    state = oracle("symbol").new()
    write(state, "symbol", START + "GetLoops")
    # The block, the arrow, three loops, the end of the line, and `<eos>`.
    assert state.remaining_min() == 5
    state = oracle("symbol").new()
    ones = "Split l-1 null" + " 1" * 17 + " | true false -> l18\n"
    write(state, "symbol", START + "GetLoops b-1 -> l3\n" + ones + "GetLoops")
    assert state.remaining_min() == 5 + len(" l20") - 1
    assert state.completion()


def test_what_tvm_refuses_is_masked_out():
    state = oracle("symbol").new()
    write(state, "symbol", START + "GetLoops b-1 -> l3\nReorder l-1 l-1")
    newline = TOKENIZERS["symbol"].encode("\n")[0]
    assert newline in state.allowed_tokens()
    with pytest.raises(RefusedToken) as caught:
        state.advance(newline)
    assert caught.value.reason == "Some loop appears in the input array for multiple times."
    assert "after 'Reorder l-1 l-1': Some loop appears" in str(caught.value)
    assert newline not in state.allowed_tokens()
    assert state.refused == {newline: caught.value.reason}
    # The line can go on otherwise.
    assert len(state.allowed_tokens())


def test_a_refused_line_is_remembered_where_it_began():
    state = oracle("symbol").new()
    write(state, "symbol", START + "GetLoops b-1 -> l3\n")
    mod = state.schedule.mod
    taken, count = write(state, "symbol", "ComputeInline b-1\n")
    assert taken == count - 1
    assert len(state.allowed_tokens()) == 0
    assert state.retreat() == count - 1
    assert state.is_accepting()
    assert state.schedule.mod.same_as(mod)
    write(state, "symbol", "ComputeInline b-1")
    # Known without asking TVM again: the mask is as empty.
    assert len(state.allowed_tokens()) == 0
    with pytest.raises(RefusedToken):
        state.advance(TOKENIZERS["symbol"].encode("\n")[0])


def test_the_schedule_is_made_anew_after_a_retreat_and_in_a_fork():
    state = oracle("symbol").new()
    write(state, "symbol", START + "GetLoops b-1 -> l3\n")
    fork, before = state.fork(), from_tvm(state.schedule.trace)
    write(state, "symbol", "Fuse l-2 l-1 | true -> l\n")
    write(state, "symbol", "Unroll l-1\n")
    assert [inst.kind for inst in from_tvm(state.schedule.trace).insts[2:]] == ["Fuse", "Unroll"]
    assert from_tvm(fork.schedule.trace) == before
    write(fork, "symbol", "Unroll l-3\n")
    assert [inst.kind for inst in from_tvm(fork.schedule.trace).insts[2:]] == ["Unroll"]
    # At the beginning of a line it is the line before that is taken back.
    assert state.retreat() == len(TOKENIZERS["symbol"].encode("Unroll l-1\n"))
    assert [inst.kind for inst in from_tvm(state.schedule.trace).insts[2:]] == ["Fuse"]


def test_places_survive_a_retreat():
    """A copy of a schedule has lost them: TVM says that the loop does not exist any more."""
    state = oracle("symbol", "sample_locations").new()
    write(state, "symbol", 'tracescript 1\nGetSBlock | "B" "main" -> b\n')
    write(state, "symbol", "SampleComputeLocation b-1 -> l = -1\n")
    taken, count = write(state, "symbol", "Unroll l-1\n")
    assert taken == count - 1
    assert (
        next(iter(state.refused.values())) == "expected a loop, found l1, which stands for a place"
    )
    state.retreat()
    for text in ("ComputeAt b-1 l-1 | true -1\n", "ComputeAt b-1 l-1 | false -1\n"):
        fork = state.fork()
        assert write(fork, "symbol", text)[0] == len(TOKENIZERS["symbol"].encode(text))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SampleCategorical | [1 2] [0.5 0.5] -> v\n", "expected the decision "),
        ("SampleComputeLocation b-1 -> l = 77\n", "which TVM takes in its place"),
        ('Annotate b-1 9223372036854775808 | "key"\n', "an integer of 64 bits"),
    ],
)
def test_what_the_script_would_not_say_is_refused(line, reason):
    state = oracle("symbol", "sample_locations").new()
    write(state, "symbol", 'tracescript 1\nGetSBlock | "B" "main" -> b\nGetLoops b-1 -> l2\n')
    taken, count = write(state, "symbol", line)
    assert taken < count
    assert any(reason in text for text in state.refused.values())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ReorderBlockIterVar b-2 []\n", "expected a block inside another one, found b0"),
        ("Blockize [b-1 b-1] | true -> b\n", "expected different blocks, found b1 twice"),
    ],
)
def test_what_tvm_dies_of_is_masked_out_before_it_sees_it(line, reason):
    state = oracle("symbol").new()
    write(state, "symbol", 'tracescript 1\nGetSBlock | "root" "main" -> b\n')
    write(state, "symbol", START.split("\n", 1)[1])
    before = state.schedule.mod
    taken, count = write(state, "symbol", line)
    assert taken == count - 1
    assert next(iter(state.refused.values())).startswith(reason)
    state.retreat()
    assert state.schedule.mod.same_as(before)


def test_a_line_in_a_rare_spelling_is_read_too():
    state = oracle("symbol").new()
    write(state, "symbol", START)
    text = "SampleCategorical | [1 2] [1e-5 0.5] -> v = 1\nGetLoops b-1 -> l3\nUnroll l-1\n"
    assert write(state, "symbol", text)[0] == len(TOKENIZERS["symbol"].encode(text))
    assert state.scope.exprs == (2,)
    (categorical,) = [i for i in from_tvm(state.schedule.trace).insts if i.outputs == ("v1",)]
    assert categorical.attrs == ((1, 2), (1e-05, 0.5))


def test_completion_says_what_stands_in_its_way():
    state = oracle("symbol").new()
    write(state, "symbol", START + "ComputeInline b-1")
    with pytest.raises(RefusedToken, match="The block has init statement"):
        state.completion()
    state.retreat()
    assert state.completion() == [TOKENIZERS["symbol"].eos_id]
    write(state, "symbol", "GetLoops b-1 -> l3")
    for token in state.completion():
        state.advance(token)
    assert state.is_finished()


def test_forced_tokens_stop_before_what_tvm_refuses():
    state = oracle("symbol").new()
    write(state, "symbol", START + "ComputeInline")
    assert TOKENIZERS["symbol"].decode(state.forced()) == " b-1"


def test_a_sample_ends_with_a_whole_line_when_the_tries_are_over():
    choices = random.Random(3)
    for tries in (1, 2, 10, 40):
        state = oracle("symbol").sample(
            lambda _, allowed: int(choices.choice(allowed)), tokens=60, tries=tries
        )
        assert state.is_finished()
        loads(TOKENIZERS["symbol"].decode(state.tokens))


def test_an_illegal_token_is_no_refusal_of_tvm():
    state = oracle("symbol").new()
    with pytest.raises(IllegalToken) as caught:
        state.advance(5)
    assert type(caught.value) is IllegalToken


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tvm": "0.23"}, "expected a masker for TVM 0.27, found one for 0.23"),
        ({"tvm": None}, "expected a masker for TVM 0.27, found one for None"),
        ({"constraints": Constraints(domains=False)}, "enforces scope, counts and domains"),
    ],
)
def test_a_masker_that_lets_too_much_pass(options, message):
    with pytest.raises(ValueError, match=message):
        Oracle(ScriptMasker(TOKENIZERS["symbol"], **options), tvm_cases.modules("llvm")[0])
