"""The laws of the codec, for whatever Hypothesis can think of."""

from hypothesis import given
from hypothesis.extra.lark import from_lark
from lark import Lark

from tracescript import TraceShapeError, dumps, from_json, grammar_text, loads, testing
from tracescript.testing import json_traces, json_values, mutated_scripts, scripts, traces


@given(json_traces())
def test_traces_survive(value):
    testing.check_trace_laws(value)


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
    assert (left == right) == (dumps(left) == dumps(right))


@given(scripts())
def test_canonical_scripts_are_fixed_points(script):
    assert dumps(loads(script)) == script
