"""Products of few rows and columns over a long depth: in parts of the depth, the same values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.options import options_with
from tests.unit.lower.lowering import all_kernels_of

import anyshape as ash
from anyshape.execute.native import NativeExecutor
from anyshape.execute.target import executable_isas
from anyshape.loop.verify import verify_kernel
from anyshape.passes.long_tasks import LONGEST, PART, TASKS
from anyshape.plan.schedule import Schedule
from anyshape.program import ConstantStore

RNG = np.random.default_rng(13)
WEIGHTS = RNG.standard_normal((2 * PART + 5, 3)).astype(np.float32)


@ash.jit
def of_vectors(x: ash.f32["n"], y: ash.f32["n"]):
    return x @ y


@ash.jit
def of_columns(x: ash.f32["n", "a"], y: ash.f32["n", "b"], bias: ash.f32["b"]):
    return ash.relu(x.mT @ y + bias)


@ash.jit
def of_rows(x: ash.f32["a", "n"], y: ash.f32["b", "n"]):
    return x @ y.mT


@ash.jit
def turned(x: ash.f32["a", "n"], y: ash.f32["n", "b"]):
    return (x @ y).mT


@ash.jit
def of_a_computed_operand(x: ash.f32["a", "n"], y: ash.f32["n", "b"]):
    return (x + 1) @ y


@ash.jit
def of_half(x: ash.f16["n", "a"], y: ash.f16["n", "b"]):
    return x.mT @ y


@ash.jit
def of_integers(x: ash.i8["a", "n"], y: ash.i8["n", "b"]):
    return x @ y


@ash.jit
def of_batches(x: ash.f64["q", "a", "n"], y: ash.f64["q", "n", "b"]):
    return x @ y


@ash.jit
def over_two_axes(x: ash.f32["n", "m", "a"], y: ash.f32["n", "m"]):
    return ash.einsum("nma,nm->a", x, y)


@ash.jit
def of_fixed_sizes(x: ash.f32[2, 2 * PART], y: ash.f32[2 * PART, 2]):
    return x @ y


@ash.jit
def with_weights(x: ash.f32["a", 2 * PART + 5]):
    return x @ WEIGHTS


FUNCTIONS = (
    of_vectors, of_columns, of_rows, turned, of_a_computed_operand, of_half, of_integers,
    of_batches, over_two_axes, of_fixed_sizes, with_weights,
)  # fmt: skip

Compiled = Callable[[Any], ash.Executable]


@pytest.fixture(scope="module", params=[*executable_isas(), "stepwise"])
def compiled(request: pytest.FixtureRequest) -> Compiled:
    known: dict[Any, ash.Executable] = {}
    options: dict[str, Any] = {"options": options_with(isa=request.param), "threads": 2}
    if request.param == "stepwise":
        options = {"executor": "stepwise"}

    def compiled(function: Any) -> ash.Executable:
        if function not in known:
            known[function] = ash.compile(function, **options)
        return known[function]

    return compiled


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_access_is_proved(function: Any):
    for kernel in all_kernels_of(function):
        assert verify_kernel(kernel) == []


def random(dtype: Any, *shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def close(found: Any, expected: Any, magnitude: Any, unit: float = 2.0**-24) -> None:
    """No further off than a few roundings of sums in blocks; `magnitude` is the sum of |x * y|."""
    assert found.shape == np.shape(expected)
    error = np.abs(found.astype(np.float64) - expected)
    assert (error <= unit * (4 * np.abs(expected) + 0.25 * magnitude)).all(), error.max()


SIZES = (
    (0, 2, 3), (1, 1, 1), (2 * PART - 1, 3, 2), (2 * PART, 1, 1), (2 * PART + 1, 3, 5),
    (3 * PART + 77, 1, 33), (3 * PART + 77, 33, 1), (2 * PART + 3, 97, 65), (70_001, 0, 2),
)  # fmt: skip


@pytest.mark.parametrize("sizes", SIZES)
def test_matrices(compiled: Compiled, sizes: tuple[int, int, int]):
    n, a, b = sizes
    x, y, bias = random("f", a, n), random("f", n, b), random("f", b)
    wide = x.astype(np.float64), y.astype(np.float64)
    expected, magnitude = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])
    close(compiled(of_rows)(x, np.ascontiguousarray(y.T))[0], expected, magnitude)
    close(compiled(turned)(x, y)[0], expected.T, magnitude.T)
    relu = np.maximum(expected + bias, 0)
    close(compiled(of_columns)(np.ascontiguousarray(x.T), y, bias)[0], relu, magnitude)
    shifted = np.abs(wide[0] + 1) @ np.abs(wide[1])
    close(compiled(of_a_computed_operand)(x, y)[0], (wide[0] + 1) @ wide[1], shifted)


@pytest.mark.parametrize("sizes", SIZES)
def test_other_dtypes(compiled: Compiled, sizes: tuple[int, int, int]):
    n, a, b = sizes
    x, y = random("e", n, a), random("e", n, b)
    wide = x.astype(np.float64), y.astype(np.float64)
    magnitude = np.abs(wide[0].T) @ np.abs(wide[1])
    found = compiled(of_half)(x, y)[0]
    close(found, wide[0].T @ wide[1], magnitude * 2.0**-13, unit=2.0**-11)
    i, j = (RNG.integers(-128, 128, shape).astype(np.int8) for shape in ((a, n), (n, b)))
    expected = (i.astype(np.float64) @ j.astype(np.float64)).astype(np.int64).astype(np.int8)
    np.testing.assert_array_equal(compiled(of_integers)(i, j)[0], expected)


@pytest.mark.parametrize("n", [0, 1, 2 * PART - 1, 2 * PART, 5 * PART + 11])
def test_vectors_batches_and_two_axes(compiled: Compiled, n: int):
    x, y = random("f", n), random("f", n)
    wide = x.astype(np.float64), y.astype(np.float64)
    close(compiled(of_vectors)(x, y)[0], wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1]))
    x, y = random("d", 3, 2, n), random("d", 3, n, 4)
    found = compiled(of_batches)(x, y)[0]
    close(found, x @ y, np.abs(x) @ np.abs(y), unit=2.0**-50)  # NumPy rounds too
    x, y = random("f", n // 7, 7, 2), random("f", n // 7, 7)
    wide = x.astype(np.float64), y.astype(np.float64)
    magnitude = np.einsum("nma,nm->a", *map(np.abs, wide))
    close(compiled(over_two_axes)(x, y)[0], np.einsum("nma,nm->a", *wide), magnitude)


def test_fixed_sizes_and_weights(compiled: Compiled):
    x, y = random("f", 2, 2 * PART), random("f", 2 * PART, 2)
    wide = x.astype(np.float64), y.astype(np.float64)
    close(compiled(of_fixed_sizes)(x, y)[0], wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1]))
    for rows in (0, 1, 40):
        x = random("f", rows, len(WEIGHTS))
        wide = x.astype(np.float64), WEIGHTS.astype(np.float64)
        magnitude = np.abs(wide[0]) @ np.abs(wide[1])
        close(compiled(with_weights)(x)[0], wide[0] @ wide[1], magnitude)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_row_and_column(compiled: Compiled, value: float):
    n = 3 * PART + 5
    x, y = random("f", n, 3), random("f", n, 2)
    x[n - 1, 1] = value
    found = compiled(of_columns)(x, y, np.zeros(2, np.float32))[0]
    expected = np.maximum(x.astype(np.float64).T @ y.astype(np.float64), 0)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))


# --- tasks ----------------------------------------------------------------------------------------


def tasks(function: Any, **sizes: int) -> list[int]:
    return [step.tasks for step in ash.compile(function).specialize(**sizes).cost().steps]


def test_few_rows_and_columns_over_a_long_depth_are_many_tasks():
    assert tasks(of_vectors, n=2 * PART) == [2, 1]
    assert tasks(of_vectors, n=100_000_000) == [TASKS, 1]
    assert tasks(of_vectors, n=1 << 31) == [2 * (1 << 31) // LONGEST, 1]
    assert tasks(of_rows, n=100_000_000, a=1, b=1)[0] == TASKS
    assert tasks(of_columns, n=100_000_000, a=3, b=5)[0] >= TASKS
    assert tasks(of_rows, n=1 << 30, a=40, b=40)[0] >= (1 << 30) * 180 // LONGEST


def test_ordinary_products_are_not_divided():
    assert tasks(of_vectors, n=2 * PART - 1)[0] == 0
    assert tasks(of_rows, n=2 * PART - 1, a=7, b=7)[0] == 0
    assert tasks(of_rows, n=4096, a=4096, b=4096)[0] == 0
    assert tasks(of_rows, n=2 * PART, a=4096, b=4096)[0] == 0


def test_depths_that_are_known_to_be_short_have_one_kernel():
    @ash.jit
    def short(x: ash.f32["a", 512], y: ash.f32[512, "b"]):
        return x @ y

    assert len(tasks(short, a=5, b=6)) == 1


def test_weights_are_held_once():
    executable = ash.compile(with_weights)
    assert executable.specialize(a=1).cost().steps[0].tasks == 2
    (packed,) = (b for b in plan_of(executable).buffers if isinstance(b.store, ConstantStore))
    assert executable.memory().weights == int(packed.bytes)


def plan_of(executable: ash.Executable) -> Schedule:
    assert isinstance(executable.executor, NativeExecutor)
    return executable.executor.plan
