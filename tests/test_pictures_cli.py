"""`tracescript graph`."""

import io
import json
import sys

import pytest

from corpora import ROOT
from test_pictures import HOSTILE, TILED
from tracescript import dumps, iter_records, to_json
from tracescript.cli import main
from tracescript.dependencies import DecisionNode, InstNode, graph
from tracescript.pictures import key_of, to_dot, to_html, to_mermaid
from tracescript.pictures.report import graph_json, graph_text, node_json, node_text

LOG = ROOT / "tests" / "corpus" / "llvm.tuning_record.json"


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "tiled.trace"
    path.write_text(dumps(TILED))
    return str(path)


def printed(capfd, *arguments):
    assert main(["graph", *map(str, arguments)]) == 0
    return capfd.readouterr().out


def test_text(script, capfd):
    assert (
        printed(capfd, script)
        == f"""\
{script}:1: 7 instructions, 1 decision, 8 random variables (3 dead)
d0  SamplePerfectTile l1 = [8 16]
    influences 3 instructions: i2 SamplePerfectTile, i3 Split, i4 Annotate
1 independent group: d0
"""
    )
    _, _, first, second, _ = printed(capfd, script, "--orders").splitlines()
    assert first.startswith("    influences 5 instructions: i2 SamplePerfectTile, i3 Split, i4 ")
    assert (first[-18:], second) == (" i5 EnterPostproc,", "      i6 Custom")


def test_text_about_a_node(script, capfd):
    wanted = """\
i3.1  l7
influences 1 instruction
  i4  Annotate b0 [l7 "x"] | "key"
depends on 1 decision, 4 instructions, 4 random variables
  i0  GetSBlock | "C" "main" -> b0
  i1  GetLoops b0 -> l1 l2 l3
  i2  SamplePerfectTile l1 | 2 64 -> v4 v5 = [8 16]
  i3  Split l1 v4 v5 | true false -> l6 l7
"""
    assert printed(capfd, script, "--what", "l7") == wanted
    assert printed(capfd, script, "--what", "i3.1") == wanted
    assert printed(capfd, script, "--what", "d0").splitlines()[:2] == [
        "d0  [8 16]",
        "influences 3 instructions, 4 random variables",
    ]
    assert printed(capfd, script, "--what", "i5", "--orders").splitlines()[0] == "i5  EnterPostproc"


def test_json(script, capfd):
    made = graph(TILED)
    found = json.loads(printed(capfd, script, "--format", "json"))
    assert found["nodes"][3:6] == [
        {"key": "i1.0", "text": "l1"},
        {"key": "i1.1", "text": "l2"},
        {"key": "i1.2", "text": "l3"},
    ]
    assert [node["key"] for node in found["nodes"]] == list(map(key_of, made.nodes))
    assert found["edges"] == [
        {"source": key_of(edge.source), "target": key_of(edge.target), "kind": edge.kind}
        for edge in made.edges()
    ]
    assert found["influences"] == {"d0": list(map(key_of, made.influences(DecisionNode(0))))}
    assert (found["groups"], found["dead"]) == ([["d0"]], ["i1.1", "i1.2", "i3.0"])
    assert json.loads(printed(capfd, script, "--format", "json", "--what", "d0")) == {
        "node": "d0",
        "influences": found["influences"]["d0"],
        "depends_on": [],
    }


def test_pictures(script, capfd):
    made = graph(TILED)
    only = (DecisionNode(0), *made.influences(DecisionNode(0)))
    for name, draw in (("dot", to_dot), ("mermaid", to_mermaid)):
        assert printed(capfd, script, "--format", name) == draw(made)
        assert printed(capfd, script, "--format", name, "--orders") == draw(made, orders=True)
        assert printed(capfd, script, "--format", name, "--what", "d0") == draw(made, only=only)


def test_pages(script, tmp_path, capfd):
    traces = [record.trace for record in iter_records(LOG)]
    out = tmp_path / "page.html"
    assert printed(capfd, LOG, "-n", 5, "--format", "html", "-o", out) == ""
    assert out.read_text() == to_html(traces[5], title=f"{LOG}:6")
    assert printed(capfd, LOG, "--format", "html", "--compare", LOG, "-m", 2) == to_html(
        traces[0], traces[2], title=f"{LOG}:1", other_title=f"{LOG}:3"
    )
    assert printed(capfd, script, "--format", "html", "--compare", script) == to_html(
        TILED, TILED, title=f"{script}:1", other_title=f"{script}:1"
    )


def test_standard_input(monkeypatch, capfd):
    """Lines that are no records have no number."""
    log = b"\noops\n" + json.dumps(to_json(TILED)).encode() + b"\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log)))
    assert printed(capfd, "-").startswith("<stdin>:3: 7 instructions")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--what", "l99"], "expected a name that an instruction defines, found 'l99'"),
        (["--what", "d7"], "expected the position of one of 1 decisions, found 7"),
        (["-n", "1"], "tiled.trace has 1 records"),
        (["-n", "-1"], "tiled.trace has 1 records"),
        (["--format", "html", "--compare", "FILE", "-m", "3"], "tiled.trace has 1 records"),
    ],
)
def test_what_is_not_there(arguments, message, script, tmp_path, capfd):
    out = tmp_path / "out"
    arguments = [script if word == "FILE" else word for word in arguments]
    assert main(["graph", script, *arguments, "-o", str(out)]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(f"{message}\n")
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--compare", "x"], "--compare needs --format html"),
        (["--what", "d0", "--format", "html"], "a page shows all nodes"),
        (["--format", "png"], "invalid choice: 'png'"),
    ],
)
def test_a_wrong_command_line(arguments, message, script, capfd):
    with pytest.raises(SystemExit) as caught:
        main(["graph", script, *arguments])
    assert caught.value.code == 2
    assert message in capfd.readouterr().err


def test_a_flowchart_that_mermaid_would_not_draw(tmp_path, capfd):
    path = tmp_path / "many.trace"
    path.write_text("tracescript 1\nK -> b\n" + "Use b-1\n" * 501)
    assert main(["graph", str(path), "--format", "mermaid"]) == 1
    assert "at most 500 edges in a Mermaid flowchart, found 501" in capfd.readouterr().err


def test_long_lists_are_parted_between_items():
    insts = "".join(["A b-1 -> b\n"] * 40)
    made = graph(
        next(iter_records(io.BytesIO(f"tracescript 1\nS -> b = 1\n{insts}".encode()))).trace
    )
    lines = list(graph_text(made))
    assert lines[2].startswith("    influences 41 instructions: i0 S, i1 A, i2 A, ")
    assert lines[3].startswith("      i")
    assert max(map(len, lines)) <= 100
    assert " ".join(lines[2:-1]).split(": ")[1].replace(",      ", ", ").count(", ") == 40


def test_odd_traces():
    made = graph(HOSTILE)
    for lines in (graph_text(made), *(node_text(made, node) for node in made.nodes)):
        "\n".join(lines).encode("utf-8")
    assert json.loads(json.dumps(graph_json(made)))["influences"].keys() == {"d0", "d1", "d2", "d3"}
    assert node_json(made, DecisionNode(1)) == {"node": "d1", "influences": [], "depends_on": []}


@pytest.mark.parametrize("ask", [lambda *given: list(node_text(*given)), node_json])
def test_a_node_of_another_graph_is_refused(ask):
    with pytest.raises(ValueError, match="expected the position of one of 7 instructions, found 7"):
        ask(graph(TILED), InstNode(7))
