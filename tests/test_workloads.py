"""The text form of workloads: its laws for any workload, and what texts look like."""

import math
import pickle
import subprocess
import sys

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tracescript.errors import TraceScriptError, TraceSyntaxError, WorkloadError
from tracescript.workloads import (
    MAX_NODES,
    MAX_TREE_DEPTH,
    OPERATORS,
    Attribute,
    Axis,
    Block,
    Buffer,
    Cast,
    Const,
    Dtypes,
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
from tracescript.workloads.names import AXES, BUFFERS, SHARED, letter, position
from tracescript.workloads.numbers import number_text, read_number
from tracescript.workloads.syntax import MAX_CHARACTERS, TERMINALS, _lark

USUAL = tuple(
    Attribute(key, value)
    for key, value in [("global_symbol", "main"), ("s_tir", True), ("tirx.noalias", True)]
)

# Random workloads: everything that a text can say, not only what TVM would take.

DTYPES = st.sampled_from(
    ["float32", "float16", "float64", "bfloat16", "int8", "uint8", "int32", "int64", "bool", "x y"]
)
NAMES = st.one_of(st.sampled_from(["T_add", "T_add_1", "C"]), st.text(max_size=4))
SIZES = st.one_of(st.integers(0, 9), st.integers(0, 2**63 - 1))
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just((1, "a"))
)


@st.composite
def constants(draw):
    dtype = draw(DTYPES)
    if dtype == "bool":
        return Const(draw(st.booleans()), dtype)
    if "float" in dtype:
        some = st.sampled_from([0.0, -0.0, 6.0, 65504.0, -65504.0, 3.4028234663852886e38, 1e-05])
        return Const(draw(st.one_of(some, st.floats())), dtype)
    some = st.sampled_from([0, -128, 127, 255, -(2**31), 2**63])
    return Const(draw(st.one_of(some, st.integers(-(2**63), 2**64 - 1))), dtype)


def expressions(axes, buffers):
    """Expressions over so many axes and buffers."""
    leaves = [constants(), *([st.builds(Var, st.integers(0, axes - 1))] if axes else [])]
    if buffers:
        place = st.integers(0, buffers - 1)
        indices = st.lists(st.one_of(leaves), max_size=3).map(tuple)
        leaves.append(st.builds(Load, place, indices))

    def larger(inside):
        # An operand that comes twice is often what the parts of a text are shared for.
        parts = st.tuples(inside, inside, inside)
        made = st.sampled_from([*OPERATORS, "cast", "reinterpret", "bounds", "bounds", "square"])
        return st.builds(combined, made, parts, DTYPES)

    return st.recursive(st.one_of(leaves), larger, max_leaves=8)


def combined(name, parts, dtype):
    first, second, third = parts
    if name in OPERATORS:
        return Op(name, parts[: OPERATORS[name].arity])
    if name == "bounds":
        return Op("&", (Op("<=", (first, second)), Op("<", (second, third))))
    if name == "square":
        return Op("+", (Op("*", (first, first)), Op("-", (first, second))))
    return (Cast if name == "cast" else Reinterpret)(dtype, first)


def attributes(usual=()):
    return st.dictionaries(NAMES, VALUES, max_size=2).map(
        lambda entries: tuple(
            sorted(
                [*(Attribute(*entry) for entry in entries.items()), *usual],
                key=lambda attr: attr.key,
            )
        )
    )


