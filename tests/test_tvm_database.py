"""`TraceDatabase`: the answers of TVM's JSONDatabase, in files that lose and tear nothing."""

import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
import weakref
import zlib
from base64 import b64encode, b85encode
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from corpora import ROOT
from tracescript import TraceFileError, decode_file, iter_records, testing, to_json

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")
sys.path.insert(0, str(ROOT / "tests" / "corpus"))

import _annotations  # noqa: E402
import _llvm  # noqa: E402
import _modules as modules  # noqa: E402
import _primitives  # noqa: E402
from tvm.ir.utils import derived_object  # noqa: E402
from tvm.s_tir import Schedule  # noqa: E402
from tvm.s_tir import meta_schedule as ms  # noqa: E402
from tvm.s_tir.meta_schedule.database import JSONDatabase, TuningRecord, Workload  # noqa: E402
from tvm.s_tir.meta_schedule.runner.local_runner import LocalRunnerFuture  # noqa: E402
from tvm.target import Target  # noqa: E402

from tracescript.tvm import database as db  # noqa: E402
from tracescript.tvm.database import TraceDatabase  # noqa: E402
from tracescript.tvm.database.files import locked  # noqa: E402
from tracescript.tvm.database.records import Ranking  # noqa: E402
from tracescript.tvm.database.workloads import MAX_MODULE, StoredModule  # noqa: E402
from tracescript.tvm.intrinsics import import_intrinsics  # noqa: E402
from tracescript.tvm.traces import from_tvm  # noqa: E402

SEED = 2027
RECORDS = "database_tuning_record.trace"
WORKLOADS = "database_workload.b85"
LLVM = Target({"kind": "llvm", "num-cores": 2})
TARGETS = [None, LLVM, Target("nvidia/nvidia-h100")]
# Text that JSONDatabase can read back, and empty traces too.
EXAMPLES = _primitives.EXAMPLES + _annotations.EXAMPLES


def renamed(module, old, new):
    """A module that TVM takes for the same, with a block of another name."""
    return tvm.script.from_source(module.script().replace(f'"{old}"', f'"{new}"'))


MODULES = [modules.MATMUL_RELU, modules.TWO_STEPS, renamed(modules.MATMUL_RELU, "relu", "clip")]
DIFFERENT = [modules.MATMUL_RELU, modules.TWO_STEPS, modules.ROW_SUM]


def trace_of(name):
    """The trace of a recorded example, made anew."""
    return next(each for each in EXAMPLES if each.name == name).schedule(SEED).trace


def steps(module, *, postproc=False, only_postproc=False):
    """A small trace on a module."""
    sch = Schedule(module, seed=SEED, debug_mask="none")
    if not only_postproc:
        block = sch.get_child_blocks(sch.get_sblock("root"))[0]
        sch.split(sch.get_loops(block)[0], [None, 4])
        sch.annotate(block, "steps", 4)
    if postproc or only_postproc:
        sch.enter_postproc()
        sch.get_sblock("root")
    return sch.trace


TRACES = {
    index: [
        steps(module),
        steps(module, postproc=True),
        steps(module, only_postproc=True),
        Schedule(module).trace,
    ]
    for index, module in enumerate(MODULES)
}


def record_of(base, module, trace, run_secs=None, target=None):
    """A record of a workload that is committed on the way."""
    infos = ms.arg_info.ArgInfo.from_prim_func(module["main"]) if target else None
    return TuningRecord(trace, base.commit_workload(module), run_secs, target, infos)


def rest(record):
    """All that a record says besides its workload and trace."""
    target, infos = record.target, record.args_info
    return (
        record.run_secs and [number.value for number in record.run_secs],
        target and sorted(target.export().items()),
        infos and [info.as_json() for info in infos],
    )


def seen(record):
    """All that a record says, with Python's loose equality: JSONDatabase turns true into 1."""
    return record.workload.as_json(), to_json(from_tvm(record.trace)), rest(record)


def exact(record):
    """All that a record says, types included."""
    return record.workload.as_json(), from_tvm(record.trace), repr(rest(record))


def paths(folder):
    return str(folder / WORKLOADS), str(folder / RECORDS)


# --- the answers are those of a JSONDatabase ------------------------------------------------

seconds = st.sampled_from([0.1, 0.2, 0.3, 0.1 + 0.2, 1.0, 1e10, 1e-30, 1e30])
run_times = st.none() | st.lists(seconds, max_size=3)
module_numbers = st.integers(0, len(MODULES) - 1)


