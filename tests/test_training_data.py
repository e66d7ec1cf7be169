"""The data sets: which workloads are held out, what examples are made, and what the files say."""

import itertools
import json
import lzma
import math
import re
from collections import Counter
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.evaluate.results import Latency, Result
from training.workloads.families import FAMILIES, RECOMMENDER
from training.workloads.networks import layers

from corpora import ROOT
from tracescript import dumps, iter_records, loads

pytest.importorskip("pyarrow", reason="the data sets are Parquet files")
pytest.importorskip("matplotlib", reason="the data sets have plots")

from training.data import examples, files, pages, plots, statistics, tables
from training.data.splits import CONSTRUCT, HARD, REFINE, shape, split_of

DATASETS = ROOT / "training" / "datasets"
LISTED = files.workloads() if files.WORKLOADS.exists() else []
FURTHER = files.workloads(files.FURTHER) if files.FURTHER.exists() else []
SPLITS = {"train", "construct", "refine", "hard", "spare"}
SCRIPT = 'tracescript 1\nGetSBlock | "C" "main" -> b\n'


def drawn(seed):
    rng = Random(seed)
    tables_ = FAMILIES | RECOMMENDER
    family = rng.choice(sorted(tables_))
    return family, tables_[family].arguments(rng)


def in_other_floats(arguments):
    swap = {"float32": "float16", "float16": "float32"}
    words = [
        " ".join(swap.get(word, word) for word in each.split(" "))
        if isinstance(each, str)
        else each
        for each in arguments
    ]
    return tuple(words)


# --- Splits


@given(st.integers(0, 10_000))
def test_the_float_type_does_not_move_a_workload_across(seed):
    family, arguments = drawn(seed)
    assert split_of(family, arguments) == split_of(family, in_other_floats(arguments))
    assert split_of(family, arguments) == split_of(family, json.loads(json.dumps(arguments)))


def test_shares_of_the_splits():
    counts = Counter(split_of(*drawn(seed)) for seed in range(4000))
    assert set(counts) == SPLITS - {"spare"}
    assert 0.03 < counts["construct"] / 4000 < 0.055
    assert 0.05 < counts["refine"] / 4000 < 0.085


def test_splits_that_never_change():
    assert split_of("gemm", (128, 128, 128, "NN", "float32 float32", "C", "")) == "train"
    assert split_of("group_norm", (1, 64, 7, 8, "")) == "hard"
    assert {family for family in FAMILIES | RECOMMENDER if split_of(family, ()) == "hard"} == HARD


def test_layers_of_networks_are_different_and_of_known_families():
    found = layers()
    assert len({repr(layer[:2]) for layer in found}) == len(found) > 1000
    assert {layer.family for layer in found} <= set(FAMILIES | RECOMMENDER)
    assert all(layer.names for layer in found)


# --- The lists of workloads


def shapes(rows):
    return {json.dumps([row["family"], shape(tuple(row["arguments"]))]) for row in rows}


def test_the_lists_are_as_long_as_promised():
    assert len(LISTED) >= 2600
    assert len(FURTHER) >= 6500
    counts = Counter(row["split"] for row in LISTED)
    assert set(counts) == SPLITS
    assert (counts["construct"], counts["refine"]) == (CONSTRUCT, REFINE)
    assert len({row["family"] for row in LISTED if row["split"] == "hard"}) >= 3
    assert {row["split"] for row in FURTHER} == {"train"}


def test_no_two_workloads_are_the_same():
    rows = [*LISTED, *FURTHER]
    for name in ("key", "hash", "prompt"):
        assert len({row[name] for row in rows}) == len(rows), name


def test_what_is_held_out_is_not_in_training():
    training = [row for row in [*LISTED, *FURTHER] if row["split"] == "train"]
    held_out = [row for row in LISTED if row["split"] != "train"]
    assert not shapes(training) & shapes(held_out)
    assert not {row["family"] for row in training} & HARD
    for row in [*training, *held_out]:
        side = split_of(row["family"], tuple(row["arguments"]))
        assert side == row["split"] or (row["split"] == "spare" and side in ("construct", "refine"))


