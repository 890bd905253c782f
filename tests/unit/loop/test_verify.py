"""The verifier of the loop IR: what it refuses, what it proves, and how much work it makes."""

from dataclasses import replace

import pytest
from tests.unit.codegen.emit import examples
from tests.unit.codegen.emit.harness import at, buffer, each, kernel, op, put

from anyshape.base.errors import VerifyError
from anyshape.ir.types import f32, f64
from anyshape.loop import (
    Bind,
    Copy,
    Guard,
    Kernel,
    Let,
    Literal,
    Local,
    Matrix,
    Multiply,
    Number,
    Scalar,
)
from anyshape.loop.verify import verify_kernel
from anyshape.sym import Dim, Less, Symbol, ceildiv, minimum

X = buffer("x", f32, ["n0", "n1"])
OUT = buffer("out", f32, ["n0", "n1"], written=True)


@pytest.mark.parametrize("name", [name for name in examples.ALL if name not in ("take", "scatter")])
def test_kernels_of_every_kind_are_proved(name: str) -> None:
    assert verify_kernel(examples.ALL[name]) == []


def test_accesses_that_may_be_outside_are_named_once() -> None:
    wild = at(X, "t", "j + 1")
    body = each(put(OUT, ["t", "j"], op("add", wild, op("mul", wild, wild))))
    assert verify_kernel(kernel([X, OUT], body)) == [(X, wild.index)]


def test_a_guard_proves_what_is_inside_only() -> None:
    wild = at(X, "t", "j + 1")
    inside = (Less(Dim.of("j + 1"), Dim.of("n1")),)
    guarded = Guard(inside, wild, Literal.of(0, f32))
    assert verify_kernel(kernel([X, OUT], each(put(OUT, ["t", "j"], guarded)))) == []
    both = op("add", guarded, wild)
    assert verify_kernel(kernel([X, OUT], each(put(OUT, ["t", "j"], both)))) == [(X, wild.index)]


def test_shared_expressions_are_checked_once() -> None:
    """2 ** 64 paths lead to the one load."""
    value: Scalar = at(X, "t", "j")
    for _ in range(64):
        value = op("add", value, value)
    assert verify_kernel(kernel([X, OUT], each(put(OUT, ["t", "j"], value)))) == []


def test_a_local_of_another_dtype_is_checked_again() -> None:
    narrow, wide = Local("v", f32), Local("v", f64)
    use = op("neg", narrow)
    body = (
        Let(narrow, at(X, "t", "j")),
        put(OUT, ["t", "j"], use),
        Let(wide, Literal.of(0, f64)),
        put(OUT, ["t", "j"], use),
    )
    with pytest.raises(VerifyError, match="local 'v'"):
        verify_kernel(kernel([X, OUT], each(*body)))


def test_indices_have_to_be_defined() -> None:
    broken = each(put(OUT, ["t", "i"], at(X, "t", "j")))
    with pytest.raises(VerifyError, match="uses 'i', which is not defined here"):
        verify_kernel(kernel([X, OUT], broken))


def test_only_results_are_written() -> None:
    other = replace(OUT, name="other")
    with pytest.raises(VerifyError, match="buffer 'other'"):
        verify_kernel(kernel([X, OUT], each(put(other, ["t", "j"], at(X, "t", "j")))))


def test_products_of_sizes_cancel_at_the_ends_of_loops() -> None:
    """Half of each row, as one axis: no fact relates n0 * (n1 // 2) to the other terms."""
    half = Dim.of("n1 - n1//2")
    flat = buffer("out", f32, [half * Dim.of("n0")], written=True)
    store = put(flat, [half * Dim.of("t") + Dim.of("j")], at(X, "t", "j"))
    assert verify_kernel(kernel([X, flat], each(store, extent=half))) == []
    back = put(flat, [half * Dim.of("n0 - t") - Dim.of("j + 1")], at(X, "t", "j"))
    assert verify_kernel(kernel([X, flat], each(back, extent=half))) == []
    beyond = replace(store, index=(store.index[0] + 1,))
    unproved = verify_kernel(kernel([X, flat], each(beyond, extent=half)))
    assert unproved == [(flat, beyond.index)]


# --- matrices -------------------------------------------------------------------------------------

TILE = buffer("tile", f32, [4, 16])


W = buffer("w", f32, ["n1", 16])
ROWS = minimum(4, Dim.of("n0 - 4*t"))
LHS, RHS = Matrix.whole(X, Dim.of("4*t")), Matrix.whole(W)
PRODUCT = Multiply(TILE, LHS, RHS, ROWS, Dim.of(16), Dim.of("n1"))
COPY = Copy(TILE, RHS, minimum(4, Dim.of("n1")), Dim.of(16))


def matrix_kernel(statement: Copy | Multiply) -> Kernel:
    tasks = ceildiv("n0", 4)
    return kernel([X, W, OUT], statement, tasks=tasks, scratch=(TILE,))


