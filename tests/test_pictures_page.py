"""The page of a trace, as text and in a browser."""

import base64
import hashlib
import json
import re
import time
from random import Random

import pytest
from hypothesis import given, settings

from chromium import Browser, needs_chromium
from corpora import ROOT
from test_pictures import HOSTILE, MALFORMED, TILED, Tags, real_traces
from tracescript import TraceShapeError, from_json, iter_records, loads, testing
from tracescript.dependencies import DecisionNode, InstNode, graph
from tracescript.difference import diff
from tracescript.model import RV, Decision, Instruction, Trace
from tracescript.pictures import key_of, to_html
from tracescript.pictures.page import MAX_NODES

CUDA = [record.trace for record in iter_records(ROOT / "tests/corpus/cuda.tuning_record.json")]
LLVM = [record.trace for record in iter_records(ROOT / "tests/corpus/llvm.tuning_record.json")]
LONGEST = max(CUDA, key=lambda trace: len(trace.insts))
ODD = from_json(testing.random_json_trace(Random(5)))
OTHER = loads("""\
tracescript 1
GetSBlock | "D" "main" -> b
GetSBlock | "C" "main" -> b
GetLoops b-1 -> l3
SamplePerfectTile l-3 | 2 64 -> v2 = [4 32]
Split l-3 v-2 v-1 | true true -> l2
EnterPostproc
Custom b-1
@99 = 1
""")


def data_of(page):
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(found)


def members(data, position):
    runs = data["sets"][position]
    return [
        first + offset
        for first, count in zip(runs[::2], runs[1::2], strict=True)
        for offset in range(count)
    ]


# As text.


@given(testing.traces())
@settings(max_examples=50)
def test_a_page_knows_what_the_graph_says(trace):
    page, made = to_html(trace), graph(trace)
    assert page == to_html(trace)
    page.encode("utf-8")
    Tags(page)
    data = data_of(page)
    assert data["keys"] == [key_of(node) for node in made.nodes]
    for node, positions in zip(made.nodes, data["related"], strict=True):
        wanted = [
            ask(node, orders=orders)
            for orders in (False, True)
            for ask in (made.influences, made.depends_on)
        ]
        found = [[made.nodes[number] for number in members(data, each)] for each in positions]
        assert found == [list(nodes) for nodes in wanted]
    numbers = {node: number for number, node in enumerate(made.nodes)}
    edges = list(made.edges())
    assert data["uses"] == [
        [numbers[InstNode(edge.source.inst)], numbers[edge.source], numbers[edge.target]]
        for edge in edges
        if edge.kind == "uses"
    ]
    assert data["orders"] == [
        [numbers[edge.source], numbers[edge.target]] for edge in edges if edge.kind == "orders"
    ]


def test_the_policy_names_the_script_and_the_style():
    page = to_html(TILED, title="a </title> b")
    assert page.count("<title>a &lt;/title&gt; b</title>") == 1
    for what, tag in (("script-src", "script"), ("style-src", "style")):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{what} 'sha256-{digest}';" in page
    assert "default-src 'none'" in page
    assert " style=" not in page
    assert not re.search(r"(?:src|href)=[\"'](?!#)", page)


def test_hostile_names_add_no_tags():
    plain = Trace(
        tuple([Instruction("K", (RV("a"), "b"), ({"c": "d"},), ("e",)) for _ in HOSTILE.insts])
    )
    for page in (to_html(HOSTILE), to_html(HOSTILE, plain), to_html(plain, HOSTILE)):
        page.encode("utf-8")
        tags = Tags(page).tags
        assert tags.count("script") == 2
        assert "img" not in tags
    # The name of a file may be any, too.
    assert "<h1>?&lt;/h1&gt;</h1>" in to_html(TILED, title="\udc80</h1>")


def test_long_values_are_shown_in_part_and_whole_in_the_title():
    page = to_html(Trace((Instruction("K", (), ("x" * 100 + '<"',)),)))
    shown = "x" * 38 + "…"
    assert f'title="&quot;{"x" * 100}&lt;\\&quot;&quot;">&quot;{shown}</span>' in page