def test_what_is_measured_is_small():
    for row in LISTED:
        assert row["flops"] <= 8e9
        assert row["bytes"] <= 256 << 20


def test_the_lists_begin_with_what_is_held_out():
    training = [row["split"] == "train" for row in LISTED]
    assert training == sorted(training)


def test_the_catalogue_finds_the_same_again():
    pytest.importorskip("tvm", reason="workloads are TVM modules")
    from training.data import catalogue

    listed = {json.dumps([row["family"], row["arguments"]]): row for row in FURTHER}
    found = [each for each in catalogue.drawn() if each.part == "pretrain"][:20]
    rows = [listed.get(json.dumps([each.family, each.arguments])) for each in found]
    assert sum(row is not None for row in rows) > 10
    for each, row in zip(found, rows, strict=True):
        if row:
            facts = catalogue.examine(each)
            names = ("key", "hash", "prompt", "flops", "bytes")
            assert {name: facts[name] for name in names} == {name: row[name] for name in names}


def test_random_decisions_of_a_sketch():
    pytest.importorskip("tvm", reason="sketches are TVM traces")
    from training.data.draws import _Tile, draw_tile

    rng = Random(1)
    for extent in (1, 7, 48, 1024, 11008):
        parts = draw_tile(rng, _Tile(None, 4, 16, extent), 2)
        assert (len(parts), math.prod(parts)) == (4, extent)
        assert parts[-1] <= 16
    free = [draw_tile(rng, _Tile(None, 2, -1, 97), 9)[0] for _ in range(200)]
    assert set(free) == {1, 97}
    assert free.count(97) > 150


@pytest.mark.parametrize("family", sorted(RECOMMENDER))
def test_kernels_of_recommenders_have_scripts(family):
    pytest.importorskip("tvm", reason="scripts are TVM's")
    from training.data.catalogue import Drawn
    from training.data.pretrain import examples_of

    from tracescript.tvm import import_intrinsics

    import_intrinsics()
    arguments = {"mlp": (64, [32, 64, 16], "relu", "float32")}
    drawn = Drawn(
        "measured", family, arguments.get(family, RECOMMENDER[family].arguments(Random(5)))
    )
    found = list(examples_of(drawn.workload()))
    assert found
    assert found == list(examples_of(drawn.workload()))
    for each in found:
        assert dumps(loads(each["script"])) == each["script"]
        assert each["reproduced"]
        assert "EnterPostproc" not in each["script"]


# --- Choosing


class Facts:
    """Candidates of the catalogue, by hand."""

    def __init__(self):
        self.made = []

    def add(self, family, arguments, part="measured", **facts):
        from training.data.catalogue import Drawn

        number = str(len(self.made))
        known = {"key": number, "hash": number, "twin": number, "prompt": number}
        self.made.append(
            (
                Drawn(part, family, arguments),
                {"family": family, "error": "", "flops": 1e7, "bytes": 1e6, **known, **facts},
            )
        )


def of_split(split, count):
    """Arguments of matmuls that a hash puts on that side."""
    sizes = ((n, 64, 64, "float32", "float32") for n in itertools.count(1))
    return list(itertools.islice((s for s in sizes if split_of("matmul", s) == split), count))


@pytest.fixture
def facts():
    pytest.importorskip("tvm", reason="the catalogue imports it")
    return Facts()


def chosen(facts):
    from training.data.catalogue import chosen as choose

    return [(row["key"], row["set"], row["split"]) for row in choose(facts.made)]


def test_a_structure_comes_once(facts):
    first, second = of_split("train", 2)
    facts.add("matmul", first, hash="same")
    facts.add("matmul", second, hash="same")
    assert chosen(facts) == [("0", "measured", "train")]


