"""Hand-written kernels against the interpreter: rows, columns, guards, gathers, layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.codegen.emit import examples
from tests.unit.codegen.emit.harness import (
    TARGETS,
    J,
    at,
    buffer,
    compiled,
    each,
    interpreted,
    kernel,
    op,
    put,
    run,
    same_bits,
    values,
)

from anyshape.ir.types import ALL_DTYPES, DType, bf16, bool_, f16, f32, f64, i32, i64, u8
from anyshape.loop import Copy, Kernel, Literal, Matrix
from anyshape.sym import Axis, Dim, Facts, Symbol

WIDTHS = (0, 1, 7, 16, 67, 131)
ROW = Symbol("i")


def expect(
    made: Kernel,
    arrays: Sequence[NDArray[Any]],
    sizes: Sequence[int],
    *,
    rtol: float = 0.0,
    at_end: bool = True,
) -> None:
    """The interpreter's result on all targets; to the last bit unless a tolerance is given."""
    wanted = interpreted(made, arrays, sizes)
    for target in TARGETS.values():
        found = run(made, arrays, sizes, target, at_end=at_end)
        for one, other in zip(found, wanted, strict=True):
            if rtol and one.dtype.kind != "b" and one.dtype.itemsize > 1:
                np.testing.assert_allclose(
                    one.astype(np.float64), other.astype(np.float64), rtol=rtol, atol=rtol
                )
            else:
                assert same_bits(one, other)


def grid(dtype: DType, rows: int, width: int, *, special: bool = False) -> NDArray[Any]:
    return values(dtype, rows * width, width, special=special).reshape(rows, width)


# --- reductions -----------------------------------------------------------------------------------

REDUCTIONS = [
    *((name, dtype) for name in ("maximum", "minimum") for dtype in ALL_DTYPES),
    *((name, dtype) for name in ("add", "mul") for dtype in (f32, f64, f16, bf16, i32, i64, u8)),
    *((name, bool_) for name in ("logical_and", "logical_or")),
]
EXACT = ("maximum", "minimum", "logical_and", "logical_or")


@pytest.mark.parametrize(("name", "dtype"), REDUCTIONS, ids=str)
def test_reductions_of_rows(name: str, dtype: DType):
    made = examples.reduce_kernel(name, dtype)
    exact = name in EXACT or not dtype.is_float
    for width in WIDTHS:
        x = grid(dtype, 3, width, special=exact)
        if name == "mul" and dtype.is_float:
            x = (1 + x.astype(np.float64) / 100).astype(dtype.numpy)
        if dtype.is_float and exact:
            x[x == 0] = 1  # the maximum of 0 and -0 may be either
        out = np.zeros(3, dtype.numpy)
        tolerance = {f32: 2e-5, f64: 1e-12}.get(dtype, 0.3)
        expect(made, [x, out], [3, width], rtol=0 if exact else tolerance)


@pytest.mark.parametrize("name", ["add", "maximum"])
def test_reductions_of_columns(name: str):
    made = examples.column_kernel(name, f32)
    for width in WIDTHS:
        for rows in (0, 1, 5):
            x = grid(f32, rows, width)
            # Without masks, the last columns are summed one by one, by vectors of rows.
            rtol = 1e-6 if name == "add" else 0
            expect(made, [x, np.zeros(width, np.float32)], [rows, width], rtol=rtol)


def test_reduction_of_everything():
    for width in WIDTHS:
        arrays = [grid(f32, 5, width), np.zeros(1, np.float32)]
        expect(examples.reduce_both_kernel(), arrays, [5, width], rtol=1e-5)


def test_running_sum_is_not_vectorised():
    for dtype in (f32, i32):
        x = grid(dtype, 2, 67)
        expect(examples.running_sum_kernel(dtype), [x, np.zeros_like(x)], [2, 67])


# --- rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_softmax(width: int):
    x = grid(f32, 3, width)
    expect(examples.softmax_kernel(), [x, np.zeros_like(x)], [3, width], rtol=2e-6)