def test_the_decisions_stand_in_independent_groups():
    page = to_html(CUDA[3])
    made = graph(CUDA[3])
    assert f"7 decisions in {len(made.independent_groups())} independent groups" in page
    found = re.findall(r"<li><ul>(.*?)</ul></li>", page)
    assert [re.findall(r"<b>(d\d+)</b>", each) for each in found] == [
        [key_of(node) for node in group] for group in made.independent_groups()
    ]
    assert "0 decisions in 0 independent groups" in to_html(Trace())


def test_a_page_has_a_limit():
    fits = Trace((Instruction("K", (), (), ("a",) * (MAX_NODES - 2)),), (Decision(9, 1),))
    assert '#i0.1996"' in to_html(fits)
    larger = Trace((*fits.insts, Instruction("K")), fits.decisions)
    message = (
        "$: expected at most 2000 instructions, random variables and decisions in a page, "
        "found 2001"
    )
    for arguments in ((larger,), (TILED, larger)):
        with pytest.raises(TraceShapeError, match=re.escape(message)):
            to_html(*arguments)


def test_what_is_no_trace_is_refused():
    with pytest.raises(TraceShapeError, match=re.escape("$[0][0][1][0]: expected")):
        to_html(MALFORMED)


def test_real_traces_in_time():
    for trace in real_traces():
        start = time.perf_counter()
        to_html(trace)
        # It takes less than a tenth of this, without a measurement of coverage.
        assert time.perf_counter() - start < 2


# Two traces as text.

STATUSES = ("same", "changed", "moved", "removed", "added")


@given(testing.traces(), testing.traces())
@settings(max_examples=50)
def test_any_two_traces_stand_side_by_side(one, other):
    page = to_html(one, other)
    page.encode("utf-8")
    Tags(page)
    check_marks(page, one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(TILED, OTHER, id="small"),
        pytest.param(CUDA[3], CUDA[5], id="one sketch"),
        pytest.param(CUDA[0], CUDA[40], id="two workloads"),
        pytest.param(LLVM[0], LLVM[5], id="llvm"),
        pytest.param(LONGEST, CUDA[-1], id="long"),
        pytest.param(LONGEST, LONGEST, id="the same"),
    ],
)
def test_a_comparison_marks_the_difference(one, other):
    check_marks(to_html(one, other), one, other)


CELL = re.compile(r'<td class="code (left|right) (\w+)"( data-n="(\d+)")?>(.*?)</td>')


def check_marks(page, one, other):
    """The marked lines are those of the difference, and the marked decisions are."""
    found, data = diff(one, other), data_of(page)
    marked = {(side, status): set() for side in ("left", "right") for status in STATUSES}
    for side, status, _, number, text in CELL.findall(page):
        if status == "gap":
            assert (number, text) == ("", "")
        elif number:
            key = data["keys"][int(number)]
            marked[side, status].add(int(key.removeprefix("b.")[1:]))
    decided = {(a, b) for a, b in found.kept if decisions_of(one, a) != decisions_of(other, b)}
    changed = {(each.a, each.b) for each in found.changed} | decided
    wanted = {
        ("left", "removed"): {each.index for each in found.removed},
        ("right", "added"): {each.index for each in found.added},
        ("left", "moved"): {a for a, _ in found.moved},
        ("right", "moved"): {b for _, b in found.moved},
        ("left", "changed"): {a for a, _ in changed},
        ("right", "changed"): {b for _, b in changed},
        ("left", "same"): {a for a, b in found.kept if (a, b) not in decided},
        ("right", "same"): {b for a, b in found.kept if (a, b) not in decided},
        ("left", "added"): set(),
        ("right", "removed"): set(),
    }
    assert marked == wanted
    peers = {data["keys"][a]: data["keys"][b] for a, b in data["peers"]}
    for a, b in (*found.kept, *found.moved, *changed):
        assert peers[f"i{a}"] == f"b.i{b}"


def decisions_of(trace, index):
    return [repr(each.value) for each in trace.decisions if each.index == index]


def test_the_pieces_that_differ():
    rows = [
        (side, status, re.findall(r'class="[a-z]+ differs"[^>]*>(.*?)</', text))
        for side, status, _, _, text in CELL.findall(to_html(TILED, OTHER))
        if status != "same"
    ]
    assert rows == [
        ("left", "gap", []),
        ("right", "added", []),
        ("left", "changed", ["[8 16]"]),
        ("right", "changed", ["[4 32]"]),
        ("left", "changed", ["false"]),
        ("right", "changed", ["true"]),
        ("left", "removed", []),
        ("right", "gap", []),
        ("left", "gap", []),
        ("right", "added", []),
    ]