def test_a_twin_of_what_is_held_out_stays_out(facts):
    facts.add("matmul", of_split("construct", 1)[0], twin="same")
    facts.add("matmul", of_split("train", 1)[0], twin="same")
    facts.add("matmul", of_split("refine", 1)[0], twin="same")
    assert [split for _, _, split in chosen(facts)] == ["construct", "refine"]


def test_what_is_no_workload_or_does_not_fit_stays_out(facts):
    sizes = of_split("train", 6)
    facts.add("matmul", sizes[0], error="TVM refuses all samples")
    facts.add("matmul", sizes[1], flops=9e9)
    facts.add("matmul", sizes[2], bytes=1e9)
    facts.add("matmul", sizes[3], flops=1e3, bytes=1e3)
    facts.add("matmul", sizes[4], flops=1e3)
    facts.add("matmul", sizes[5], "pretrain", flops=9e9)
    assert [key for key, *_ in chosen(facts)] == ["4", "5"]


def test_nothing_that_is_held_out_is_for_pre_training(facts):
    for split in ("construct", "refine", "train"):
        facts.add("matmul", of_split(split, 1)[0], "pretrain")
    facts.add("group_norm", (1, 64, 7, 8, ""), "pretrain")
    assert chosen(facts) == [("2", "pretrain", "train")]


def test_what_is_left_over_is_spare(facts):
    for arguments in of_split("construct", CONSTRUCT + 3):
        facts.add("matmul", arguments)
    counts = Counter(split for _, _, split in chosen(facts))
    assert counts == {"construct": CONSTRUCT, "spare": 3}


def test_few_workloads_of_each_hard_family(facts):
    for channels in range(1, 30):
        facts.add("group_norm", (1, 8 * channels, 7, 8, ""))
    assert Counter(split for *_, split in chosen(facts)) == {"hard": 15}


# --- Examples


def result(key, script, median, spread=0.01, **more):
    latency = Latency(median, median * (1 - spread), median * (1 + spread), 30, 1.0)
    return Result(key, script, "measured", latency=latency, **more)


def workload(key, split="train"):
    return {"key": key, "family": "f", "target": "h100", "prompt": f"prompt {key}", "split": split}


results = st.lists(
    st.builds(
        lambda key, script, median, spread: result(f"w{key}", f"s{script}", median, spread),
        st.integers(0, 3), st.integers(0, 30), st.floats(1e-6, 1e-3), st.floats(0, 0.3),
    ),
    max_size=80,
)  # fmt: skip


@given(results)
def test_laws_of_examples(found):
    rows = [workload("w0"), workload("w1"), workload("w2", "refine"), workload("w3", "construct")]
    ranking = examples.ranked(found)
    latencies = {key: {each.script: each for each in timed} for key, timed in ranking.items()}
    pairs = list(examples.refine_examples(rows, ranking))
    tasks = list(examples.refine_tasks(rows, ranking, "refine"))
    assert {row["key"] for row in pairs} <= {"w0", "w1"}
    assert {row["key"] for row in tasks} <= {"w2"}
    for row in [*pairs, *tasks]:
        slower, faster = (latencies[row["key"]][row[name]] for name in ("given", "script"))
        assert faster.latency.high < slower.latency.low
        assert row["ratio"] == row["given_latency"] / row["latency"] >= 1.1
        assert row["prompt"] == f"prompt {row['key']}"
    assert max(Counter(row["key"] for row in pairs).values(), default=0) <= examples.MOST_PAIRS
    assert len({(row["key"], row["given"], row["script"]) for row in pairs}) == len(pairs)
    best = list(examples.construct_examples(rows, ranking))
    assert {row["key"] for row in best} == {
        key for key in ("w0", "w1") if len(ranking.get(key, [])) > 1
    }
    for row in best:
        assert row["best_latency"] == ranking[row["key"]][0].seconds
        assert row["latency"] <= 1.1 * row["best_latency"]
    (task,) = examples.construct_tasks(rows, ranking, "construct")
    assert task["script"] == (ranking["w3"][0].script if "w3" in ranking else None)


