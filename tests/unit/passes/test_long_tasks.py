"""Long axes in parts: the same values at every size, in as many tasks as threads can share."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.unit.lower.lowering import all_kernels_of

import anyshape as ash
from anyshape.ir import parse
from anyshape.loop.verify import verify_kernel
from anyshape.passes.long_tasks import LONGEST, PART, TASKS

RNG = np.random.default_rng(7)
AROUND = (0, 1, 5, PART, 2 * PART - 1, 2 * PART, 2 * PART + 1, 33 * PART + 17)
"""Lengths around the shortest parts: from 2 * PART on there are some."""


@ash.jit
def total(x: ash.f32["n"]):
    return ash.tanh(x).sum() * 2


@ash.jit
def totals_of_rows(x: ash.f32["n", "m"]):
    return (x + 1).sum(1)


@ash.jit
def totals_of_columns(x: ash.f32["n", "m"]):
    return (x * x).sum(0)


@ash.jit
def total_of_scaled(x: ash.f32["n", "m"], w: ash.f32["m"]):
    return (x * w).sum()


@ash.jit
def outer_totals(x: ash.f32["n", "m", "k"]):
    return x.sum(axis=(0, 2), keepdims=True)


@ash.jit
def mean_of_half(x: ash.f16["n", "m"]):
    return x.mean(keepdims=True)


@ash.jit
def extremes(x: ash.f32["n"]):
    return x.max(), x.min()


@ash.jit
def product_of_integers(x: ash.i32["n"]):
    return x.prod(), x.sum()


@ash.jit
def all_and_any(x: ash.bool["n"]):
    return x.all(), x.any()


FUNCTIONS = (
    total, totals_of_rows, totals_of_columns, total_of_scaled, outer_totals, mean_of_half,
    extremes, product_of_integers, all_and_any,
)  # fmt: skip


@pytest.fixture(scope="module", params=["native", "stepwise", "one thread"])
def compiled(request: pytest.FixtureRequest) -> Callable[[Any], ash.Executable]:
    known: dict[Any, ash.Executable] = {}
    options: dict[str, Any] = {"executor": request.param}
    if request.param == "one thread":
        options = {"threads": 1}

    def compiled(function: Any) -> ash.Executable:
        if function not in known:
            known[function] = ash.compile(function, **options)
        return known[function]

    return compiled


Compiled = Callable[[Any], ash.Executable]


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def close(found: Any, expected: Any, scale: float = 1e-6) -> None:
    assert found.shape == np.shape(expected)
    error = np.abs(found.astype(np.float64) - expected)
    assert (error <= scale * (1 + np.abs(expected))).all(), error.max()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_access_is_proved(function: Any) -> None:
    for kernel in all_kernels_of(function):
        assert verify_kernel(kernel) == []


@pytest.mark.parametrize("n", AROUND)
def test_sums_of_everything(compiled: Compiled, n: int):
    x = np.abs(random(n))
    close(compiled(total)(x)[0], 2 * np.tanh(x.astype(np.float64)).sum())


@pytest.mark.parametrize("shape", [(3, 2 * PART + 5), (1, 70_001), (70_001, 1), (100, 700), (2, 0)])
def test_sums_of_rows_and_columns(compiled: Compiled, shape: tuple[int, int]):
    x = np.abs(random(*shape))
    wide = x.astype(np.float64)
    close(compiled(totals_of_rows)(x)[0], (wide + 1).sum(1))
    close(compiled(totals_of_columns)(x)[0], (wide * wide).sum(0))
    w = np.abs(random(shape[1]))
    close(compiled(total_of_scaled)(x, w)[0], (wide * w).sum())


@pytest.mark.parametrize("shape", [(2000, 3, 41), (2, 5, 65_537), (1, 1, 1), (0, 2, 3), (70, 2, 0)])
def test_axes_that_are_no_neighbours(compiled: Compiled, shape: tuple[int, int, int]):
    x = np.abs(random(*shape))
    close(compiled(outer_totals)(x)[0], x.astype(np.float64).sum((0, 2), keepdims=True))


@pytest.mark.parametrize("shape", [(300, 301), (1, 1), (3, 100_000)])
def test_means_of_half(compiled: Compiled, shape: tuple[int, int]):
    x = np.abs(random(*shape)).astype(np.float16)
    close(compiled(mean_of_half)(x)[0], x.astype(np.float64).mean(keepdims=True), 1e-3)


@pytest.mark.parametrize("n", AROUND[1:])
@pytest.mark.parametrize("nan", [False, True])
def test_extremes(compiled: Compiled, n: int, nan: bool):
    x = random(n)
    if nan:
        x[n // 2] = np.nan
    greatest, least = compiled(extremes)(x)
    np.testing.assert_array_equal((greatest, least), (x.max(), x.min()))


@pytest.mark.parametrize("n", AROUND)
def test_integers_and_truths_are_exact(compiled: Compiled, n: int):
    x = (RNG.integers(-5, 5, n) | 1).astype(np.int32)
    found, added = compiled(product_of_integers)(x)
    assert (int(found), int(added)) == (np.prod(x, dtype=np.int64), x.sum())
    for truths in (np.ones(n, np.bool_), np.zeros(n, np.bool_), np.arange(n) == n - 1):
        every, some = compiled(all_and_any)(truths)
        assert (bool(every), bool(some)) == (truths.all(), truths.any())


# --- running totals -----------------------------------------------------------------------------


def running(exclusive: bool, reverse: bool) -> Any:
    @ash.jit
    def walked(x: ash.f32["n"], y: ash.f32["n", "m"], z: ash.i64["m", "n"]):
        options = {"exclusive": exclusive, "reverse": reverse}
        return (
            ash.cumsum(ash.exp(x), axis=0, **options) * 2,
            ash.cumsum(y, axis=0, **options),
            ash.cumsum(z, axis=1, **options),
            ash.cummax(x, axis=0, **options),
            ash.cumprod(z, axis=1, **options),
        )

    return walked


def by_numpy(function: Any, x: np.ndarray, axis: int, start: Any, ways: tuple[bool, bool]) -> Any:
    exclusive, reverse = ways
    x = np.flip(x, axis) if reverse else x
    found = function.accumulate(x, axis=axis, dtype=x.dtype)
    if exclusive:
        shape = list(x.shape)
        shape[axis] = min(1, shape[axis])
        first = np.full(shape, start, x.dtype)
        found = np.concatenate([first, np.take(found, range(x.shape[axis] - 1), axis)], axis)
    return np.flip(found, axis) if reverse else found


WAYS = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize("ways", WAYS)
def test_running_totals(compiled: Compiled, ways: tuple[bool, bool]):
    executable = compiled(running(*ways))
    for n, m in ((0, 3), (1, 1), (PART, 2), (2 * PART - 1, 1), (2 * PART + 1, 3), (300_007, 1)):
        x, y = random(n), np.abs(random(n, m))
        z = RNG.integers(-9, 9, (m, n))
        sums, columns, integers, greatest, products = executable(x, y, z)
        power = np.exp(x.astype(np.float64))
        close(sums, 2 * by_numpy(np.add, power, 0, 0, ways))
        close(columns, by_numpy(np.add, y.astype(np.float64), 0, 0, ways))
        np.testing.assert_array_equal(integers, by_numpy(np.add, z, 1, 0, ways))
        np.testing.assert_array_equal(greatest, by_numpy(np.maximum, x, 0, -np.inf, ways))
        np.testing.assert_array_equal(products, by_numpy(np.multiply, z, 1, 1, ways))


# --- sorts ----------------------------------------------------------------------------------------


def sort_graph(dtype: str, axis: int, descending: bool) -> Any:
    attrs = f"{{axis={axis}, descending={str(descending).lower()}}}"
    text = f"{dtype}[n, m]"
    return parse(
        f"graph sorted(x: {text}) -> ({text}, i64[n, m]) {{\n"
        f"  %0, %1 = sort(x) {attrs}\n  return %0, %1\n}}"
    )


def top_graph(k: int) -> Any:
    return parse(
        f"axes {{ n: {k}.. }}\ngraph top(x: f32[n]) -> (f32[{k}], i64[{k}]) {{\n"
        f"  %0, %1 = topk(x) {{axis=0, k={k}}}\n  return %0, %1\n}}"
    )


def elements(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Many are equal; floats have both zeros, infinities and NaN."""
    x = RNG.integers(-40, 40, shape).astype({"f32": np.float32, "i64": np.int64}[dtype])
    if dtype == "f32":
        x = np.where(x == 3, np.nan, np.where(x == 5, np.inf, x * np.float32(-0.0 + 1)))
        x = np.where(x == 7, np.float32(-0.0), x).astype(np.float32)
    return x