class Databases(RuleBasedStateMachine):
    """The same operations on a TraceDatabase and on a JSONDatabase, and the same answers."""

    @initialize(equality=st.sampled_from(["structural", "ignore-tensor", "anchor-block"]))
    def create(self, equality):
        self.folder = Path(tempfile.mkdtemp())
        self.equality = equality
        self.reopen()

    def teardown(self):
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    @rule()
    def reopen(self):
        self.ours = TraceDatabase(work_dir=self.folder, module_equality=self.equality)
        self.theirs = JSONDatabase(work_dir=str(self.folder), module_equality=self.equality)

    @rule(number=module_numbers)
    def has_workload(self, number):
        module = MODULES[number]
        assert self.ours.has_workload(module) == self.theirs.has_workload(module)

    @rule(number=module_numbers)
    def commit_workload(self, number):
        ours = self.ours.commit_workload(MODULES[number])
        theirs = self.theirs.commit_workload(MODULES[number])
        assert ours.as_json() == theirs.as_json()
        assert self.ours.has_workload(MODULES[number])

    @rule(
        number=module_numbers,
        kind=st.integers(0, 3),
        run_secs=run_times,
        aim=st.sampled_from(TARGETS),
    )
    def commit_tuning_record(self, number, kind, run_secs, aim):
        module = MODULES[number]
        for base in (self.ours, self.theirs):
            base.commit_tuning_record(record_of(base, module, TRACES[number][kind], run_secs, aim))

    @rule(number=module_numbers, top_k=st.integers(0, 5))
    def get_top_k(self, number, top_k):
        module = MODULES[number]
        ours, theirs = (
            base.get_top_k(base.commit_workload(module), top_k) for base in (self.ours, self.theirs)
        )
        assert [seen(record) for record in ours] == [seen(record) for record in theirs]

    @rule(number=module_numbers)
    def query(self, number):
        question = MODULES[number], LLVM, "main"
        ours, theirs = (base.query_tuning_record(*question) for base in (self.ours, self.theirs))
        assert (ours and seen(ours)) == (theirs and seen(theirs))
        ours, theirs = (base.query_ir_module(*question) for base in (self.ours, self.theirs))
        assert (ours and ours.script()) == (theirs and theirs.script())
        ours, theirs = (base.query_schedule(*question) for base in (self.ours, self.theirs))
        assert (ours and ours.mod.script()) == (theirs and theirs.mod.script())

    @invariant()
    def same_records(self):
        if hasattr(self, "ours"):
            assert len(self.ours) == len(self.theirs)

    @rule()
    def get_all_tuning_records(self):
        ours, theirs = (base.get_all_tuning_records() for base in (self.ours, self.theirs))
        assert [seen(record) for record in ours] == [seen(record) for record in theirs]


