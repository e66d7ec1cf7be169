"""The texts of index maps: what older releases wrote, as 0.27 writes it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora import ROOT, SHARED, needs_shared
from tracescript import IndexMap, iter_records
from tracescript.migration.index_maps import BadIndexMap, releases_of
from tracescript.migration.index_maps.convert import converted


def texts_of(release):
    lines = (ROOT / "tests" / "old_releases" / f"tvm-{release}.jsonl").read_text().splitlines()
    return [text for word, text, *_ in map(json.loads, lines) if word == "index map"]


NEW = [text.replace("0.27.0.post1", "0.27.0") for text in texts_of("0.27")]
"""The same maps as TVM 0.27 wrote them."""


def as_legacy(text):
    """A text of 0.25 in the format until 0.21, as the older serializer wrote it."""
    document = json.loads(text)
    nodes = [legacy_node(node) for node in document["nodes"]]
    return json.dumps(
        {
            "root": document["root_index"],
            "nodes": nodes,
            "b64ndarrays": [],
            "attrs": {"tvm_version": "0.16.0"},
        },
        indent=2,
    )


def legacy_node(node):
    name = node["type"].replace("tirx.", "tir.")
    data = node.get("data")
    if name == "None":
        return {"type_key": ""}
    if name in ("ffi.String", "ir.SourceName", "ir.Op"):
        name = {"ffi.String": "runtime.String", "ir.SourceName": "SourceName", "ir.Op": "Op"}[name]
        # The operators had the prefix of their time; an empty string was left out.
        text = data.replace("tirx.", "tir.")
        return {"type_key": name, **({"repr_str": text} if text else {})}
    if name == "ffi.Array":
        return {"type_key": "Array", **({"data": data} if data else {})}
    renamed = name.removeprefix("ir.")
    attrs = {key: legacy_value(value) for key, value in data.items() if key != "attrs"}
    if renamed == "PrimType":
        del attrs["span"]
    return {"type_key": renamed, "attrs": attrs}


def legacy_value(value):
    return {"NaN": "nan"}.get(str(value), str(value))


# What real releases wrote.


@pytest.mark.parametrize("release", ["0.25", "0.26"])
@pytest.mark.parametrize("number", range(len(NEW)))
def test_the_text_is_that_of_the_newer_tvm(release, number):
    text = texts_of(release)[number]
    assert converted(text, indented=False) == NEW[number]
    assert releases_of(text) == (release,)
    assert releases_of(NEW[number]) == ("0.27",)


@pytest.mark.parametrize("number", range(len(NEW)))
def test_the_oldest_format(number):
    text = as_legacy(texts_of("0.25")[number])
    assert converted(text, indented=False) == NEW[number]
    assert releases_of(text) == ("0.16",)


@pytest.mark.parametrize("number", range(len(NEW)))
def test_indentation_changes_nothing_else(number):
    text = converted(texts_of("0.25")[number], indented=True)
    compact = converted(texts_of("0.25")[number], indented=False)
    # NaN and the infinities are in both.
    assert str(json.loads(text)) == str(json.loads(compact))
    assert text.startswith('{\n  "root_index": ')
    assert text.endswith('\n  ],\n  "metadata": {\n    "tvm_version": "0.27.0"\n  }\n}')


@pytest.mark.parametrize("number", range(len(NEW)))
def test_tvm_loads_the_text_and_writes_it_again(number):
    ir = pytest.importorskip("tvm.ir", reason="the extra `tvm` is not installed")
    for text in (texts_of("0.25")[number], as_legacy(texts_of("0.25")[number])):
        loaded = ir.load_json(converted(text, indented=True))
        assert ir.save_json(loaded) == texts_of("0.27")[number]
        ir.assert_structural_equal(loaded, ir.load_json(texts_of("0.27")[number]), True)


@needs_shared
def test_public_index_maps():
    """Those of a residual network on x86, against the maps built by hand."""
    tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")
    (path,) = [path for path in SHARED if path.name.startswith("x86-layout-rewrite")]
    texts = [
        item.text
        for record in iter_records(path)
        for inst in record.trace.insts
        for item in inst.inputs
        if isinstance(item, IndexMap)
    ]
    # Rows and columns in tiles; the sizes are those of the tiles.
    wanted = [
        lambda i, j: (i // 500, i % 500 // 100, j // 32, i % 100, j % 32),
        lambda i, j: (i // 8, j, i % 8),
        lambda i, j: (i // 25, j // 64, i % 25, j % 64),
        lambda i, j: (i // 100, j // 2, i % 100 // 10, j % 2, i % 10),
        lambda i, j: (j // 2, i, j % 2),
    ]
    assert len(texts) == len(wanted)
    i, j = (tvm.tirx.Var(name, "int32") for name in "ij")
    for text, function in zip(texts, wanted, strict=True):
        assert releases_of(text) == ("0.15", "0.16")
        new = converted(text, indented=False)
        loaded = tvm.ir.load_json(new)
        assert tvm.ir.save_json(loaded).replace("0.27.0.post1", "0.27.0") == new
        indices = function(i.astype("int64"), j.astype("int64"))
        built = tvm.tirx.IndexMap([i, j], list(indices), loaded.inverse_index_map)
        tvm.ir.assert_structural_equal(loaded, built, True)


# What the texts tell.


def era(**changes):
    return {"root_index": 0, "nodes": [{"type": "tirx.IndexMap"}], **changes}


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        ({"root": 0, "nodes": [{}]}, "0.8", "0.21"),
        ({"root": 0, "nodes": [{}], "attrs": {"tvm_version": "0.9.0"}}, "0.9", "0.9"),
        ({"root": 0, "nodes": [{}], "attrs": {"tvm_version": "0.16.dev0"}}, "0.15", "0.16"),
        ({"root": 0, "nodes": [{}], "attrs": {"tvm_version": "0.16.0.dev3"}}, "0.15", "0.16"),
        ({"root": 0, "nodes": [{}], "attrs": {"tvm_version": "0.8.dev0"}}, "0.8", "0.8"),
        ({"root": 0, "nodes": [{}], "attrs": {"tvm_version": 7}}, "0.8", "0.21"),
        ({"root": 0, "nodes": [{}], "attrs": {"tvm_version": "1.2"}}, "0.8", "0.21"),
        (era(nodes=[{"type": "tir.Var"}]), "0.22", "0.24"),
        (era(nodes=[{"type": "tir.Var"}], metadata={"tvm_version": "0.23.1"}), "0.23", "0.23"),
        (era(), "0.24", "0.27"),
        (era(nodes=[{"type": "tirx.Var"}, {"type": "tirx.Add"}]), "0.24", "0.25"),
        (era(nodes=[{"type": "tirx.Add"}]), "0.24", "0.26"),
        (era(nodes=[{"type": "ir.Var"}]), "0.26", "0.27"),
        (era(nodes=[{"type": "ir.Var"}, {"type": "tirx.Add"}]), "0.26", "0.26"),
        (era(nodes=[{"type": "prim.Add"}]), "0.27", "0.27"),
        (era(nodes=[{"type": "int"}]), "0.27", "0.27"),
        (era(metadata={"tvm_version": "0.27.0.post1"}), "0.27", "0.27"),
    ],
)
def test_the_releases_of_a_text(value, first, last):
    releases = releases_of(json.dumps(value))
    assert (releases[0], releases[-1]) == (first, last)


def test_a_version_that_the_format_excludes():
    assert releases_of('{"root": 0, "nodes": [{}], "attrs": {"tvm_version": "0.22.0"}}') == ()


# Hostile texts.

FRAMES = [
    ("", "", "a text that is not the JSON of an index map"),
    ("[]", "", "no JSON object"),
    ("{}", "['nodes']", "no list of nodes"),
    ('{"root": 0, "nodes": [3]}', "['nodes']", "no list of nodes"),
    ('{"root": 1, "nodes": [{}]}', "['root']", "no number of a node"),
    ('{"root": true, "nodes": [{}]}', "['root']", "no number of a node"),
    ('{"root_index": -1, "nodes": [{}]}', "['root_index']", "no number of a node"),
    ('{"root": 0, "root": 0, "nodes": [{}]}', "", "a text that is not the JSON of an index map"),
    ('{"root": 0, "nodes": [{"a": 1, "a": 1}]}', "", "a text that is not the JSON of an index map"),
    ('{"root": 0, "nodes": [{}], "attrs": []}', "", "no JSON object"),
    ("[" * 100_000, "", "a text that is not the JSON of an index map"),
    (
        '{"root": 0, "nodes": [{}]}' + " " * (1 << 20),
        "",
        "an index map of more than 1048576 characters",
    ),
    ('{"root": 0, "nodes": [' + "{}," * (1 << 14) + "{}]}", "['nodes']", "more than 16384 nodes"),
    ("9" * 5000, "", "a text that is not the JSON of an index map"),
]


@pytest.mark.parametrize(("text", "place", "reason"), FRAMES)
def test_texts_that_are_no_index_maps(text, place, reason):
    for function in (releases_of, lambda text: converted(text, indented=False)):
        with pytest.raises(BadIndexMap) as caught:
            function(text)
        assert (caught.value.place, caught.value.reason[:60]) == (place, reason[:60])


NODES = [
    {"type": "None"},
    {"type": "ffi.String", "data": "i"},
    {"type": "ir.PrimType", "data": {"span": 0, "dtype": "int32"}},
    {"type": "tirx.Var", "data": {"span": 0, "dtype": "int32", "name": 1, "type_annotation": 2}},
    {"type": "ffi.Array", "data": [3]},
    {"type": "tirx.Add", "data": {"span": 0, "dtype": "int32", "a": 3, "b": 3}},
    {"type": "ffi.Array", "data": [5]},
    {"type": "ir.Op", "data": "tirx.shift_left"},
    {"type": "ir.SourceName", "data": "a.py"},
    {
        "type": "ir.Span",
        "data": {"source_name": 8, "line": 1, "column": 2, "end_line": 3, "end_column": 4},
    },
    {"type": "ir.PrimType", "data": {"span": 0, "dtype": "int64"}},
    {"type": "ir.FloatImm", "data": {"span": 0, "dtype": "float32", "value": 1}},
    {"type": "tirx.IndexMap", "data": {"initial_indices": 4, "final_indices": 6}},
]


def with_node(number, node):
    nodes = [*NODES]
    nodes[number] = node
    return json.dumps({"root_index": len(nodes) - 1, "nodes": nodes})


def add(**changes):
    return {"type": "tirx.Add", "data": {"span": 0, "dtype": "int32", "a": 3, "b": 3, **changes}}


def untyped(node):
    return {**node, "data": {name: v for name, v in node["data"].items() if name != "dtype"}}


def call(**changes):
    fields = {"span": 0, "dtype": "int32", "op": 7, "args": 4, "attrs": 0, **changes}
    return {"type": "tirx.Call", "data": fields}


def literal(kind, value):
    return {"type": kind, "data": {"span": 0, "dtype": "int32", "value": value}}


def variable(**changes):
    return {**NODES[3], "data": {**NODES[3]["data"], **changes}}


def test_the_nodes_that_are_changed_below():
    text = converted(json.dumps({"root_index": 12, "nodes": NODES}), indented=False)
    assert text.count('"type":') == 8
    assert converted(with_node(5, NODES[11]), indented=False).count('"value":1.0') == 1


@pytest.mark.parametrize(
    ("number", "node", "place", "reason"),
    [
        (
            5,
            {"type": "tirx.SizeVar", "data": {}},
            5,
            "a node 'tirx.SizeVar', not known in TVM 0.27",
        ),
        (5, {"type": 3}, "['nodes'][5]['type']", "no name of a type"),
        (5, {"type": "\ud800" * 99}, 5, "a node '\\ud800"),
        (5, {"type": "tirx.Add"}, 5, "a node without fields"),
        (5, {"type": "tirx.Add", "data": {"span": 0}}, 5, "Add with other fields than it has"),
        (5, add(c=3), 5, "Add with other fields than it has"),
        (5, add(a="3"), 5, "Add with a wrong a"),
        (5, add(a=True), 5, "Add with a wrong a"),
        (5, add(dtype=3), 5, "Add with a wrong dtype"),
        (5, add(dtype="handle"), 5, "a type that is no scalar of a known kind"),
        (5, add(dtype="int32x4"), 5, "a type that is no scalar of a known kind"),
        (5, add(ty=10), 5, "an expression that is not of one type"),
        (5, add(ty=3), 5, "a node that should refer to ir.PrimType"),
        (
            5,
            {"type": "tirx.Add", "data": {"span": 0, "a": 3, "b": 3}},
            5,
            "an expression that is not",
        ),
        (5, add(a=99), 5, "a reference to no node"),
        (5, add(a=-1), 5, "a reference to no node"),
        (5, add(a=5), 5, "a node that refers to itself"),
        (5, add(a=12), 12, "a node that refers to itself"),
        (5, add(a=1), 5, "a node that should refer to an expression"),
        (5, add(a=0), 5, "a node that should refer to an expression"),
        (5, add(span=3), 5, "a node that should refer to ir.Span"),
        (3, variable(name=2), 3, "a variable whose name is no string"),
        (3, variable(type_annotation=10), 3, "an expression that is not of one type"),
        (1, {"type": "ffi.String", "data": 7}, 1, "a string without its text"),
        (6, {"type": "ffi.Array", "data": {}}, 6, "an array without a list of its items"),
        (6, {"type": "ffi.Array", "data": ["5"]}, 6, "a reference to no node"),
        (6, {"type": "ffi.Array", "data": [1]}, 12, "a node that should refer to an expression"),
        (6, {"type": "ffi.String", "data": ""}, 12, "a node that should refer to an array"),
        (4, {"type": "ffi.Array", "data": [11]}, 12, "a node that should refer to ir.Var"),
        (5, call(), 5, "a call of shift_left on 1 arguments"),
        (5, call(op=3), 5, "a call that is not known in TVM 0.27"),
        (5, call(attrs=3), 5, "a call that is not known in TVM 0.27"),
        (7, {"type": "ir.Op", "data": "tirx.exp"}, None, None),
        (12, {"type": "ffi.Array", "data": []}, 12, "a node that should refer to tirx.IndexMap"),
        (
            12,
            {**NODES[12], "data": {**NODES[12]["data"], "inverse_index_map": 3}},
            12,
            "a node that should refer to tirx.IndexMap",
        ),
        (
            5,
            {"type": "ir.IntImm", "data": {"span": 0, "dtype": "int32", "value": 2**63}},
            5,
            "IntImm with a wrong value",
        ),
        (
            5,
            {"type": "ir.FloatImm", "data": {"span": 0, "dtype": "int32", "value": "1"}},
            5,
            "FloatImm with a wrong value",
        ),
    ],
)
def test_nodes_that_are_refused(number, node, place, reason):
    text = with_node(number, node)
    if place is None:
        # Nothing refers to it.
        assert converted(text, indented=False)
        return
    with pytest.raises(BadIndexMap) as caught:
        converted(text, indented=False)
    assert caught.value.place == (place if isinstance(place, str) else f"['nodes'][{place}]")
    assert caught.value.reason.startswith(reason)


def test_a_span_needs_the_name_of_its_source():
    nodes = [*NODES, add(span=9)]
    nodes[6] = {"type": "ffi.Array", "data": [13]}
    text = json.dumps({"root_index": 12, "nodes": nodes})
    assert '"type":"ir.Span"' in converted(text, indented=False)
    span = nodes[9]["data"]
    for name in (1, None):
        nodes[9] = {"type": "ir.Span", "data": {**span, "source_name": name}}
        with pytest.raises(BadIndexMap, match="a span without the name of its source"):
            converted(json.dumps({"root_index": 12, "nodes": nodes}), indented=False)


LEGACY = json.loads(as_legacy(texts_of("0.25")[3]))


@pytest.mark.parametrize(
    ("node", "place", "reason"),
    [
        ({"type_key": 3}, "['type_key']", "no name of a type"),
        ({"type_key": "tir.Add", "attrs": []}, "['attrs']", "no JSON object"),
        ({"type_key": "tir.Add", "attrs": {"a": 3}}, "['attrs']['a']", "no string"),
        ({"type_key": "tir.Add", "attrs": {"a": "x"}}, "['attrs']['a']", "no integer"),
        ({"type_key": "IntImm", "attrs": {"value": "1" * 30}}, "['attrs']['value']", "no integer"),
        ({"type_key": "FloatImm", "attrs": {"value": "x"}}, "['attrs']['value']", "no number"),
        ({"type_key": "runtime.String", "repr_b64": "AA=="}, "", "a string without its text"),
        ({"type_key": "runtime.String", "repr_str": 3}, "", "a string without its text"),
        ({"type_key": "tir.Add", "attrs": {"b64": "3"}}, "", "Add with other fields than it has"),
    ],
)
def test_nodes_of_the_oldest_format_that_are_refused(node, place, reason):
    document = {**LEGACY, "nodes": [*LEGACY["nodes"], node]}
    number = len(LEGACY["nodes"])
    # Something refers to it.
    (array,) = [n for n in document["nodes"][LEGACY["root"] :][:1] if "attrs" in n]
    array["attrs"] = {**array["attrs"], "inverse_index_map": str(number)}
    with pytest.raises(BadIndexMap) as caught:
        converted(json.dumps(document), indented=False)
    assert caught.value.place == f"['nodes'][{number}]{place}"
    assert caught.value.reason == reason


def test_a_null_of_the_last_old_format():
    document = json.loads(as_legacy(texts_of("0.25")[3]))
    for node in document["nodes"]:
        for name, value in node.get("attrs", {}).items():
            if value == "0" and name in ("span", "inverse_index_map"):
                node["attrs"][name] = "null"
    assert converted(json.dumps(document), indented=False) == NEW[3]


def test_a_deep_map_needs_no_recursion():
    """A chain of sums as long as the bound on nodes."""
    nodes = [*NODES[:5], add(a=3), *[add(a=number - 1) for number in range(6, 9000)]]
    nodes += [{"type": "ffi.Array", "data": [8999]}]
    nodes += [{"type": "tirx.IndexMap", "data": {"initial_indices": 4, "final_indices": 9000}}]
    text = converted(json.dumps({"root_index": 9001, "nodes": nodes}), indented=False)
    assert text.count('"prim.Add"') == 8995


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data())
def test_any_change_of_a_text_is_converted_or_refused(data):
    """What comes of it is a text of 0.27, or an error with a place; nothing else."""
    base = data.draw(st.sampled_from(["0.25", "0.26"]))
    text = data.draw(st.sampled_from(texts_of(base)))
    if base == "0.25" and data.draw(st.booleans()):
        text = as_legacy(text)
    document = json.loads(text)
    node = data.draw(st.sampled_from(document["nodes"]))
    target = data.draw(st.sampled_from([node, *[v for v in node.values() if isinstance(v, dict)]]))
    key = data.draw(st.sampled_from(sorted(target)) | st.text(max_size=4))
    target[key] = data.draw(JSON_VALUES | st.sampled_from([0, 1, 2, 3, "0", "1", "int32"]))
    try:
        result = converted(json.dumps(document), indented=data.draw(st.booleans()))
    except BadIndexMap as error:
        assert error.reason
        return
    assert "0.27" in releases_of(result)


@given(JSON_VALUES)
def test_any_json_is_refused(value):
    with pytest.raises(BadIndexMap):
        releases_of(json.dumps(value))