def in_order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    keys = np.where(np.isnan(x), np.inf, x) if x.dtype.kind == "f" else x
    nan = np.isnan(x) if x.dtype.kind == "f" else np.zeros_like(x, np.bool_)
    sign = -1 if descending else 1
    places = np.broadcast_to(np.arange(x.shape[axis]).reshape([-1, 1][:: 1 - 2 * axis]), x.shape)
    return np.lexsort((places, sign * keys, sign * nan.astype(int)), axis=axis)


@pytest.mark.parametrize("executor", ["native", "stepwise"])
@pytest.mark.parametrize(
    ("dtype", "axis", "descending"), [("f32", 1, False), ("i64", 0, True), ("f32", 0, True)]
)
def test_sorts(executor: Any, dtype: str, axis: int, descending: bool):
    executable = ash.compile(sort_graph(dtype, axis, descending), executor=executor)
    for rows, length in ((1, 1), (2, 0), (1, 2 * PART - 1), (3, 2 * PART + 1), (1, 300_007)):
        shape = (rows, length) if axis == 1 else (length, rows)
        x = elements(dtype, shape)
        values, places = executable(x)
        expected = in_order(x, axis, descending)
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected, axis))


@pytest.mark.parametrize("k", [1, 10, PART + 1])
def test_the_greatest_of_many(k: int):
    executable = ash.compile(top_graph(k))
    for length in (k, 2 * PART + 3, 1_000_003):
        x = elements("f32", (length,))
        values, places = executable(x)
        expected = in_order(x[None], 1, True)[0, :k]
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(values, x[expected])