Databases.TestCase.settings = settings(
    max_examples=max(5, settings().max_examples // 5),
    stateful_step_count=25,
    deadline=None,
)
TestDatabases = Databases.TestCase


def test_other_equalities_keep_the_modules_of_equal_workloads(tmp_path):
    """A folder with equal workloads: each record keeps its own, as in a JSONDatabase."""
    theirs = JSONDatabase(work_dir=str(tmp_path))
    (tmp_path / "other").mkdir()
    other = JSONDatabase(work_dir=str(tmp_path / "other"))
    for number, base in ((0, theirs), (1, theirs), (2, other)):
        base.commit_workload(MODULES[number])
    path = tmp_path / "database_workload.json"
    path.write_bytes(path.read_bytes() + (tmp_path / "other" / path.name).read_bytes())
    rows = [
        [number, [to_json(from_tvm(TRACES[number][0])), [0.5], None, None]] for number in (2, 0, 1)
    ]
    log = tmp_path / "database_tuning_record.json"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    db.encode_database(tmp_path, tmp_path)
    for equality in ("structural", "ignore-tensor", "anchor-block"):
        ours = TraceDatabase(work_dir=tmp_path, module_equality=equality)
        theirs = JSONDatabase(work_dir=str(tmp_path), module_equality=equality)
        for module in MODULES:
            found = [
                [seen(each) for each in base.get_top_k(base.commit_workload(module), 9)]
                for base in (ours, theirs)
            ]
            assert found[0] == found[1]
        names = [
            each.workload.mod.script().count('"clip"') for each in ours.get_all_tuning_records()
        ]
        assert names == [1, 0, 0]


def test_a_workload_of_elsewhere_is_as_good_as_an_equal_one(tmp_path):
    ours = TraceDatabase(work_dir=tmp_path)
    ours.commit_tuning_record(record_of(ours, MODULES[0], TRACES[0][0], [1.0]))
    elsewhere = Workload(MODULES[2])
    assert len(ours.get_top_k(elsewhere, 2)) == 1
    ours.commit_tuning_record(TuningRecord(TRACES[0][1], elsewhere, [0.5]))
    assert [record.run_secs[0].value for record in ours.get_top_k(elsewhere, 2)] == [0.5, 1.0]
    assert ours.get_top_k(elsewhere, 2)[0].workload.same_as(elsewhere)
    unknown = Workload(MODULES[1])
    assert ours.get_top_k(unknown, 2) == []
    with pytest.raises(ValueError, match="not in the database"):
        ours.commit_tuning_record(TuningRecord(TRACES[1][0], unknown, [1.0]))
    assert len(ours) == len(TraceDatabase(work_dir=tmp_path)) == 2


def test_arguments(tmp_path):
    ours = TraceDatabase(*paths(tmp_path))
    assert (ours.path_workload, ours.path_tuning_record) == paths(tmp_path)
    assert isinstance(ours, ms.Database)
    with pytest.raises(ValueError, match="top_k must not be negative, found -1"):
        ours.get_top_k(ours.commit_workload(MODULES[0]), -1)
    with pytest.raises(ValueError, match="expected path_workload or work_dir"):
        TraceDatabase()
    with pytest.raises(ValueError, match="expected path_tuning_record or work_dir"):
        TraceDatabase(tmp_path / "w")
    with pytest.raises(ValueError, match=f"there is no file {tmp_path}/x, and allow_missing"):
        TraceDatabase(tmp_path / "x", paths(tmp_path)[1], allow_missing=False)
    assert not (tmp_path / "x").exists()
    with pytest.raises(Exception, match="Unknown module equality"):
        TraceDatabase(work_dir=tmp_path, module_equality="x")
    with pytest.raises(FileNotFoundError):
        TraceDatabase(work_dir=tmp_path / "x")


def test_a_nan_comes_last_and_sums_are_those_of_tvm():
    ranking = Ranking()
    for run_secs in ((float("nan"),), (2.0, 1e10), (1e300,), None, (0.1,) * 10, (0.1,), ()):
        ranking.add(7, run_secs)
    # Ten times 0.1 is a little less than 1, added one by one.
    assert list(ranking.measured(7)) == [4, 5, 1, 2, 0]
    assert ranking.all() == [4, 5, 1, 3, 6, 2, 0]
    assert list(ranking.measured(8)) == []


def test_the_database_in_scope(tmp_path):
    ours = TraceDatabase(work_dir=tmp_path)
    ours.commit_tuning_record(record_of(ours, MODULES[0], TRACES[0][1], [1.0], LLVM))
    with ours:
        current = ms.Database.current()
        assert len(current) == 1
        schedule = current.query(MODULES[0], LLVM)
    assert ms.Database.current() is None
    compiled = ms.tir_integration.compile_tir(ours, MODULES[0], LLVM)
    assert schedule.mod.script() == compiled.mod.script() != MODULES[0].script()
    ours.dump_pruned(TraceDatabase(work_dir=tmp_path, path_tuning_record=tmp_path / "pruned"))
    assert (tmp_path / "pruned").read_text().count("# record 0") == 1


@derived_object
class NoBuilder(ms.builder.PyBuilder):
    """Builds nothing."""

    def build(self, build_inputs):
        return [ms.builder.BuilderResult("nowhere", None) for _ in build_inputs]


@derived_object
class NoRunner(ms.runner.PyRunner):
    """Makes up a run time for each candidate, the slowest first."""

    def __init__(self):
        super().__init__()
        self.seconds = iter(range(9, 0, -1))

    def run(self, runner_inputs):
        return [LocalRunnerFuture([next(self.seconds)], None) for _ in runner_inputs]


def test_tuning_into_a_database(tmp_path):
    """A run of MetaSchedule fills it, and a new object has the schedule that it found."""
    import_intrinsics()
    task = _llvm.TASKS[2]
    ours = TraceDatabase(work_dir=tmp_path)
    result = ms.tir_integration.tune_tir(
        task.module(),
        LLVM,
        str(tmp_path),
        max_trials_global=4,
        num_trials_per_iter=2,
        builder=NoBuilder(),
        runner=NoRunner(),
        database=ours,
        cost_model=ms.cost_model.RandomModel(seed=SEED),
        measure_callbacks=[ms.measure_callback.AddToDatabase()],
        strategy=ms.search_strategy.EvolutionarySearch(population_size=8, init_min_unmeasured=4),
        num_tuning_cores=1,
        seed=SEED,
    )
    assert result.same_as(ours)
    assert len(ours) == 4
    opened = TraceDatabase(work_dir=tmp_path)
    assert list(map(exact, opened.get_all_tuning_records())) == list(
        map(exact, ours.get_all_tuning_records())
    )
    best = ms.tir_integration.compile_tir(opened, task.module(), LLVM)
    assert best.mod.script() == ours.query_ir_module(task.module(), LLVM, "main").script()
    assert [record.run_secs[0].value for record in opened.get_all_tuning_records()] == [6, 7, 8, 9]
    assert not list(tmp_path.glob("*.json"))


def test_a_database_is_freed(tmp_path):
    ours = TraceDatabase(work_dir=tmp_path)
    ours.commit_tuning_record(record_of(ours, MODULES[0], TRACES[0][0], [1.0]))
    store = weakref.ref(ours._store)
    del ours
    assert store() is None


# --- nothing is lost ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "example", EXAMPLES + _annotations.UNLOADABLE, ids=lambda example: example.name
)
def test_records_come_back_exactly(example, tmp_path):
    ours = TraceDatabase(work_dir=tmp_path)
    trace = example.schedule(SEED).trace
    for target in TARGETS:
        run_secs = [1.0, 0.1 + 0.2, float("inf"), 5e-324]
        ours.commit_tuning_record(record_of(ours, example.module, trace, run_secs, target))
    opened = TraceDatabase(work_dir=tmp_path)
    committed = ours.get_all_tuning_records()
    assert [exact(each) for each in opened.get_all_tuning_records()] == list(map(exact, committed))
    assert [record.trace for record in iter_records(tmp_path / RECORDS)] == [from_tvm(trace)] * 3