def test_softmax_of_nan_and_infinity():
    x = np.zeros((3, 20), np.float32)
    x[0, 3], x[1, 5], x[2] = np.nan, -np.inf, -np.inf
    out = run(examples.softmax_kernel(), [x, np.zeros_like(x)], [3, 20])[1]
    assert np.isnan(out[0]).all()
    assert out[1, 5] == 0
    np.testing.assert_allclose(np.delete(out[1], 5), 1 / 19, rtol=1e-6)
    assert np.isnan(out[2]).all()


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_layer_norm(width: int):
    x, w, b = grid(f32, 3, width), grid(f32, 1, width)[0], grid(f32, 1, width)[0] + 1
    made = examples.layer_norm_kernel()
    expect(made, [x, w, b, np.zeros_like(x)], [3, width], rtol=3e-4 if width == 1 else 2e-5)


def test_in_place():
    """The result may be the operand's own memory."""
    x, b, s = grid(f32, 3, 131), grid(f32, 1, 131)[0], grid(f32, 1, 3)[0]
    apart = run(examples.five_ops_kernel(), [x, b, s, np.zeros_like(x)], [3, 131])[3]
    same = x.copy()
    compiled(examples.five_ops_kernel())([same, b, s, same], [3, 131])
    assert same_bits(same, apart)


# --- guards ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [f32, f64, f16, u8, bool_], ids=str)
def test_concat(dtype: DType):
    made = examples.concat_kernel(dtype)
    for left in WIDTHS:
        for right in (0, 1, 40):
            a, b = grid(dtype, 2, left), grid(dtype, 2, right)
            out = np.zeros((2, left + right), dtype.numpy)
            expect(made, [a, b, out], [2, left, right])


@pytest.mark.parametrize("dtype", [f32, i64, bf16], ids=str)
def test_pad(dtype: DType):
    made = examples.pad_kernel(dtype)
    for width in WIDTHS:
        for left, right in ((0, 0), (3, 40), (40, 3)):
            x = grid(dtype, 2, width)
            out = np.zeros((2, width + left + right), dtype.numpy)
            expect(made, [x, out], [2, width, left, right])


def test_causal_mask():
    for width in WIDTHS:
        x = grid(f32, 5, width)
        expect(examples.causal_kernel(), [x, np.zeros_like(x), np.zeros_like(x)], [5, width])


def test_unproved_loads_read_zero_outside():
    """n2 may exceed n1: nothing is known of it."""
    x, out = buffer("x", f32, ["n1"]), buffer("out", f32, ["n2"], written=True)
    made = kernel(
        [x, out], each(put(out, ["j"], at(x, "j")), extent="n2"), sizes=("n1", "n2"), tasks=1
    )
    for inside, outside in ((0, 5), (7, 40), (40, 7), (64, 200)):
        data = values(f32, inside, special=False)
        for target in TARGETS.values():
            found = run(made, [data, np.ones(outside, np.float32)], [inside, outside], target)[1]
            expected = np.zeros(outside, np.float32)
            expected[:inside] = data[:outside]
            assert np.array_equal(found, expected)


def test_unproved_stores_write_nothing_outside():
    x, out = buffer("x", f32, ["n1"]), buffer("out", f32, ["n2"], written=True)
    for vector in (True, False):
        loop = each(put(out, ["j"], at(x, "j")), extent="n1", vector=vector)
        made = kernel([x, out], loop, sizes=("n1", "n2"), tasks=1)
        for count, room in ((5, 0), (40, 7), (7, 40), (200, 64)):
            data = values(f32, count, special=False)
            for target in TARGETS.values():
                found = run(made, [data, np.zeros(room, np.float32)], [count, room], target)[1]
                kept = min(count, room)
                assert np.array_equal(found[:kept], data[:kept])
                assert not found[kept:].any()


