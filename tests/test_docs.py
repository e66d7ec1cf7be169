"""The documentation does what it shows. Its Python sessions run as doctests; here is the rest.

A block of scripts that ends with a line `// ERROR` fails with that error.
"""

import doctest
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corpora import ROOT
from tracescript import TraceSyntaxError, decode_file, dumps, from_json, loads

# benchmarks.md is written by `make bench`: what it shows differs from run to run.
PAGES = [
    path
    for pattern in ("*.md", "docs/*.md", "grammar/*.md", "training/*.md")
    for path in sorted(ROOT.glob(pattern))
    if path.name != "benchmarks.md"
]
# A block of `bash` installs or develops something: it is not run.
LANGUAGES = {"bash", "console", "json", "pycon", "text", "tracescript"}

_FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"<!-- checked: (\w+) -->\n\n((?:\|.*\n)+)")
_TEST_NAME = re.compile(r"tests/(\w+\.py)(?:::(\w+))?")
_SCOPE = 'tracescript 1\nGetSBlock | "C" "main" -> b\nGetLoops b-1 -> l3\n'


def blocks(language):
    """One parameter a block, named after its page and line."""
    return [
        pytest.param(match[2], id=f"{path.relative_to(ROOT)}:{line_of(match)}")
        for path in PAGES
        for match in _FENCE.finditer(path.read_text())
        if match[1] == language
    ]


def line_of(match):
    return match.string.count("\n", 0, match.start()) + 1


def rows(table):
    """The cells of a table of the format page, without their code marks."""
    (text,) = [
        match[2]
        for match in _TABLE.finditer((ROOT / "docs" / "format.md").read_text())
        if match[1] == table
    ]
    lines = [row.split("|")[1:-1] for row in text.splitlines()[2:]]
    return [[cell.strip().strip("`") for cell in cells] for cells in lines]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages(path):
    """Only blocks that some test understands, and only tests that exist."""
    text = path.read_text()
    assert text.count("```") == 2 * len(_FENCE.findall(text))
    assert {match[1] for match in _FENCE.finditer(text)} <= LANGUAGES
    assert "\u2014" not in text
    for file, function in _TEST_NAME.findall(text):
        assert f"def {function}" in (ROOT / "tests" / file).read_text(), function


@pytest.mark.parametrize("text", blocks("tracescript"))
def test_scripts(text):
    script, is_error, message = text.partition("// ")
    if is_error:
        with pytest.raises(TraceSyntaxError) as caught:
            loads(script)
        assert str(caught.value).split("\n")[0] == message.rstrip("\n")
    elif "\n# " in script:
        decode_file(io.BytesIO(script.encode()), io.BytesIO())
    else:
        assert dumps(loads(script)) == script


@pytest.mark.parametrize("text", blocks("json"))
def test_json(text):
    json.loads(text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sessions(path, tmp_path):
    """The commands of a page, one block after the other, in a folder with the recorded logs."""
    for folder in ("tests/corpus", "grammar/examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for match in _FENCE.finditer(path.read_text()):
        if match[1] == "console":
            commands, expected = session(match[2])
            for command, want, got in zip(
                commands, expected, outputs(commands, tmp_path), strict=True
            ):
                checker = doctest.OutputChecker()
                assert checker.check_output(want, got, doctest.ELLIPSIS), (
                    f"{path.name}:{line_of(match)}: $ {command}\nexpected:\n{want}\ngot:\n{got}"
                )


def session(text):
    """The commands of a block, and what each of them prints; a line `> ` continues a command."""
    commands, expected = [], []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
            expected.append("")
        elif line.startswith(">") and not expected[-1]:
            commands[-1] += "\n" + line[2:]
        else:
            expected[-1] += line + "\n"
    return commands, expected


def outputs(commands, folder):
    """What one shell prints for each command, on both streams."""
    mark = "--- end of command ---"
    script = "".join(
        f"{command}\nstatus=$?; echo '{mark}'; (exit $status)\n" for command in commands
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash"],
        input=script.encode(),
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.stdout.decode().replace("\r", "").split(mark + "\n")[:-1]


@pytest.mark.parametrize(("value", "text", "_note"), rows("inputs"))
def test_table_of_inputs(value, text, _note):
    both_ways(["K", [json.loads(value)], [], []], f"K {text}", before=["D", [], [], ["b0"]])


@pytest.mark.parametrize(("value", "text"), rows("values"))
def test_table_of_values(value, text):
    both_ways(["K", [], [json.loads(value)], []], f"K | {text}")


@pytest.mark.parametrize(("value", "text"), rows("instructions"))
def test_table_of_instructions(value, text):
    both_ways(json.loads(value), text)


def both_ways(inst, text, before=None):
    first, insts = ("D -> b\n", [before, inst]) if before else ("", [inst])
    trace = from_json([insts, []])
    script = f"tracescript 1\n{first}{text}\n"
    assert dumps(trace) == script
    assert loads(script) == trace


@pytest.mark.parametrize(("written", "error", "meant"), rows("mistakes"))
def test_table_of_mistakes(written, error, meant):
    with pytest.raises(TraceSyntaxError) as caught:
        loads(f"{_SCOPE}{written}\n")
    assert f"column {caught.value.column}: {caught.value.message}" == error
    loads(f"{_SCOPE}{meant}\n")