def test_a_json_database_loses_what_we_keep(tmp_path):
    """The premise of the test above: without it, that would be no news."""
    ours, theirs = TraceDatabase(work_dir=tmp_path), JSONDatabase(work_dir=str(tmp_path))
    for name in ("annotate_with_numbers", "annotate_with_containers"):
        example = next(each for each in EXAMPLES if each.name == name)
        trace = example.schedule(SEED).trace
        for base in (ours, theirs):
            base.commit_tuning_record(record_of(base, example.module, trace, [1.0]))
    (ours, *_), (theirs, *_) = (
        base.get_all_tuning_records()
        for base in (TraceDatabase(work_dir=tmp_path), JSONDatabase(work_dir=str(tmp_path)))
    )
    ours, theirs = (to_json(from_tvm(each.trace)) for each in (ours, theirs))
    assert ours == theirs
    assert not testing.strictly_equal(ours, theirs)


@pytest.mark.parametrize("example", _annotations.UNLOADABLE[:5], ids=lambda example: example.name)
def test_a_json_database_cannot_read_what_we_read(example, tmp_path):
    theirs = JSONDatabase(work_dir=str(tmp_path))
    trace = example.schedule(SEED).trace
    theirs.commit_tuning_record(record_of(theirs, example.module, trace))
    with pytest.raises(RuntimeError, match=r"Cannot tokenize|Unsupported escape"):
        JSONDatabase(work_dir=str(tmp_path))


# --- the files ------------------------------------------------------------------------------


def filled(base, examples=EXAMPLES):
    """A database with one record an example, every second one measured."""
    for number, example in enumerate(examples):
        trace = example.schedule(SEED).trace
        run_secs = [0.25 * (number % 3), 0.125] if number % 2 else None
        base.commit_tuning_record(record_of(base, example.module, trace, run_secs, LLVM))
    return base


def test_a_json_database_becomes_ours_and_back(tmp_path):
    """Byte for byte, and with the same answers in between."""
    sizes = {}
    theirs = filled(JSONDatabase(work_dir=str(tmp_path)))
    db.encode_database(tmp_path, tmp_path)
    back = tmp_path / "back"
    back.mkdir()
    db.decode_database(tmp_path, back)
    for name in ("database_workload.json", "database_tuning_record.json"):
        assert (back / name).read_bytes() == (tmp_path / name).read_bytes()
        sizes[name] = (tmp_path / name).stat().st_size
    ours = TraceDatabase(work_dir=tmp_path)
    pairs = zip(ours.get_all_tuning_records(), theirs.get_all_tuning_records(), strict=True)
    assert all(seen(mine) == seen(other) for mine, other in pairs)
    assert (tmp_path / WORKLOADS).stat().st_size * 10 < sizes["database_workload.json"]
    assert (tmp_path / RECORDS).stat().st_size < sizes["database_tuning_record.json"]


def test_ours_becomes_a_json_database(tmp_path):
    """What JSON has no words for aside, TVM reads all of it, and exactly."""
    readable = [each for each in EXAMPLES if each.name != "annotate_with_strings"]
    ours = filled(TraceDatabase(work_dir=tmp_path), readable + _annotations.UNLOADABLE[:2])
    db.decode_database(tmp_path, tmp_path)
    theirs = JSONDatabase(work_dir=str(tmp_path))
    pairs = zip(ours.get_all_tuning_records(), theirs.get_all_tuning_records(), strict=True)
    for mine, other in pairs:
        assert exact(mine) == exact(other)


