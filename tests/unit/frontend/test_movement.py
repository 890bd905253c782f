"""Movement, assembly and sources against NumPy."""

# ruff: noqa: UP037 - names of axes are no forward references

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.frontend.tracing import bools, check, floats, integers

import anyshape as ash

SHAPES = [(2, 3, 4), (0, 3, 4), (1, 1, 4), (2, 3, 0)]


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_reshape_with_an_open_size(shape: tuple[int, ...]) -> None:
    flat = lambda x: x.reshape(x.shape[0], x.shape[1] * x.shape[2])  # noqa: E731
    check(lambda x: x.reshape(x.shape[0], -1), flat, floats(*shape))
    check(lambda x: x.reshape(-1), lambda x: x.reshape(-1), floats(*shape))
    check(lambda x: x.reshape((-1, x.shape[2])), lambda x: x.reshape(-1, 4), floats(*shape))
    check(lambda x: ash.reshape(x, (2, -1)), lambda x: x.reshape((2, -1)), floats(*shape))


def test_reshape_with_names_of_axes() -> None:
    @ash.jit
    def heads(x: ash.f32["batch", "seq", 64]):
        return x.reshape("batch", "seq", 4, 16).transpose(0, 2, 1, 3).reshape("batch*4", "seq", -1)

    x = floats(2, 3, 64)
    np.testing.assert_array_equal(
        heads(x), x.reshape(2, 3, 4, 16).transpose(0, 2, 1, 3).reshape(8, 3, 16)
    )
    assert str(heads.graph.results[0].type) == "f32[4*batch, seq, 16]"


def test_numpy_integers_are_sizes_and_axes() -> None:
    two, three = np.int64(2), np.int32(3)
    check(lambda x: x.reshape(two, three), lambda x: x.reshape(2, 3), floats(6))
    check(lambda x: ash.zeros(two) + x, lambda x: x, floats(2))
    check(lambda x: x.sum(axis=np.int64(1)), lambda x: x.sum(axis=1), floats(2, 3))
    check(lambda x: x.transpose(np.int64(1), 0), lambda x: x.T, floats(2, 3))


def test_an_open_size_is_the_exact_quotient() -> None:
    @ash.jit
    def merge(x: ash.f32["batch", "seq", 64]):
        return x.reshape("batch", -1)

    assert str(merge.graph.results[0].type) == "f32[batch, 64*seq]"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_orders_of_axes(shape: tuple[int, ...]) -> None:
    x = floats(*shape)
    check(lambda x: x.T, lambda x: x.T, x)
    check(lambda x: x.mT, lambda x: x.swapaxes(-1, -2), x)
    check(lambda x: x.transpose(1, -1, 0), lambda x: x.transpose(1, 2, 0), x)
    check(lambda x: ash.transpose(x, (2, 0, 1)), lambda x: np.transpose(x, (2, 0, 1)), x)
    check(lambda x: ash.swapaxes(x, 0, -1), lambda x: np.swapaxes(x, 0, -1), x)
    check(lambda x: ash.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1), x)
    check(lambda x: ash.moveaxis(x, (0, 1), (2, 0)), lambda x: np.moveaxis(x, (0, 1), (2, 0)), x)


def test_unit_axes() -> None:
    x = floats(3, 1, 4)
    check(lambda x: ash.squeeze(x, 1), lambda x: np.squeeze(x, 1), x)
    check(lambda x: ash.squeeze(x, (-2,)), lambda x: np.squeeze(x, 1), x)
    check(lambda x: ash.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1)), x)


def test_squeeze_of_a_named_axis_is_checked_when_it_runs() -> None:
    @ash.jit
    def first(x: ash.f32["n", 4]):
        return ash.squeeze(x, 0)

    assert first(floats(1, 4)).shape == (4,)
    with pytest.raises(ash.errors.FactViolationError, match="squeeze: axis 0 of"):
        first(floats(3, 4))


def test_broadcast_and_flip() -> None:
    x = floats(3, 1)
    check(lambda x: ash.broadcast_to(x, (2, 3, 4)), lambda x: np.broadcast_to(x, (2, 3, 4)), x)
    check(ash.flip, np.flip, floats(2, 3))
    check(lambda x: ash.flip(x, -1), lambda x: np.flip(x, -1), floats(2, 3))


