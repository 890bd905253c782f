"""Constants that are multiplied and looked up: held once, and found there by everybody."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import anyshape as ash
from anyshape.execute import Executable
from anyshape.execute.target import target_for
from anyshape.families.shared_constants import RULE, SMALL
from anyshape.ir.types import Array, f32
from anyshape.lower.effort import LINE_ALONE

RNG = np.random.default_rng(0)
ROWS, WIDTH = 8195, 67
TABLE = RNG.standard_normal((ROWS, WIDTH)).astype(np.float32)
TURNED = np.ascontiguousarray(TABLE.T)
HALF = TABLE.astype(ml_dtypes.bfloat16)
assert HALF.nbytes >= SMALL


def logits(x: Any, table: Array) -> Any:
    return ash.einsum("nk,vk->nv", x, table)


@ash.jit
def tied(ids: ash.i64["n"]) -> Any:
    return logits(ash.gather(TABLE, ids, axis=0) * 2.0, TABLE)


@ash.jit
def turned(ids: ash.i32["n"]) -> Any:
    return ash.gather(TURNED, ids, axis=1).T @ TURNED


@ash.jit
def normalized(ids: ash.i64["n", "m"]) -> Any:
    rows = ash.gather(TABLE, ids, axis=0)
    ones = ash.ones((WIDTH,), ash.f32)
    found = ash.layer_norm(rows + 1.0, ones, ones)
    return found, logits(found[:, 0], TABLE)


@ash.jit
def half(ids: ash.i64["n"]) -> Any:
    rows = ash.gather(HALF, ids, axis=0)
    return rows, logits(rows, HALF)


def held(executable: Executable) -> int:
    return executable.memory().weights


def decided(executable: Executable) -> list[tuple[bool, str]]:
    decisions = executable.executor.decisions()
    return [(d.taken, d.why) for d in decisions if d.rule == RULE]


ONCE = [(True, "looked up in the panels of a product")]


def panels(table: Array, columns: int) -> int:
    """Bytes of a packed table: the last panel is filled up."""
    rows = max(table.shape)
    return -(-rows // columns) * columns * min(table.shape) * table.itemsize


def is_held_once(executable: Executable, table: Array) -> bool:
    return decided(executable) == ONCE and held(executable) <= panels(table, 64) + 1024


def ids_of(n: int, dtype: type[np.integer[Any]] = np.int64) -> Array:
    """The first, the last, those around the ends of panels, and others."""
    special = [0, ROWS - 1, 63, 64, 127, 128, ROWS - 4, ROWS - 3]
    others = np.random.default_rng(n).integers(0, ROWS, n)
    return np.array([*special, *others][:n], dtype)


@pytest.mark.parametrize("n", [0, 1, 7, 131])
def test_a_table_that_is_multiplied_is_looked_up_in_panels(n: int) -> None:
    fast, ids = ash.compile(tied), ids_of(n)
    assert is_held_once(fast, TABLE)
    (found,) = fast(ids)
    np.testing.assert_allclose(found, 2 * TABLE[ids] @ TABLE.T, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("n", [0, 1, 7, 131])
def test_columns_are_looked_up_in_panels_too(n: int) -> None:
    fast, ids = ash.compile(turned), ids_of(n, np.int32)
    assert is_held_once(fast, TURNED)
    np.testing.assert_allclose(fast(ids)[0], TABLE[ids] @ TABLE.T, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 13), (3, 1)])
def test_rows_of_a_kernel_with_reductions(shape: tuple[int, int]) -> None:
    fast, ids = ash.compile(normalized), ids_of(shape[0] * shape[1]).reshape(shape)
    assert is_held_once(fast, TABLE)
    found, products = fast(ids)
    rows = TABLE[ids].astype(np.float64) + 1
    spread = np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    wanted = (rows - rows.mean(-1, keepdims=True)) / spread + 1
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(products, wanted[:, 0] @ TABLE.T, rtol=1e-4, atol=1e-3)


def test_half_precision() -> None:
    fast, ids = ash.compile(half), ids_of(100)
    assert is_held_once(fast, HALF)
    rows, products = fast(ids)
    np.testing.assert_array_equal(rows, HALF[ids])
    wanted = HALF[ids].astype(np.float32) @ HALF.astype(np.float32).T
    np.testing.assert_allclose(products.astype(np.float32), wanted, rtol=1e-2, atol=1e-2)


def test_an_index_outside_takes_the_nearest_row() -> None:
    """As it does in a table in its own order. Rows that only fill a panel up are never found."""

    @ash.jit
    def found(ids: ash.i64["n"], x: ash.f32["n", 67]) -> Any:
        return ash.gather(TABLE, ids, axis=0), logits(x, TABLE)

    fast = ash.compile(found)
    assert is_held_once(fast, TABLE)
    ids = np.array([-1, -(2**62), ROWS, ROWS + 1, 2**62, 5])
    (rows, _) = fast(ids, np.zeros((6, WIDTH), np.float32))
    np.testing.assert_array_equal(rows, TABLE[[0, 0, -1, -1, -1, 5]])


def test_not_a_number_and_infinities_are_found() -> None:
    table = TABLE.copy()
    table[64, :3] = np.nan, np.inf, -np.inf

    @ash.jit
    def found(ids: ash.i64["n"], x: ash.f32["n", 67]) -> Any:
        return ash.gather(table, ids, axis=0), logits(x, table)

    fast = ash.compile(found)
    assert is_held_once(fast, table)
    rows, _ = fast(ids_of(9), np.zeros((9, WIDTH), np.float32))
    np.testing.assert_array_equal(rows, table[ids_of(9)])


def test_two_products_and_two_lookups_share_it() -> None:
    @ash.jit
    def model(ids: ash.i64["n"], more: ash.i64["m"]) -> Any:
        first = logits(ash.gather(TABLE, ids, axis=0), TABLE)
        return first, ash.tanh(logits(ash.exp(ash.gather(TABLE, more, axis=0)), TABLE))

    fast = ash.compile(model)
    assert is_held_once(fast, TABLE)
    first, second = fast(ids_of(5), ids_of(9))
    np.testing.assert_allclose(first, TABLE[ids_of(5)] @ TABLE.T, rtol=1e-4, atol=1e-3)
    wanted = np.tanh(np.exp(TABLE[ids_of(9)]) @ TABLE.T)
    np.testing.assert_allclose(second, wanted, rtol=1e-3, atol=1e-3)


# --- what is held twice ---------------------------------------------------------------------------


@ash.jit
def along_the_depth(ids: ash.i64["n"], x: ash.f32["n", 67]) -> Any:
    return ash.gather(TABLE, ids, axis=1), logits(x, TABLE)


@ash.jit
def added(x: ash.f32["n", 67]) -> Any:
    return logits(x, TABLE), TABLE + x[:1]


@ash.jit
def both_ways(ids: ash.i64["n"], x: ash.f32["n", 67]) -> Any:
    rows = ash.gather(TABLE, ids, axis=0)
    return rows, ash.gather(TABLE, ids, axis=1), logits(x, TABLE)


@ash.jit
def returned(x: ash.f32["n", 67]) -> Any:
    return logits(x, TABLE), TABLE


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        (along_the_depth, lambda i, x: (TABLE[:, i], x @ TABLE.T)),
        (added, lambda _, x: (x @ TABLE.T, TABLE + x[:1])),
        (both_ways, lambda i, x: (TABLE[i], TABLE[:, i], x @ TABLE.T)),
        (returned, lambda _, x: (x @ TABLE.T, TABLE)),
    ],
)
def test_what_is_read_in_its_own_order_is_held_twice(
    model: ash.Jitted[..., Any], wanted: Callable[..., tuple[Array, ...]]
) -> None:
    fast = ash.compile(model)
    assert decided(fast) == [(False, "not only rows of it are looked up")]
    assert held(fast) >= TABLE.nbytes + panels(TABLE, target_for().tiling.columns(f32))
    ids, x = np.arange(5), RNG.standard_normal((5, WIDTH)).astype(np.float32)
    found = fast(*([ids, x] if len(model.graph.inputs) == 2 else [x]))
    for array, expected in zip(found, wanted(ids, x), strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-3)


def test_a_small_table_is_held_twice() -> None:
    table = TABLE[:100]

    @ash.jit
    def model(ids: ash.i64["n"]) -> Any:
        return logits(ash.gather(table, ids, axis=0), table)

    fast = ash.compile(model)
    assert decided(fast) == [(False, "it is small")]
    assert held(fast) >= 2 * table.nbytes


def test_what_is_only_looked_up_or_only_multiplied_is_not_discussed() -> None:
    other = TABLE + 1

    @ash.jit
    def model(ids: ash.i64["n"]) -> Any:
        return logits(ash.gather(TABLE, ids, axis=0), other)

    fast = ash.compile(model)
    assert decided(fast) == []
    np.testing.assert_allclose(fast(ids_of(3))[0], TABLE[ids_of(3)] @ other.T, rtol=1e-4, atol=1e-3)


# --- reports --------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["native", "stepwise"])
def test_explain_says_so(executor: Any) -> None:
    text = str(ash.compile(tied, executor=executor).explain())
    done = text.split("\n\ndone\n")[1].splitlines()[0]
    assert done.startswith(
        "  hold_once applied to 1 constant: looked up in the panels of a product ("
    )


def test_other_executors_pass_decisions_on() -> None:
    @ash.jit
    def with_host_node(ids: ash.i64["n"]) -> Any:
        found = logits(ash.gather(TABLE, ids, axis=0), TABLE)
        return ash.nonzero(found[:, 0])

    assert decided(ash.compile(with_host_node)) == ONCE
    assert decided(ash.compile(tied, result_cache=1 << 20)) == ONCE
    assert decided(ash.compile(tied, executor="reference")) == []


def test_the_estimate_counts_what_is_gathered() -> None:
    """A table is not read as a whole; in panels, a cache line for each element is."""
    fast = ash.compile(tied, options=ash.Options(calibrate=False), threads=1)
    one, many = (fast.specialize(n=n).cost().steps[0].nanoseconds for n in (1, 1000))
    assert one is not None
    assert one < 400
    assert many == pytest.approx(1000 * (20 + WIDTH * LINE_ALONE * 0.025), rel=0.2)