def test_appending_to_an_encoded_log(tmp_path):
    """The log may end without a newline, or with CRLF; what is appended is on a line of its own."""
    theirs = filled(JSONDatabase(work_dir=str(tmp_path)), EXAMPLES[:3])
    log = tmp_path / "database_tuning_record.json"
    whole = log.read_bytes()
    for content in (whole, whole[:-1], whole.replace(b"\n", b"\r\n"), b"\n" + whole, b""):
        log.write_bytes(content)
        db.encode_database(tmp_path, tmp_path)
        ours = TraceDatabase(work_dir=tmp_path)
        before = len(ours)
        for _ in range(2):
            ours.commit_tuning_record(record_of(ours, MODULES[0], TRACES[0][0], [1.0]))
        assert len(TraceDatabase(work_dir=tmp_path)) == before + 2 == content.count(b"[[[") + 2
        decode_file(tmp_path / RECORDS, tmp_path / "back")
        back = (tmp_path / "back").read_bytes()
        assert back.startswith(content)
        assert len(list(iter_records(tmp_path / "back"))) == before + 2
    assert len(theirs) == 3


def test_records_that_were_carried_verbatim_are_records(tmp_path):
    """JSON with other blanks than any known writer's."""
    theirs = filled(JSONDatabase(work_dir=str(tmp_path)), EXAMPLES[:2])
    log = tmp_path / "database_tuning_record.json"
    log.write_bytes(log.read_bytes().replace(b"[", b"[ "))
    db.encode_database(tmp_path, tmp_path)
    assert (tmp_path / RECORDS).read_text().count("# text") == 2
    ours = TraceDatabase(work_dir=tmp_path)
    assert list(map(seen, ours.get_all_tuning_records())) == list(
        map(seen, theirs.get_all_tuning_records())
    )


def test_the_workload_file_is_what_its_module_says(tmp_path):
    ours = filled(TraceDatabase(work_dir=tmp_path), EXAMPLES[:9])
    header, *lines = (tmp_path / WORKLOADS).read_bytes().splitlines(keepends=True)
    assert header == b"tracescript workloads 1\n"
    for index, line in enumerate(lines):
        module = StoredModule.from_line(line)
        assert module.to_line() == line
        assert json.loads(module.data[8:])["metadata"]["tvm_version"] == tvm.__version__
        workload = Workload.from_json(module.to_json())
        assert ours.commit_workload(workload.mod).as_json() == module.to_json(), index


# --- several processes ----------------------------------------------------------------------

WORKER = """
import sys
sys.path[:0] = {path!r}
import test_tvm_database as t

number, folder = int(sys.argv[1]), t.Path(sys.argv[2])
base = t.TraceDatabase(work_dir=folder)
print("ready", flush=True)
sys.stdin.readline()
for step in range({steps}):
    module = t.DIFFERENT[(number + step) % 3]
    seconds = number + step / 64
    base.commit_tuning_record(t.record_of(base, module, t.TRACES[0][0], [seconds]))
    print(step, flush=True)
print(len(base), flush=True)
"""


def test_processes_that_write_at_once(tmp_path):
    """No record is lost, none is torn, and all agree on the indices of workloads."""
    workers, steps = 2, 50
    code = WORKER.format(path=[str(ROOT / "tests")], steps=steps)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(number), str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(workers)
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    counts = [int(process.communicate(timeout=120)[0].split()[-1]) for process in running]
    assert max(counts) == workers * steps
    assert min(counts) >= steps
    opened = TraceDatabase(work_dir=tmp_path)
    lines = (tmp_path / WORKLOADS).read_bytes().splitlines()
    assert len(lines) == 1 + len(DIFFERENT)
    found = {
        (record.run_secs[0].value, record.workload.as_json()[0])
        for record in opened.get_all_tuning_records()
    }
    hashes = [Workload(module).as_json()[0] for module in DIFFERENT]
    assert len(opened) == workers * steps
    assert found == {
        (number + step / 64, hashes[(number + step) % 3])
        for number in range(workers)
        for step in range(steps)
    }
    decode_file(tmp_path / RECORDS, tmp_path / "log.json")


def test_two_objects_in_one_process(tmp_path):
    """Each sees what the other has committed after a commit of its own."""
    one, two = TraceDatabase(work_dir=tmp_path), TraceDatabase(work_dir=tmp_path)
    one.commit_workload(MODULES[0])
    assert not two.has_workload(MODULES[0])
    two.commit_workload(MODULES[1])
    assert two.has_workload(MODULES[0])
    two.commit_workload(MODULES[0])
    one.commit_workload(MODULES[1])
    assert (tmp_path / WORKLOADS).read_bytes().count(b"\n") == 3
    two.commit_tuning_record(record_of(two, MODULES[1], TRACES[1][0], [1.0], LLVM))
    one.commit_tuning_record(record_of(one, MODULES[1], TRACES[1][1], [0.5], LLVM))
    two.commit_tuning_record(record_of(two, MODULES[1], TRACES[1][2], None))
    one.commit_tuning_record(record_of(one, MODULES[0], TRACES[0][0], [0.1], TARGETS[2]))
    assert (len(one), len(two)) == (4, 3)
    third = TraceDatabase(work_dir=tmp_path)
    assert list(map(exact, third.get_all_tuning_records())) == list(
        map(exact, one.get_all_tuning_records())
    )
    assert third.get_top_k(third.commit_workload(MODULES[1]), 9)[1].run_secs[0].value == 1.0


