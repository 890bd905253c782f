"""Errors of sums in all forms: no worse than NumPy's and torch's, for any axis and dtype.

    error     the largest difference from the exact result, which is computed in long doubles
    unit      of rounding: the dtype's epsilon, at the size of the results or of random partial sums

NumPy adds up one term after the other along axes that are not the last, and 16-bit floats in 16
bits; torch does neither. The bound is whichever error is larger, and a unit for each sum. It is
torch's for 16-bit floats, and a few units for long sums along any axis, whatever the peers do.

One random sum says nothing about an engine: its error is a matter of luck, and a fifth of another
one's as often as five times as much. Cases of few results take the largest error of several draws.
"""

from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import torch
from tests.e2e.precision_cases import CASES, INPUTS, jitted

import anyshape as ash

SLACK = 1.5
FEW_RESULTS, DRAWS = 32, 12
NUMPY: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
EPSILON = {"f16": 2**-10, "bf16": 2**-7, "f32": 2**-23, "f64": 2**-52}
TABLE = [(name, dtype, kind) for name in CASES for dtype in CASES[name].dtypes for kind in INPUTS]

compiled = cache(lambda name, dtype: jitted(CASES[name], dtype))


def error(found: Any, exact: Any) -> float:
    return float(np.max(np.abs(np.asarray(found).astype(np.longdouble) - exact)))


def unit_of(exact: Any, arrays: list[Any], dtype: str) -> float:
    terms = np.sqrt(np.sum(np.square(arrays[0]))) / np.sqrt(max(exact.size, 1))
    return EPSILON[dtype] * float(max(np.max(np.abs(exact)), min(terms, 1)))


@pytest.mark.parametrize(("name", "dtype", "kind"), TABLE)
def test_no_worse_than_the_peers(name: str, dtype: str, kind: str) -> None:
    torch.set_num_threads(1)  # with more, it sums in as many parts, and another error is its own
    first = errors_of(name, dtype, kind, draw=0)
    several = kind == "normal" and first.results <= FEW_RESULTS
    others = range(1, DRAWS if several else 1)
    draws = [first, *(errors_of(name, dtype, kind, draw) for draw in others)]
    ours, peers, unit = (max(each) for each in list(zip(*draws, strict=True))[1:])
    print(f"{name:28}{dtype:6}{kind:12}", f"{ours:.1e} {peers:.1e}")
    assert ours <= SLACK * peers + CASES[name].sums * unit


class Errors(NamedTuple):
    """Of one draw: `peers` is the larger of theirs."""

    results: int
    ours: float
    peers: float
    unit: float


def errors_of(name: str, dtype: str, kind: str, draw: int) -> Errors:
    case = CASES[name]
    arrays = [INPUTS[kind](shape, draw).astype(NUMPY[dtype]) for shape in case.shapes]
    wide = [array.astype(np.longdouble) for array in arrays]
    exact = case.numpy(*wide)
    tensors = [torch.tensor(array.astype(np.float64)).to(TORCH[dtype]) for array in arrays]
    peers = [error(case.torch(*tensors).to(torch.float64).numpy(), exact)]
    if EPSILON[dtype] < EPSILON["f16"]:
        peers.append(error(case.numpy(*arrays), exact))
    ours = error(compiled(name, dtype)(*arrays), exact)
    return Errors(np.size(exact), ours, max(peers), unit_of(exact, wide, dtype))


LONG = {"first": (1_000_000, 2), "middle": (1, 1_000_000, 2), "last": (2, 1_000_000)}


@pytest.mark.parametrize("axis", LONG)
def test_the_error_of_long_sums_does_not_grow_with_them(axis: str) -> None:
    """A million times 0.1 along any axis; a running sum is off by a percent."""
    position = {"first": 0, "middle": 1, "last": -1}[axis]
    x = np.full(LONG[axis], 0.1, np.float32)
    exact = np.longdouble(x.flat[0]) * 1_000_000

    def total(x: ash.f32[tuple("abc"[: x.ndim])]):
        return x.sum(position)

    assert error(ash.jit(total)(x), exact) <= 4 * EPSILON["f32"] * exact


def test_ones_are_counted_beyond_the_last_odd_number() -> None:
    """A running f32 sum of ones stops at 2**24."""

    def total(x: ash.f32["n", 1]):
        return x.sum(0)

    ones = np.broadcast_to(np.float32(1), (20_000_000, 1))
    np.testing.assert_array_equal(ash.jit(total)(ones), [20_000_000])