def test_unproved_matrices_are_copied_as_a_whole_or_not_at_all():
    """n1 rows may be more than the scratch has room for, or than there are."""
    x, out = buffer("x", f32, ["n0", 5]), buffer("out", f32, [20, 5], written=True)
    room = buffer("room", f32, [20, 5])
    zero, result = (
        each(each(store, extent=5), index=ROW, extent=20, vector=False)
        for store in (
            put(room, ["i", "j"], Literal.of(0, f32)),
            put(out, ["i", "j"], at(room, "i", "j")),
        )
    )
    copy = Copy(room, Matrix.whole(x), Dim.of("n1"), Dim.of(5))
    made = kernel([x, out], zero, copy, result, tasks=1, scratch=(room,))
    for rows, copied in ((20, 20), (9, 20), (20, 7), (40, 30), (3, 4)):
        data = values(f32, rows * 5, special=False)
        for target in TARGETS.values():
            found = run(made, [data, np.ones(100, np.float32)], [rows, copied], target)[1]
            expected = np.zeros(100, np.float32)
            if copied <= min(rows, 20):
                expected[: copied * 5] = data[: copied * 5]
            assert np.array_equal(found, expected)


# --- gathers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [i64, i32, u8], ids=str)
@pytest.mark.parametrize("dtype", [f32, f64, f16, u8], ids=str)
def test_gathers(dtype: DType, index: DType):
    rng = np.random.default_rng(1)
    for width in WIDTHS:
        ids = rng.integers(-3 if index is not u8 else 0, 14, (4, width)).astype(index.numpy)
        rows = rng.integers(0, 14, 4).astype(index.numpy)
        line, table = values(dtype, 11, special=False), grid(dtype, 11, width)
        out = np.zeros((4, width), dtype.numpy)
        expect(examples.take_kernel(dtype, index), [ids, line, out], [4, width, 11])
        expect(examples.embedding_kernel(dtype, index), [rows, table, out], [4, width, 11])


