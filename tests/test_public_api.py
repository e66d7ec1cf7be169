"""What `import tracescript` promises."""

import inspect
import os
import subprocess
import sys
import textwrap

import pytest

import tracescript
from corpora import ROOT


def run(code, **options):
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def test_the_public_names():
    for name in tracescript.__all__:
        assert getattr(tracescript, name) is not None
    public = {name for name in vars(tracescript) if not name.startswith("_")}
    modules = {name for name in public if isinstance(vars(tracescript)[name], type(sys))}
    assert public - modules == set(tracescript.__all__)


def test_everything_public_has_a_docstring_and_a_page():
    reference = (ROOT / "docs" / "reference.md").read_text()
    for name in tracescript.__all__:
        value = getattr(tracescript, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name
        assert f"::: tracescript.{name}\n" in reference, name


def seconds_of(statement):
    """Processor time that the statement takes in a new process, in which nothing is traced."""
    code = f"""
        import sys, time
        start = time.process_time()
        {statement}
        print(time.process_time() - start)
        heavy = {{"tvm", "numpy", "lark", "hypothesis", "tqdm", "torch"}} & sys.modules.keys()
        assert not heavy, heavy
    """
    untraced = {name: value for name, value in os.environ.items() if "COV" not in name}
    return float(run(code, env=untraced))


def test_importing_is_cheap():
    """No TVM, no numpy, no Lark; and when undisturbed less than thrice what `asyncio` takes.

    That is 100 ms or less on a usual machine. The slowest ones take four times as long for
    everything, hence a ratio.
    """
    ours, asyncio = [], []
    for _ in range(30):
        ours.append(seconds_of("import tracescript"))
        asyncio.append(seconds_of("import asyncio"))
        if min(ours) < 3 * min(asyncio):
            return
    pytest.fail(f"{min(ours)} s; asyncio: {min(asyncio)} s")


def test_the_library_does_not_import_training():
    for path in (ROOT / "src").rglob("*.py"):
        assert "import training" not in path.read_text(), path


def test_values_can_be_matched_and_hashed():
    trace = tracescript.loads('tracescript 1\nSplit @"l0" null 4 | 1.0 {"k": [true]} = nan\n')
    match trace.insts[0]:
        case tracescript.Instruction(kind="Split", inputs=(tracescript.RV("l0"), None, int(4))):
            pass
        case other:
            pytest.fail(f"no match for {other}")
    assert len({trace, tracescript.loads(tracescript.dumps(trace))}) == 1
    for part in (trace, trace.insts[0], trace.decisions[0], trace.insts[0].inputs[0]):
        assert part == part
        assert part != "another type"
    with pytest.raises(AttributeError):
        trace.insts = ()


@pytest.mark.parametrize("name", ["None", '"x"', '""', "{", '{"a": 1}'])
def test_names_that_mean_something_else_are_no_random_variables(name):
    with pytest.raises(ValueError, match="not the name of a random variable"):
        tracescript.RV(name)


@pytest.mark.parametrize("text", ["", "x", '"{}"'])
def test_index_maps_are_json_objects(text):
    with pytest.raises(ValueError, match="not the JSON text of an object"):
        tracescript.IndexMap(text)


def test_traces_share_nothing_that_can_change():
    """Not with the JSON they came from or go to, and not with each other."""
    script = 'tracescript 1\nA {"k": [1 {"k": 1}]} | {"k": 1} = {"k": 1}\n'
    value = tracescript.to_json(tracescript.loads(script))
    traces = [
        tracescript.loads(script),
        tracescript.loads(script),
        tracescript.from_json(value),
        tracescript.from_json(value),
    ]
    inst = traces[0].insts[0]
    for part in (inst.inputs[0], inst.attrs[0], traces[0].decisions[0].value):
        part["k"] = "changed"
    value[0][0][2][0]["k"] = value[0][0][1][0]["k"][1]["k"] = value[1][0][1]["k"] = "changed"
    tracescript.to_json(traces[1])[0][0][2][0]["k"] = "changed"
    assert [tracescript.dumps(trace) for trace in traces[1:]] == [script] * 3
