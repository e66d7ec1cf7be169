"""The distribution: built from the sdist, installed alone, it decodes a trace."""

import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest

from corpora import ROOT
from tracescript.instructions import RELEASES


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", out, ROOT], check=True)
    (found,) = out.glob("*.whl")
    return found


def test_the_wheel_carries_the_grammars_byte_for_byte(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        prefix = "tracescript/grammar/"
        packed = {
            name.removeprefix(prefix): archive.read(name)
            for name in names
            if name.startswith(prefix)
        }
    folder = ROOT / "grammar"
    assert packed == {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in [*folder.glob("*.lark"), *folder.glob("strict/*.lark")]
    }
    assert len(packed) == 2 + len(RELEASES)
    assert "tracescript/py.typed" in names
    pages = ("page.html", "page.css", "page.js", "notebook.css")
    assert {f"tracescript/pictures/{name}" for name in pages} <= set(names)
    assert {name.split("/")[0] for name in names} == {
        "tracescript",
        wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info",
    }


def test_the_sdist_has_what_its_tests_need(wheel):
    (sdist,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"grammar/tracescript.lark", "tests/test_laws.py", "LICENSE", "README.md"} <= names


def test_a_venv_with_only_the_wheel_decodes(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", wheel], check=True, cwd=tmp_path)
    (tmp_path / "log.trace").write_text("tracescript 1\nGetLoops -> l2\n")
    command = [python, "-m", "tracescript", "decode", "log.trace"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == '[[["GetLoops",[],[],["l0","l1"]]],[]]\n'
    code = "import tracescript; assert 'get_sblock' in tracescript.grammar_text(tvm='0.27')"
    subprocess.run([python, "-c", code], cwd=tmp_path, check=True)
    # An error needs the grammar.
    (tmp_path / "log.trace").write_text("tracescript 1\nGetLoops  -> l2\n")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.split("\n")[0]) == (
        1,
        "tracescript: log.trace:2: column 10: a second blank; items are one blank apart",
    )
    code = "import sys, tracescript; assert not {'tvm', 'numpy', 'lark'} & sys.modules.keys()"
    subprocess.run([python, "-W", "error", "-c", code], cwd=tmp_path, check=True)
