"""Kernels are read back from their text, and what is no text of a kernel is refused by name."""

from dataclasses import replace
from random import Random

import pytest
from tests.guard.models import FAMILIES
from tests.unit.codegen.emit import examples
from tests.unit.codegen.emit.harness import at, buffer, each, kernel, op, put
from tests.unit.codegen.emit.random_kernels import Maker
from tests.unit.plan.planning import scheduled

from anyshape.base.errors import InputError, TextError, VerifyError
from anyshape.ir.types import bool_, f32, f64, i8, i64, u64
from anyshape.loop import (
    Accumulator,
    Bind,
    Copy,
    For,
    Guard,
    Kernel,
    Let,
    Literal,
    Local,
    Matrix,
    Multiply,
    Number,
    Prepare,
    Span,
    Update,
)
from anyshape.loop import kernel as kernel_module
from anyshape.loop.ir import Ahead
from anyshape.loop.parser import parse_kernel
from anyshape.loop.scalar_parser import MAX_NESTING
from anyshape.loop.verify import verify_kernel
from anyshape.lower.tiling import NARROW, NARROWEST, WIDE
from anyshape.passes import PASSES, run_passes
from anyshape.sym import Axis, Dim, Divisible, Equal, Fact, Facts, Less, NotEqual, Origin, Symbol


def without_provenance(made: Kernel) -> Kernel:
    facts = tuple(Fact(fact.predicate) for fact in made.facts.facts)
    return replace(made, facts=replace(made.facts, facts=facts))


def check(made: Kernel) -> None:
    text = made.as_text()
    read = parse_kernel(text)
    assert read == without_provenance(made)
    assert read.as_text() == text


# --- what is printed is read back -----------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_of_every_family(family: str) -> None:
    count = 0
    for graph in FAMILIES[family]():
        passed = run_passes(graph, PASSES).graph
        for tiling in (WIDE, NARROW, NARROWEST):
            for step in scheduled(passed, tiling).steps:
                for way in step.variants:
                    check(way.variant.kernel)
                    count += 1
    assert count >= 3


@pytest.mark.parametrize("name", examples.ALL)
def test_examples(name: str) -> None:
    check(examples.ALL[name])


def test_random_kernels() -> None:
    for seed in range(200):
        check(Maker(Random(seed)).kernel())


def test_the_text_in_the_documentation() -> None:
    doc = kernel_module.__doc__
    assert doc is not None
    text = "\n".join(line[4:] for line in doc.split("\n\n")[1].splitlines())
    read = parse_kernel(text)
    assert verify_kernel(read) == []
    assert read.as_text() == text + "\n"


T, J, N0 = Dim.of("t"), Dim.of("j"), Dim.of("n0")
X = buffer("x", f32, ["n0", "n1"])
OUT = buffer("out", f32, ["n0", "n1"], written=True)


def test_everything_a_kernel_may_say_of_itself() -> None:
    axes = Axis("n0", min=1, max=9), Axis("n1", multiple_of=4, likely=(8, 4))
    facts = (
        Fact(Less(N0, Dim.of("n1")), Origin.OP, "split", "model.py:3"),
        Fact(Divisible(Dim.of("n0 + 1"), Dim.of(4))),
        Fact(Equal(Dim.of("n1 % 8"), Dim.of(0))),
        Fact(NotEqual(Dim.of("n1 % 8"), Dim.of(1))),
    )
    check(
        kernel(
            [buffer("x", f32, ["n0"], strides=["2*n1"]), buffer("none", bool_, [])],
            facts=Facts(axes, facts),
            scratch=(buffer("s", f64, [3, "n1"]),),
            streams=Dim.of("n0//100"),
            native="sort_f32",
            stack_bytes=64,
        )
    )


def test_a_kernel_of_nothing() -> None:
    check(Kernel((), (), Symbol("t"), Dim.of(0), ()))


@pytest.mark.parametrize("name", ["f32", "for", "index", "if", "a b", "`", "", "then", "é", "0"])
def test_any_name(name: str) -> None:
    x, local = buffer(name, f32, ["n0"], written=True), Local(name, f32)
    states = (Accumulator(Local(name + "2", f32), "add"),)
    check(
        kernel(
            [x],
            Let(local, at(x, "t")),
            put(x, ["t"], local),
            For(Symbol("j"), N0, (Update(states[0].local, local),), states),
            native=name,
        )
    )


@pytest.mark.parametrize("name", ["f32", "for", "index", "min", "a b", "?3", "with"])
def test_any_index(name: str) -> None:
    symbol = Symbol(name)
    bound = Bind(symbol, Number(Dim.of(symbol) + 1), N0)
    check(kernel([], Prepare((symbol,), ()), bound, sizes=(name,)))