@st.composite
def blocks(draw, buffers):
    """A block after so many buffers."""
    axes = []
    for position_ in range(draw(st.integers(0, 4))):
        extent = SIZES
        if draw(st.integers(0, 9)) == 0:
            extent = expressions(position_, buffers)
        axes.append(Axis(draw(st.sampled_from("SSR")), draw(extent)))
    count = draw(st.sampled_from([1, 1, 1, 2]))
    exprs = expressions(len(axes), buffers + count)
    name, is_reduction = draw(NAMES), draw(st.booleans())
    place = tuple(Var(number) for number, axis in enumerate(axes) if axis.kind == "S")
    shape = tuple(axis.extent for axis in axes if axis.kind == "S")
    outputs = []
    for number in range(count):
        usual = draw(st.booleans()) and all(isinstance(size, int) for size in shape)
        buffer = Buffer(
            draw(st.sampled_from([name, f"{name}.v{number}", "other"])),
            draw(DTYPES),
            shape if usual else tuple(draw(st.lists(SIZES, max_size=3))),
        )
        indices = place if usual else tuple(draw(st.lists(exprs, max_size=3)))
        value = draw(exprs)
        if is_reduction and draw(st.booleans()):
            value = Op("max", (Load(buffers + number, indices), value))
        init = draw(constants()) if is_reduction else None
        outputs.append(Output(buffer, indices, value, init))
    return Block(name, tuple(axes), tuple(outputs), draw(attributes()))


@st.composite
def workloads(draw):
    shapes = st.lists(SIZES, max_size=3).map(tuple)
    inputs = draw(st.lists(st.builds(Buffer, NAMES, DTYPES, shapes), max_size=3))
    made, count = [], len(inputs)
    for _ in range(draw(st.integers(1, 3))):
        made.append(draw(blocks(count)))
        count += len(made[-1].outputs)
    target = st.one_of(
        st.none(), NAMES, st.sampled_from(["nvidia/nvidia-h100", "nvidia/nvidia-"]), attributes()
    )
    params = draw(st.one_of(st.permutations(range(count)), st.just(range(len(inputs)))))
    return Workload(
        tuple(inputs),
        tuple(made),
        tuple(params[: draw(st.integers(0, count))]),
        draw(target),
        draw(st.sampled_from(["main", "main", "f"])),
        draw(st.sampled_from(["int32", "int32", "int64"])),
        draw(attributes(USUAL[: draw(st.integers(0, 3))])),
    )


def is_unique(workload):
    """No key comes twice, which random attributes do not see to."""
    keys = [attr.key for attr in workload.attrs]
    return len(keys) == len(set(keys))


@given(workloads())
def test_the_laws(workload):
    assume(is_unique(workload))
    text = dumps(workload)
    assert loads(text) == workload
    assert dumps(loads(text)) == text
    assert hash(loads(text)) == hash(workload)
    assert with_dtypes(workload, {}) == workload
    text.encode()


@given(workloads(), st.data())
def test_any_other_text_is_a_workload_or_an_error_with_a_place(workload, data):
    assume(is_unique(workload))
    text = dumps(workload)
    cut = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(cut, min(len(text), cut + 3)))
    other = data.draw(st.sampled_from(["", *'AB"iaz01.-+ |:;,()[]{}&?<=/@\n\r', "max/", "inf()"]))
    text = text[:cut] + other + text[end:]
    try:
        read = loads(text)
    except TraceSyntaxError as error:
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        return
    try:
        assert loads(dumps(read)) == read
    except WorkloadError:
        # The mutation took away a bound that the text keeps by itself.
        raise AssertionError(text) from None


@given(constants())
@example(Const(math.nan, "float32"))
@example(Const(3.4028234663852886e38, "bfloat16"))
def test_numbers(const):
    text = number_text(const)
    assert read_number(text, const.dtype) == const
    assert number_text(read_number(text, const.dtype)) == text


@given(st.sampled_from([AXES, BUFFERS, SHARED]), st.integers(0, 10_000))
def test_letters(alphabet, place):
    assert position(alphabet, letter(alphabet, place)) == place


# What texts look like.

MATMUL = """\
h100
A "A" "float16" 128 64
B "B" 64 256
C "C" "float32" 128 256 | 64: +/A[ik] "float32"*B[kj] "float32"
"""

CONVOLUTION = """\
A "data" "float32" 1 16 14 14
B "weight" 32 16 3 3
C "pad_temp" 1 16 16 16: 1<=k<15&1<=l<15?A[ij,k-1,l-1]:0
D "conv2d_nchw" 1 32 14 14 | 16 3 3: +/C[im,k+n,l+o]*B[jmno]
E "T_relu": max(D,0)
"""

