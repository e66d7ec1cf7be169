"""Strategies for traces and scripts, from ordinary to absurd."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from hypothesis import strategies as st

from tracescript.encode import dumps
from tracescript.json_trace import from_json
from tracescript.model import Trace

__all__ = ["json_traces", "json_values", "mutated_scripts", "scripts", "traces"]

_KINDS = (
    *("GetSBlock", "GetLoops", "SamplePerfectTile", "SampleCategorical", "Split", "Fuse"),
    *("Reorder", "Bind", "Annotate", "CacheRead", "ComputeAt", "EnterPostproc"),
)
_WORDS = ("main", "b0", "l1", "v2", "None", "null", "true", "", '"', '""', '"None"', "{}", "_")
_FRAGMENTS = (
    *(" ", "  ", "\n", "\r\n", "\t", " | ", " -> ", " = ", "@", "@null", "@7 = 1\n", '"', "\\"),
    *("[", "]", "{", "}", ": ", "null", "true", "nan", "-inf", "1e-5", "1e999", "-0", "01", "1.0"),
    *("b-1", "l-2", "v-99", "b0", "l1", "l12", "b", "\\u{d800}", "\\u{110000}", "\u2028", "\x00"),
    *('"main"', '"a | b"', "Split", "tracescript 2\n", "# record\n", "", "[[[[", '{"a": 1}'),
)

_texts = st.one_of(
    st.sampled_from(_WORDS),
    st.text(st.characters(codec=None), max_size=8),
    st.text(' "\\|->=@[]{}:blv019.\n\t\x7f\x85\u2028\ud83d\ude00', max_size=8),
)
_ints = st.one_of(
    st.integers(-2, 64),
    st.integers(),
    st.integers(0, 90).map(lambda power: (-2) ** power),
    st.integers(13_000, 15_000).map(lambda bits: (1 << bits) - 1),
)
_scalars = st.one_of(st.none(), st.booleans(), _ints, st.floats(), _texts)


class _Pick(NamedTuple):
    """Stands for a reference to one of the outputs that exist by then."""

    number: int


class _Run(NamedTuple):
    """Stands for a run of outputs with the names that TVM would give them."""

    letter: str
    length: int


def json_values(max_leaves: int = 6) -> st.SearchStrategy[Any]:
    """JSON values: every float, integers of any size, every Unicode text, nested."""
    return st.recursive(_scalars, _containers, max_leaves=max_leaves)


def json_traces(max_instructions: int = 8) -> st.SearchStrategy[Any]:
    """JSON values with the shape of a trace.

    Most look ordinary, with canonical names and references in scope. Each part may also be
    anything that the shape allows: odd or duplicate names, unknown references, decisions in
    any order or place.
    """
    return st.builds(
        _assemble,
        st.lists(_instructions(), max_size=max_instructions),
        st.one_of(
            st.just(None),
            st.lists(st.tuples(st.one_of(st.integers(-1, 9), _ints), json_values()), max_size=4),
        ),
        json_values(),
    )


def traces(max_instructions: int = 8) -> st.SearchStrategy[Trace]:
    """Traces, as `json_traces` makes them."""
    return json_traces(max_instructions).map(from_json)


def scripts(max_instructions: int = 8) -> st.SearchStrategy[str]:
    """Canonical scripts, as `json_traces` makes them."""
    return traces(max_instructions).map(dumps)


def mutated_scripts(max_instructions: int = 5) -> st.SearchStrategy[str]:
    """Texts close to scripts: cut and patched with what could confuse a decoder."""
    patch = st.tuples(
        st.integers(0, 400), st.integers(0, 4), st.one_of(st.sampled_from(_FRAGMENTS), _texts)
    )
    return st.builds(_patched, scripts(max_instructions), st.lists(patch, min_size=1, max_size=3))


def _containers(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.lists(values, max_size=4), st.dictionaries(_texts, values, max_size=3))


def _instructions() -> st.SearchStrategy[Any]:
    pick = st.integers(0, 1 << 16).map(_Pick)
    quoted = _texts.map(lambda text: f'"{text}"')
    simple = st.one_of(pick, pick, pick, quoted, _texts, _scalars)
    inputs = st.one_of(simple, st.lists(simple, max_size=3), json_values())
    attrs = st.one_of(_scalars, json_values())
    run = st.builds(_Run, st.sampled_from("blv"), st.integers(1, 4))
    outputs = st.one_of(run, run, run, _texts)
    return st.tuples(
        st.one_of(st.sampled_from(_KINDS), st.sampled_from(_KINDS), _texts),
        st.lists(inputs, max_size=4),
        st.lists(attrs, max_size=3),
        st.lists(outputs, max_size=2),
    )


def _assemble(blueprints: list[Any], decisions: list[Any] | None, decided: Any) -> list[Any]:
    names: list[str] = []
    insts: list[Any] = []
    for kind, inputs, attrs, outputs in blueprints:
        resolved = [_resolve(item, names) for item in inputs]
        defined: list[str] = []
        for output in outputs:
            first = len(names) + len(defined)
            defined += (
                [f"{output.letter}{first + number}" for number in range(output.length)]
                if isinstance(output, _Run)
                else [output]
            )
        names += defined
        insts.append([kind, resolved, attrs, defined])
    if decisions is None:
        sampled = [n for n, inst in enumerate(insts) if inst[0].startswith("Sample")]
        return [insts, [[index, decided] for index in sampled]]
    return [insts, [list(decision) for decision in decisions]]


def _resolve(item: Any, names: list[str]) -> Any:
    if isinstance(item, _Pick):
        return names[item.number % len(names)] if names else "b0"
    if isinstance(item, list):
        return [_resolve(element, names) for element in cast("list[Any]", item)]
    return item


def _patched(script: str, patches: list[tuple[int, int, str]]) -> str:
    for position, length, fragment in patches:
        start = position % (len(script) + 1)
        script = script[:start] + fragment + script[start + length :]
    return script