def test_matrices_are_proved() -> None:
    for statement in (PRODUCT, COPY, replace(COPY, source=RHS.turned, rows=Dim.of("n1 - n1"))):
        assert verify_kernel(matrix_kernel(statement)) == []


@pytest.mark.parametrize(
    "statement",
    [
        replace(PRODUCT, rows=Dim.of(4)),
        replace(PRODUCT, lhs=LHS.moved(Dim.of(1))),
        replace(PRODUCT, lhs=LHS.moved(Dim.of("n0 - 4*t - 5"))),
        replace(PRODUCT, rows=Dim.of("n0 - 4*t")),
        replace(PRODUCT, columns=Dim.of("n1")),
        replace(COPY, rows=Dim.of("n1")),
        replace(COPY, source=RHS.turned),
        replace(COPY, source=RHS.moved(Dim.of(0), Dim.of("t"))),
    ],
)
def test_matrices_that_may_reach_outside_are_returned(statement: Copy | Multiply) -> None:
    assert verify_kernel(matrix_kernel(statement)) == [statement]


TILES = buffer("tiles", f32, [5, 4, 16])


@pytest.mark.parametrize(("which", "is_proved"), [("t % 5", True), ("4", True), ("t", False)])
def test_one_of_several_tiles_exists(which: str, is_proved: bool) -> None:
    product = replace(PRODUCT, tile=TILES, at=(Dim.of(which),))
    made = replace(matrix_kernel(product), scratch=(TILES,))
    assert verify_kernel(made) == ([] if is_proved else [product])


@pytest.mark.parametrize(
    ("product", "problem"),
    [
        (replace(PRODUCT, tile=TILES, at=(Dim.of(5),)), "is out of bounds"),
        (replace(PRODUCT, tile=TILES), "is no scratch of two axes"),
        (replace(PRODUCT, tile=TILES, at=(Dim.of(0), Dim.of(0))), "is no scratch of 4 axes"),
        (replace(PRODUCT, tile=TILES, at=(Dim.of("n7"),)), "uses 'n7'"),
    ],
)
def test_a_tile_that_is_not_there_is_refused(product: Multiply, problem: str) -> None:
    with pytest.raises(VerifyError, match=problem):
        verify_kernel(replace(matrix_kernel(product), scratch=(TILES,)))


def test_a_task_says_that_no_factor_of_their_number_is_zero() -> None:
    """A factor that all terms of the number have."""
    tasks = (Dim.of("n0//3") + 1) * Dim.of("n1")
    assert len(tasks.terms) == 2
    last = put(OUT, ["t - t", "n1 - 1"], at(X, "t - t", "n1 - n1"))
    found = verify_kernel(kernel([X, OUT], last, tasks=tasks))
    assert (OUT, last.index) in found, "n0 may be 0"
    wide = buffer("wide", f32, ["n1", "n1"], written=True)
    corner = put(wide, ["n1 - 1", "0"], at(wide, "0", "n1 - 1"))
    assert verify_kernel(kernel([wide], corner, tasks=tasks)) == []


def test_a_padded_product_reads_all_columns_of_its_tile() -> None:
    narrow = buffer("w", f32, ["n1", 5])
    part = replace(PRODUCT, rhs=Matrix.whole(narrow), columns=Dim.of(5))
    made = kernel([X, narrow, OUT], part, tasks=ceildiv("n0", 4), scratch=(TILE,))
    assert verify_kernel(made) == []
    with pytest.raises(VerifyError, match="matrix in 'tile': is out of bounds"):
        verify_kernel(replace(made, body=(replace(part, padded=True),)))


@pytest.mark.parametrize(
    "statement",
    [
        replace(PRODUCT, depth=Dim.of("n1 + 1")),
        replace(PRODUCT, rhs=replace(RHS, origin=Dim.of("n0"))),
        replace(COPY, rows=Dim.of(5)),
    ],
)
def test_matrices_that_always_reach_outside_are_refused(statement: Copy | Multiply) -> None:
    with pytest.raises(VerifyError, match="matrix in 'tile': is out of bounds"):
        verify_kernel(matrix_kernel(statement))


def test_axes_of_a_matrix_have_to_fit_its_buffer() -> None:
    """Rows that overlap are one too far apart for the last one."""
    rows, columns = RHS.spans
    longer = Matrix(W, (replace(rows, stride=Dim.of(17)), columns))
    statement = replace(PRODUCT, rhs=longer)
    assert verify_kernel(matrix_kernel(statement)) == [statement]


def test_nothing_is_known_of_an_index_without_a_range() -> None:
    """n1 may be 0, and then the index is 0 as well, which is outside."""
    some = Bind(Symbol("q"), Number(Dim.of(0)), Dim.of("n1"))
    row = replace(COPY, source=RHS.moved(Dim.of("q")), rows=Dim.of(1))
    made = matrix_kernel(row)
    assert verify_kernel(replace(made, body=(some, row))) == [row]
