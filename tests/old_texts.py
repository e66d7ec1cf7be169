"""Index maps as each release writes them, and the laws that every migration keeps."""

import json

from tracescript.instructions import RELEASES
from tracescript.migration import Migration, infer_release, migrate


def check_laws(trace, migration, to):
    assert to in infer_release(migration.trace)
    assert migration.trace.decisions == trace.decisions
    assert [inst.outputs for inst in migration.trace.insts] == [i.outputs for i in trace.insts]
    again = migrate(migration.trace, to)
    assert again.trace is migration.trace
    assert again.steps == ()
    touched = {position for step in migration.steps for position in step.insts}
    for position, (before, after) in enumerate(
        zip(trace.insts, migration.trace.insts, strict=True)
    ):
        assert (before != after) == (position in touched)
    assert migration.releases == infer_release(trace)
    if to in migration.releases:
        assert migration == Migration(trace, migration.releases, ())
        assert migration.trace is trace


def text_for(release):
    """The text of an index map of a release."""
    if RELEASES.index(release) < RELEASES.index("0.22"):
        return legacy_text(release)
    return MAP_OF[release]


def legacy_text(release="", key="tvm_version"):
    nodes = [
        {"type_key": ""},
        {"type_key": "tir.IndexMap", "attrs": {"initial_indices": "2", "final_indices": "2"}},
        {"type_key": "Array", "data": [3]},
        {
            "type_key": "tir.Var",
            "attrs": {"dtype": "int32", "name": "4", "span": "0", "type_annotation": "5"},
        },
        {"type_key": "runtime.String", "repr_str": "i"},
        {"type_key": "PrimType", "attrs": {"dtype": "int32"}},
    ]
    version = {key: f"{release}.0"}
    return json.dumps({"root": 1, "nodes": nodes, "b64ndarrays": [], "attrs": version}, indent=2)


def graph_text(release, prefix, variable):
    nodes = [
        {"type": "None"},
        {"type": "ffi.String", "data": "i"},
        {"type": "ir.PrimType", "data": {"span": 0, "dtype": "int32"}},
        variable,
        {"type": "ffi.Array", "data": [3]},
        {
            "type": f"{prefix}.IndexMap",
            "data": {"initial_indices": 4, "final_indices": 4, "inverse_index_map": 0},
        },
    ]
    metadata = {"tvm_version": f"{release}.0"}
    return json.dumps({"root_index": 5, "nodes": nodes, "metadata": metadata})


def annotated(prefix):
    fields = {"span": 0, "dtype": "int32", "name": 1, "type_annotation": 2}
    return {"type": f"{prefix}.Var", "data": fields}


MAP_OF = {
    "0.22": graph_text("0.22", "tir", annotated("tir")),
    "0.23": graph_text("0.23", "tir", annotated("tir")),
    "0.24": graph_text("0.24", "tirx", annotated("tirx")),
    "0.25": graph_text("0.25", "tirx", annotated("tirx")),
    **{
        release: graph_text(
            release, "tirx", {"type": "ir.Var", "data": {"span": 0, "ty": 2, "name": 1}}
        )
        for release in ("0.26", "0.27")
    },
}