def test_concat_and_stack() -> None:
    x, y = floats(2, 3), floats(4, 3, seed=1)
    check(lambda x, y: ash.concat([x, y]), lambda x, y: np.concatenate([x, y]), x, y)
    check(lambda x: ash.concat([x, x], axis=-1), lambda x: np.concatenate([x, x], -1), x)
    check(lambda x: ash.stack([x, x, x], axis=1), lambda x: np.stack([x, x, x], 1), x)
    check(lambda x: ash.stack([x, x], axis=-1), lambda x: np.stack([x, x], -1), x)


def test_split_into_equal_parts_requires_divisibility() -> None:
    check(lambda x: ash.split(x, 3, axis=-1)[1], lambda x: np.split(x, 3, -1)[1], floats(2, 6))
    check(lambda x: ash.split(x, [1, 4])[1], lambda x: np.split(x, [1, 4])[1], floats(5, 2))

    @ash.jit
    def halves(x: ash.f32["n"]):
        return ash.split(x, 2)

    assert "n % 2 == 0" in [str(fact.predicate) for fact in halves.graph.facts.facts]
    with pytest.raises(ash.errors.FactViolationError, match="n % 2 == 0"):
        halves(floats(5))


@pytest.mark.parametrize("width", [1, (1, 2), ((0, 1), (2, 0))], ids=str)
def test_pad(width: Any) -> None:
    check(lambda x: ash.pad(x, width), lambda x: np.pad(x, width), floats(2, 3))
    theirs = lambda x: np.pad(x, width, constant_values=-1)  # noqa: E731
    check(lambda x: ash.pad(x, width, -1.0), theirs, floats(2, 0))


def test_take_gather_repeat() -> None:
    x, i = floats(4, 5), integers(2, 3, low=-4, high=4)
    check(lambda x, i: ash.take(x, i, axis=0), lambda x, i: np.take(x, i, axis=0), x, i)
    check(ash.take, np.take, x, i)
    check(lambda x, i: ash.gather(x, i, -1), lambda x, i: np.take(x, i, -1), x, np.abs(i))
    check(lambda x: ash.repeat(x, 3, axis=1), lambda x: np.repeat(x, 3, axis=1), x)


# --- sources --------------------------------------------------------------------------------------


def test_constants_of_dynamic_shape() -> None:
    x = floats(3, 2)
    check(lambda x: ash.zeros(x.shape) + x, lambda x: x, x)
    check(lambda x: ash.ones((x.shape[0], 4)), lambda x: np.ones((3, 4), np.float32), x)
    check(lambda x: ash.full((2, x.shape[1]), 7), lambda x: np.full((2, 2), 7), x)
    check(lambda x: ash.ones_like(x) * 2, lambda x: np.full_like(x, 2), x)
    check(lambda x: ash.asarray([1, 2, 3]) + 0 * ash.sum(x).astype(ash.i64), lambda x: [1, 2, 3], x)


@pytest.mark.parametrize("size", [0, 1, 5])
def test_arange(size: int) -> None:
    x = floats(size)
    check(lambda x: ash.arange(x.shape[0]), lambda x: np.arange(len(x)), x)
    check(lambda x: ash.arange(2, x.shape[0]), lambda x: np.arange(2, len(x)), x)
    check(lambda x: ash.arange(0, x.shape[0], 2), lambda x: np.arange(0, len(x), 2), x)
    check(lambda x: ash.arange(x.shape[0], 0, -1), lambda x: np.arange(len(x), 0, -1), x)


@pytest.mark.parametrize("k", [-1, 0, 1])
def test_triangles(k: int) -> None:
    for x in (floats(2, 4, 3), integers(3, 3), bools(3, 4)):
        check(lambda x: ash.tril(x, k), lambda x: np.tril(x, k), x)
        check(lambda x: ash.triu(x, k), lambda x: np.triu(x, k), x)


def test_eye_and_one_hot() -> None:
    check(lambda x: ash.eye(x.shape[0]), lambda x: np.eye(len(x)), floats(3))
    ids = integers(5, low=0, high=4)
    check(lambda i: ash.one_hot(i, 4), lambda i: np.eye(4, dtype=np.float32)[i], ids)
