"""Runs a function on arrays through tracing and the reference evaluator, at dynamic shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import anyshape as ash
from anyshape.ir import verify
from anyshape.ir.types import dtype_of

Array = np.ndarray[Any, Any]


def run(function: Callable[..., Any], *arrays: Array, static: bool = False) -> Any:
    """The result of `function` on `arrays`, all of whose axes are dynamic unless `static`."""
    types = [dtype_of(a)[tuple(a.shape if static else (None,) * a.ndim)] for a in arrays]

    def traced(xs: Any) -> Any:
        return function(*xs)

    traced.__annotations__["xs"] = tuple(types)
    compiled = ash.jit(executor="reference")(traced)
    verify(compiled.graph)
    assert ash.ir.parse(compiled.graph.as_text(), compiled.graph.weights) == compiled.graph
    return compiled(arrays)


def check(
    ours: Callable[..., Any], theirs: Callable[..., Any], *arrays: Array, tolerance: float = 1e-5
) -> None:
    """Both functions give the same values, shapes and (when floats) 32-bit results."""
    expected = np.asarray(theirs(*arrays))
    for static in (False, True):
        found = run(ours, *arrays, static=static)
        assert found.shape == expected.shape
        if expected.dtype.kind in "iub":
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def integers(*shape: int, low: int = -5, high: int = 6, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(low, high, shape)


def bools(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(shape) > 0.5