@pytest.mark.parametrize(
    "value",
    [0.1, -0.0, 1e-30, 1e300, float("inf"), float("-inf"), float("nan")],
)
def test_any_float(value: float) -> None:
    check(kernel([OUT], put(OUT, ["t", "t"], Literal.of(value, f32))))


def test_the_ends_of_integers() -> None:
    ends = {i8: (-128, 127), i64: (-(2**63), 2**63 - 1), u64: (0, 2**64 - 1), bool_: (0, 1)}
    for dtype, values in ends.items():
        for value in values:
            check(kernel([OUT], Let(Local("v", dtype), Literal.of(value, dtype))))


def test_guards_inside_of_values() -> None:
    first, second = (
        Guard((Less(J, Dim.of(n)),), at(X, "t", n), Literal.of(n, f32)) for n in (1, 2)
    )
    nested = Guard((Less(J, T), Less(T, J)), op("add", first, second), first)
    check(kernel([X, OUT], each(put(OUT, ["t", "j"], op("mul", nested, Guard((), second, first))))))


def test_locals_have_the_dtype_of_their_last_definition() -> None:
    narrow, wide = Local("v", f32), Local("v", f64)
    check(
        kernel(
            [X, OUT],
            Let(narrow, at(X, "t", 0)),
            put(OUT, ["t", 0], narrow),
            each(Let(wide, op("cast", narrow, dtype=f64)), put(OUT, ["t", "j"], wide)),
            put(OUT, ["t", 1], narrow),
        )
    )


SCRATCH = buffer("s", f32, [4, 8])


@pytest.mark.parametrize(
    "matrix",
    [
        Matrix.whole(X, T),
        Matrix.whole(X, T).turned,
        Matrix.whole(X).moved(T * 4, J),
        Matrix(X, ()),
        Matrix(X, (), Dim.of("n0*n1 - 1")),
        Matrix(X, (Span(N0, N0, T * J, Dim.of("n0//2"), Dim.of("t*n1 - 3")),), Dim.of("t + 1")),
    ],
)
def test_matrices(matrix: Matrix) -> None:
    copy = Copy(SCRATCH, matrix, T, Dim.of("min(n0, 8)"))
    product = Multiply(SCRATCH, matrix, matrix, T, J, Dim.of("n1"))
    fetched = (replace(product, ahead=Ahead(64 - J, J, N0, least)) for least in (1, 3))
    others = replace(product, padded=True), *fetched
    tiles = buffer("tiles", f32, [9, 3, 4, 8])
    of_tiles = replace(product, tile=tiles, at=(T + 1, J))
    many = of_tiles, replace(of_tiles, added=True)
    check(kernel([X], copy, product, *others, *many, scratch=(SCRATCH, tiles)))


def test_a_copy_is_not_a_store() -> None:
    """Also of a matrix without axes from a buffer without axes."""
    point = buffer("p", f32, [])
    copy = Copy(SCRATCH, Matrix(point, ()), T, J)
    store = put(SCRATCH, ["t", "j"], at(point))
    check(kernel([point], copy, store, scratch=(SCRATCH,)))


# --- what is refused ------------------------------------------------------------------------------

HEAD = "kernel (n0; x: f32[n0], y: f32[n0, n0] written) tasks t < n0 {\n"


def refused(body: str) -> TextError:
    with pytest.raises(TextError) as caught:
        parse_kernel(HEAD + body)
    error = caught.value
    assert str(error).splitlines()[-1].startswith("fix: "), "each says what to do"
    return error


