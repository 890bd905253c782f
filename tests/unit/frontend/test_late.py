"""Functions whose result sizes depend on the data, against NumPy and torch, at sizes 0, 1 and odd.

Each is traced with dynamic sizes, once, and run by the interpreter and by compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.frontend.tracing import bools, floats, integers

import anyshape as ash
from anyshape.base.errors import AnyshapeError, EvaluationError, LateSizeError, TraceError
from anyshape.ir import verify
from anyshape.ir.types import dtype_of

Array = Any
Function = Callable[..., Any]


@cache
def traced(function: Function, executor: str, *types: Any) -> Any:
    def whole(xs: Any) -> Any:
        return function(*xs)

    whole.__annotations__["xs"] = types
    compiled = ash.jit(executor=executor)(whole)
    verify(compiled.graph)
    assert ash.ir.parse(compiled.graph.as_text(), compiled.graph.weights) == compiled.graph
    return compiled


def results(function: Function, executor: str, *arrays: Array) -> tuple[Array, ...]:
    types = [dtype_of(array)[(None,) * array.ndim] for array in arrays]
    found = traced(function, executor, *types)(arrays)
    return found if isinstance(found, tuple) else (found,)


def check(ours: Function, theirs: Function, *arrays: Array) -> None:
    expected = theirs(*arrays)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for executor in ("reference", "native"):
        found = results(ours, executor, *arrays)
        assert len(found) == len(expected)
        for ours_, theirs_ in zip(found, expected, strict=True):
            assert ours_.shape == theirs_.shape
            np.testing.assert_array_equal(ours_, theirs_)


def few(size: int) -> Array:
    return integers(size, low=0, high=max(2, size // 2), seed=size)


def with_nans(size: int) -> Array:
    x = np.round(floats(size, seed=size))
    return np.where(bools(size, seed=1), x, np.float32(np.nan)).astype(np.float32)


def everything(x: Any) -> Any:
    return ash.unique(x, return_index=True, return_inverse=True, return_counts=True)


def numpy_everything(x: Array) -> Any:
    return np.unique(x, return_index=True, return_inverse=True, return_counts=True)


def repeated(x: Any, times: Any) -> Any:
    return ash.repeat_interleave(x, times, axis=1)


def first_rows(x: Any, n: Any) -> Any:
    return x[: n.item()]


def between(x: Any, low: Any, high: Any) -> Any:
    return x[low:high]


def counted(n: Any) -> Any:
    return ash.arange(n), ash.arange(1, n * 2, 3), ash.arange(n, 0, -2), ash.zeros((n, 2))


def numpy_counted(n: Array) -> Any:
    n = int(n)
    return np.arange(n), np.arange(1, n * 2, 3), np.arange(n, 0, -2), np.zeros((n, 2))


sizes = pytest.mark.parametrize("size", [0, 1, 7, 131])


@sizes
def test_masks(size: int) -> None:
    x, mask, plane = floats(size), bools(size), bools(size, 3)
    check(lambda x, m: x[m], lambda x, m: x[m], x, mask)
    check(lambda x, m: x[m], lambda x, m: x[m], floats(size, 3), plane)
    check(lambda x, m: x[m] * 2, lambda x, m: x[m] * 2, floats(size, 3), mask)
    check(lambda x, m: x[:, m], lambda x, m: x[:, m], floats(3, size), mask)
    check(lambda x, m: x[m, 1], lambda x, m: x[m, 1], floats(size, 3), mask)
    check(lambda x, m: x[m] + x[m], lambda x, m: x[m] * 2, x, mask)


@sizes
def test_selections(size: int) -> None:
    x, mask = floats(size, 5), bools(5, seed=size)
    check(
        lambda x, m: (ash.masked_select(x, m), x.masked_select(x > 0)),
        lambda x, m: (x[np.broadcast_to(m, x.shape)], x[x > 0]),
        x, mask,
    )  # fmt: skip
    check(
        lambda x, m: (ash.compress(m, x, axis=1), x.compress(m, axis=-1)),
        lambda x, m: (np.compress(m, x, axis=1),) * 2,
        x, mask,
    )  # fmt: skip
    check(
        lambda x, m: ash.compress(m, x), lambda x, m: np.compress(m, x), floats(size), bools(size)
    )
    check(lambda x: x.nonzero(), np.nonzero, integers(size, 3, low=0, high=2))


@sizes
def test_unique(size: int) -> None:
    check(everything, numpy_everything, few(size))
    check(everything, numpy_everything, with_nans(size))
    check(ash.unique, np.unique, integers(size, 3, low=0, high=5))
    check(lambda x: x.unique(return_counts=True),
          lambda x: np.unique(x, return_counts=True), few(size))  # fmt: skip


@sizes
def test_nans_may_be_values_of_their_own(size: int) -> None:
    check(lambda x: ash.unique(x, equal_nan=False),
          lambda x: np.unique(x, equal_nan=False), with_nans(size))  # fmt: skip


@sizes
def test_bincount(size: int) -> None:
    check(lambda x: ash.bincount(x, minlength=4), lambda x: np.bincount(x, minlength=4), few(size))
    check(ash.bincount, np.bincount, few(size).astype(np.uint8))
    check(lambda x, w: x.bincount(w), np.bincount, few(size), np.arange(size) / 4)


@sizes
def test_repeat_interleave(size: int) -> None:
    times = integers(size, low=0, high=4)
    check(ash.repeat_interleave, np.repeat, floats(size), times)
    check(repeated, lambda x, n: np.repeat(x, n, axis=1), floats(2, size), times)
    check(lambda x: x.repeat_interleave(3), lambda x: np.repeat(x, 3), floats(size, 2))


@sizes
def test_sizes_that_data_decide(size: int) -> None:
    x = floats(131, 2)
    check(first_rows, lambda x, n: x[: int(n)], x, np.array(size))
    check(between, lambda x, a, b: x[int(a) : int(b)], x, np.array(1), np.array(size))
    check(counted, numpy_counted, np.array(size))


@sizes
def test_order(size: int) -> None:
    x = integers(size, 5, seed=size)
    check(lambda x: (ash.sort(x), x.sort(axis=0)), lambda x: (np.sort(x), np.sort(x, 0)), x)
    check(
        lambda x: (ash.argsort(x, dim=0), x.argsort()),
        lambda x: (np.argsort(x, 0, kind="stable"), np.argsort(x, kind="stable")), x,
    )  # fmt: skip
    check(lambda x: x.sort(descending=True), lambda x: -np.sort(-x), x)
    check(
        lambda x: tuple(x.topk(k=2, dim=-1)) + tuple(ash.topk(x, 3, largest=False)),
        lambda x: (
            -np.sort(-x)[:, :2], np.argsort(-x, kind="stable")[:, :2],
            np.sort(x)[:, :3], np.argsort(x, kind="stable")[:, :3],
        ), x,
    )  # fmt: skip


@sizes
def test_scatter(size: int) -> None:
    x, source = floats(5, 3), floats(size, 3, seed=1)
    index = integers(size, 3, low=0, high=5, seed=2)
    tensors = torch.tensor(x), torch.tensor(index), torch.tensor(source)

    def expected(*_: Array) -> tuple[Array, ...]:
        x, index, source = tensors
        return (
            x.scatter_add(0, index, source).numpy(),
            x.scatter_reduce(0, index, source, "amax").numpy(),
            x.scatter(0, index, 2.5).numpy(),
        )

    check(
        lambda x, i, s: (
            ash.scatter_add(x, 0, i, s), ash.scatter(x, 0, i, s, "max"), x.scatter(0, i, 2.5)
        ), expected, x, index, source,
    )  # fmt: skip
    check(
        lambda x, i: (ash.take_along(x, i, axis=0), x.take_along(i - 5, axis=0)),
        lambda x, i: (np.take_along_axis(x, i, 0), np.take_along_axis(x, i - 5, 0)), x, index,
    )  # fmt: skip


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_a_size_below_zero(executor: Any) -> None:
    with pytest.raises(LateSizeError, match="the computed size is -3"):
        results(first_rows, executor, floats(4, 2), np.array(-3))
    with pytest.raises(LateSizeError, match="the computed size is -1"):
        results(ash.repeat_interleave, executor, floats(2), np.array([2, -1]))
    with pytest.raises(LateSizeError, match="the computed size is -1"):
        results(ash.bincount, executor, np.array([2, -1, 2]))


@pytest.mark.parametrize(
    ("function", "array", "problem"),
    [
        (lambda x: x[: x.sum().item()], floats(3), r"item\(\) of a f32\[\] is no size"),
        (lambda x: ash.compress(x, x), bools(3, 2), r"a condition with shape bool\["),
        (ash.bincount, integers(3, 2), r"bincount of i64\["),
        (lambda x: x[(x > 0).all()], floats(3), "a mask without axes as index"),
    ],
)
def test_refusals(function: Function, array: Array, problem: str) -> None:
    with pytest.raises(TraceError, match=problem):
        results(function, "reference", array)


# --- assignment -----------------------------------------------------------------------------------


def written(x: Any, mask: Any, index: Any, v: Any) -> Any:
    """The same in NumPy and here, on tensors of its own."""
    a, b, c, d, e, f = (x + 0 for _ in range(6))
    a[mask] = 2.5
    b[mask] = x[mask] * 2
    b[mask] += 1
    c[index] = v
    c[index] += 1
    d[1:3, ::2] = 7
    d[..., -1] = x[:, 0]
    e[mask, 1] = 3
    f[:, index % 3] *= 2
    f[0] += 1
    return a, b, c, d, e, f


def test_any_byte_but_zero_is_true() -> None:
    """NumPy and torch make such masks from bytes."""

    @ash.jit
    def selected(mask: ash.bool[None], x: ash.f32[None]):
        return x[mask], *ash.nonzero(mask)

    for size in (3, 64, 100, 1000):
        mask = np.where(np.arange(size) % 7, 255, 0).astype(np.uint8)
        mask[::5] = 2
        x = np.arange(size, dtype=np.float32)
        found, places = selected(mask.view(bool), x)
        np.testing.assert_array_equal(found, x[mask != 0])
        np.testing.assert_array_equal(places, np.flatnonzero(mask))


def test_assignment() -> None:
    x, v = floats(7, 3), floats(4, 3, seed=2)
    check(written, written, x, bools(7), np.array([0, 6, 3, 3]), v)
    check(written, written, x, np.zeros(7, bool), np.array([0, 6, 3, 3]), v)


def aliases(x: Any) -> Any:
    one = x * 2
    same, other = one, +one
    one[0] = 5
    third = one.astype(one.dtype)
    third[1] = 6
    fourth = (ash if isinstance(x, ash.Tensor) else np).concat([one])
    fourth[2] = 7
    return one, same, other, third, fourth


def test_whoever_holds_a_tensor_sees_what_is_assigned_to_it() -> None:
    check(aliases, aliases, floats(4))


def rounded(z: Any) -> Any:
    lib: Any = ash if isinstance(z, ash.Tensor) else np
    z = z + 0
    others = lib.round(z), lib.floor(z), lib.ceil(z), lib.clip(z, None, None), z**1
    z[0] = 50
    return z, *others


def test_results_are_no_names_of_operands() -> None:
    check(rounded, rounded, integers(4))


def of_a_parameter(x: Any) -> Any:
    own = x.astype(x.dtype)
    own[0] = 5
    return own, x


def test_a_copy_of_a_parameter_is_assigned_to() -> None:
    check(of_a_parameter, of_a_parameter, floats(3))


def outside(x: Any, i: Any, j: Any) -> Any:
    a, b, c, d = (x + 0 for _ in range(4))
    a[i, 1:3] = 7
    b[:, j] = 8
    c[i, None, j] = 9
    d[i] = 6
    return a, b, c, d


def kept_inside(x: Any, i: Any, j: Any) -> Any:
    rows, columns = (((k >= -n) & (k < n)) for k, n in zip((i, j), x.shape, strict=True))
    a, b, c, d = (x.copy() for _ in range(4))
    a[i[rows], 1:3] = 7
    b[:, j[columns]] = 8
    c[i[rows & columns], j[rows & columns]] = 9
    d[i[rows]] = 6
    return a, b, c, d


@pytest.mark.parametrize("rows", [5, 1, 0])
def test_an_assignment_outside_is_dropped(rows: int) -> None:
    """By compiled code; the interpreter refuses it."""
    x, i, j = floats(rows, 4), np.array([5, 1, -6, 99, -1]), np.array([0, 4, 2, -5, -99])
    wanted = kept_inside(x, i, j)
    for found, expected in zip(results(outside, "native", x, i, j), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(EvaluationError, match="scatter"):
        results(outside, "reference", x, i, j)


def leading_ones(x: Any, v: Any) -> Any:
    a, b = x + 0, x + 0
    a[1:3] = v.reshape(1, 1, 2)
    b[np.array([0, 2])] = v.reshape(1, 2)
    return a, b


def test_values_with_more_axes() -> None:
    check(leading_ones, leading_ones, floats(4), floats(2))
    with pytest.raises(AnyshapeError, match="has size 2 at axis 0, expected 1"):
        results(assigned_rows, "reference", floats(2), floats(2, 2))


def assigned_rows(x: Any, v: Any) -> Any:
    x = x + 0
    x[:] = v
    return x


def masked(x: Any, mask: Any) -> Any:
    x = x + 0
    x[mask] = 7
    return x


def masked_behind(x: Any, mask: Any) -> Any:
    x = x + 0
    x[..., mask] = 7
    return x


@pytest.mark.parametrize("executor", ["reference", "native"])
@pytest.mark.parametrize(
    "function", [masked, masked_behind, lambda x, mask: x[None, mask]], ids=["", "behind", "read"]
)
def test_a_mask_of_other_sizes_is_refused(function: Function, executor: Any) -> None:
    np.testing.assert_array_equal(
        results(function, executor, floats(3), bools(3))[0], function(floats(3), bools(3))
    )
    for size in (1, 2):
        with pytest.raises(AnyshapeError, match="conflicting sizes"):
            results(function, executor, floats(size), bools(3))
    with pytest.raises(TraceError, match="a mask of 2 axes at axis 0"):
        results(function, executor, floats(3), bools(3, 3))


def routed(x: Any, route: Any, scale: Any) -> Any:
    """Each expert takes its own tokens."""
    out = 0 * x
    for expert in range(4):
        idx = route == expert
        out[idx] += x[idx] * scale[expert]
    return out


@sizes
def test_an_expert_for_each_token(size: int) -> None:
    route = integers(size, low=0, high=3)
    check(routed, lambda x, r, s: x * s[r][:, None], floats(size, 4), route, floats(4))