def test_the_lock_keeps_others_out(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    script = textwrap.dedent(
        """
        import fcntl, sys
        with open(sys.argv[1], "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_NB | getattr(fcntl, sys.argv[2]))
        """
    )

    def is_free(kind):
        command = [sys.executable, "-c", script, str(tmp_path / "file"), kind]
        return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0

    with locked(str(tmp_path / "file"), writing=True):
        assert not is_free("LOCK_SH")
    with locked(str(tmp_path / "file"), writing=False):
        assert (is_free("LOCK_SH"), is_free("LOCK_EX")) == (True, False)
    assert is_free("LOCK_EX")


def test_a_platform_without_locks_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(OSError, match="flock, which this platform lacks") as caught:
        TraceDatabase(work_dir=tmp_path)
    assert caught.value.filename == str(tmp_path / WORKLOADS)


# --- killed at any byte ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The two files of a small database, and where the records end."""
    folder = tmp_path_factory.mktemp("small")
    base = TraceDatabase(work_dir=folder)
    ends = []
    for number, target in enumerate((None, LLVM, LLVM)):
        base.commit_tuning_record(
            record_of(base, MODULES[0], TRACES[0][2 * (number % 2)], [1.0], target)
        )
        ends.append((folder / RECORDS).stat().st_size)
    base.commit_workload(MODULES[1])
    return (folder / WORKLOADS).read_bytes(), (folder / RECORDS).read_bytes(), ends


def test_a_kill_while_a_record_is_written(small, tmp_path):
    """Cut at every byte: opens, has the whole records, and goes on behind them."""
    workloads, records, ends = small
    (tmp_path / WORKLOADS).write_bytes(workloads)
    for cut in range(len(records) + 1):
        (tmp_path / RECORDS).write_bytes(records[:cut])
        base = TraceDatabase(work_dir=tmp_path)
        whole = sum(end <= cut for end in ends)
        assert len(base) == whole, cut
        assert (tmp_path / RECORDS).read_bytes() == records[:cut]
        base.commit_tuning_record(record_of(base, MODULES[0], TRACES[0][0], [2.0], TARGETS[2]))
        content = (tmp_path / RECORDS).read_bytes()
        assert content.startswith(records[: ([0, *ends][whole])])
        opened = TraceDatabase(work_dir=tmp_path)
        assert len(opened) == whole + 1
        if cut % 16 == 0:
            decode_file(tmp_path / RECORDS, tmp_path / "log.json")
            last = opened.get_all_tuning_records()[-1]
            assert exact(last) == exact(base.get_all_tuning_records()[-1])


def test_a_kill_while_a_workload_is_written(small, tmp_path):
    """Cut at many bytes: workloads that are whole are there, and others can be committed."""
    workloads, _, _ = small
    ends = [at + 1 for at, byte in enumerate(workloads) if byte == ord("\n")]
    for cut in {*range(0, len(workloads) + 1, 7), *ends, *(end - 1 for end in ends), *range(30)}:
        (tmp_path / WORKLOADS).write_bytes(workloads[:cut])
        base = TraceDatabase(work_dir=tmp_path)
        there = [base.has_workload(module) for module in MODULES[:2]]
        assert there == [end <= cut for end in ends[1:]], cut
        for module in MODULES[:2]:
            base.commit_workload(module)
        assert (tmp_path / WORKLOADS).read_bytes() == workloads


def test_a_process_that_is_killed(tmp_path):
    """SIGKILL in the middle of its commits: all that it reported is there."""
    code = WORKER.format(path=[str(ROOT / "tests")], steps=10**6)
    process = subprocess.Popen(
        [sys.executable, "-c", code, "0", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()
    reported = [int(process.stdout.readline()) for _ in range(20)]
    process.kill()
    reported += map(int, process.communicate()[0].split())
    opened = TraceDatabase(work_dir=tmp_path)
    assert len(opened) - len(reported) in (0, 1)
    found = {record.run_secs[0].value for record in opened.get_all_tuning_records()}
    assert found >= {step / 64 for step in reported}


def test_a_full_disk(tmp_path):
    """A write that comes to an end half way is an error, and undone by the next."""
    base = TraceDatabase(work_dir=tmp_path)
    record = record_of(base, MODULES[0], TRACES[0][0], [1.0])
    base.commit_tuning_record(record)
    size = (tmp_path / RECORDS).stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5, limits[1]))
    try:
        with pytest.raises(OSError, match="No space left") as caught:
            base.commit_tuning_record(record)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == str(tmp_path / RECORDS)
    assert (tmp_path / RECORDS).stat().st_size == size + 5
    assert len(base) == 1
    base.commit_tuning_record(record)
    assert len(base) == len(TraceDatabase(work_dir=tmp_path)) == 2


# --- hostile files --------------------------------------------------------------------------

HEADER = "tracescript 1\n"
RECORD = "# target null\n# record 0\n# run_secs [1.0]\n# args_info null\n"
BLOCK = 'GetSBlock | "C" "main" -> b\n\n'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[0,[[[],[]],null,null,null]]\n", 1, "the file does not begin with 'tracescript 1'"),
        ("[", 1, "if it is of a JSONDatabase, encode_database makes a .trace file of it"),
        ("tracescript 2\n", 1, "the file does not begin with 'tracescript 1'"),
        (HEADER + "GetLoops -> l2\n", 1, "expected the index of a workload, found NoneType"),
        (HEADER + "# trace\n\n", 2, "expected the index of a workload, found NoneType"),
        (HEADER + RECORD + '\n# text "oops"\n', 7, "this line is no record: it is not JSON"),
        (HEADER + '# text "tracescript 1"\n', 2, "expected a tuning record, found another line"),
        (HEADER + '# text "[[],[]]"\n', 2, "expected the index of a workload, found NoneType"),
        (HEADER + RECORD + "\n# nonsense\n# record 0", 7, "cannot read '# nonsense'"),
        (
            HEADER + RECORD + "\n" + RECORD.replace("0\n", "1\n") + "\n",
            8,
            "there is no workload 1, only 1",
        ),
        (HEADER + RECORD.replace("0\n", "-1\n") + "\n", 3, "there is no workload -1, only 1"),
        (HEADER + RECORD.replace("0\n", "0.0\n") + "\n", 3, "found float"),
        (HEADER + RECORD.replace("0\n", "true\n") + "\n", 3, "found bool"),
        (HEADER + RECORD.replace("[1.0]", "[true]") + "\n", 3, "null or a list of run times"),
        (HEADER + RECORD.replace("[1.0]", "1.0") + "\n", 3, "null or a list of run times"),
        (HEADER + RECORD.replace("[1.0]", f"[{10**309}]") + "\n", 3, "null or a list of run times"),
        (HEADER + RECORD.replace("[1.0]", "[1.0") + "\n", 3, "column 5"),
    ],
)
def test_bad_records_are_refused_when_a_file_is_opened(text, line, message, small, tmp_path):
    (tmp_path / WORKLOADS).write_bytes(
        small[0].partition(b"\n")[0] + b"\n" + small[0].split(b"\n")[1] + b"\n"
    )
    (tmp_path / RECORDS).write_text(text)
    with pytest.raises(TraceFileError) as caught:
        TraceDatabase(work_dir=tmp_path)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / RECORDS), line)
    assert message in caught.value.message
    assert (tmp_path / RECORDS).read_text() == text


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (RECORD + "Get SBlock\n\n", 6, "column"),
        (RECORD + BLOCK.replace("GetSBlock", "NoSuchKind"), 3, "NoSuchKind"),
        (RECORD.replace("null\n# record", "[1]\n# record") + BLOCK, 3, ""),
        (RECORD.replace("null\n# record", '{"kind": "x"}\n# record') + BLOCK, 3, ""),
        (RECORD.replace("args_info null", "args_info [1]") + BLOCK, 3, ""),
        (RECORD.replace("args_info null", "args_info 1 2") + BLOCK, 3, "column 2"),
    ],
)
def test_bad_records_are_refused_when_they_are_asked_for(text, line, message, small, tmp_path):
    """And not before: one of them does not keep anyone from the others."""
    (tmp_path / WORKLOADS).write_bytes(small[0])
    (tmp_path / RECORDS).write_text(HEADER + text)
    base = TraceDatabase(work_dir=tmp_path)
    faster = record_of(base, MODULES[0], TRACES[0][0], [0.5], LLVM)
    base.commit_tuning_record(faster)
    assert base.get_top_k(faster.workload, 1)[0].same_as(faster)
    for ask in (lambda: base.get_top_k(faster.workload, 2), base.get_all_tuning_records):
        with pytest.raises(TraceFileError) as caught:
            ask()
        assert (caught.value.file, caught.value.line) == (str(tmp_path / RECORDS), line)
        assert message in caught.value.message