def test_references_to_what_is_no_peer_differ():
    text = "tracescript 1\nA | 1 -> b\nB | 2 -> b\nUse {} 1 2 | 3 4\n"
    page = to_html(loads(text.format("b-1")), loads(text.format("b-2")))
    assert re.findall(r'class="[a-z]+ differs"[^>]*>(.*?)</', page) == ["b1", "b0"]


def test_decisions_of_no_instruction():
    text = "tracescript 1\nK\n"
    one, other = loads(text + "@7 = 1\n@8 = 2\n@9 = 3\n"), loads(text + "@7 = 1\n@5 = 2\n")
    rows = [(side, status) for side, status, _, _, _ in CELL.findall(to_html(one, other))]
    assert rows[2:] == [
        ("left", "same"),
        ("right", "same"),
        ("left", "changed"),
        ("right", "changed"),
        ("left", "removed"),
        ("right", "gap"),
    ]


def test_the_decisions_that_differ_stand_first():
    page = to_html(TILED, OTHER)
    assert '<p class="hint">2 changed, 0 the same</p>' in page
    assert "<b>d0</b>" in page
    assert "becomes <b>[4 32]</b></code></a></li>" in page
    assert '<span class="note">is new</span></a></li>' in page
    assert '<span class="note">is gone</span></a></li>' in to_html(OTHER, TILED)
    assert "<h1>Trace and Other</h1>" in page
    assert "4 same, 2 changed, 1 removed, 2 added" in page


# In a browser.


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.close()


@pytest.fixture
def show(browser, tmp_path):
    """Open a page, and see at the end that it asked for nothing and complained of nothing."""

    def show(html, fragment="", **options):
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        browser.open(path, fragment, **options)
        return browser

    yield show
    assert browser.complaints == []
    assert {url.partition("#")[0] for url in browser.requests} == {
        (tmp_path / "page.html").as_uri()
    }


def select(browser, fragment):
    browser.evaluate(f"location.hash = {json.dumps(fragment)}")
    browser.settle()


def marked(browser, mark):
    """The keys of the marked nodes, however often they are in the page."""
    elements = f"[...document.querySelectorAll('[data-n].{mark}')]"
    keys = "JSON.parse(document.getElementById('data').textContent).keys"
    return set(browser.evaluate(f"{elements}.map((each) => {keys}[each.dataset.n])"))


def marked_edges(browser, mark):
    """The keys of both ends of each marked edge; a line that goes on is one to nothing."""
    elements = f"[...document.querySelectorAll('path[data-s].{mark}')]"
    keys = "JSON.parse(document.getElementById('data').textContent).keys"
    pairs = f"{elements}.map(({{dataset}}) => [{keys}[dataset.s], {keys}[dataset.t]])"
    return {tuple(pair) for pair in browser.evaluate(pairs)}


def check_selection(browser, made, node, *, orders):
    """What is marked is what the graph says, and the edges between that."""
    select(browser, f"#{key_of(node)}{'&orders' if orders else ''}")
    after, before = (ask(node, orders=orders) for ask in (made.influences, made.depends_on))
    assert marked(browser, "selected") == {key_of(node)}
    assert marked(browser, "after") == set(map(key_of, after))
    assert marked(browser, "before") == set(map(key_of, before))
    for mark, found in (("after", {*after, node}), ("before", {*before, node})):
        wanted = {
            (f"i{getattr(edge.source, 'inst', None)}", key_of(edge.target))
            for edge in made.edges()
            if edge.kind == "uses" and {edge.source, edge.target} <= found
        }
        if orders:
            wanted |= {
                (key_of(edge.source), key_of(edge.target))
                for edge in made.edges()
                if edge.kind == "orders" and {edge.source, edge.target} <= found
            }
        assert marked_edges(browser, mark) == wanted


@needs_chromium
@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(TILED, id="tiled"),
        pytest.param(HOSTILE, id="hostile"),
        pytest.param(ODD, id="random"),
        pytest.param(CUDA[3], id="cuda"),
    ],
)
def test_exactly_what_is_related_is_marked(show, trace):
    made = graph(trace)
    browser = show(to_html(trace))
    assert marked(browser, "selected") == marked(browser, "after") == set()
    for node in Random(0).sample(made.nodes, min(12, len(made.nodes))):
        for orders in (False, True):
            check_selection(browser, made, node, orders=orders)