@pytest.mark.parametrize("dtype", [f32, i32, f64], ids=str)
@pytest.mark.parametrize("spread", ["twice", "every second", "backwards", "one far away"])
def test_gathers_of_neighbours(dtype: DType, spread: str):
    """Lanes within a window are read as vectors, and never past the end of the table."""
    for length in (1, 15, 16, 31, 32, 33, 47, 64, 65, 100):
        ids = np.sort(np.arange(2 * length) // 2)
        if spread == "every second":
            ids = np.arange(0, length, 2)
        elif spread == "backwards":
            ids = ids[::-1]
        elif spread == "one far away":
            ids[length] = 0
        given = np.ascontiguousarray(np.stack([ids, ids]).astype(np.int64))
        arrays = [given, values(dtype, length, special=False), np.zeros(given.shape, dtype.numpy)]
        expect(examples.take_kernel(dtype, i64), arrays, [*given.shape, length])


def test_gather_from_nothing_reads_nothing():
    ids, out = np.zeros((2, 20), np.int64), np.ones((2, 20), np.float32)
    found = run(examples.take_kernel(), [ids, np.zeros(0, np.float32), out], [2, 20, 0])
    assert not found[2].any()


def test_scatter():
    rng = np.random.default_rng(2)
    for width in WIDTHS:
        ids, x = rng.integers(0, 30, width), values(f32, width, special=False)
        expect(examples.scatter_kernel(), [ids, x, np.zeros(30, np.float32)], [width, 30])


# --- layouts --------------------------------------------------------------------------------------


def layout_kernel(strides: Sequence[str], shape: Sequence[str], dtype: DType = f32) -> Kernel:
    """out[t, j] = x[t, j] + x[t, j], for an x of any strides."""
    x = buffer("x", dtype, shape, strides=strides)
    out = buffer("out", dtype, ["n0", "n1"], written=True)
    load = at(x, "t", "j")
    return kernel([x, out], each(put(out, ["t", "j"], op("add", load, load))))


@pytest.mark.parametrize("dtype", [f32, f64, u8, f16], ids=str)
@pytest.mark.parametrize(
    "steps",
    [("n1", "1"), ("1", "n0"), ("0", "1"), ("1", "0"), ("2*n1", "2"), ("0", "0")],
    ids=str,
)
def test_strides(steps: tuple[str, str], dtype: DType):
    """Dense, transposed, rows and columns repeated, every second element, one element."""
    made = layout_kernel(steps, ["n0", "n1"], dtype)
    for width in WIDTHS[1:]:
        memory = values(dtype, 3 * width * 2, special=False)
        step = [
            {"n1": width, "n0": 3, "2*n1": 2 * width}.get(s) or int(s.isdigit() and int(s))
            for s in steps
        ]
        item = memory.itemsize
        x = np.lib.stride_tricks.as_strided(memory, (3, width), [s * item for s in step])
        for target in TARGETS.values():
            found = run(made, [memory, np.zeros((3, width), dtype.numpy)], [3, width], target)[1]
            assert np.array_equal(found, x + x)


def test_reversed():
    x, out = buffer("x", f32, ["n1"]), buffer("out", f32, ["n1"], written=True)
    made = kernel([x, out], each(put(out, ["j"], at(x, "n1 - 1 - j"))), sizes=("n1",), tasks=1)
    back = kernel([x, out], each(put(out, ["n1 - 1 - j"], at(x, "j"))), sizes=("n1",), tasks=1)
    for width in WIDTHS:
        data = values(f32, width)
        for one in (made, back):
            expect(one, [data, np.zeros_like(data)], [width], at_end=width % 2 == 0)


def test_quotients_and_remainders_of_the_index():
    """Two axes walked as one."""
    x = buffer("x", f32, ["n1", "n0"])
    out = buffer("out", f32, ["n0*n1"], written=True)
    load = at(x, "j % n1", "j // n1")
    body = each(put(out, ["j"], load), extent="n0*n1")
    made = kernel([x, out], body, tasks=1)
    for rows, width in ((3, 7), (1, 40), (5, 16), (0, 3), (3, 0)):
        expect(made, [grid(f32, width, rows), np.zeros(rows * width, np.float32)], [rows, width])


def test_blocks_of_a_flat_map():
    """A task is a block; the last one is shorter."""
    x, out = buffer("x", f32, ["n0"]), buffer("out", f32, ["n0"], written=True)
    store = put(out, ["100*t + j"], op("mul", at(x, "100*t + j"), Literal.of(3.0, f32)))
    loop = each(store, extent="min(100, n0 - 100*t)")
    made = kernel([x, out], loop, sizes=("n0",), tasks="ceildiv(n0, 100)")
    for count in (0, 1, 99, 100, 101, 350):
        data = values(f32, count)
        expect(made, [data, np.zeros_like(data)], [count])


def test_no_tail_where_facts_exclude_it():
    from anyshape.codegen.llvm.emit import emit_kernel

    def text(multiple: int) -> str:
        facts = Facts(axes=(Axis("n1", multiple_of=multiple),))
        x, out = (buffer(n, f32, ["n0", "n1"], written=n == "out") for n in ("x", "out"))
        body = each(put(out, ["t", "j"], at(x, "t", "j")), index=J)
        return emit_kernel(kernel([x, out], body, facts=facts), TARGETS["avx2"])

    assert "masked" in text(1)
    assert "masked" not in text(8)
    assert text(8).count("!llvm.loop") == 3  # tasks, whole tiles, whole vectors
    assert text(32).count("!llvm.loop") == 2


@pytest.mark.parametrize("width", ["n1", 131, 4096])
@pytest.mark.parametrize("columns", WIDTHS)
def test_scratch_on_the_stack_and_in_workspaces(width: int | str, columns: int):
    made = examples.workspace_kernel(width)
    assert len(made.workspaces) == (width != 131)
    x = grid(f32, 5, columns, special=True)
    expect(made, [x, np.zeros_like(x)], (5, columns))
    np.testing.assert_array_equal(run(made, [x, np.zeros_like(x)], (5, columns))[1], -x[:, ::-1])
