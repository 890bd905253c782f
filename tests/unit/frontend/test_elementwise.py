"""Elementwise functions and operators against NumPy; promotion."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.unit.frontend.tracing import bools, check, floats, integers, run

import anyshape as ash
from anyshape.ir.types import ALL_DTYPES, DTYPES, DType

SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 1, 3), (4, 1)), ((0, 3), (1, 3)), ((), (2,))]
UNARY = [
    "exp", "expm1", "sin", "cos", "tanh", "abs", "sign", "floor", "ceil", "round", "negative",
    "square", "isnan", "isinf", "isfinite",
]  # fmt: skip
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "equal", "less"]
OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", [(3, 4), (0, 2), (1,), ()])
def test_unary(name: str, shape: tuple[int, ...]) -> None:
    check(getattr(ash, name), getattr(np, name), floats(*shape))


@pytest.mark.parametrize("name", ["log", "log1p", "sqrt", "reciprocal"])
def test_functions_of_positive_numbers(name: str) -> None:
    check(getattr(ash, name), getattr(np, name), np.abs(floats(3, 4)) + 0.1)


def test_rsqrt_sigmoid_erf() -> None:
    x = np.abs(floats(5)) + 0.1
    check(ash.rsqrt, lambda x: 1 / np.sqrt(x), x)
    check(ash.sigmoid, lambda x: 1 / (1 + np.exp(-x)), x)
    torch = pytest.importorskip("torch")
    check(ash.erf, lambda x: torch.erf(torch.from_numpy(x)).numpy(), x)


def test_functions_of_floats_take_integers_as_f32() -> None:
    found = run(ash.exp, integers(3))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.exp(integers(3)), rtol=1e-5)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_binary_functions_broadcast(name: str, shapes: tuple[Any, Any]) -> None:
    check(getattr(ash, name), getattr(np, name), *(floats(*s, seed=len(s)) for s in shapes))


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operators_and_their_reflections(op: Callable[[Any, Any], Any]) -> None:
    x, y = floats(3, 4), floats(4, seed=1)
    check(op, op, x, y)
    check(lambda x: op(x, 2.5), lambda x: op(x, np.float32(2.5)), x)
    check(lambda x: op(2.5, x), lambda x: op(np.float32(2.5), x), x)
    check(lambda x: op(y, x), lambda x: op(y, x), x)  # a NumPy array on the left


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor])
def test_bitwise_operators_on_bools_and_integers(op: Callable[[Any, Any], Any]) -> None:
    check(op, op, bools(4, 3), bools(3, seed=1))
    check(op, op, integers(4, 3), integers(3, seed=1))
    check(operator.invert, operator.invert, bools(4))
    check(operator.invert, operator.invert, integers(4))
    check(operator.invert, operator.invert, integers(4, low=0).astype(np.uint8))


@pytest.mark.parametrize("op", [operator.lshift, operator.rshift], ids=lambda op: op.__name__)
def test_shifts_and_their_reflections(op: Callable[[Any, Any], Any]) -> None:
    x, bits = integers(3, 4), integers(4, low=0, high=5)
    check(op, op, x, bits)
    check(lambda x: op(x, 2), lambda x: op(x, 2), x)
    check(lambda bits: op(99, bits), lambda bits: op(99, bits), bits)


def test_logical_functions_take_numbers() -> None:
    x, y = integers(8, low=0, high=2), integers(8, low=0, high=2, seed=1)
    for name in ("logical_and", "logical_or", "logical_xor"):
        check(getattr(ash, name), getattr(np, name), x, y)
    check(ash.logical_not, np.logical_not, x)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7])
def test_integer_powers(exponent: int) -> None:
    check(lambda x: x**exponent, lambda x: x**exponent, integers(5))
    check(lambda x: x**exponent, lambda x: x**exponent, floats(5))


def test_powers_of_floats() -> None:
    check(lambda x, y: x**y, lambda x, y: x**y, np.abs(floats(4)), floats(4, seed=1))
    check(lambda x: 2**x, lambda x: np.float32(2) ** x, floats(4))
    check(lambda x: abs(x) ** 0.5, lambda x: np.abs(x) ** np.float32(0.5), floats(4))


def test_where_and_clip() -> None:
    x, m = floats(3, 4), bools(3, 1)
    check(ash.where, np.where, m, x, -x)
    check(lambda m, x: ash.where(m, x, 0.0), lambda m, x: np.where(m, x, np.float32(0)), m, x)
    check(lambda m, x: x.where(m, -x), lambda m, x: np.where(m, x, -x), m, x)
    check(lambda x: ash.clip(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5), x)
    check(lambda x: ash.clip(x, max=0.5), lambda x: np.minimum(x, np.float32(0.5)), x)


def test_numpy_functions_on_a_traced_tensor_are_ours() -> None:
    check(np.exp, np.exp, floats(3))
    check(lambda x: np.maximum(x, 0), lambda x: np.maximum(x, np.float32(0)), floats(3))


# --- dims in arithmetic -------------------------------------------------------------------------


def test_a_dim_becomes_a_number_of_the_tensors_type() -> None:
    check(lambda x: x / x.shape[0], lambda x: x / np.float32(len(x)), floats(4))
    check(lambda x: x + x.size, lambda x: x + np.float32(x.size), floats(4, 2))
    check(lambda x: ash.sqrt(x.shape[0]) * x, lambda x: np.sqrt(np.float32(len(x))) * x, floats(4))


def test_a_dim_on_the_left() -> None:
    check(lambda x: x.shape[0] * x, lambda x: x * np.float32(len(x)), floats(4))
    check(lambda x: x.shape[0] - x, lambda x: np.float32(len(x)) - x, floats(4))


@pytest.mark.parametrize("compare", [operator.eq, operator.ne])
def test_a_dim_compared_with_a_tensor_gives_a_tensor(compare: Callable[..., Any]) -> None:
    """From the left too: a dim has no answer for tensors, so that theirs counts."""
    x = np.array([4.0, 3.0, 4.0, 5.0], np.float32)
    check(lambda x: compare(x.shape[0], x), lambda x: compare(len(x), x), x)
    check(lambda x: compare(x.shape[0] + 1, x), lambda x: compare(len(x) + 1, x), x)


# --- promotion ----------------------------------------------------------------------------------


def dtype_after(function: Callable[..., Any], *dtypes: DType) -> DType:
    arrays = [np.ones(2, dtype.numpy) for dtype in dtypes]
    return DTYPES[{str(d.numpy): d.name for d in ALL_DTYPES}[str(run(function, *arrays).dtype)]]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("f32", "f64", "f64"), ("f16", "bf16", "f32"), ("f16", "i64", "f16"), ("i8", "u8", "i16"),
        ("i32", "i64", "i64"), ("u8", "i32", "i32"), ("bool", "i8", "i8"), ("bool", "f16", "f16"),
        ("u32", "i32", "i64"), ("u8", "u16", "u16"), ("bf16", "f32", "f32"),
    ],
)  # fmt: skip
def test_tensors_meet_in_the_smallest_common_type(left: str, right: str, expected: str) -> None:
    assert dtype_after(operator.mul, DTYPES[left], DTYPES[right]) is DTYPES[expected]
    assert dtype_after(operator.mul, DTYPES[right], DTYPES[left]) is DTYPES[expected]


@pytest.mark.parametrize(
    ("tensor", "scalar", "expected"),
    [
        ("f16", 2.0, "f16"), ("bf16", 2, "bf16"), ("i8", 2, "i8"), ("i8", 2.0, "f32"),
        ("u8", True, "u8"), ("bool", 2, "i64"), ("f32", np.float64(2), "f32"),
        ("i32", np.int64(2), "i32"),
    ],
)  # fmt: skip
def test_numbers_are_weak(tensor: str, scalar: Any, expected: str) -> None:
    assert dtype_after(lambda x: x * scalar, DTYPES[tensor]) is DTYPES[expected]


def test_arrays_are_strong() -> None:
    assert dtype_after(lambda x: x * np.ones(2), DTYPES["f32"]) is ash.f64


def test_division_of_integers_is_f32() -> None:
    assert dtype_after(operator.truediv, ash.i64, ash.i64) is ash.f32
