"""Rows of merged axes: numbers for each channel join norms of groups of channels."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.test_fuse import kernels
from tests.unit.passes.test_rows import name_of

import anyshape as ash
from anyshape.ir.types import Array

CHANNELS, GROUPS = 12, 3
PER_GROUP = CHANNELS // GROUPS
MOST = 64

SCALE = np.linspace(1, 2, CHANNELS, dtype=np.float32).reshape(CHANNELS, 1, 1)
jit = ash.jit(axes=[ash.Axis("h", max=MOST), ash.Axis("w", max=MOST)])
X = ash.f32["b", CHANNELS, "h", "w"]


def normal(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * ash.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def whole(x: Any) -> Any:
    return x.reshape(("b", CHANNELS, "h", "w"))


@jit
def group_norm(x: X):
    rows = x.reshape(("b", GROUPS, x.shape[2] * x.shape[3] * PER_GROUP))
    return whole(normal(rows)) * SCALE + 0.5


@jit
def groups_of_all_samples(x: X):
    """As those write it who have a norm of instances only."""
    rows = x.reshape((x.shape[0] * GROUPS, x.shape[2] * x.shape[3] * PER_GROUP))
    return whole(normal(rows)) * SCALE


@jit
def channel_by_channel(x: X):
    return whole(normal(x.reshape(("b", CHANNELS, x.shape[2] * x.shape[3])))) * SCALE


@jit
def swish_of_groups(x: X):
    y = group_norm_of(x)
    return y * ash.sigmoid(y)


@jit
def computed_before(x: X):
    return group_norm_of(x * 2.0 + 1.0) + x


def group_norm_of(x: Any) -> Any:
    rows = x.reshape(("b", GROUPS, x.shape[2] * x.shape[3] * PER_GROUP))
    return whole(normal(rows)) * SCALE


@jit
def mean_is_a_result(x: X):
    rows = x.reshape(("b", GROUPS, x.shape[2] * x.shape[3] * PER_GROUP))
    mean = rows.mean(-1)
    return whole(rows - mean[:, :, None]) * SCALE, mean


@jit
def numbers_along_the_rows(x: X):
    """No shape has an axis for both."""
    rows = x.reshape(("b", GROUPS, x.shape[2] * x.shape[3] * PER_GROUP))
    ramp = ash.arange(x.shape[2] * x.shape[3] * PER_GROUP).astype(ash.f32)
    return whole(normal(rows * ramp)) * SCALE


@jit
def no_common_axes(x: ash.f32["b", "h", "w"]):
    """Which elements are of one row of both depends on sizes."""
    rows = x.reshape(("b", "w", "h"))
    y = (rows - rows.mean(-1, keepdims=True)).reshape(("b", "h", "w"))
    return y * ash.arange("h").astype(ash.f32)[:, None]


@ash.jit
def few_positions(x: ash.f32["b", CHANNELS, 3, 3]):
    """Of a size that is known."""
    y = normal(x.reshape(("b", GROUPS, PER_GROUP * 9))).reshape(("b", CHANNELS, 3, 3))
    return y * SCALE


TOGETHER = [
    group_norm, groups_of_all_samples, channel_by_channel, swish_of_groups, computed_before,
    few_positions,
]  # fmt: skip
OTHERS = [mean_is_a_result, numbers_along_the_rows, no_common_axes]


@pytest.mark.parametrize("function", TOGETHER, ids=name_of)
def test_they_are_one_kernel(function: Any) -> None:
    assert len(kernels(function)) == 1


SHAPES = [(b, h, w) for b in (0, 1, 3) for h, w in ((0, 2), (1, 1), (1, 7), (5, 3), (16, 16))]


@pytest.mark.parametrize("function", [*TOGETHER, *OTHERS], ids=name_of)
def test_values_are_those_of_the_ops(function: Any) -> None:
    alone = ash.jit(without=("rows-of-axes", "reshapes-last", "reshapes-first", "fuse"))
    apart = alone(function.__wrapped__)
    for b, h, w in SHAPES:
        sizes = {"b": b, "h": h, "w": w}
        dims = function.graph.body.params[0].shape
        shape = [dim.evaluate({s: sizes[s.name] for s in dim.symbols}) for dim in dims]
        x = np.random.default_rng(b).normal(size=shape).astype(np.float32)
        for found, wanted in zip(_all(function(x)), _all(apart(x)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def _all(results: Any) -> list[Array]:
    return list(results) if isinstance(results, tuple) else [results]


def test_groups_are_those_of_numpy() -> None:
    for b, h, w in SHAPES[4:]:
        x = np.random.default_rng(1).normal(size=(b, CHANNELS, h, w)).astype(np.float32)
        if not x.size:
            continue
        rows = x.reshape(b, GROUPS, -1).astype(np.float64)
        centred = rows - rows.mean(-1, keepdims=True)
        normed = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        expected = normed.reshape(x.shape) * SCALE + 0.5
        np.testing.assert_allclose(group_norm(x), expected, rtol=1e-4, atol=1e-4)