@needs_chromium
def test_a_fragment_selects_from_the_start(show):
    browser = show(to_html(CUDA[3]), "#d3")
    influenced = graph(CUDA[3]).influences(DecisionNode(3))
    assert marked(browser, "after") == set(map(key_of, influenced))
    about = browser.evaluate("document.getElementById('about').innerText").split("\n")
    assert [line for line in about if line] == [
        "d3 [16 2 4]",
        "influences 9 instructions, 7 random variables",
        "depends on nothing",
    ]
    select(browser, "#i22.0")
    assert marked(browser, "selected") == set()
    assert not browser.evaluate("document.getElementById('about').checkVisibility()")


@needs_chromium
def test_clicks(show):
    browser = show(to_html(CUDA[3]))
    browser.click('td.code a[data-n][href="#i11.0"]')
    assert browser.evaluate("location.hash") == "#i11.0"
    assert marked(browser, "after") == keys_influenced(CUDA[3], "l39")
    browser.click('td.code a[data-n][href="#i11.0"]')
    assert marked(browser, "selected") == set()
    # A row is a link to its instruction, and so are its number and its node in the graph.
    for selector in ("tr:nth-child(13) td.code .value, tr:nth-child(3) td.code .kind",):
        browser.click(selector)
        assert marked(browser, "selected") == {"i2"}
    browser.click("tr:nth-child(5) a.num")
    assert marked(browser, "selected") == {"i4"}
    browser.click("tr:nth-child(6) circle")
    assert marked(browser, "selected") == {"i5"}
    browser.click('nav a[href="#d2"]')
    assert marked(browser, "selected") == {"d2"}
    browser.click("#clear")
    assert marked(browser, "selected") == set()


def keys_influenced(trace, name):
    made = graph(trace)
    return set(map(key_of, made.influences(made.value(name))))


@needs_chromium
def test_keys(show):
    browser = show(to_html(TILED))
    before = browser.evaluate("history.length")
    steps = [
        ("ArrowDown", "#i0"),
        ("ArrowDown", "#i1"),
        ("ArrowRight", "#i1.0"),
        ("ArrowUp", "#i1"),
        ("ArrowUp", "#i0"),
        ("ArrowUp", "#i0"),
        ("d", "#d0"),
        ("ArrowRight", "#i2"),
        ("ArrowLeft", "#d0"),
        ("o", "#d0&orders"),
        ("r", "#d0&orders&only"),
        ("o", "#d0&only"),
        ("ArrowDown", "#i2&only"),
        ("D", "#d0&only"),
        ("r", "#d0"),
        ("x", "#d0"),
        ("Escape", ""),
        ("ArrowUp", "#i6"),
    ]
    for key, fragment in steps:
        browser.press(key)
        assert (key, browser.evaluate("location.hash")) == (key, fragment)
    assert browser.evaluate("document.activeElement.textContent") == "6"
    # Moving about leaves one entry in the history.
    assert browser.evaluate("history.length") == before


@needs_chromium
def test_only_what_is_related_is_shown(show):
    browser = show(to_html(CUDA[3]), "#d3&only")
    insts = [n.index for n in graph(CUDA[3]).influences(DecisionNode(3)) if isinstance(n, InstNode)]
    assert shown_rows(browser) == insts
    browser.click("#toggle-only")
    assert shown_rows(browser) == list(range(len(CUDA[3].insts)))
    browser.click("#toggle-orders")
    assert browser.evaluate("location.hash") == "#d3&orders"
    pressed = "[...document.querySelectorAll('[aria-pressed]')].map((each) => each.ariaPressed)"
    assert browser.evaluate(pressed) == ["true", "false"]
    assert browser.evaluate("document.querySelector('td.ordered').checkVisibility()")


@needs_chromium
def test_only_a_decision_of_no_instruction_is_shown(show):
    browser = show(to_html(loads("tracescript 1\nK\n@7 = 1\n@8 = 2\n")), "#d1&only")
    texts = "[...document.querySelectorAll('tr')].map((row) => row.checkVisibility())"
    assert browser.evaluate(texts) == [False, False, True]


def shown_rows(browser):
    rows = "[...document.querySelectorAll('tr')].filter((row) => row.checkVisibility())"
    return browser.evaluate(f"{rows}.map((row) => Number(row.querySelector('a.num').textContent))")


