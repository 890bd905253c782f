"""Zeros, infinities, NaN and subnormals give what NumPy gives, to the sign of a zero."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.codegen.math.harness import compiled
from tests.unit.codegen.math.reference import F32, F64

INF, NAN = np.inf, np.nan

# name -> (argument, result); ... stands for "the argument itself".
SPECIAL = {
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "erf": [(0.0, ...), (-0.0, ...), (INF, 1.0), (-INF, -1.0), (10.0, 1.0), (NAN, NAN)],
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0), (NAN, NAN)],
    "expm1": [(0.0, ...), (-0.0, ...), (INF, INF), (-INF, -1.0), (-1e4, -1.0), (NAN, NAN)],
    "log": [
        (0.0, -INF),
        (-0.0, -INF),
        (1.0, 0.0),
        (-1.0, NAN),
        (INF, INF),
        (-INF, NAN),
        (NAN, NAN),
    ],
    "log1p": [
        (0.0, ...),
        (-0.0, ...),
        (-1.0, -INF),
        (-2.0, NAN),
        (INF, INF),
        (-INF, NAN),
        (NAN, NAN),
    ],
    "rsqrt": [
        (0.0, INF),
        (-0.0, -INF),
        (1.0, 1.0),
        (INF, 0.0),
        (-1.0, NAN),
        (-INF, NAN),
        (NAN, NAN),
    ],
    "sigmoid": [
        (0.0, 0.5),
        (-0.0, 0.5),
        (INF, 1.0),
        (-INF, 0.0),
        (1e4, 1.0),
        (-1e4, 0.0),
        (NAN, NAN),
    ],
    "sin": [(0.0, ...), (-0.0, ...), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "sqrt": [(0.0, ...), (-0.0, ...), (4.0, 2.0), (INF, INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN)],
    "tanh": [(0.0, ...), (-0.0, ...), (INF, 1.0), (-INF, -1.0), (50.0, 1.0), (NAN, NAN)],
}

# Functions that are x near 0: subnormals must come back bit for bit.
NEARLY_IDENTITY = ["expm1", "log1p", "sin", "tanh"]

POWER_VALUES = [
    *(0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1e-40, 1e30, 16777217.0, INF),
    *(-0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -1e-40, -1e30, -16777217.0, -INF),
    NAN,
]


def assert_same(found: NDArray, expected: NDArray, tolerance: float = 0.0) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=0)
    signs = np.signbit(found) == np.signbit(expected)
    assert np.all(signs | np.isnan(expected)), (found, expected)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_special_values(name: str, dtype: np.dtype):
    x = np.array([argument for argument, _ in SPECIAL[name]], dtype)
    expected = np.array([a if result is ... else result for a, result in SPECIAL[name]], dtype)
    assert_same(compiled(name, dtype, 4)(x), expected)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_nan_of_any_payload_stays_nan(name: str, dtype: np.dtype):
    unsigned = np.dtype(f"u{dtype.itemsize}")
    quiet = np.array([NAN], dtype).view(unsigned)
    payloads = np.random.default_rng(0).integers(0, 2 ** np.finfo(dtype).nmant, 64).astype(unsigned)
    sign = np.array([-0.0], dtype).view(unsigned)
    x = np.concatenate([quiet | payloads, quiet | payloads | sign]).view(dtype)
    assert np.isnan(compiled(name, dtype, 8)(x)).all()


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", NEARLY_IDENTITY)
def test_subnormals_come_back_unchanged(name: str, dtype: np.dtype):
    smallest = np.finfo(dtype).smallest_subnormal
    x = smallest * np.array([1, 2, 3, 1000, 123456, -1, -2, -3, -1000], dtype)
    assert_same(compiled(name, dtype, 4)(x), x)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_exp_underflows_gradually(dtype: np.dtype):
    limits = np.finfo(dtype)
    last = np.log(float(limits.smallest_subnormal))  # exp of this is the smallest number
    x = np.array([last - 0.69, last - 0.71, last, last + 0.7, last + 1.1], dtype)
    units = compiled("exp", dtype, 4)(x) / limits.smallest_subnormal
    assert units.tolist() == [1, 0, 1, 2, 3]


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_pow_cases_are_those_of_numpy(dtype: np.dtype):
    x, y = (grid.ravel() for grid in np.meshgrid(POWER_VALUES, POWER_VALUES))
    x, y = x.astype(dtype), y.astype(dtype)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    assert_same(compiled("pow", dtype, 8)(x, y), expected, 4 * float(np.finfo(dtype).eps))


def test_erf_stays_within_one():
    """Where it nears 1 from below, no rounding may lead above."""
    x = np.linspace(3, 4.5, 1 << 20, dtype=F32)
    found = compiled("erf", F32, 16)(np.concatenate([x, -x]))
    assert np.abs(found).max() == 1.0