@given(results, st.randoms())
def test_the_same_results_give_the_same_examples(found, random):
    first = {each.workload + each.script: each for each in reversed(found)}
    shuffled = list(first.values())
    random.shuffle(shuffled)
    rows = [workload("w0"), workload("w1")]
    assert list(examples.refine_examples(rows, examples.ranked(shuffled))) == list(
        examples.refine_examples(rows, examples.ranked(first.values()))
    )


def test_pairs_are_spread_over_the_ratios():
    timed = examples.ranked(result("w", f"s{n}", 1e-6 * 2 ** (n / 4)) for n in range(40))["w"]
    ratios = sorted(slow.seconds / fast.seconds for slow, fast in examples.chosen_pairs(timed))
    assert len(ratios) == examples.MOST_PAIRS
    assert ratios[0] < 2
    assert ratios[-1] > 500
    steps = [math.log2(right / left) for left, right in itertools.pairwise(ratios)]
    assert max(steps) < 2.5


def test_nothing_is_chosen_of_what_is_equally_fast():
    timed = examples.ranked(result("w", f"s{n}", 1e-6 * (1 + n / 1000)) for n in range(9))["w"]
    assert examples.chosen_pairs(timed) == []
    assert examples.chosen_pairs([]) == []


def test_a_task_that_cannot_be_measured_is_replaced():
    rows = [workload("a", "refine"), workload("b", "refine"), workload("c", "spare")]
    found = [
        result("b", "s", 1.0),
        result("b", "t", 2.0),
        result("c", "s", 1.0),
        result("c", "t", 3.0),
    ]
    tasks = examples.refine_tasks(rows, examples.ranked(found), "refine")
    assert [(row["key"], row["given"], row["script"]) for row in tasks] == [
        ("b", "t", "s"),
        ("c", "t", "s"),
    ]


def test_only_right_results_count_and_the_first_of_a_script():
    wrong = Result("w", "s", "runs", "wrong", latency=Latency(1e-9, 1e-9, 1e-9, 3, 1.0))
    found = [wrong, result("w", "s", 2.0), result("w", "s", 1.0)]
    assert [each.seconds for each in examples.ranked(found)["w"]] == [2.0]


def test_all_results_of_known_workloads_are_kept():
    found = [
        result("w", "s", 2.0, run="r"),
        Result("w", "t", "parses", "no"),
        result("x", "s", 1.0),
    ]
    rows = list(examples.measured([workload("w")], found, {"r": "H200"}))
    assert [(row["script"], row["median"], row["stage"], row["card"]) for row in rows] == [
        ("s", 2.0, "measured", "H200"),
        ("t", None, "parses", ""),
    ]


