"""Arguments to test with: spread over every exponent, dense where an algorithm changes course."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.unit.codegen.math.reference import F32

EDGES = (0.0, 1.0, 2.0, np.inf, np.nan)

# Where a generator selects another formula, or its result overflows, underflows or saturates.
BREAKPOINTS = {
    "cos": (
        np.pi / 4,
        np.pi / 2,
        np.pi,
        3 * np.pi / 2,
        355.0,
        2.0**17,
        2.0**28,
        6381956970095103.0,
    ),
    "erf": (1.0, 3.92, 4.0, 5.93, 6.0),
    "exp": (0.3466, 87.34, 88.722839, 103.97208, 708.4, 709.782712893384, 745.1332191019412),
    "expm1": (0.3466, 1.04, 17.33, 88.722839, 37.43, 709.782712893384, 2.0**-25, 2.0**-54),
    "log": (np.sqrt(0.5), np.sqrt(2), 1.0, 2.0**-126, 2.0**-1022),
    "log1p": (1 - np.sqrt(0.5), np.sqrt(2) - 1, 1.0, 2.0**24, 2.0**53, 2.0**-25, 2.0**-54),
    "rsqrt": (1.0,),
    "sigmoid": (0.3466, 17.33, 37.43, 88.722839, 103.97208, 745.1332191019412),
    "sin": (
        np.pi / 4,
        np.pi / 2,
        np.pi,
        3 * np.pi / 2,
        355.0,
        2.0**17,
        2.0**28,
        6381956970095103.0,
    ),
    "sqrt": (1.0,),
    "tanh": (0.6, 9.01, 10.0, 19.06, 20.0),
}


def every_exponent(dtype: np.dtype, count: int) -> NDArray:
    """Bit patterns at even distances, from one zero over NaN and the other zero round again."""
    if dtype == F32:
        return np.linspace(0, 2**32 - 1, count).astype(np.uint32).view(dtype)
    return np.random.default_rng(1).integers(0, 2**64, count, dtype=np.uint64).view(dtype)


def around(points: tuple[float, ...], dtype: np.dtype, count: int) -> NDArray:
    """The floats nearest to each point, and more further out, on both sides of zero."""
    unsigned = np.uint32 if dtype == F32 else np.uint64
    near = np.arange(-count, count + 1)
    wide = np.random.default_rng(2).normal(0, 2.0**-10, count) + 1
    parts: list[NDArray] = []
    for point in np.array(points, dtype):
        bits = point.view(unsigned).astype(np.int64) + near
        parts += [bits.astype(unsigned).view(dtype), (point * wide).astype(dtype)]
    positive = np.concatenate(parts)
    return np.concatenate([positive, -positive])


def ordinary(dtype: np.dtype, count: int) -> NDArray:
    """Numbers as they occur: in [-1, 1], in [-30, 30], and over many magnitudes."""
    random = np.random.default_rng(3)
    sign = random.choice([-1.0, 1.0], count)
    parts = (
        random.uniform(-1, 1, count),
        random.uniform(-30, 30, count),
        random.uniform(-750, 750, count),
        sign * np.exp(random.uniform(-40, 20, count)),
    )
    return np.concatenate(parts).astype(dtype)


def arguments(name: str, dtype: np.dtype, count: int) -> NDArray:
    """About 6 * count arguments of a function of one variable."""
    dense = around(BREAKPOINTS[name] + EDGES[:3], dtype, count // 20)
    edges = np.array([*EDGES, *(-e for e in EDGES)], dtype)
    return np.concatenate([every_exponent(dtype, count * 2), dense, ordinary(dtype, count), edges])


def power_arguments(dtype: np.dtype, count: int) -> tuple[NDArray, NDArray]:
    """Pairs: any bits; results over the whole range; bases close to 1 with huge exponents."""
    random = np.random.default_rng(4)
    top = 104 if dtype == F32 else 745
    base = np.exp(random.uniform(-80, 80, count))
    close = 1 + random.normal(0, 0.3, count) * 10.0 ** random.uniform(-7, 0, count)
    x = np.abs(np.concatenate([base, close])).astype(dtype)
    with np.errstate(all="ignore"):
        y = (random.uniform(-1, 1, 2 * count) * top / np.log(x.astype(np.float64))).astype(dtype)
    integers = random.integers(-9, 10, count).astype(dtype)
    negative = random.uniform(-20, 20, count).astype(dtype)
    any_x = random.permutation(every_exponent(dtype, count))
    any_y = random.permutation(every_exponent(dtype, count))
    return np.concatenate([x, negative, any_x]), np.concatenate([y, integers, any_y])