@needs_chromium
def test_lines_are_marked_down_to_the_last_edge(show):
    browser = show(to_html(CUDA[3]), "#d3")
    rows = browser.evaluate(
        "[...document.querySelectorAll('line.after')].map((each) => each.closest('tr').rowIndex)"
    )
    # From the tile to the split, from there to the fusion of a loop, and on to its annotations.
    assert sorted(set(rows)) == list(range(10, 38))


@needs_chromium
@pytest.mark.parametrize("fragment", ["", "#d0&orders", "#i3.0"])
def test_hostile_names_run_nothing(show, fragment):
    browser = show(to_html(HOSTILE, title="</title><script>alert(3)</script>"), fragment)
    assert browser.evaluate("document.scripts.length") == 2
    assert browser.evaluate("document.images.length") == 0
    texts = browser.evaluate(
        "[...document.querySelectorAll('td.code .kind')].map((e) => e.innerText)"
    )
    assert texts[0] == '"</script><script>alert(1)</script>"'


@needs_chromium
def test_the_policy_stops_other_scripts_and_all_requests(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(to_html(TILED).replace("<main>", "<main><script>window.bad = 1</script>"))
    browser.open(path)
    browser.evaluate("new Image().src = 'http://127.0.0.1:9/x.png'")
    browser.evaluate("fetch('http://127.0.0.1:9/').catch(() => 0)")
    browser.settle()
    assert browser.evaluate("window.bad") is None
    texts = [each.get("entry", {}).get("text", "") for each in browser.complaints]
    assert sum(["Content Security Policy" in text for text in texts]) >= 3
    assert marked(browser, "selected") == set()


@needs_chromium
@pytest.mark.parametrize("fragment", ["", "#d0&orders", "#i40&only"])
@pytest.mark.parametrize("traces", [(LONGEST,), (LONGEST, CUDA[-1]), (HOSTILE,), (HOSTILE, TILED)])
def test_a_small_screen_needs_no_scrolling_sideways(show, traces, fragment):
    browser = show(to_html(*traces), fragment, width=390, height=844)
    assert browser.evaluate("document.documentElement.scrollWidth") == 390
    widths = "[...document.querySelectorAll('td.code')].map((cell) => cell.offsetWidth)"
    assert max(browser.evaluate(widths)) > 180


@needs_chromium
def test_light_and_dark(show):
    colours = "['backgroundColor', 'color'].map((each) => getComputedStyle(document.body)[each])"
    light = show(to_html(TILED)).evaluate(colours)
    dark = show(to_html(TILED), dark=True).evaluate(colours)
    assert (light[0], dark[0]) == ("rgb(255, 255, 255)", "rgb(18, 22, 28)")
    assert light[1] != dark[1]


@needs_chromium
def test_two_traces_are_marked_together(show):
    browser = show(to_html(CUDA[3], CUDA[5]), "#d3")
    one, other = graph(CUDA[3]), graph(CUDA[5])
    assert marked(browser, "selected") == {"d3", "b.d3"}
    assert marked(browser, "after") == {
        *map(key_of, one.influences(DecisionNode(3))),
        *[f"b.{key_of(node)}" for node in other.influences(DecisionNode(3))],
    }
    browser.click('a[href="#b.d1"]')
    assert marked(browser, "selected") == {"d1", "b.d1"}
    (gone,) = [each.index for each in diff(CUDA[3], CUDA[5]).removed][:1]
    select(browser, f"#i{gone}")
    assert marked(browser, "selected") == {f"i{gone}"}
    assert not [key for key in marked(browser, "after") if key.startswith("b.")]


@needs_chromium
def test_on_a_small_screen_what_two_traces_share_is_shown_once(show):
    browser = show(to_html(TILED, OTHER), width=390)
    cells = "[...document.querySelectorAll('td.code')].filter((cell) => cell.checkVisibility())"
    names = [
        name.split()[-2:] for name in browser.evaluate(f"{cells}.map((cell) => cell.className)")
    ]
    assert names == [
        ["right", "added"],
        ["left", "same"],
        ["left", "same"],
        ["left", "changed"],
        ["right", "changed"],
        ["left", "changed"],
        ["right", "changed"],
        ["left", "removed"],
        ["left", "same"],
        ["left", "same"],
        ["right", "added"],
    ]