def test_an_error_that_passes_through_tvm_keeps_its_message(small, tmp_path):
    (tmp_path / WORKLOADS).write_bytes(small[0])
    (tmp_path / RECORDS).write_text(HEADER + RECORD + "Get SBlock\n\n")
    base = TraceDatabase(work_dir=tmp_path)
    with pytest.raises(RuntimeError, match=rf"{RECORDS}:6: column 5: 'S' cannot stand"):
        base.query_schedule(MODULES[0], LLVM, "main")


def packed(data, more=b""):
    """A line of the workload file with any bytes in it."""
    packed = zlib.compress(len(data).to_bytes(8, "little") + data) + more
    return f"1 {b85encode(packed).decode()}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\n", "a hash, a blank and a module in base 85"),
        ("1 \x7f\n", "a hash, a blank and a module in base 85"),
        ("x VPaz\n", "a hash, a blank and a module in base 85"),
        ("1 ~~~~~\n", "found damaged data"),
        ("1 00000\n", "found damaged data"),
        (packed(b"{}")[:-2] + "\n", "damaged data|more or less"),
        (packed(b"{}", b"more"), "more or less than one module"),
        (packed(b"{}"), "TVM cannot read this module"),
        (packed(b"x"), "TVM cannot read this module"),
        (packed(b"\xff"), "TVM cannot read this module"),
        (packed(b"[" * 10**6), "TVM cannot read this module: maximum recursion"),
        (packed(b'{"root_index":0,"nodes":[{"type":"None"}]}'), "this module: it is null"),
        (packed(b'{"root_index":0,"nodes":[{"type":"int","data":1}]}'), "TVM cannot read"),
    ],
)
def test_bad_workloads_are_refused_when_a_file_is_opened(line, message, small, tmp_path):
    good = small[0].splitlines(keepends=True)
    (tmp_path / WORKLOADS).write_bytes(good[0] + good[1] + line.encode() + good[2])
    with pytest.raises(TraceFileError, match=message) as caught:
        TraceDatabase(work_dir=tmp_path)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / WORKLOADS), 3)


