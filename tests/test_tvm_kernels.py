"""Files of kernels: what is read, what is run of them, and what is said of others."""

import textwrap

import pytest

from tracescript.workloads import WorkloadError

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

import tvm_cases  # noqa: E402
from tracescript.tvm.kernels import read_json, read_tvmscript  # noqa: E402

HEAD = "from tvm.script import ir as I\nfrom tvm.script import tirx as T\n\n"


def function(name="scale", factor="2.0", decorator="@T.prim_func(s_tir=True)"):
    return textwrap.dedent(
        f"""\
        {decorator}
        def {name}(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
            for i in range(N):
                with T.sblock("B"):
                    v = T.axis.spatial(N, i)
                    B[v] = A[v] * T.float32({factor})
        """
    )


def names(module):
    return [str(name.name_hint) for name in module.functions]


def fault(read, *arguments):
    with pytest.raises(WorkloadError) as caught:
        read(*arguments)
    return str(caught.value)


def test_what_tvm_prints_is_read():
    for module in tvm_cases.modules("llvm"):
        tvm.ir.assert_structural_equal(read_tvmscript(module.script(), "k.py"), module)
        (function,) = module.functions.values()
        tvm.ir.assert_structural_equal(read_json(tvm.ir.save_json(module), "k.json"), module)
        tvm.ir.assert_structural_equal(read_json(tvm.ir.save_json(function), "k.json"), module)


def test_a_program_is_not_run_beside_its_functions(tmp_path):
    mark = tmp_path / "ran"
    program = f"""\
        import nonexistent
        from tvm.script import tirx as T
        N: int = open({str(mark)!r}, "w").close() or 3
        N = M = 128
        K, L = 1, 2
        rest = [open({str(mark)!r}, "w")]

        def helper():
            return N

        @helper
        class Other: pass

        if __name__ == "__main__":
            raise SystemExit
        """
    module = read_tvmscript(textwrap.dedent(program) + function(), "k.py")
    assert names(module) == ["scale"]
    assert [int(size) for size in module["scale"].params[0].ty.shape] == [128]
    assert not mark.exists()


def test_one_function_is_chosen_by_its_name():
    text = HEAD + "N = 8\n" + function() + function("other")
    assert names(read_tvmscript(text, "k.py", "other")) == ["other"]
    assert fault(read_tvmscript, text, "k.py") == (
        "k.py: expected one TIR function, or the name of one, found scale, other"
    )
    assert fault(read_tvmscript, text, "k.py", "third") == (
        'k.py: expected a TIR function "third", found scale, other'
    )
    module = "N = 8\n@I.ir_module\nclass Module:\n" + textwrap.indent(function(), "    ")
    assert names(read_tvmscript(HEAD + module, "k.py")) == ["scale"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected one TIR function, or the name of one, found none"),
        ("def f(:", "expected TVMScript, which is Python, found invalid syntax"),
        ("a\0b", "expected TVMScript, which is Python, found"),
        ("(" * 300, "expected TVMScript, which is Python, found"),
        (HEAD + function(), "expected what TVM's parser takes, found"),
        (HEAD + "N = 8\n" + function(factor="1/0"), "expected what TVM's parser takes, found"),
        (HEAD + "N = 8\n" + function(factor="nowhere"), "k.py"),
    ],
)
def test_what_is_no_kernel(text, said):
    found = fault(read_tvmscript, text, "k.py")
    assert found.startswith("k.py: ")
    assert said in found
    assert "\n" not in found


def test_errors_of_the_parser_have_the_line_of_the_file():
    text = HEAD + "N = 8\n" + function(factor="nowhere")
    (line,) = [at for at, each in enumerate(text.split("\n"), 1) if "nowhere" in each]
    assert f":{line}:" in fault(read_tvmscript, text, "k.py")


@pytest.mark.parametrize("text", ["", "{", "null", "5", '{"a": 1}', "[" * 100_000])
def test_what_is_no_json_of_tvm(text):
    found = fault(read_json, text, "k.json")
    assert found.startswith("k.json: expected JSON of TVM's, found ")
    assert "\n" not in found


def test_json_of_something_else():
    text = tvm.ir.save_json(tvm.tirx.IntImm("int32", 1))
    assert "expected one TIR function" in fault(read_json, text, "k.json")