ARGMAX = """\
A "A" "float32" 8 16
B C "A_red_temp" "int32" "float32" 8 | 16: a=A[ij];-1,min();select(C>a|C==a&B<j,B,j),select(C>a,C,a)
D "A_red" "int32": B
"""

DEPENDENT = """\
A "data" "float32" 1 7 7
B "pool" 1 3 3 | (j+3) (k+3) {"schedule_rule": "none"}: max/A[i,j*2+l,k*2+m]
"""

UNUSUAL = """\
{"kind": "llvm" "num-cores": 16}
@"f" index "int64" params(B A) {"layout_free_buffers": [0] "tirx.noalias": null}
A "A" "float32" |
B("x" [4] [i+1]) "B" 3 | 2 | 1: A[]
"""


@pytest.mark.parametrize("text", [MATMUL, CONVOLUTION, ARGMAX, DEPENDENT, UNUSUAL])
def test_texts(text):
    assert dumps(loads(text)) == text


def test_a_text_says_everything():
    total = Op(
        "+",
        (
            Load(2, (Var(0), Var(1))),
            Op(
                "*",
                (
                    Cast("float32", Load(0, (Var(0), Var(2)))),
                    Cast("float32", Load(1, (Var(2), Var(1)))),
                ),
            ),
        ),
    )
    buffer = Buffer("C", "float32", (128, 256))
    output = Output(buffer, (Var(0), Var(1)), total, Const(0.0, "float32"))
    assert loads(MATMUL) == Workload(
        inputs=(Buffer("A", "float16", (128, 64)), Buffer("B", "float16", (64, 256))),
        blocks=(Block("C", (Axis("S", 128), Axis("S", 256), Axis("R", 64)), (output,)),),
        params=(0, 1, 2),
        target="nvidia/nvidia-h100",
        attrs=USUAL,
    )
    unusual = loads(UNUSUAL)
    assert unusual.target == (Attribute("kind", "llvm"), Attribute("num-cores", 16))
    assert (unusual.name, unusual.index_dtype, unusual.params) == ("f", "int64", (1, 0))
    assert unusual.attrs == (
        Attribute("global_symbol", "f"),
        Attribute("layout_free_buffers", (0,)),
        Attribute("s_tir", True),
    )
    (block,) = unusual.blocks
    assert [axis.kind for axis in block.axes] == ["S", "R", "S"]
    one = Const(1, "int64")
    assert block.outputs[0].indices == (Op("+", (Var(0), one)),)
    assert block.outputs[0].buffer == Buffer("x", "float32", (4,))


FIRST, SECOND = Var(0), Var(1)
A = Load(0, (FIRST, SECOND))


def op(name, *args):
    return Op(name, args)


def number(value, dtype="float32"):
    return Const(value, dtype)


def integer(value):
    return Const(value, "int32")


