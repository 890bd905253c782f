"""Narrow element types at sizes that they do not hold: indices, sizes as values, counts.

Both executors share the frontend, so they can agree on a wrong result. What is right comes from
NumPy or torch.
"""

# ruff: noqa: UP037 - names of axes are no forward references

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.base.errors import DTypeError, FactViolationError
from anyshape.ir.types import dtype_of

SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]

every_executor = pytest.mark.parametrize("executor", ["native", "reference"])


def run(executor: Any, function: Callable[..., Any], *arrays: Any) -> Any:
    """`function` of the arrays, all of whose axes are dynamic."""

    def traced(xs: Any) -> Any:
        return function(*xs)

    traced.__annotations__["xs"] = tuple(dtype_of(a)[(None,) * a.ndim] for a in arrays)
    return ash.jit(executor=executor)(traced)(arrays)


def check(executor: Any, function: Callable[..., Any], *arrays: Any) -> None:
    """What NumPy gives."""
    np.testing.assert_array_equal(run(executor, function, *arrays), function(*arrays))


# --- indices --------------------------------------------------------------------------------------


def some_indices(size: int, dtype: Any) -> Any:
    """The ends of an axis and of the dtype, and what lies between, from both sides."""
    info = np.iinfo(dtype)
    low, high = max(-size, int(info.min)), min(size, int(info.max) + 1)
    return np.unique(np.clip([low, -1, 0, 1, 7, high // 2, high - 1], low, high - 1)).astype(dtype)


@every_executor
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_one_index_at_more_elements_than_its_dtype_counts(executor: Any, dtype: Any) -> None:
    x, i = np.arange(70_000, dtype=np.float32), some_indices(70_000, dtype)
    check(executor, lambda x, i: x[i], x, i)
    check(executor, lambda x, i: x[i], x[:200], some_indices(200, dtype))
    check(executor, lambda x, i: x.take(i, axis=0), x, i)


@every_executor
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
@pytest.mark.parametrize("size", [20, 300])
def test_two_indices_into_merged_axes(executor: Any, dtype: Any, size: int) -> None:
    x = np.arange(size * size, dtype=np.int32).reshape(size, size)
    i = some_indices(size, dtype)
    check(executor, lambda x, i, j: x[i, j], x, i, i[::-1].copy())


@every_executor
def test_indices_of_different_dtypes(executor: Any) -> None:
    x = np.arange(20 * 300, dtype=np.int32).reshape(20, 300)
    i, j = np.array([19, 0, -1], np.int8), np.array([255, 1, 128], np.uint8)
    check(executor, lambda x, i, j: x[i, j], x, i, j)
    check(executor, lambda x, i, j: x[i, j], x, i, j.astype(np.uint64))


def test_all_arithmetic_of_indices_is_64_bits_wide() -> None:
    """Over 2**31 elements i32 would wrap too, which no test can hold in memory."""

    @ash.jit
    def f(x: ash.f32["n", "m"], i: ash.i32["k"], j: ash.i32["k"]):
        return x[i, j], x[i], ash.take(x, j)

    numbers = {"add", "sub", "mul", "select", "lt", "ge", "gather"}
    used = [node for node in f.graph.nodes() if node.op.name in numbers]
    operands = [v.tensor.dtype for node in used for v in node.operands if v.tensor.rank < 2]
    assert {node.op.name for node in used} >= {"add", "mul", "select", "gather"}
    assert set(operands) - {ash.bool, ash.f32} == {ash.i64}


@every_executor
def test_a_u64_beyond_i64_is_outside(executor: Any) -> None:
    x, far = np.arange(5, dtype=np.float32), np.array([2**64 - 1], np.uint64)
    if executor == "native":
        assert run(executor, lambda x, i: x[i], x, far) == [4]
        return
    with pytest.raises(ash.errors.EvaluationError, match=r"outside 0\.\.4"):
        run(executor, lambda x, i: x[i], x, far)


@every_executor
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_one_hot_sets_one(executor: Any, dtype: Any) -> None:
    i = some_indices(300, dtype)
    i = i[i >= 0]
    found = run(executor, lambda i: ash.one_hot(i, 300), i)
    np.testing.assert_array_equal(found, np.eye(300, dtype=np.float32)[i.astype(int)])


# --- sizes as values ------------------------------------------------------------------------------

LARGEST = {np.int8: 127, np.uint8: 255, np.int16: 32_767, np.uint16: 65_535, np.float16: 65_504}

USES: dict[str, Callable[..., Any]] = {
    "add": lambda x: x + x.shape[0],
    "below": lambda x: ash.minimum(x, x.shape[0]),
    "filled": lambda x: ash.full(3, x.shape[0], x.dtype),
    "converted": lambda x: ash.asarray(x.shape[0], x.dtype),
    "compared": lambda x: x < x.shape[0],
}


@every_executor
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("dtype", LARGEST)
def test_a_size_that_a_dtype_does_not_hold_is_an_error(executor: Any, use: str, dtype: Any) -> None:
    function, largest = USES[use], LARGEST[dtype]
    held = run(executor, function, np.zeros(largest, dtype))
    assert np.max(held) == (True if use == "compared" else largest if use != "below" else 0)
    with pytest.raises(FactViolationError):
        run(executor, function, np.zeros(largest + 1, dtype))


def test_what_the_error_says() -> None:
    @ash.jit
    def f(x: ash.u8["n"]):
        return x + x.shape[0]

    with pytest.raises(FactViolationError) as caught:
        f(np.zeros(300, np.uint8))
    first, second, *_ = str(caught.value).splitlines()
    assert first == "'n <= 255' does not hold for n=300"
    assert second.startswith(
        "  it comes from op: size n meets u8, which holds 0..255; use .astype(ash.i64) @ "
    )


def test_a_size_that_is_known_to_fit_needs_no_check() -> None:
    def plus(x: Any) -> Any:
        return x + x.shape[0]

    for axis, checks in ((ash.Axis("n", max=255), 0), (ash.Axis("n", max=256), 1)):
        plus.__annotations__["x"] = ash.u8["n"]
        graph = ash.jit(plus, axes=[axis]).graph
        assert len(graph.facts.facts) == checks


def test_a_negative_size_expression_has_no_unsigned_value() -> None:
    function = lambda x: x + (x.shape[0] - 3)  # noqa: E731
    assert run("native", function, np.zeros(3, np.uint8)).tolist() == [0, 0, 0]
    with pytest.raises(FactViolationError, match="0 <= "):
        run("native", function, np.zeros(2, np.uint8))


def test_wider_types_take_every_size() -> None:
    for dtype in (np.float32, np.float64, np.int64, ml_dtypes.bfloat16):
        x = np.zeros(70_000, dtype)
        wanted = np.asarray(70_000, dtype)
        assert (run("native", lambda x: x + x.shape[0], x) == wanted).all()


@every_executor
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("size", [0, 1, 7])
def test_u64_takes_every_size(executor: Any, use: str, size: int) -> None:
    found = run(executor, USES[use], np.zeros(size, np.uint64))
    wanted = {"below": 0, "compared": True}.get(use, size)
    assert found.size == (1 if use == "converted" else 3 if use == "filled" else size)
    assert (found == wanted).all()


@every_executor
def test_u64_takes_a_size_that_data_decides_but_no_negative_one(executor: Any) -> None:
    x, mask = np.array([2, 1], np.uint64), np.array([False, True])
    late = lambda x, mask: x & (x.masked_select(mask).shape[0] * 2)  # noqa: E731
    assert run(executor, late, x, mask).tolist() == [2, 0]
    with pytest.raises(
        FactViolationError, match=r"meets u64, which holds 0\.\.18446744073709551615"
    ):
        run(executor, lambda x: x + (x.shape[0] - 3), x)


def test_a_number_that_f16_does_not_hold() -> None:
    with pytest.raises(DTypeError) as caught:
        run("native", lambda x: x + 70_000, np.zeros(3, np.float16))
    assert (caught.value.expected, caught.value.found) == ("a number that fits f16", "70000")
    found = run("native", lambda x: ash.where(x > 0, x, -1e9), np.array([0, 1], np.float16))
    assert found.tolist() == [-np.inf, 1]  # a float rounds, as floats do


@every_executor
def test_counting_in_a_narrow_dtype(executor: Any) -> None:
    ranges: list[Callable[..., Any]] = [
        lambda x: ash.arange(x.shape[0], dtype=ash.u8),
        lambda x: ash.arange(x.shape[0] - 1, -1, -1, dtype=ash.u8),
        lambda x: ash.iota(x.shape, 0, ash.u8),
    ]
    for function in ranges:
        found = run(executor, function, np.zeros(256, np.bool_))
        assert sorted(found) == list(range(256))
        assert run(executor, function, np.zeros(0, np.bool_)).shape == (0,)
        with pytest.raises(FactViolationError, match="255"):
            run(executor, function, np.zeros(257, np.bool_))


# --- counts ---------------------------------------------------------------------------------------

COUNTED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "mean": (lambda x: x.mean(axis=1), lambda x: x.mean(1)),
    "var": (lambda x: x.var(axis=1), lambda x: x.var(1)),
    "var-1": (lambda x: x.var(axis=1, correction=1), lambda x: x.var(1, ddof=1)),
    "std-1": (lambda x: x.std(axis=1, correction=1), lambda x: x.std(1, ddof=1)),
    "var-all": (lambda x: x.var(correction=2), lambda x: x.var(ddof=2)),
    "half": (lambda x: x.var(axis=1, correction=0.5), lambda x: x.var(1, ddof=0.5)),
    "logsumexp": (lambda x: ash.logsumexp(x, 1), lambda x: np.log(np.exp(x).sum(1))),
    "layer_norm": (
        ash.layer_norm,
        lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5),
    ),
}


@every_executor
@pytest.mark.parametrize("form", COUNTED)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_counts_that_16_bits_do_not_hold(executor: Any, form: str, dtype: Any) -> None:
    ours, theirs = COUNTED[form]
    step = 2.0 ** (-10 if dtype is np.float16 else -7)
    for size in (257, 2_049, 70_000):
        x = (np.random.default_rng(size).standard_normal((2, size)) + 1).astype(dtype)
        found, wanted = run(executor, ours, x), theirs(x.astype(np.float64))
        assert found.dtype == dtype
        np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=step, atol=2e-3)


@every_executor
def test_products_that_f16_does_not_hold(executor: Any) -> None:
    x, y = np.array([300, -300, 1], np.float16), np.array([300, 300, 2], np.float16)
    assert run(executor, ash.vecdot, x, y) == np.vecdot(x, y) == 2


@every_executor
def test_squares_that_f16_does_not_hold(executor: Any) -> None:
    x = np.array([[-600.0, 600.0, 0.0]], np.float16)
    assert run(executor, lambda x: x.std(axis=1), x) == np.float16(np.std(x.astype(float)))
    assert run(executor, lambda x: x.var(axis=1), x) == np.inf  # 240,000 is none either


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom:UserWarning")
@every_executor
def test_a_correction_larger_than_the_count(executor: Any) -> None:
    for size in (0, 1, 2, 3):
        x = np.arange(size, dtype=np.float32)
        wanted = torch.var(torch.arange(size, dtype=torch.float32), correction=2).numpy()
        np.testing.assert_array_equal(run(executor, lambda x: x.var(correction=2), x), wanted)
