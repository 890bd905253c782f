"""The index of an extremum of a long row, found in parts: the first of equals, or the first NaN."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.compliance.evaluators import executable_isas
from tests.options import options_with
from tests.unit.lower.lowering import all_kernels_of

import anyshape as ash
from anyshape.loop.verify import verify_kernel
from anyshape.passes.long_tasks import LONGEST, PART, TASKS

RNG = np.random.default_rng(11)
LENGTHS = (1, 2, 2 * PART - 1, 2 * PART, 2 * PART + 1, 5 * PART + 17)


def of_everything(dtype: Any) -> Any:
    @ash.jit
    def found(x: dtype["n"]):
        return x.argmax(), x.argmin()

    return found


@ash.jit
def of_everything_in_two_axes(x: ash.f32["n", "m"]):
    return x.argmax(), x.argmin(keepdims=True)


@ash.jit
def of_rows(x: ash.f32["n", "m"]):
    return ash.abs(x).argmax(1) + 1, x.argmin(1, keepdims=True)


@ash.jit
def of_columns(x: ash.i32["n", "m"]):
    return x.argmax(0), x.argmin(0, keepdims=True)


@ash.jit
def of_the_middle(x: ash.f32["n", "m", "k"]):
    return x.argmax(1)


@pytest.fixture(scope="module", params=[*executable_isas(), "stepwise"])
def compiled(request: pytest.FixtureRequest) -> Callable[[Any], ash.Executable]:
    known: dict[Any, ash.Executable] = {}
    options: dict[str, Any] = {"options": options_with(isa=request.param)}
    if request.param == "stepwise":
        options = {"executor": "stepwise"}

    def compiled(function: Any) -> ash.Executable:
        if function not in known:
            known[function] = ash.compile(function, **options)
        return known[function]

    return compiled


Compiled = Callable[[Any], ash.Executable]
DTYPES = {ash.f16: np.float16, ash.f32: np.float32, ash.f64: np.float64, ash.u8: np.uint8,
          ash.i64: np.int64, ash.bool: np.bool_}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_first_of_equals(compiled: Compiled, dtype: Any):
    executable = compiled(of_everything(dtype))
    for n in LENGTHS:
        index = np.arange(n)
        for values in (RNG.integers(0, 90, n), 0 * index, index == n - 1, index > n // 2):
            x = values.astype(DTYPES[dtype])
            greatest, least = executable(x)
            assert (int(greatest), int(least)) == (x.argmax(), x.argmin())


@pytest.mark.parametrize("n", LENGTHS[2:])
def test_the_first_nan_is_the_extremum(compiled: Compiled, n: int):
    executable = compiled(of_everything(ash.f32))
    for places in ((0,), (n - 1,), (n // 2, n // 3), (n - 1, PART), (n - 2, n - 1)):
        x = RNG.standard_normal(n).astype(np.float32)
        x[list(places)] = np.nan
        x[n // 4] = np.inf
        x[n // 5] = -np.inf
        assert [int(v) for v in executable(x)] == [min(places)] * 2


def test_infinities_and_zeros_of_both_signs(compiled: Compiled):
    executable = compiled(of_everything(ash.f32))
    n = 3 * PART + 5
    for value in (np.inf, -np.inf, 0.0, -0.0):
        x = np.full(n, value, np.float32)
        assert [int(v) for v in executable(x)] == [0, 0]
        x[7] = -x[7] if value == 0 else x[7]
        assert [int(v) for v in executable(x)] == [0, 0]


SHAPES = ((3, 2 * PART + 5), (1, 5 * PART), (2 * PART + 5, 1), (70_001, 3), (2, 1), (0, 5), (1, 1))


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_and_columns(compiled: Compiled, shape: tuple[int, int]):
    x = RNG.integers(-99, 99, shape).astype(np.float32)
    greatest, least = compiled(of_rows)(x)
    np.testing.assert_array_equal(greatest, np.abs(x).argmax(1) + 1)
    np.testing.assert_array_equal(least, x.argmin(1, keepdims=True))
    if shape[0]:
        columns = x.astype(np.int32)
        greatest, least = compiled(of_columns)(columns)
        np.testing.assert_array_equal(greatest, columns.argmax(0))
        np.testing.assert_array_equal(least, columns.argmin(0, keepdims=True))
        greatest, least = compiled(of_everything_in_two_axes)(x)
        np.testing.assert_array_equal(greatest, x.argmax())
        np.testing.assert_array_equal(least, x.argmin(keepdims=True))


@pytest.mark.parametrize("shape", [(2, 3000, 41), (1, 2 * PART, 1), (3, 1, 2)])
def test_an_axis_in_the_middle(compiled: Compiled, shape: tuple[int, int, int]):
    x = RNG.integers(-99, 99, shape).astype(np.float32)
    np.testing.assert_array_equal(compiled(of_the_middle)(x)[0], x.argmax(1))


@pytest.mark.parametrize("function", [of_everything(ash.f32), of_rows, of_columns, of_the_middle])
def test_every_access_is_proved(function: Any):
    for kernel in all_kernels_of(function):
        assert verify_kernel(kernel) == []


def tasks(function: Any, **sizes: int) -> list[int]:
    return [step.tasks for step in ash.compile(function).specialize(**sizes).cost().steps]


def test_long_rows_are_many_tasks():
    assert sorted(tasks(of_everything(ash.f32), n=30_000_000)) == [1, 1, TASKS, TASKS]
    longest = (1 << 31) // LONGEST
    assert sorted(tasks(of_everything(ash.f32), n=1 << 31)) == [1, 1, longest, longest]
    assert sorted(tasks(of_rows, n=3, m=10 * PART)) == [1, 3, 30, 30]


def test_short_rows_are_one_task_each():
    assert sorted(tasks(of_everything(ash.f32), n=2 * PART - 1)) == [0, 0, 1, 1]
    assert sorted(tasks(of_rows, n=TASKS, m=10 * PART)) == [0, 0, TASKS, TASKS]


def test_axes_that_are_known_to_be_short_have_one_kernel():
    @ash.jit
    def short(x: ash.f32["n", 512]):
        return x.argmax(1)

    assert len(tasks(short, n=5)) == 1