ZERO, ONE = number(0.0), integer(1)
LOW, OTHER = op("<", FIRST, ONE), op("<", SECOND, ONE)
"""The conditions i<1 and j<1."""


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("A", A),
        ("A[ji]", Load(0, (SECOND, FIRST))),
        ("A[i,j+1]", Load(0, (FIRST, op("+", SECOND, integer(1))))),
        ("A[i,2,j]", Load(0, (FIRST, integer(2), SECOND))),
        ("A[ij,2]", Load(0, (FIRST, SECOND, integer(2)))),
        ("A+A*A", op("+", A, op("*", A, A))),
        ("(A+A)*A", op("*", op("+", A, A), A)),
        ("A-A-A", op("-", op("-", A, A), A)),
        ("A-(A-A)", op("-", A, op("-", A, A))),
        ("A/A//A%A", op("%", op("//", op("/", A, A), A), A)),
        ("A--1", op("-", A, number(-1.0))),
        ("A*-0.5", op("*", A, number(-0.5))),
        ("-0.0", number(-0.0)),
        ("-inf()", number(-math.inf)),
        ("nan()", number(math.nan)),
        ("min()", number(-3.4028234663852886e38)),
        ("1e-05", number(1e-05)),
        ("16777216", number(16777216.0)),
        ("1e+16", number(1e16)),
        ('i "float32"', Cast("float32", FIRST)),
        ('(i+1) "float32"', Cast("float32", op("+", FIRST, integer(1)))),
        ('exp(A) "float16" "float32"', Cast("float32", Cast("float16", op("exp", A)))),
        ('7 "int8"', Const(7, "int8")),
        ('(7 "int8") "float32"', Cast("float32", Const(7, "int8"))),
        ('A as "int32"', Reinterpret("int32", A)),
        ('A as "int32"<<2', op("<<", Reinterpret("int32", A), integer(2))),
        ("i<1?A:0", op("?", LOW, A, ZERO)),
        ("i<1?A:j<1?A:0", op("?", LOW, A, op("?", OTHER, A, ZERO))),
        ("i<1?j<1?A:0:A", op("?", LOW, op("?", OTHER, A, ZERO), A)),
        ("(i<1?A:0)+A", op("+", op("?", LOW, A, ZERO), A)),
        ("i<1|j<1&i<1", op("|", LOW, op("&", OTHER, LOW))),
        ("(i<1|j<1)&i<1", op("&", op("|", LOW, OTHER), LOW)),
        ("i<1&(j<1&i<1)", op("&", LOW, op("&", OTHER, LOW))),
        ("1<=i<3", op("&", op("<=", ONE, FIRST), op("<", FIRST, integer(3)))),
        ("j<1&1<=i<3", op("&", op("&", OTHER, op("<=", ONE, FIRST)), op("<", FIRST, integer(3)))),
        ("j<1&(1<i<1)", op("&", OTHER, op("&", op("<", ONE, FIRST), LOW))),
        ("i<1&i<1", op("&", LOW, LOW)),
        ("1<=i&i>1", op("&", op("<=", ONE, FIRST), op(">", FIRST, ONE))),
        ("!(i<1)", op("!", LOW)),
        ("!isnan(A)", op("!", op("isnan", A))),
        ("(i<1)==(j<1)", op("==", LOW, OTHER)),
        ('A<1 "float16"', op("<", A, Const(1.0, "float16"))),
        ("0<A", op("<", ZERO, A)),
        ('1 "int8"<2 "int8"', op("<", Const(1, "int8"), Const(2, "int8"))),
        ('1 "int8"&i<1', op("&", Const(1, "int8"), LOW)),
        ("1&i<1", op("&", Const(True, "bool"), LOW)),
        ("select(i<1,1,2)", op("select", LOW, number(1.0), number(2.0))),
        ("max(A,0)+1", op("+", op("max", A, ZERO), number(1.0))),
    ],
)
def test_expressions(text, expr):
    text = f'A "A" "float32" 4 4\nB "B": {text}\n'
    workload = loads(text)
    assert workload.blocks[0].outputs[0].value == expr
    assert dumps(workload) == text


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("A[i,j]", "A"),
        ("A[i,j,i]", "A[iji]"),
        ("((A))+(A)", "A+A"),
        ('1.0 "float32"', "1"),
        ('max(A,0 "float32")', "max(A,0)"),
        ("1<=i&i<3", "1<=i<3"),
        ("exp(A+1)*exp(A+1)", "a=exp(A+1);a*a"),
        ("a=A;a+a", "A+A"),
        ("0;B+A", "+/A"),
        ("-3.4028234663852886e38;max(B,A)", "max/A"),
    ],
)
def test_what_is_not_canonical_is_read_too(written, canonical):
    head = 'A "A" "float32" 4 4\nB "B": '
    assert dumps(loads(f"{head}{written}\n")) == f"{head}{canonical}\n"


