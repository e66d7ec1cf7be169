"""Workloads of live modules: what is read of a module makes the same module again."""

from random import Random

import pytest

from tracescript import masks
from tracescript.errors import WorkloadError
from tracescript.workloads import (
    OPERATORS,
    Attribute,
    Axis,
    Block,
    Buffer,
    Cast,
    Const,
    Load,
    Op,
    Output,
    Reinterpret,
    Var,
    Workload,
    dumps,
    loads,
    with_dtypes,
)

tvm = pytest.importorskip("tvm", reason="the extra `tvm` is not installed")

from training.workloads.families import FAMILIES, RECOMMENDER, WITH_WEIGHT  # noqa: E402
from training.workloads.spaces import module as build  # noqa: E402
from training.workloads.workload import TARGETS  # noqa: E402
from training.workloads.workload import Workload as Drawn  # noqa: E402
from tvm import te, tirx, topi  # noqa: E402
from tvm.script import ir as I  # noqa: E402, N812 - TVMScript's convention
from tvm.script import tirx as T  # noqa: E402, N812
from tvm.target import Target  # noqa: E402
from tvm_ffi import structural_equal  # noqa: E402

import tvm_cases  # noqa: E402
from tracescript.tvm import module_of, task_of, workload_of  # noqa: E402

FLOATS = dict.fromkeys(["float16", "float32"], "float64")


def check(module, target=None):
    """All laws for a module that has a form; gives its text."""
    workload = workload_of(module, target)
    text = dumps(workload)
    assert loads(text) == workload
    assert dumps(loads(text)) == text
    rebuilt = module_of(loads(text))
    assert structural_equal(rebuilt, module)
    assert task_of(rebuilt) == task_of(module) == masks.task_of(workload)
    assert workload_of(rebuilt, target) == workload
    return text


def made(*tensors):
    return tvm.IRModule({"main": te.create_prim_func(tensors).with_attr("global_symbol", "main")})


def placeholder(*shape, dtype="float32", name="A"):
    return te.placeholder(shape, dtype, name=name)


@pytest.mark.parametrize("name", FAMILIES | RECOMMENDER)
def test_families(name):
    """A few draws of each family, and the float64 reference of each."""
    rng = Random(name)
    for _ in range(4):
        target = rng.choice(list(TARGETS))
        layout_free = name in WITH_WEIGHT and rng.random() < 0.5
        arguments = (FAMILIES | RECOMMENDER)[name].arguments(rng)
        module = build(Drawn(name, arguments, target, "cuda", layout_free, 0))
        text = check(module, TARGETS[target][0])
        blocks = [block.name for block in loads(text).blocks]
        assert set(blocks) <= {block.name for block in task_of(module).blocks}
        reference = with_dtypes(loads(text), FLOATS)
        assert workload_of(module_of(reference), TARGETS[target][0]) == reference


@pytest.mark.parametrize("log", ["cuda", "llvm"])
def test_recorded_modules(log):
    for module in tvm_cases.modules(log):
        check(module)


FORMLESS = {
    "two_functions": "the module: expected one function, of TIR, found main, helper",
    "merge_loops": "the function: expected one block in its loops, found SeqStmt",
    "cache_in_place": 'block "update": expected iteration variables bound to the loops, in order, '
    "found other bindings",
    "buffer_accesses": "reads[0].region[0].min: expected what TVM makes of the same computation, "
    "found something else",
    "hide_two_accesses": "reads[0].region[0].min: expected what TVM makes of the same "
    "computation, found something else",
    "blockize_blocks": "the function: expected one block in its loops, found SeqStmt",
}


@pytest.mark.parametrize("example", tvm_cases.EXAMPLES, ids=lambda example: example.name)
def test_examples(example):
    """Hand-written modules have a form if they are like what `te.create_prim_func` makes."""
    if example.name not in FORMLESS:
        check(example.module)
        return
    with pytest.raises(WorkloadError) as caught:
        workload_of(example.module)
    assert str(caught.value).endswith(FORMLESS[example.name])


def test_a_text_is_what_the_module_says():
    a, b = placeholder(128, 64, dtype="float16"), placeholder(64, 256, dtype="float16", name="B")
    axis = te.reduce_axis((0, 64))
    product = te.compute(
        (128, 256),
        lambda i, j: te.sum(a[i, axis].astype("float32") * b[axis, j].astype("float32"), axis),
        name="C",
    )
    assert check(made(a, b, product, topi.nn.relu(product)), "nvidia/nvidia-h100") == (
        "h100\n"
        "@ params(A B C D)\n"
        'A "A" "float16" 128 64\n'
        'B "B" 64 256\n'
        'C "C" "float32" 128 256 | 64: +/A[ik] "float32"*B[kj] "float32"\n'
        'D "compute": max(C,0)\n'
    )