@pytest.mark.parametrize(
    ("body", "line", "column", "problem"),
    [
        ("", 2, 1, "expected a statement, found end of text"),
        ("} }", 2, 3, "unexpected '}'"),
        ("3 = x[t]", 2, 1, "expected a statement, found '3'"),
        ("v = x[t, t]", 2, 6, "'x' has 1 axes, found 2 indices"),
        ("y[t] = f32 0.0", 2, 2, "'y' has 2 axes, found 1 indices"),
        ("v = z[t]", 2, 5, "'z' is no buffer"),
        ("v = w", 2, 5, "'w' is not defined"),
        ("w <- x[t]", 2, 1, "'w' is not defined"),
        ("w < x[t]", 2, 5, "expected '-', found 'x'"),
        ("v = f32 erff(x[t])", 2, 9, "unknown op 'erff'"),
        ("v = f32 add(x[t])", 2, 17, "add: got 1 operands, expected 2"),
        ("v = f32 softmax(x[t])", 2, 9, "'softmax' is not elementwise"),
        ("v = f32 sum(x[t])", 2, 9, "'sum' is not elementwise"),
        ("v = f32 x", 2, 9, "expected a number of f32, found 'x'"),
        ("v = i8 1.5", 2, 8, "expected a number of i8, found '1.5'"),
        ("v = i8 128", 2, 8, "128 is out of the range of i8"),
        ("v = bool -1", 2, 10, "-1 is out of the range of bool"),
        ("v = f33 1.0", 2, 5, "'f33' is not defined"),
        ("v = (n0//0)", 2, 10, "dim '"),
        ("for 2 < n0 {", 2, 5, "expected the name of a size or an index"),
        ("for ? < n0 {", 2, 5, "expected the name of a size or an index"),
        ("for i < n0 with s: f32 sub {", 2, 24, "'sub' combines no f32"),
        ("for i < n0 with s: f32 logical_or {", 2, 24, "'logical_or' combines no f32"),
        ("scratch x: f32[4]", 2, 9, "'x' is declared twice"),
        ("scratch s: f32[4] strides [1, 1]", 2, 27, "1 axes have 2 strides"),
        ("axis n0: 4..2", 2, 13, "axis 'n0' has the empty range 4..2"),
        ("fact n0", 3, 1, "expected a comparison, found end of text"),
        ("y[:1, :1] = x[row*row of n0 by 1]", 2, 15, "'row*row' does not grow evenly"),
        ("y[:1, :1] = x[row//2 of n0 by 1]", 2, 15, "'row//2' does not grow evenly"),
        ("y[:1, :1] = x[row]", 2, 18, "expected 'of', found ']'"),
    ],
)
def test_malformed(body: str, line: int, column: int, problem: str) -> None:
    error = refused(body + "\n" * (line == 3))
    assert error.problem.startswith(problem)
    assert (error.line, error.column) == (line, column)


def test_two_sizes_of_one_name() -> None:
    with pytest.raises(TextError, match="two sizes have the same name"):
        parse_kernel("kernel (n0, n0; ) tasks t < n0 {}")


def test_no_text() -> None:
    with pytest.raises(InputError, match=r"a bytes, no text\nfix: pass what kernel.as_text"):
        parse_kernel(b"kernel")  # type: ignore[arg-type]


def test_a_text_of_two_kernels() -> None:
    with pytest.raises(TextError, match="fix: one text holds one kernel"):
        parse_kernel((HEAD + "}") * 2)


@pytest.mark.parametrize(
    ("start", "opening", "what"),
    [
        ("", "for i < 2 {", "loops"),
        ("", "prepare {", "loops"),
        ("v = ", "f32 add(", "values"),
        ("v = ", "if t < 2 then ", "values"),
    ],
)
def test_no_text_exhausts_the_stack(start: str, opening: str, what: str) -> None:
    found = refused(start + opening * 10_000)
    assert found.problem == f"{what} are nested more than {MAX_NESTING} deep"


@pytest.mark.parametrize("opening", ["(", "-", "min("])
def test_no_dim_exhausts_the_stack(opening: str) -> None:
    assert refused("v = (" + opening * 10_000).problem == "the text is nested too deeply"


def test_what_is_nested_as_deep_as_allowed() -> None:
    """A hundred loops after each other are no nesting; some inside each other are."""
    deep = "for i < 2 {" * MAX_NESTING + "}" * MAX_NESTING
    flat = "for i < 2 {}" * 5000
    assert len(parse_kernel(HEAD + flat + deep + "}").body) == 5001


def test_no_matrix_depends_on_what_text_calls_its_indices() -> None:
    """They would be read as such. Elsewhere these are names like any other."""
    row = Symbol("row")
    lookup = Bind(row, Number(T), N0)
    check(kernel([X, OUT], lookup, put(OUT, ["row", 0], at(X, "row", 0))))
    copy = Copy(SCRATCH, Matrix.whole(X, Dim.of(row)), Dim.of(1), Dim.of(1))
    with pytest.raises(VerifyError, match="matrix in 'x': depends on 'row'"):
        verify_kernel(kernel([X], lookup, copy, scratch=(SCRATCH,)))


def test_names_stand_for_one_thing() -> None:
    with pytest.raises(VerifyError, match="buffer 'x': is given twice"):
        verify_kernel(kernel([X], scratch=(buffer("x", f32, [4]),)))
    with pytest.raises(VerifyError, match="size 'n0': is given twice"):
        verify_kernel(kernel([], sizes=("n0", "n0")))