def test_shared_parts_have_names():
    """Long parts that come often; numbers never, however often."""
    text = 'A "A" "float32" 4 4\nB "B": a=A[ji]+1;b=a/(a+2);b*b-0.1234567+0.1234567\n'
    value = loads(text).blocks[0].outputs[0].value
    (left, number_) = value.args
    part = Op("+", (Load(0, (SECOND, FIRST)), number(1.0)))
    both = Op("/", (part, Op("+", (part, number(2.0)))))
    assert left == Op("-", (Op("*", (both, both)), number_))
    assert dumps(loads(text)) == text
    bounds = 'A "A" "float32" 4 4\nB "B": a=i*3+j;b=1234<=a;b&a<7|b&a<8?A:0\n'
    assert dumps(loads(bounds)) == bounds
    bounds = 'A "A" "float32" 4 4\nB "B": a=i*3<j&j*3<i;a&i<2|a&i<1?A:0\n'
    assert dumps(loads(bounds)) == bounds


# Errors.


INPUT = "an input has a letter, a name, a dtype and a shape"
PARAMS = "expected buffers of the lines below, each once"
SIZE = "expected a size below 2 to the power of 63"
EXTENTS = "the extents are not constant: write the shape and the index, too"
BEGIN = "write what each buffer begins with, and its value"
INTEGER = "expected an integer, because its dtype is int8"
AXES = "the block has 1 iteration variables"
NO_EXTENTS = "expected extents; no line before has constant ones"
BEYOND = "this number is beyond the range of a double; infinity is inf or -inf"
LIMITS = "the limits of float8 are not known; write the number"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the text ends too early"),
        ('A "a" "int8" 3', 1, 15, "the text ends too early"),
        ('A "a" "int8" 3\n', 1, 1, "a workload has at least one block"),
        ('A "a" "int8" 3\r\n', 1, 15, r"'\r' cannot stand here"),
        ('A "a"  "int8" 3\n', 1, 7, "' ' cannot stand here"),
        ('A "a" 3\n', 1, 3, "expected 1 dtypes after this"),
        ('A "a" "int8" "int8" 3\n', 1, 3, "expected 1 dtypes after this"),
        ('A "a" "int8"\n', 1, 1, NO_EXTENTS),
        ('B "a" "int8" 3\n', 1, 1, "expected A, the next letter"),
        ('A B "a" "int8" "int8" 3\n', 1, 1, INPUT),
        ('A("b") "a" "int8" 3\n', 1, 1, INPUT),
        ('A "a" "int8" 3 {"k": 1}\n', 1, 1, INPUT),
        ('A "a" "int8" | 3\n', 1, 1, "the shape of an input is a list of integers"),
        ('A "a" "int8" (1+1)\n', 1, 1, "the shape of an input is a list of integers"),
        ('A "a" "int8" 9223372036854775808\n', 1, 14, SIZE),
        (f'A "a" "int8" {"9" * 5000}\n', 1, 14, SIZE),
        ('@ {"k": 1 "k": 2}\nA "a" "int8" 3: 0\n', 1, 3, "this key is in the dict already"),
        ('@ params(B)\nA "a" "int8" 3: 0\n', 1, 10, PARAMS),
        ('@ params(A A)\nA "a" "int8" 3: 0\n', 1, 12, PARAMS),
        ('A "a" "int8" 3: 0\nB "b"\n', 2, 1, "inputs come before blocks"),
        ('A "a" "int8" 3: C\n', 1, 17, "no buffer C is defined up to this line"),
        ('A "a" "int8" 3: j "int8"\n', 1, 17, AXES),
        ('A "a" "int8" 3 (j): 0\n', 1, 17, AXES),
        ('A "a" "int8" 3 (i): 0\n', 1, 1, EXTENTS),
        ('A "a" "int8" 3 (i): 0\nB "b": 0\n', 1, 1, EXTENTS),
        ('A("a" [3] [i]) "a" "int8" 3 (i): 0\nB "b": 0\n', 2, 1, NO_EXTENTS),
        ('A "a" "int8" 3: a\n', 1, 17, "no part a is defined before this"),
        ('A "a" "int8" 3: b=i;0\n', 1, 17, "expected a"),
        ('A "a" "int8" 3: f(i)\n', 1, 18, "'(' cannot stand here"),
        ('A "a" "int8" 3: foo(i)\n', 1, 17, "there is no function foo"),
        ('A "a" "int8" 3: exp(i,i)\n', 1, 17, "exp has 1 operands"),
        ('A "a" "int8" 3: 0,0\n', 1, 17, "expected 1, one for each buffer"),
        ('A B "a" "int8" "int8" 3: 0;0,0\n', 1, 26, "expected 2, one for each buffer"),
        ('A B "a" "int8" "int8" | 3: +/0\n', 1, 28, BEGIN),
        ('A "a" "float8" | 3: max/0\n', 1, 21, BEGIN),
        ('A "a" "int8" 3: 1<2?3:4\n', 1, 17, 'this number needs a dtype, such as 1 "int32"'),
        ('A "a" "int8" 3: 0.5\n', 1, 17, INTEGER),
        ('A "a" "int8" 3: inf()\n', 1, 17, INTEGER),
        ('A "a" "bool" 3: 2\n', 1, 17, "expected 0 or 1, because its dtype is bool"),
        ('A "a" "float8" 3: max()\n', 1, 19, LIMITS),
        ('A "a" "int64" 3: ' + "9" * 5000 + "\n", 1, 18, "this integer has more than 64 bits"),
        ('A "a" "int64" 3: ' + "9" * 20 + "\n", 1, 18, f"not a number of int64: {'9' * 20}"),
        ('A "a" "float32" 3: 1e999\n', 1, 20, BEYOND),
    ],
)
def test_errors(text, line, column, message):
    with pytest.raises(TraceSyntaxError) as caught:
        loads(text)
    assert (caught.value.message, caught.value.line, caught.value.column) == (message, line, column)


