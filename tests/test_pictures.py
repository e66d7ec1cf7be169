"""Pictures of traces: keys, text, lanes, Graphviz, Mermaid, notebooks."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from random import Random
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import LOGS
from tracescript import TraceShapeError, dumps, from_json, iter_records, loads, testing
from tracescript.dependencies import DecisionNode, InstNode, ValueNode, graph
from tracescript.difference import diff
from tracescript.listing import show_trace
from tracescript.model import RV, Decision, Instruction, Trace
from tracescript.pictures import (
    difference_html,
    graph_html,
    key_of,
    node_of,
    to_dot,
    to_mermaid,
    trace_html,
)
from tracescript.pictures.diagram import diagram_of
from tracescript.pictures.lanes import MAX_LANES, lay_out
from tracescript.pictures.mermaid import MAX_CHARACTERS, MAX_EDGES
from tracescript.pictures.spans import lines_of, shorten

TILED = loads("""\
tracescript 1
GetSBlock | "C" "main" -> b
GetLoops b-1 -> l3
SamplePerfectTile l-3 | 2 64 -> v2 = [8 16]
Split l-3 v-2 v-1 | true false -> l2
Annotate b-1 [l-1 "x"] | "key"
EnterPostproc
Custom b-1
""")
MALFORMED = Trace((Instruction("K", (object(),)),))

# Whatever one of the languages gives a meaning to.
HOSTILE_NAMES = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"]; evil [',
    "back\\",
    "\\N\\G\\l",
    "&lt;b&gt;",
    '%%{init: {"theme": "dark"}}%%',
    "%% comment",
    "new\nline",
    "\ud800",
    "end",
    "style x:#a; classDef y:#b;",
    "'single' `back`",
    "$title ${style}",
    "--> |x| ]]>",
    "#34;",
    "d0",
    "i0",
    "__proto__",
    "\u202eevil",
    "日本",
    "*/ <!-- -->",
    "x" * 500,
    "",
)


def hostile_trace():
    """Each name as a kind, an input, a string, a key and an output."""
    insts = [
        Instruction(name, (RV(name), name), ({name: name},), (name,)) for name in HOSTILE_NAMES
    ]
    uses = [Instruction("Use", (RV(name),)) for name in HOSTILE_NAMES]
    decisions = [
        Decision(0, HOSTILE_NAMES[0]),
        Decision(1, 2),
        Decision(1, 3),
        Decision(10**6, "<b>"),
    ]
    return Trace((*insts, *uses), tuple(decisions))


HOSTILE = hostile_trace()


def text_of(line):
    return "".join([span.text for span in line.all_spans()])


def real_traces():
    """The longest trace of each log."""
    for path in [param.values[0] for param in LOGS]:
        if path is None or path.name.startswith("unloadable"):
            continue
        yield max((record.trace for record in iter_records(path)), key=lambda t: len(t.insts))


# Keys.


@given(testing.traces())
def test_keys_name_nodes(trace):
    made = graph(trace)
    keys = [key_of(node) for node in made.nodes]
    assert len(set(keys)) == len(keys)
    assert [node_of(made, key) for key in keys] == list(made.nodes)


def test_keys_and_names():
    made = graph(TILED)
    assert node_of(made, "v4") == ValueNode(2, 0)
    assert node_of(made, "d0") == DecisionNode(0)
    # A key goes before a name.
    hostile = graph(HOSTILE)
    assert node_of(hostile, "i0") == InstNode(0)
    assert node_of(hostile, "end") == ValueNode(HOSTILE_NAMES.index("end"), 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d1", "expected the position of one of 1 decisions, found 1"),
        ("i7", "expected the position of one of 7 instructions, found 7"),
        ("i1.3", "expected the position of one of 3 outputs, found 3"),
        ("l99", "expected a name that an instruction defines, found 'l99'"),
        ("i" + "9" * 5000, "expected a name that an instruction defines"),
        ("d１", "expected a name that an instruction defines"),
    ],
)
def test_what_is_no_node(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        node_of(graph(TILED), text)


# The text.


@given(testing.traces())
def test_the_text_is_what_show_prints(trace):
    assert [text_of(line) for line in lines_of(trace)] == list(show_trace(trace))


@given(testing.traces())
def test_names_in_the_text_lead_to_what_they_stand_for(trace):
    made = graph(trace)
    uses = {edge for edge in made.edges() if edge.kind == "uses"}
    linked = set()
    for line in lines_of(trace):
        for span in line.spans:
            if span.node is not None and span.node.inst != line.inst:
                linked.add((span.node, InstNode(line.inst)))
        assert [node for node, _ in line.defined()] == [
            ValueNode(line.inst, output)
            for output in range(len(trace.insts[line.inst].outputs) if line.inst is not None else 0)
        ]
    # The variables of index maps are uses, too, and have no place of their own.
    assert linked <= {(edge.source, edge.target) for edge in uses}


def test_pieces_and_subject():
    line = list(lines_of(TILED))[2]
    assert [(span.text, span.style) for span in line.all_spans()] == [
        ("SamplePerfectTile", "kind"),
        (" ", "plain"),
        ("l1", "rv"),
        (" | ", "plain"),
        ("2", "value"),
        (" ", "plain"),
        ("64", "value"),
        (" -> ", "plain"),
        ("v4", "rv"),
        (" ", "plain"),
        ("v5", "rv"),
        (" = ", "plain"),
        ("[8 16]", "decision"),
    ]
    assert line.subject() == "SamplePerfectTile l1"
    (line,) = lines_of(loads("tracescript 1\nSampleCategorical | [1 2] [0.5 0.5] -> v = 1\n"))
    assert line.subject() == "SampleCategorical -> v0"
    assert shorten("y" * 60) == "y" * 60
    assert shorten("y" * 61) == "y" * 39 + "…"


# Lanes.


@st.composite
def lane_inputs(draw):
    count = draw(st.integers(0, 60))
    pair = st.tuples(st.integers(0, 60), st.integers(0, 60))
    edges = [(a, b) for a, b in draw(st.lists(pair, max_size=200)) if a < b < count]
    rows = list(range(count))
    for place in draw(st.lists(st.integers(0, count), max_size=5)):
        rows.insert(place, None)
    return rows, edges


@given(lane_inputs())
def test_lines_never_share_a_lane_and_reach_their_ends(inputs):
    rows, edges = inputs
    drawn = lay_out(rows, edges)
    last = {}
    for source, target in edges:
        last[source] = max(last.get(source, 0), target)
    under_way = {}
    for node, row in zip(rows, drawn, strict=True):
        lanes = [lane for lane, _ in row.passes]
        assert len(set(lanes)) == len(lanes)
        assert max(lanes, default=0) < MAX_LANES
        ended = {source for source in under_way if last[source] == node}
        assert dict(row.passes) == {
            lane: source for source, lane in under_way.items() if source not in ended
        }
        if node is None:
            assert (row.node, row.starts, row.ends) == (None, False, ())
            continue
        wanted = {source for source, target in edges if target == node and source in under_way}
        assert {source for _, source in row.ends} == wanted
        assert all(under_way[source] == lane for lane, source in row.ends)
        for source in ended:
            del under_way[source]
        if row.starts:
            assert row.node not in lanes
            under_way[node] = row.node
        elif node in last:
            assert len(lanes) == MAX_LANES
    assert not under_way


def test_a_line_goes_on_in_the_lane_of_one_that_ends():
    drawn = lay_out([0, 1, None, 2, 3], [(0, 1), (1, 3), (0, 2)])
    assert [row.node for row in drawn] == [0, 1, None, 0, 1]
    assert drawn[2].passes == ((0, 0), (1, 1))
    assert drawn[4].ends == ((1, 1),)


def test_what_finds_no_lane_has_no_line():
    count = MAX_LANES + 3
    rows = [*range(count), count]
    drawn = lay_out(rows, [(source, count) for source in range(count)])
    assert [row.starts for row in drawn[:count]] == [True] * MAX_LANES + [False] * 3
    assert [row.node for row in drawn[MAX_LANES:count]] == [MAX_LANES - 1] * 3
    assert len(drawn[count].ends) == MAX_LANES


# Diagrams.


def test_dot():
    found = to_dot(graph(TILED), orders=True).splitlines()[5:]
    sample, look = 'color="#b45309", fillcolor="#fffbeb"', 'color="#d1d5db", fillcolor="#f9fafb"'
    change = 'color="#2563eb", fillcolor="#eff6ff"'
    decision = 'color="#b45309", fillcolor="#fcd34d", shape=ellipse, margin="0.04,0.02"'
    order = 'style=dashed, color="#9ca3af", arrowhead=vee'
    assert found == [
        rf'  "i0" [label="GetSBlock | \"C\" \"main\" -> b0", {look}]',
        f'  "i1" [label="GetLoops b0 -> l1 l2 l3", {look}]',
        f'  "d0" [label="[8 16]", {decision}]',
        f'  "i2" [label="SamplePerfectTile l1 | 2 64 -> v4 v5", {sample}]',
        f'  "i3" [label="Split l1 v4 v5 | true false -> l6 l7", {change}]',
        rf'  "i4" [label="Annotate b0 [l7 \"x\"] | \"key\"", {change}]',
        '  "i5" [label="EnterPostproc", color="#6b7280", fillcolor="#e5e7eb"]',
        '  "i6" [label="Custom b0", color="#6b7280", style="filled,dashed"]',
        '  "d0" -> "i2" [color="#b45309", penwidth=1.6]',
        f'  "i4" -> "i5" [{order}]',
        f'  "i5" -> "i6" [{order}]',
        '  "i0" -> "i1" [label="b0"]',
        '  "i1" -> "i2" [label="l1"]',
        '  "i1" -> "i3" [label="l1"]',
        '  "i2" -> "i3" [label="v4 v5"]',
        '  "i0" -> "i4" [label="b0"]',
        '  "i3" -> "i4" [label="l7"]',
        '  "i0" -> "i6" [label="b0"]',
        "}",
    ]


def test_mermaid():
    made = graph(TILED)
    only = (DecisionNode(0), *made.influences(DecisionNode(0)))
    text = to_mermaid(made, only=only, values="nodes")
    assert text[: text.index("  classDef")].splitlines() == [
        "flowchart LR",
        '  d0(["[8 16]"])',
        '  i2["SamplePerfectTile l1 | 2 64 -#62; v4 v5"]',
        '  i2_0("v4")',
        '  i2_1("v5")',
        '  i3["Split l1 v4 v5 | true false -#62; l6 l7"]',
        '  i3_0("l6")',
        '  i3_1("l7")',
        '  i4["Annotate b0 [l7 #34;x#34;] | #34;key#34;"]',
        "  d0 ==> i2",
        "  i2 --- i2_0",
        "  i2 --- i2_1",
        "  i2_0 --> i3",
        "  i2_1 --> i3",
        "  i3 --- i3_0",
        "  i3 --- i3_1",
        "  i3_1 --> i4",
        "  class i3,i4 change",
        "  class d0 decision",
        "  class i2 sample",
        "  class i2_0,i2_1,i3_0,i3_1 value",
    ]


def test_long_labels_are_parted_and_cut():
    names = tuple([f"l{number}" for number in range(200)])
    insts = (Instruction("K" * 70, (), (), names), Instruction("Reorder", tuple(map(RV, names))))
    made = graph(Trace(insts))
    drawn = diagram_of(made, only=None, values="labels", orders=False)
    first, second = drawn.boxes
    assert first.lines[0] == "K" * 39 + "… -> l0"
    assert len(second.lines) == 6
    assert max(map(len, second.lines)) <= 50
    assert second.lines[-1].endswith("…")
    assert [arrow.text for arrow in drawn.arrows] == ["l0 l1 l2 l3 and 196 more"]
    assert r"\l" in to_dot(made)
    assert "<br/>" in to_mermaid(made)


@given(testing.traces(), st.sampled_from(["labels", "nodes"]), st.booleans())
def test_what_is_drawn(trace, values, orders):
    made = graph(trace)
    drawn = diagram_of(made, only=None, values=values, orders=orders)
    keys = [box.key for box in drawn.boxes]
    shown = [n for n in made.nodes if values == "nodes" or not isinstance(n, ValueNode)]
    assert keys == [key_of(node) for node in shown]
    assert {end for arrow in drawn.arrows for end in (arrow.source, arrow.target)} <= set(keys)
    edges = [edge for edge in made.edges() if orders or edge.kind != "orders"]
    pairs = {(arrow.source, arrow.target, arrow.kind) for arrow in drawn.arrows}
    assert len(pairs) == len(drawn.arrows)
    if values == "nodes":
        assert pairs == {(key_of(e.source), key_of(e.target), e.kind) for e in edges}
        return
    merged = {
        (f"i{edge.source.inst}" if edge.kind == "uses" else key_of(edge.source), edge)
        for edge in edges
        if edge.kind != "defines"
    }
    assert pairs == {(source, key_of(edge.target), edge.kind) for source, edge in merged}


DOT_LINE = re.compile(
    r'  "[a-z0-9.]+"( -> "[a-z0-9.]+")?( \[(label="(?:[^"\\&\n]|\\[\\"l]|&amp;)*")?[^\\"\n]*'
    r'(="[^"\\\n]*"[^\\"\n]*)*\])?'
)
MERMAID_LABEL = r'"(?:[A-Za-z0-9 ,.|=_\[\]()+-]|#\d+;|<br/>)*"'
MERMAID_LINE = re.compile(
    rf"  [di][0-9_]+(\[{MERMAID_LABEL}\]|\({MERMAID_LABEL}\)|\(\[{MERMAID_LABEL}\]\)"
    rf"| (-->|---|==>|-\.->)(\|{MERMAID_LABEL}\|)? [di][0-9_]+)"
)


def check_languages(made, **options):
    dot = to_dot(made, **options)
    dot.encode("utf-8")
    for line in dot.splitlines()[5:-1]:
        assert DOT_LINE.fullmatch(line), line
    try:
        mermaid = to_mermaid(made, **options)
    except TraceShapeError:
        return
    mermaid.encode("ascii")
    for line in mermaid.splitlines()[1:]:
        assert MERMAID_LINE.fullmatch(line) or line.startswith(("  class ", "  classDef ")), line


@given(testing.traces(), st.sampled_from(["labels", "nodes"]))
def test_any_trace_fits_the_languages(trace, values):
    check_languages(graph(trace), values=values, orders=True)


@pytest.mark.parametrize("values", ["labels", "nodes"])
def test_hostile_names_fit_the_languages(values):
    check_languages(graph(HOSTILE), values=values)


def test_mermaid_reads_a_backslash_and_an_n_as_a_new_line_unless_something_is_between_them():
    made = graph(Trace((Instruction("K", ("a\nb",)),)))
    assert '"K #34;a#92;#8203;nb#34;"' in to_mermaid(made)


needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="no dot, which Graphviz brings")


def rendered(dot):
    """The text of each node and edge, as Graphviz shows it."""
    done = subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    svg = "{http://www.w3.org/2000/svg}"
    # Graphviz writes some blanks so that they are kept.
    return {
        group.find(f"{svg}title").text: [
            text.text.replace("\N{NO-BREAK SPACE}", " ") for text in group.iter(f"{svg}text")
        ]
        for group in ElementTree.fromstring(done.stdout).iter(f"{svg}g")  # noqa: S314 - its own
        if group.get("class") in ("node", "edge")
    }


@needs_dot
@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(TILED, id="tiled"),
        pytest.param(HOSTILE, id="hostile"),
        *[
            pytest.param(from_json(testing.random_json_trace(Random(seed))), id=f"seed {seed}")
            for seed in range(8)
        ],
    ],
)
@pytest.mark.parametrize("values", ["labels", "nodes"])
def test_graphviz_shows_the_labels(trace, values):
    made = graph(trace)
    drawn = diagram_of(made, only=None, values=values, orders=True)
    found = rendered(to_dot(made, values=values, orders=True))
    for box in drawn.boxes:
        assert found[box.key] == list(box.lines)
    texts = {f"{arrow.source}->{arrow.target}": arrow.text for arrow in drawn.arrows}
    assert {key: text for key, text in found.items() if ">" in key} == {
        key: [text] if text else [] for key, text in texts.items()
    }


def test_limits_of_mermaid():
    many = Trace((Instruction("K", (), (), ("a",)), *[Instruction("U", (RV("a"),))] * 501))
    message = f"$: expected at most {MAX_EDGES} edges in a Mermaid flowchart, found 501"
    with pytest.raises(TraceShapeError, match=re.escape(message)):
        to_mermaid(graph(many))
    only = (InstNode(0), InstNode(1), ValueNode(0, 0))
    assert "i0 --> " not in to_mermaid(graph(many), only=only)
    assert 'i0 -->|"a"| i1' in to_mermaid(graph(many), only=only)
    long = Trace(tuple([Instruction("K" * 50, (), ("x" * 40,) * 6)] * 300))
    message = f"$: expected at most {MAX_CHARACTERS} characters in a Mermaid flowchart, found "
    with pytest.raises(TraceShapeError, match=re.escape(message)):
        to_mermaid(graph(long))


def test_real_traces_are_drawn():
    count = 0
    for trace in real_traces():
        made = graph(trace)
        check_languages(made, orders=True)
        assert to_dot(made) == to_dot(graph(loads(dumps(trace))))
        count += 1
    assert count >= 4


@pytest.mark.parametrize("draw", [to_dot, to_mermaid, graph_html])
def test_what_is_no_trace_is_refused(draw):
    with pytest.raises(TraceShapeError, match=re.escape("$[0][0][1][0]: expected")):
        draw(graph(MALFORMED))


@pytest.mark.parametrize("draw", [to_dot, to_mermaid])
def test_a_node_of_another_graph_is_refused(draw):
    with pytest.raises(ValueError, match="expected nodes of the graph, found i7"):
        draw(graph(TILED), only=(InstNode(0), InstNode(7)))


# Notebooks.


class Tags(HTMLParser):
    """The tags and the visible text of HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.rows, self._open = [], [], []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert len({name for name, _ in attrs}) == len(attrs)
        if tag == "tr":
            self.rows.append("")
        if tag not in ("br", "col", "meta"):
            self._open.append(tag)

    def handle_startendtag(self, tag, _attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "td" in self._open:
            self.rows[-1] += data


SAFE_TAGS = {"div", "style", "table", "tbody", "tr", "td", "span", "svg", "line", "path", "circle"}


@given(testing.traces())
@settings(max_examples=50)
def test_notebooks_show_the_text_and_no_tag_of_the_trace(trace):
    for page in (trace_html(trace), graph_html(graph(trace))):
        page.encode("utf-8")
        found = Tags(page)
        assert set(found.tags) <= SAFE_TAGS
        wanted = [
            ("" if line.inst is None else str(line.inst))
            + "".join([shorten(span.text) for span in line.all_spans()])
            for line in lines_of(trace)
        ]
        assert found.rows == wanted


def test_hostile_names_in_notebooks():
    other = Trace((Instruction("K", ("<b>",)), *HOSTILE.insts[2:]), (Decision(1, "<i>"),))
    found = diff(HOSTILE, other)
    for page in (trace_html(HOSTILE), graph_html(graph(HOSTILE)), difference_html(found)):
        page.encode("utf-8")
        assert set(Tags(page).tags) <= SAFE_TAGS
        assert "<script" not in page


def test_a_difference_in_a_notebook():
    text = "tracescript 1\n{}Sample | {} -> v{}\nA\nB v-1\n{}"
    a = loads(text.format("Old -> b\n", 1, " = 4", ""))
    b = loads(text.format("", 2, "", "New | 5\n@9 = 7\n"))
    assert diff(a, b)._repr_html_() == difference_html(diff(a, b))
    assert Tags(difference_html(diff(a, b))).rows == [
        "14 becomes none",
        "9none becomes 7",
        "1Sample | 1 -> v1",
        "0Sample | 2 -> v0",
        "0Old -> b0",
        "3New | 5",
    ]
    assert Tags(difference_html(diff(a, a))).rows == ["no difference"]


def test_a_moved_instruction_in_a_notebook():
    lines = [f'Find | "{name}" -> b' for name in "abcdef"]
    a, b = (
        loads("\n".join(["tracescript 1", *order, ""])) for order in (lines, [*lines[1:], lines[0]])
    )
    assert Tags(difference_html(diff(a, b))).rows == ["0is instruction 5 now"]


def test_a_long_trace_in_a_notebook():
    page = trace_html(Trace((Instruction("K"),) * 1700))
    assert page.count("<tr>") == 500
    assert "<p>and 1,200 more</p>" in page
