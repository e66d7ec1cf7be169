"""`tracescript replay`, as a person would use it."""

import json

import pytest

from tracescript.cli import main

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

from tvm.s_tir.meta_schedule.database import JSONDatabase, TuningRecord  # noqa: E402

import tvm_cases  # noqa: E402
from tracescript.tvm import encode_database, end_rehearsals, to_tvm  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def no_process_is_left():
    yield
    end_rehearsals()


@pytest.fixture
def folder(tmp_path):
    """A folder as MetaSchedule leaves it, of records of two workloads."""
    database = JSONDatabase(work_dir=str(tmp_path))
    for module, trace in tvm_cases.records("llvm")[:8:2]:
        database.commit_tuning_record(TuningRecord(to_tvm(trace), database.commit_workload(module)))
    return tmp_path


LOG = "database_tuning_record.json"


def test_a_log_is_replayed_on_the_workloads_beside_it(folder, capfd):
    assert main(["replay", str(folder / LOG)]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert err == f"{folder / LOG}: 4 records replayed, 0 refused\n"
    assert main(["encode", "-q", str(folder / LOG), "-o", str(folder / "log.trace")]) == 0
    assert main(["replay", "-q", str(folder / "log.trace")]) == 0
    assert capfd.readouterr() == ("", "")


def test_what_is_refused_is_named(folder, capfd):
    lines = (folder / LOG).read_text().splitlines()
    value = json.loads(lines[1])
    value[1][0][0][0][2][0] = "nope"
    odd = json.loads(lines[2])
    odd[0] = 7
    (folder / "odd.json").write_text(
        "\n".join([lines[0], json.dumps(value), json.dumps(odd), "oops", json.dumps(odd[1][0]), ""])
    )
    name = str(folder / "odd.json")
    assert main(["replay", name]) == 1
    out, err = capfd.readouterr()
    found = out.splitlines()
    assert found[0].startswith(f'{name}:2: instruction 0, `GetSBlock | "nope" "main" -> b`: Cannot')
    assert found[1].startswith(f"{name}:3: expected a record of one of ")
    assert found[1].endswith(" workloads, found workload 7")
    assert found[2].startswith(f"{name}:4: ")
    assert found[3].endswith("workloads, found none")
    assert err == f"{name}: 1 records replayed, 4 refused\n"


def test_one_record_and_its_module(folder, capfd):
    assert main(["replay", "-q", "-n", "1", "--show", str(folder / LOG)]) == 0
    assert "@T.prim_func" in capfd.readouterr().out
    assert main(["replay", "-n", "9", str(folder / LOG)]) == 1
    assert capfd.readouterr().err == f"tracescript: {folder / LOG} has 4 records\n"


def test_the_workloads_can_be_elsewhere(folder, tmp_path, capfd):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "database_workload.json").rename(elsewhere / "w.json")
    assert main(["replay", "-q", str(folder / LOG), "-w", str(elsewhere / "w.json")]) == 0
    with pytest.raises(SystemExit) as caught:
        main(["replay", str(folder / LOG)])
    assert caught.value.code == 2
    assert "database_workload.json or database_workload.b85" in capfd.readouterr().err
    assert main(["replay", str(folder / LOG), "-w", str(folder / LOG)]) == 1
    assert "expected a workload as TVM writes it" in capfd.readouterr().err


def test_the_workloads_of_a_trace_database(folder, capfd):
    encode_database(folder, folder)
    (folder / "database_workload.json").unlink()
    assert main(["replay", str(folder / "database_tuning_record.trace")]) == 0
    assert capfd.readouterr().err.endswith(": 4 records replayed, 0 refused\n")


def test_a_module_that_is_none(folder, capfd):
    (folder / "w.json").write_text('["1","AAAAAAAAAAB7fQ=="]\n')
    assert main(["replay", str(folder / LOG), "-n", "0", "-w", str(folder / "w.json")]) == 1
    assert "TVM cannot read the module: " in capfd.readouterr().out


def test_without_tvm_it_says_so(folder, capfd, monkeypatch):
    monkeypatch.setattr("tracescript.cli.replay.find_spec", lambda _: None)
    assert main(["replay", str(folder / LOG)]) == 1
    assert capfd.readouterr().err == (
        "tracescript: replay needs TVM: pip install 'tracescript[tvm]'\n"
    )