def test_what_could_stand_there_is_said_in_words():
    with pytest.raises(TraceSyntaxError) as caught:
        loads('A "a" "int8" 3: A[i\n')
    assert caught.value.message == "the line ends too early"
    assert "']'" in caught.value.expected
    assert TERMINALS.keys() == {terminal.name for terminal in _lark().terminals} | {"$END"}


HEAD = 'A "A" "float32" 4\nB "B": '


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "(" * 20_000 + "A" + ")" * 20_000 + "\n",
        HEAD + "!" * 50_000 + "A\n",
        HEAD + "+".join("A" * 20_000) + "\n",
        HEAD + "A" + ' "float32"' * 5000 + "\n",
        HEAD + "A?" * 20_000 + "A" + ":A" * 20_000 + "\n",
        "{" + '"k": {' * 10_000 + "}" * 10_001 + "\n" + HEAD + "A\n",
        "A" * (MAX_CHARACTERS + 1),
        # Each part is used twice by the next: as a tree, it has 2 to the power of 60 nodes.
        HEAD
        + "a=A+i;"
        + "".join(
            f"{letter(SHARED, place)}={letter(SHARED, place - 1)}+{letter(SHARED, place - 1)};"
            for place in range(1, 60)
        )
        + f"{letter(SHARED, 59)}\n",
        # The same where no dtype is known.
        HEAD
        + 'a=1 "float32"+1 "float32";'
        + "".join(
            f"{letter(SHARED, place)}={letter(SHARED, place - 1)}+{letter(SHARED, place - 1)};"
            for place in range(1, 60)
        )
        + f"{letter(SHARED, 59)}\n",
        HEAD + "1<" + "(1<" * 90 + "i<1" + ")<1" * 90 + "?A:A\n",
        'A "A" "float32" 4\n'
        + "".join(f'{letter(BUFFERS, place)} "B": A{"+A" * 98}\n' for place in range(1, 400)),
        'A "A" "float32" 4\n'
        + "".join(
            f'{letter(BUFFERS, place)} "B": a=A{"+A" * 40};b=a*a;c=b*b;d=c*c;e=d*d;f=e*e;f*f\n'
            for place in range(1, 700)
        ),
    ],
    ids=[
        *("parentheses", "negations", "sum", "casts", "choices", "dicts", "length"),
        *("shared", "shared numbers", "bounds", "many", "many shared"),
    ],
)
def test_hostile_texts(text):
    with pytest.raises(TraceSyntaxError) as caught:
        loads(text)
    assert "more than" in caught.value.message


