"""Which kernels may write over an operand, and which are nothing but a copy."""

import pytest

from anyshape.families.lower import lower_region
from anyshape.ir import parse
from anyshape.ir.node import Region
from anyshape.ir.types import f32
from anyshape.loop import Buffer, For, Kernel, Let, Load, Local, Store
from anyshape.loop.accesses import copied_from, overwritable
from anyshape.sym import Dim, Facts, Symbol


def region(params: str, *lines: str) -> Region:
    """The body of a graph whose last line is its result; a line is `op : type`."""
    body = "\n".join(f"  %{i} = {line}" for i, line in enumerate(lines))
    type_ = lines[-1].rsplit(":", 1)[1].strip()
    text = f"axes {{ n: 0..   m: 0.. }}\ngraph g({params}) -> {type_} {{\n{body}\n"
    return parse(text + f"  return %{len(lines) - 1}\n}}\n").body


def pairs(params: str, *lines: str) -> frozenset[tuple[int, int]]:
    return overwritable(lower_region(region(params, *lines), Facts()).kernel)


NM, MN = "f32[n, m]", "f32[m, n]"


def test_maps():
    assert pairs(f"x: {NM}", f"relu(x) : {NM}") == {(0, 1)}
    assert pairs(f"x: {NM}, y: {NM}", f"add(x, y) : {NM}") == {(0, 2), (1, 2)}
    assert pairs(f"x: {NM}, y: f32[m]", f"add(x, y) : {NM}") == {(0, 2)}
    assert pairs(f"x: {NM}, y: f32[n, 1]", f"add(x, y) : {NM}") == {(0, 2)}


def test_elements_of_other_sizes():
    assert pairs(f"x: {NM}", f"cast(x) {{to=f64}} : {NM.replace('f32', 'f64')}") == set()
    assert pairs(f"x: {NM}", f"cast(x) {{to=i32}} : {NM.replace('f32', 'i32')}") == {(0, 1)}


def test_elements_read_elsewhere():
    turned = f"transpose(x) {{perm=[1, 0]}} : {MN}"
    assert pairs(f"x: {NM}", turned) == set()
    assert pairs(f"x: {NM}, y: {MN}", turned, f"add(%0, y) : {MN}") == {(1, 2)}
    square = "f32[n, n]"  # the same elements, and not in the same order
    both = pairs(
        f"x: {square}", f"transpose(x) {{perm=[1, 0]}} : {square}", f"add(%0, x) : {square}"
    )
    assert both == set()


def test_rows_are_read_before_they_are_written():
    assert pairs(f"x: {NM}", f"softmax(x) {{axis=1}} : {NM}") == {(0, 1)}
    assert pairs(f"x: {NM}, y: {NM}", f"softmax(x) {{axis=1}} : {NM}", f"mul(%0, y) : {NM}") == {
        (0, 2),
        (1, 2),
    }


def test_columns():
    """A task has columns of its own, and goes through them twice."""
    largest = ["max(x) {axes=[0], keepdims=true} : f32[1, m]", f"sub(x, %0) : {NM}"]
    assert pairs(f"x: {NM}", *largest) == {(0, 1)}


def test_matrix_products():
    dot = "dot(x, w) {contract=([1], [0])} : f32[n, 96]"
    params = "x: f32[n, 96], w: f32[96, 96], r: f32[n, 96]"
    assert pairs(params, dot, "add(%0, r) : f32[n, 96]") == {(2, 3)}
    assert pairs(params, dot, "add(%0, x) : f32[n, 96]", "add(%1, r) : f32[n, 96]") == {(2, 3)}


def test_operands_that_a_product_computes():
    """Other tasks compute the same rows again, when some results may be written already."""
    params = "x: f32[n, 96], w: f32[96, 96], r: f32[n, 96]"
    dot = "dot(%0, w) {contract=([1], [0])} : f32[n, 96]"
    ops = ["relu(x) : f32[n, 96]", dot, "add(%1, r) : f32[n, 96]"]
    assert pairs(params, *ops) == {(2, 3)}
    assert pairs(params, *ops[:2], "add(%1, x) : f32[n, 96]", "add(%2, r) : f32[n, 96]") == {(2, 3)}


# ---- loops by hand -----------------------------------------------------------------------------

N, T, K, J = (Symbol(name) for name in ("n", "t", "k", "j"))
X = Buffer("x", f32, (Dim.of(N) * 4,), (Dim.of(1),))
Y = Buffer("y", f32, (Dim.of(N) * 4,), (Dim.of(1),), written=True)
V = Local("v", f32)


def at(row: Dim | int, column: Symbol) -> tuple[Dim, ...]:
    return (row * Dim.of(N) + Dim.of(column),)


def loop(*body, index: Symbol = J, extent: Dim | None = None) -> For:
    return For(index, Dim.of(N) if extent is None else extent, body)


def kernel(*body) -> Kernel:
    return Kernel((X, Y), (N,), T, Dim.of(4), body)


OWN = Dim.of(T)
READ, WRITE = Let(V, Load(X, at(OWN, J))), Store(Y, at(OWN, J), V)


def test_in_one_loop():
    assert overwritable(kernel(loop(READ, WRITE))) == {(0, 1)}
    assert overwritable(kernel(loop(WRITE, READ))) == set()


@pytest.mark.parametrize("shift", [1, -1])
def test_a_neighbour(shift: int):
    neighbour = Let(V, Load(X, (at(OWN, J)[0] + shift,)))
    assert overwritable(kernel(loop(neighbour, WRITE))) == set()


def test_a_loop_before():
    earlier = Let(V, Load(X, at(OWN, K)))
    assert overwritable(kernel(loop(earlier, index=K), loop(WRITE))) == {(0, 1)}
    assert overwritable(kernel(loop(WRITE), loop(earlier, index=K))) == set()
    shorter = loop(earlier, index=K, extent=Dim.of(N) - 1)
    assert overwritable(kernel(shorter, loop(WRITE))) == set()
    assert overwritable(kernel(loop(Let(V, Load(X, at(Dim.of(0), K))), index=K), loop(WRITE))) == (
        set()
    )


def test_what_every_task_reads():
    everything = Let(V, Load(X, (Dim.of(K),)))
    assert overwritable(kernel(loop(everything, index=K, extent=Dim.of(N) * 4), loop(WRITE))) == (
        set()
    )


def test_a_loop_that_stores_again():
    """The second time round, the operand is gone."""
    again = For(K, Dim.of(2), (loop(READ, WRITE),))
    assert overwritable(kernel(again)) == set()


# ---- copies ------------------------------------------------------------------------------------


def copy_of(params: str, *lines: str) -> tuple[int, Dim] | None:
    return copied_from(lower_region(region(params, *lines), Facts()).kernel)


def test_stretches_of_memory():
    rows = "slice(x) {starts=[2, 0], stops=[5, 64], steps=[1, 1]} : f32[3, 64]"
    found = copy_of("x: f32[8, 64]", rows)
    assert found is not None
    assert (found[0], found[1].constant) == (0, 128)


def test_what_is_no_stretch():
    columns = "slice(x) {starts=[0, 0], stops=[8, 32], steps=[1, 1]} : f32[8, 32]"
    assert copy_of("x: f32[8, 64]", columns) is None
    assert copy_of(f"x: {NM}", f"relu(x) : {NM}") is None
    assert copy_of(f"x: {NM}", f"transpose(x) {{perm=[1, 0]}} : {MN}") is None
