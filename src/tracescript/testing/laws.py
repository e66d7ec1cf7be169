"""The laws of the codec, all those of one case in one call."""

from __future__ import annotations

from typing import Any, cast

from tracescript.decode import loads, read_fast
from tracescript.encode import dumps
from tracescript.errors import TraceSyntaxError
from tracescript.json_trace import from_json, to_json
from tracescript.model import Trace
from tracescript.reference import parse

__all__ = ["check_script_laws", "check_trace_laws", "strictly_equal"]


def strictly_equal(left: object, right: object) -> bool:
    """Equality of JSON values that tells types, signed zeros and the order of dicts apart.

    >>> strictly_equal([1, 0.5], [1, 0.5]), strictly_equal([1], [True]), strictly_equal(0.0, -0.0)
    (True, False, False)
    """
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        lefts, rights = cast("list[Any]", left), cast("list[Any]", right)
        return len(lefts) == len(rights) and all(map(strictly_equal, lefts, rights))
    if isinstance(left, dict):
        lefts, rights = cast("dict[str, Any]", left), cast("dict[str, Any]", right)
        return strictly_equal(list(lefts.items()), list(rights.items()))
    return repr(left) == repr(right) if isinstance(left, float) else left == right


def check_trace_laws(value: object) -> str:
    """Assert every law of the codec for one JSON value of a trace, and give its script."""
    trace = from_json(value)
    assert strictly_equal(to_json(trace), value), "to_json(from_json(value)) == value"
    assert from_json(to_json(trace)) == trace, "from_json(to_json(trace)) == trace"
    script = dumps(trace)
    assert script.encode("utf-8").decode("utf-8") == script, "a script is UTF-8"
    decoded = loads(script)
    assert decoded == trace, "loads(dumps(trace)) == trace"
    assert hash(decoded) == hash(trace), "equal traces have equal hashes"
    assert strictly_equal(to_json(decoded), value), "and so have the same JSON"
    assert dumps(decoded) == script, "dumps(loads(script)) == script"
    assert read_fast(script) == trace, "canonical scripts need no second reading"
    assert parse(script) == trace, "the reference parser reads what loads reads"
    return script


def check_script_laws(text: str) -> Trace | TraceSyntaxError:
    """Assert that both decoders treat a text alike, and give the trace or the error."""
    expected = _outcome_of_parse(text)
    try:
        actual: Trace | TraceSyntaxError = loads(text)
    except TraceSyntaxError as error:
        actual = error
    assert type(actual) is type(expected), "both accept or both refuse"
    if isinstance(actual, TraceSyntaxError):
        assert str(actual) == str(expected), "with the same error"
        return actual
    assert actual == expected, "and read the same"
    assert loads(dumps(actual)) == actual, "what was read can be written"
    assert read_fast(text) == expected, "and no text needs a second reading"
    return actual


def _outcome_of_parse(text: str) -> Trace | TraceSyntaxError:
    try:
        return parse(text)
    except TraceSyntaxError as error:
        return error