def test_the_depth_that_is_allowed():
    """What is as deep as it may be comes back, as a reduction too."""
    deepest = "A" + "+A" * (MAX_TREE_DEPTH - 2)
    text = f"{HEAD}{deepest}\n"
    assert dumps(loads(text)) == text
    with pytest.raises(TraceSyntaxError, match=f"more than {MAX_TREE_DEPTH} levels"):
        loads(f"{HEAD}{deepest}+A\n")
    reduced = 'A "A" "float32" 4\nB "B" | 4: +/'
    with pytest.raises(TraceSyntaxError, match=f"more than {MAX_TREE_DEPTH} levels"):
        loads(f"{reduced}A[i]{'+A[i]' * (MAX_TREE_DEPTH - 2)}\n")


# Workloads that cannot be.

SHAPE = Buffer("A", "float32", (4,))


def workload_of(value, **changes):
    """A workload with one block of one output; the changes are those of an output or block."""
    output = Output(Buffer("B", "float32", (4,)), (FIRST,), value)
    block = Block("B", (Axis("S", 4),), (output,))
    return Workload((SHAPE,), (block,), params=(0, 1), attrs=USUAL, **changes)


def nested(depth):
    value = Load(0, (FIRST,))
    for _ in range(depth):
        value = Op("exp", (value,))
    return value


def doubled(times):
    value = Load(0, (FIRST,))
    for _ in range(times):
        value = Op("+", (value, value))
    return value


DEEP = "expressions of at most 100 levels, found an expression of more than 100 levels"
UNSORTED = (Attribute("b", 1), Attribute("a", 1))
KEYS = "the target: expected keys in order, each once, found b a"
OPERATOR = "an operator and as many operands as it has, found"


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload((SHAPE,), (), (0,)), "the workload: expected at least one block, found none"),
        (workload_of(Var(1)), 'block "B": expected one of its 1 axes, found axis 1'),
        (workload_of(Var(-1)), 'block "B": expected one of its 1 axes, found axis -1'),
        (workload_of(Load(2, ())), 'block "B": expected one of 2 buffers so far, found buffer 2'),
        (workload_of(op("foo", FIRST)), f'block "B": expected {OPERATOR} foo of 1'),
        (workload_of(op("exp", FIRST, FIRST)), f'block "B": expected {OPERATOR} exp of 2'),
        (workload_of(nested(100)), f'block "B": expected {DEEP}'),
        (workload_of(nested(5000)), f'block "B": expected {DEEP}'),
        (workload_of(FIRST, target=UNSORTED), KEYS),
    ],
)
def test_what_is_no_workload_is_refused(workload, message):
    with pytest.raises(WorkloadError) as caught:
        dumps(workload)
    assert str(caught.value) == message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message
    assert isinstance(caught.value, TraceScriptError)


def test_a_workload_of_too_many_nodes():
    """Its parts are few, but the tree that they stand for is beyond all bounds."""
    with pytest.raises(WorkloadError) as caught:
        dumps(workload_of(doubled(60)))
    # A load and its index for each leaf, and the index of what is written.
    nodes = 2 * 2**60 + (2**60 - 1) + 1
    found = f"expected at most {MAX_NODES} nodes up to here, found {nodes}"
    assert str(caught.value) == f'block "B": {found}'