def test_a_bomb_is_not_unpacked(tmp_path):
    bomb = zlib.compress(bytes(MAX_MODULE + 1), 9)
    line = b"1 " + b85encode(bomb) + b"\n"
    assert len(line) < 100_000
    (tmp_path / WORKLOADS).write_bytes(b"tracescript workloads 1\n" + line)
    with pytest.raises(TraceFileError, match="more or less than one module"):
        TraceDatabase(work_dir=tmp_path)


def test_a_module_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tracescript.tvm.database.workloads.MAX_MODULE", 1000)
    base = TraceDatabase(work_dir=tmp_path)
    with pytest.raises(TraceFileError, match="the JSON of a module") as caught:
        base.commit_workload(MODULES[0])
    assert (caught.value.file, caught.value.line) == (str(tmp_path / WORKLOADS), 2)
    assert not base.has_workload(MODULES[0])


def test_files_that_something_else_has_written(tmp_path, small):
    base = TraceDatabase(work_dir=tmp_path)
    record = record_of(base, MODULES[0], TRACES[0][0], [1.0])
    base.commit_tuning_record(record)
    (tmp_path / RECORDS).write_text(HEADER)
    with pytest.raises(TraceFileError, match="the file is shorter than it was") as caught:
        base.commit_tuning_record(record)
    assert caught.value.line == 13
    assert (tmp_path / RECORDS).read_text() == HEADER
    (tmp_path / RECORDS).write_bytes(small[1] + b"nonsense\n")
    with pytest.raises(TraceFileError, match="# record") as caught:
        TraceDatabase(work_dir=tmp_path)
    assert caught.value.line == small[1].count(b"\n") + 1


# --- the workload file on its own -----------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "[]\n",
        '["1","AAAA"]',
        '["1", "AAAA"]\n',
        '["x","AAAA"]\n',
        '["1","AAA"]\n',
        '["1","AAB="]\n',
        '["1","====="]\n',
        '["1","A==="]\n',
    ],
)
def test_lines_that_are_no_workloads_of_tvm(line, tmp_path):
    (tmp_path / "json").write_text('["1","AAAA"]\n' + line)
    with pytest.raises(TraceFileError, match="a workload as TVM writes it") as caught:
        db.encode_workloads(tmp_path / "json", tmp_path / "b85")
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "json"), 2)
    assert not (tmp_path / "b85").exists()


@pytest.mark.parametrize("size", range(12))
def test_any_bytes_in_base_64(size, tmp_path):
    data = random.Random(size).randbytes(size + 1)
    log = b'["%d","%s"]\n' % (2**64 - 1, b64encode(data)) * 2
    (tmp_path / "json").write_bytes(log)
    db.encode_workloads(tmp_path / "json", tmp_path / "b85")
    db.decode_workloads(tmp_path / "b85", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == log


def test_a_workload_file_that_was_cut_off_is_not_decoded(small, tmp_path):
    for cut, line in ((len(small[0]) - 1, 3), (30, 2), (5, 1)):
        (tmp_path / "b85").write_bytes(small[0][:cut])
        with pytest.raises(TraceFileError) as caught:
            db.decode_workloads(tmp_path / "b85", tmp_path / "json")
        assert (caught.value.file, caught.value.line) == (str(tmp_path / "b85"), line)