def test_scalars():
    total = topi.sum(placeholder(3, 4))
    assert check(made(placeholder(3, 4, name="B"), total.op.input_tensors[0], total)) == (
        'A "B" "float32" 3 4\nB "A"\nC "A_red" | 3 4: +/B[ij]\n'
    )
    constant = te.compute((), lambda: tirx.const(3.0, "float32"), name="three")
    scaled = te.compute((4,), lambda i: constant[()] * i.astype("float32"), name="scaled")
    assert check(made(scaled)) == ('A "three" "float32" |: 3\nB "scaled" 4: A[]*i "float32"\n')


def test_buffers_of_one_name():
    """The block has a number, the buffer does not."""
    once = te.compute((4,), lambda i: placeholder(4)[i] + 1, name="T_add")
    twice = te.compute((4,), lambda i: once[i] + 1, name="T_add")
    module = made(*once.op.input_tensors, twice)
    assert check(module) == 'A "A" "float32" 4\nB "T_add": A+1\nC "T_add_1": B+1\n'
    root = module_of(loads(check(module)))["main"].body.block
    assert [str(buffer.name) for buffer in root.alloc_buffers] == ["T_add"]


def test_dependent_extents():
    text = check(made(a := placeholder(1, 2, 7, 7), topi.nn.adaptive_pool(a, (3, 3), "max")))
    (block,) = loads(text).blocks
    assert block.name == "adaptive_pool_max"
    assert [isinstance(axis.extent, int) for axis in block.axes] == [True] * 4 + [False] * 2


X, Y = placeholder(3, 4, name="X"), placeholder(3, 4, name="Y")
Z = placeholder(4, dtype="int32", name="Z")


def plane(function):
    return te.compute((3, 4), function)


def row(function):
    return te.compute((4,), function)


@pytest.mark.parametrize(
    "tensors",
    [
        (Y, X, plane(lambda i, j: X[i, j] - Y[i, j])),
        (X, topi.argmax(X, 1)),
        (X, Y, topi.logical_and(topi.greater(X, Y), topi.logical_not(topi.equal(X, Y)))),
        (X, topi.isinf(X), topi.isnan(X)),
        (X, plane(lambda i, j: tirx.if_then_else(i < 2, X[i, j], -tirx.infinity("float32")))),
        (X, plane(lambda i, j: tirx.ceil(tirx.log2(X[i, j])) + tirx.power(X[i, j], 2.0))),
        (X, plane(lambda i, j: tirx.reinterpret("int32", X[i, j]) + tirx.max(i, j))),
        (Z, row(lambda i: (Z[i] << 2) ^ ~(Z[i] | 3) & tirx.popcount(Z[i]))),
        (Z, row(lambda i: tirx.clz(Z[i]) + tirx.truncmod(Z[i], 3) + tirx.truncdiv(Z[i], 3))),
        (topi.full((2, 3), "float16", 1.5), topi.arange(0, 10, 1, "int32")),
    ],
)
def test_operators(tensors):
    check(made(*tensors))


def test_every_operator_can_be_built():
    """For one dtype or another: not each operator takes each."""
    for name, operator in OPERATORS.items():
        assert any(is_built(name, operator, dtype) for dtype in ("float32", "int32", "bool")), name


def is_built(name, operator, dtype):
    value = Load(0, (Var(0),))
    condition = Op("<", (Var(0), Const(2, "int32")))
    operands = {
        "alike": (value,) * operator.arity,
        "choice": (condition, value, value),
        "bool": (condition,) * operator.arity,
    }[operator.operands]
    result = "bool" if operator.result == "bool" else dtype
    output = Output(Buffer("B", result, (4,)), (Var(0),), Op(name, operands))
    workload = Workload(
        (Buffer("A", dtype, (4,)),), (Block("B", (Axis("S", 4),), (output,)),), (0, 1)
    )
    try:
        return workload_of(module_of(workload)) == workload
    except WorkloadError:
        return False


def test_targets():
    module = tvm_cases.modules("llvm")[0]
    assert workload_of(module).target is None
    assert workload_of(module, "llvm").target == "llvm"
    options = {"num-cores": 4, "kind": "llvm", "mattr": ["+dotprod"]}
    entries = (
        Attribute("kind", "llvm"),
        Attribute("mattr", ("+dotprod",)),
        Attribute("num-cores", 4),
    )
    assert workload_of(module, options).target == entries
    exported = workload_of(module, Target(options)).target
    assert set(entries) <= set(exported)
    assert structural_equal(
        Target({attr.key: plain(attr.value) for attr in exported}), Target(options)
    )


