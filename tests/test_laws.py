"""The laws of the codec, for whatever Hypothesis can think of."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark

from tracescript import TraceShapeError, dumps, from_json, grammar_text, loads, testing
from tracescript.testing import json_traces, json_values, mutated_scripts, scripts, traces


@given(json_traces())
def test_traces_survive(value):
    testing.check_trace_laws(value)


@given(st.integers(0, 1 << 64))
def test_random_traces_survive(seed):
    testing.check_trace_laws(testing.random_json_trace(Random(seed)))


@given(mutated_scripts())
def test_decoders_agree_on_mutated_scripts(text):
    testing.check_script_laws(text)


@given(from_lark(Lark(grammar_text(), parser="lalr")))
def test_decoders_agree_on_the_grammar(text):
    """A string of the grammar reads, or fails for what a grammar cannot say."""
    testing.check_script_laws(text)


@given(json_values())
def test_other_values_are_refused_with_a_path(value):
    try:
        from_json(value)
    except TraceShapeError as error:
        assert error.path.startswith("$")


@given(traces(), traces())
def test_equality_is_that_of_the_scripts(left, right):
    equal = dumps(left) == dumps(right)
    for a, b in zip((left, *left.insts), (right, *right.insts), strict=False):
        assert (a == b) != (a != b)
    assert (left == right) == equal
    assert (left != right) == (not equal)
    assert left == loads(dumps(left))
    assert (left != loads(dumps(left))) is False


@given(scripts())
def test_canonical_scripts_are_fixed_points(script):
    assert dumps(loads(script)) == script