# --- From results to pages


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Data sets of a few invented results."""
    folder = tmp_path_factory.mktemp("datasets")
    rows = [row for split in sorted(SPLITS) for row in LISTED if row["split"] == split][::40]
    files.write_lines(folder / files.WORKLOADS.name, map(json.dumps, rows))
    files.write_lines(folder / files.FURTHER.name, map(json.dumps, FURTHER[:5]))
    lines = [
        json.dumps({"run": "r", "command": "c", "card": "H200", "versions": {}}).encode() + b"\n"
    ]
    for row in rows:
        for number in range(4):
            script = f"{SCRIPT}GetLoops b-1 -> l{number + 2}\n"
            one = result(row["key"], script, 1e-5 * (1 + number), run="r", source="random")
            lines.append(msgspec.json.encode(one) + b"\n")
    (folder / "results.jsonl").write_bytes(b"".join(lines))
    for split in ("train", "validation"):
        pretrain = [{**FURTHER[0], "script": SCRIPT, "reproduced": True}]
        tables.write(folder / "pretrain" / f"{split}.parquet", pretrain, tables.PRETRAIN)
    examples.write([folder / "results.jsonl"], folder)
    (folder / "README.md").write_text((DATASETS / "README.md").read_text())
    return folder, rows, statistics.counted(folder)


def test_the_log_holds_what_was_measured(made):
    folder, rows, _ = made
    with lzma.open(folder / "measured.trace.xz") as file:
        found = list(iter_records(file))
    assert len(found) == 4 * len(rows)
    assert rows[found[5].workload]["key"] == rows[1]["key"]
    assert found[5].trace == loads(f"{SCRIPT}GetLoops b-1 -> l3\n")


def test_numbers_of_invented_results(made):
    _, rows, (data, samples) = made
    assert data["workloads"] == len(rows)
    assert data["measured"] == data["stages"]["measured"] == 4 * len(rows)
    assert data["card"] == "H200"
    training = sum(row["split"] == "train" for row in rows)
    assert data["construct"] == training
    assert data["refine"] == 6 * training
    assert data["gain"]["median"] == 4
    assert data["kinds"] == {"GetSBlock": 1.0, "GetLoops": 0.8}
    assert len(samples.ratios) == data["refine"]


def test_pages_and_plots_of_invented_results(made, tmp_path):
    _, _, (data, samples) = made
    plots.draw(samples, data, tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    plots.draw(samples, data, tmp_path)
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in pages.PAGES:
        page = (ROOT / name).read_text()
        assert pages.filled(pages.filled(page, data), data) == pages.filled(page, data)


# --- The files in the repository


def test_the_pages_agree_with_the_numbers():
    data = json.loads((files.RESULTS / "data.json").read_text())
    for name in pages.PAGES:
        page = (ROOT / name).read_text()
        assert pages.filled(page, data) == page
        assert "<!-- numbers: splits -->\n|" in page


def test_the_numbers_agree_with_the_files():
    data = json.loads((files.RESULTS / "data.json").read_text())
    assert data["workloads"] == len(LISTED)
    assert data["further_workloads"] == len(FURTHER)
    training = {row["key"] for row in [*LISTED, *FURTHER] if row["split"] == "train"}
    for name, splits in data["tables"].items():
        for split, size in splits.items():
            rows = tables.read(DATASETS / name / f"{split}.parquet")
            assert size["examples"] == len(rows)
            keys = {row["key"] for row in rows}
            assert size["workloads"] == len(keys)
            assert not keys - training if split in ("train", "validation") else not keys & training
    assert not {row["family"] for row in tables.read(DATASETS / "pretrain/train.parquet")} & HARD


def test_no_shape_is_on_both_sides_of_the_validation():
    arguments = {row["key"]: row for row in [*LISTED, *FURTHER]}
    train, validation = (
        shapes(arguments[row["key"]] for row in tables.read(DATASETS / f"pretrain/{split}.parquet"))
        for split in ("train", "validation")
    )
    assert validation
    assert not train & validation


def test_scripts_of_the_pre_training_are_canonical():
    for row in tables.read(DATASETS / "pretrain/validation.parquet"):
        trace = loads(row["script"])
        assert dumps(trace) == row["script"]
        assert all(inst.kind != "EnterPostproc" for inst in trace.insts)


def test_the_card_lists_the_files():
    listed = re.findall(r"path: (\S+)}", (DATASETS / "README.md").read_text())
    there = [str(path.relative_to(DATASETS)) for path in DATASETS.glob("*/*.parquet")]
    assert sorted(listed) == sorted(there)


@pytest.mark.parametrize("name", ["construct", "refine", "pretrain", "measured"])
@pytest.mark.parametrize("invented", [True, False], ids=["invented", "landed"])
def test_datasets_reads_the_files(name, invented, made, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="the library that reads the data sets")
    folder = made[0] if invented else DATASETS
    found = datasets.load_dataset(str(folder), name, cache_dir=str(tmp_path))
    for split, rows in found.items():
        assert rows.to_list() == tables.read(folder / name / f"{split}.parquet")
        assert {"key", "family", "target", "script"} <= set(rows.column_names)