def plain(value):
    return list(value) if isinstance(value, tuple) else value


def test_a_fast_exponential_in_float64():
    """The bits that it makes of an integer are still those of a float32."""
    module = made(X, topi.fast_exp(X))
    wide = module_of(with_dtypes(workload_of(module), FLOATS))
    script = wide.script()
    assert 'T.reinterpret("float32"' in script
    assert 'T.Cast("float64", T.reinterpret("float32"' in script
    tvm.compile(wide, "llvm")


# What has no form.


@T.prim_func(s_tir=True)
def threads(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, "threadIdx.x"):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            b[vi] = a[vi]


@T.prim_func(s_tir=True)
def annotated(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in T.serial(8, annotations={"k": 1}):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            b[vi] = a[vi]


@T.prim_func(s_tir=True)
def predicated(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            T.where(i < 7)
            b[vi] = a[vi]


@T.prim_func(s_tir=True)
def shifted(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in range(7):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i + 1)
            b[vi] = a[vi]


@T.prim_func(s_tir=True)
def swapped(a: T.Buffer((8, 8), "float32"), b: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [j, i])
            b[vi, vj] = a[vi, vj]


@T.prim_func(s_tir=True)
def matched(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            part = T.match_buffer(a[vi], (1,), offset_factor=1)
            b[vi] = part[0]


@T.prim_func(s_tir=True)
def allocating(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            own = T.sblock_alloc_buffer((1,))
            own[0] = a[vi]
            b[vi] = own[0]


@T.prim_func(s_tir=True)
def opaque(a: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            T.reads()
            T.writes(a[vi])
            T.evaluate(T.call_extern("int32", "f", vi))


@T.prim_func(s_tir=True)
def extern(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            b[vi] = T.call_extern("float32", "a_function_of_a_very_long_name", a[vi])


@T.prim_func(s_tir=True, check_well_formed=False)
def outside(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            b[vi] = a[i]


@T.prim_func(s_tir=True)
def ordered(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.scan(8, i)
            b[vi] = a[vi]


@T.prim_func(s_tir=True)
def two_stores(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            b[vi] = a[vi]
            b[vi] = b[vi] + T.float32(1)


@T.prim_func(s_tir=True)
def two_inits(a: T.Buffer((8, 8), "float32"), b: T.Buffer((8,), "float32")):
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                b[vi] = T.float32(1)
                b[vi] = T.float32(0)
            b[vi] = b[vi] + a[vi, vj]


@T.prim_func(s_tir=True)
def in_place(a: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("A"):
            vi = T.axis.remap("S", [i])
            a[vi] = a[vi] + T.float32(1)
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            a[vi] = a[vi] + T.float32(1)


@T.prim_func(s_tir=True)
def strided(a: T.Buffer((8,), "float32", strides=(2,)), b: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            b[vi] = a[vi]


@T.prim_func(s_tir=True)
def shared(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    c = T.sblock_alloc_buffer((8,), "float32", scope="shared")
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.remap("S", [i])
            c[vi] = a[vi]
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            b[vi] = c[vi]


@T.prim_func(s_tir=True)
def no_block(a: T.Buffer((8,), "float32")):
    for i in range(8):
        a[i] = T.float32(0)


ELSE = ": expected what TVM makes of the same computation, found something else"
SERIAL = "the function: expected loops that are serial and have no annotations, found loop i"
BINDINGS = ": expected iteration variables bound to the loops, in order, found other bindings"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (threads, SERIAL),
        (annotated, SERIAL),
        (predicated, f"predicate{ELSE}"),
        (shifted, f'block "B"{BINDINGS}'),
        (swapped, f'block "B"{BINDINGS}'),
        (matched, 'block "B": expected whole buffers of the function, found buffers of its own'),
        (allocating, 'block "B": expected whole buffers of the function, found buffers of its own'),
        (opaque, 'block "B": expected only stores, found Evaluate'),
        (
            extern,
            'found T.call_extern("float32", "a_function_of_a_very_long_name", a...',
        ),
        (
            outside,
            "parameters, allocated buffers and the block's own iteration variables, found i",
        ),
        (
            ordered,
            'block "B": expected axes that are spatial or of a reduction, found vi',
        ),
        (
            two_stores,
            'block "B": expected values that are all computed before any is stored, found others',
        ),
        (two_inits, 'block "B": expected an init for each buffer that is written, found 2'),
        (in_place, 'buffer "a": expected one block that writes it, found more'),
        (strided, ELSE),
        (shared, f"storage_scope{ELSE}"),
        (no_block, "the function: expected a root block, found For"),
    ],
)
def test_what_has_no_form(function, message):
    with pytest.raises(WorkloadError) as caught:
        workload_of(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}))
    assert str(caught.value).endswith(message)


def test_more_that_has_no_form():
    with pytest.raises(WorkloadError, match='parameter "n": expected a buffer, found a scalar'):
        workload_of(tvm_cases.dynamic_module())
    n = tirx.Var("n", "int32")
    a = te.placeholder((n,), name="A")
    with pytest.raises(WorkloadError, match='buffer "A": expected a constant shape, found n'):
        workload_of(made(a, te.compute((n,), lambda i: a[i], name="B")))
    with pytest.raises(WorkloadError, match="the module: expected one function, of TIR, found non"):
        workload_of(tvm.IRModule({}))
    function = threads.with_body(tirx.Evaluate(0))
    with pytest.raises(WorkloadError, match="the function: expected a root block, found Evaluate"):
        workload_of(tvm.IRModule({"main": function}))
    b = te.compute((3, 4), lambda i, j: nested(X[i, j], 120))
    with pytest.raises(WorkloadError, match="an expression nested at most 100 deep, found a deep"):
        workload_of(made(X, b))
    part = tirx.Var("part", "float32")
    let = te.compute((3, 4), lambda i, j: tirx.Let(part, X[i, j], part * part))
    with pytest.raises(WorkloadError, match="operators and functions that a workload has, found"):
        workload_of(made(X, let))
    with_target = tvm_cases.modules("llvm")[0]["main"].with_attr("target", Target("llvm"))
    with pytest.raises(WorkloadError, match="the function: expected plain values, found expected"):
        workload_of(tvm.IRModule({"main": with_target}))


def nested(value, depth):
    for _ in range(depth):
        value = tirx.exp(value)
    return value


def test_a_module_with_other_names_is_another_one():
    """TVM takes two modules for equal whose blocks have other names; scripts do not."""
    data = placeholder(1, 2, 7, 7)
    module = made(data, topi.nn.adaptive_pool(data, (3, 3), "max"))
    text = tvm.ir.save_json(module)
    renamed = tvm.ir.load_json(text.replace("adaptive_pool_max_l1", "outer"))
    with pytest.raises(WorkloadError, match='the names: expected "adaptive_pool_max_l1", found'):
        workload_of(renamed)


# What no module can be.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('A "A" "float32" 4\nB "B": A+i\n', 'block "B": expected what TVM takes, found '),
        ('A "A" "float32" 4\nB "B" "int8": A\n', 'block "B": expected what TVM takes, found '),
        ('A "A" "no dtype" 4\nB "B": A\n', "the buffers: expected what TVM takes, found "),
        (
            '@ params(B C)\nA "A" "float32" 4\nB "B"\nC "C": 1\n',
            "the function: expected what TVM keeps as it is, found more",
        ),
        (
            'A "A" "float32" 4\nB("B" [4] [k]) "B" 4 | (i+1) | 4: A\n',
            'block "B": expected what TVM keeps as it is, found more',
        ),
        (
            'A "A" "int8" 4\nB "B": A+200\n',
            'block "B": expected ',
        ),
    ],
)
def test_what_tvm_does_not_take(text, message):
    with pytest.raises(WorkloadError) as caught:
        module_of(loads(text))
    assert str(caught.value).startswith(message)


def test_what_is_no_workload_is_never_built():
    with pytest.raises(WorkloadError, match="the workload: expected at least one block"):
        module_of(Workload((), (), ()))
    casts = Cast("float32", Reinterpret("int32", Load(7, ())))
    output = Output(Buffer("B", "float32", (4,)), (Var(0),), casts)
    with pytest.raises(WorkloadError, match="one of 1 buffers so far, found buffer 7"):
        module_of(Workload((), (Block("B", (Axis("S", 4),), (output,)),), (0,)))


def test_modules_of_the_script_parser_are_alike():
    """A function of TVMScript has the form of the tensor expression that says the same."""

    @I.ir_module(s_tir=True)
    class Module:
        @T.prim_func(s_tir=True)
        def main(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):  # noqa: N805
            for i in range(8):
                with T.sblock("B"):
                    vi = T.axis.remap("S", [i])
                    b[vi] = a[vi] * T.float32(2)

    assert check(Module) == ('@ {"tirx.noalias": null}\nA "a" "float32" 8\nB("b") "B": A*2\n')