# --- tasks ----------------------------------------------------------------------------------------


def tasks(function: Any, **sizes: int) -> list[int]:
    return [step.tasks for step in ash.compile(function).specialize(**sizes).cost().steps]


def test_short_axes_and_many_rows_are_not_divided():
    assert tasks(total, n=2 * PART - 1) == [0, 1]
    assert tasks(totals_of_rows, n=TASKS, m=10 * PART) == [0, TASKS]
    assert tasks(totals_of_columns, n=1000, m=64) == [0, 1]
    assert tasks(sort_graph("f32", 1, False), n=3, m=2 * PART - 1) == [0, 3]


def test_long_axes_of_few_rows_are_divided():
    assert tasks(total, n=2 * PART) == [2, 1]
    assert tasks(total, n=1 << 31) == [(1 << 31) // LONGEST, 1]
    assert tasks(totals_of_rows, n=3, m=10 * PART) == [30, 1]
    assert tasks(totals_of_columns, n=100_000, m=1) == [3, 1]
    assert tasks(sort_graph("f32", 1, False), n=1, m=1 << 24) == [32, 32]
    assert tasks(sort_graph("f32", 1, False), n=1, m=1 << 30) == [2048, 2048]


def test_axes_that_are_known_to_be_short_have_one_kernel():
    @ash.jit
    def short(x: ash.f32["n", 512]):
        return x.sum(1)

    assert len(tasks(short, n=5)) == 1
