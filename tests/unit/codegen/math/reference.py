"""True values, to compare with; and the distance from them in units in the last place.

f32 is compared with f64, f64 with the 80-bit long double of x86 or, for erf, with mpmath. One ULP
is the gap between the two floats that enclose the true value.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)

# The largest error promised, in ULP. Those of f32, pow's apart, hold for every one of the 2**32
# arguments: `python -m benchmarks.vector_math NAME --exhaustive` tries them all.
BOUNDS = {
    #           f32  f64
    "cos": (1.6, 1.3),
    "erf": (3.7, 1.0),
    "exp": (1.0, 1.0),
    "expm1": (1.6, 2.2),
    "log": (0.9, 0.9),
    "log1p": (1.4, 1.4),
    "pow": (0.6, 1.1),
    "rsqrt": (1.5, 1.5),
    "sigmoid": (1.7, 1.7),
    "sin": (1.6, 1.3),
    "sqrt": (0.5, 0.5),
    "tanh": (1.5, 1.5),
}


def bound(name: str, dtype: np.dtype) -> float:
    return BOUNDS[name][0 if dtype == F32 else 1]


def has_long_double() -> bool:
    """Whether NumPy's long double has more bits than a double."""
    return np.finfo(np.longdouble).nmant >= 63


needs_long_double = pytest.mark.skipif(not has_long_double(), reason="long double is no wider")


def _sigmoid(x: NDArray) -> NDArray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _erf(x: NDArray) -> NDArray:
    if x.dtype == F64:
        return torch.erf(torch.from_numpy(x)).numpy()
    with mpmath.workprec(90):
        exact = [mpmath.erf(mpmath.mpf(float(v))) for v in x]
        return np.array([np.longdouble(mpmath.nstr(v, 25)) for v in exact])


FORMULAS: dict[str, Callable[..., NDArray]] = {
    "cos": np.cos,
    "erf": _erf,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
}


def true_values(name: str, *arguments: NDArray) -> NDArray:
    """The function's values in the next wider type."""
    wider = np.float64 if arguments[0].dtype == F32 else np.longdouble
    with np.errstate(all="ignore"):
        return FORMULAS[name](*(a.astype(wider) for a in arguments))


def ulp_errors(found: NDArray, true: NDArray) -> NDArray:
    """|found - true| in ULP; infinite where only one is NaN, or an infinity is out of place."""
    limits = np.finfo(found.dtype)
    with np.errstate(all="ignore"):
        rounded = true.astype(found.dtype)
        _, exponent = np.frexp(true)
        exponent = np.maximum(exponent - 1, limits.minexp) - limits.nmant
        errors = np.abs(np.ldexp(found.astype(true.dtype) - true, -exponent)).astype(np.float64)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    finite = np.isfinite(found) & np.isfinite(rounded)
    return np.where(finite, errors, np.where(same, 0.0, np.inf))


def worst(name: str, run: Callable[..., NDArray], *arguments: NDArray) -> tuple[float, str]:
    """The largest error over the arguments, and a line about where it is."""
    found, true = run(*arguments), true_values(name, *arguments)
    errors = ulp_errors(found, true)
    i = int(np.argmax(errors))
    at = ", ".join(repr(a[i].item()) for a in arguments)
    return float(errors[i]), f"{name}({at}) = {found[i].item()!r}, expected {true[i]!r}"