def test_more_that_is_no_workload():
    whole = workload_of(FIRST)
    (block,) = whole.blocks
    (output,) = block.outputs

    def refused(**changes):
        with pytest.raises(WorkloadError) as caught:
            dumps(replace(whole, **changes))
        return str(caught.value)

    one = Const(1.0, "float32")
    begun = replace(block, outputs=(output, replace(output, init=one)))
    assert "outputs that all begin with something, or none" in refused(blocks=(begun,))
    assert "outputs that all begin" in refused(blocks=(replace(block, outputs=()),))
    assert "positions of buffers, each once" in refused(params=(0, 0))
    assert "positions of buffers, each once" in refused(params=(0, 2))
    assert "expected a value, found None" in refused(attrs=(Attribute("s_tir", None),))
    twice = (Attribute("k", 1), Attribute("k", 1))
    assert "keys in order" in refused(attrs=twice)
    assert "keys in order" in refused(blocks=(replace(block, annotations=twice),))
    late = replace(block, axes=(Axis("S", 4), Axis("R", Var(1)), Axis("R", 2)))
    assert "expected one of its 1 axes, found axis 1" in refused(blocks=(late,))


def replace(struct, **changes):
    return type(struct)(
        **{name: changes.get(name, getattr(struct, name)) for name in struct.__struct_fields__}
    )


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, "float32"), (1.0, "int32"), (1, "bool"), (True, "int32"), (2**64, "int64")],
)
def test_a_constant_fits_its_dtype(value, dtype):
    with pytest.raises(ValueError, match=f"not a number of {dtype}"):
        Const(value, dtype)


def test_sizes_are_sizes():
    for size in (-1, 2**63):
        with pytest.raises(ValueError, match="not a size"):
            Axis("S", size)
        with pytest.raises(ValueError, match="not a size"):
            Buffer("A", "float32", (size,))


def test_equality_is_strict():
    assert Const(0.0, "float32") != Const(-0.0, "float32")
    assert Const(math.nan, "float32") == Const(math.nan, "float32")
    assert Attribute("k", 1) != Attribute("k", True)
    assert Attribute("k", 1) != 1
    assert Const(1, "int8") != 1


# Other dtypes.


def test_a_reference_in_float64():
    floats = dict.fromkeys(["float16", "float32"], "float64")
    wide = MATMUL.replace('C "C" "float32"', 'C "C"')
    for dtype in floats:
        wide = wide.replace(dtype, "float64")
    assert dumps(with_dtypes(loads(MATMUL), floats)) == wide
    arg = dumps(with_dtypes(loads(ARGMAX), floats))
    # The least float32 stays the number that it is.
    assert arg == ARGMAX.replace("float32", "float64").replace("min()", "-3.4028234663852886e+38")
    pool = dumps(with_dtypes(loads(DEPENDENT), {"int32": "int64"}))
    assert pool == '@ index "int64"\n' + DEPENDENT


def test_bits_stay_those_of_the_old_dtype():
    """The exponent of a float32 is made of an integer, whatever the float is then used in."""
    text = 'A "A" "float32" 4\nB "B": (floor(A) "int32"<<23) as "float32"*A\n'
    wide = with_dtypes(loads(text), {"float32": "float64"})
    assert dumps(wide) == (
        'A "A" "float64" 4\nB "B": (floor(A) "int32"<<23) as "float32" "float64"*A\n'
    )
    text = 'A "A" "float32" 4\nB "B" "int32": A as "int32"\n'
    wide = with_dtypes(loads(text), {"float32": "float64"})
    assert dumps(wide) == 'A "A" "float64" 4\nB "B" "int32": A "float32" as "int32"\n'


def test_a_dtype_without_the_number():
    with pytest.raises(ValueError, match="not a number of int32"):
        with_dtypes(loads(CONVOLUTION), {"float32": "int32"})


def test_dtypes_of_expressions():
    dtypes = Dtypes(["float16"], "int32")
    assert dtypes.of(op("?", op("<", FIRST, SECOND), A, A)) == "float16"
    assert dtypes.of(op("<", A, A)) == "bool"
    assert dtypes.of(op("+", FIRST, integer(1))) == "int32"
    assert dtypes.of(Cast("int8", A)) == "int8"
    assert dtypes.known(integer(1)) is None


def test_neither_tvm_nor_numpy_is_needed():
    code = (
        "import sys; from tracescript.workloads import loads; "
        "assert not {'tvm', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
