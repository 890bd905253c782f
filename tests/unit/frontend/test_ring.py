"""Ring buffers: slots modulo the window, in place where the ring is donated."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import RequirementError, TraceError

WIDTH = 4


@ash.jit
def write(ring: ash.f32["w", WIDTH], new: ash.f32["n", WIDTH], position: ash.i64[()]):
    return ash.ring_write(ring, new, position)


@ash.jit
def write_last_axis(ring: ash.f32[WIDTH, "w"], new: ash.f32[WIDTH, "n"], position: ash.i64[()]):
    return ash.ring_write(ring, new, position, axis=-1)


@ash.jit
def read(ring: ash.f32["w", WIDTH], end: ash.i64[()]):
    return ash.ring_read(ring, end), ash.ring_positions(ring.shape[0], end)


def numbers(first: int, count: int) -> Any:
    """Rows that say which position they are of."""
    rows = np.arange(first, first + count, dtype=np.float32)
    return np.repeat(rows[:, None], WIDTH, axis=1)


@pytest.mark.parametrize("window", [1, 3, 8])
@pytest.mark.parametrize("step", [0, 1, 2, 11])
def test_the_last_positions_stay(window: int, step: int) -> None:
    ring, position = np.full((window, WIDTH), -1, np.float32), 0
    turned = ring.T.copy()
    for _ in range(7):
        new = numbers(position, step)
        ring = write(ring, new, np.array(position))
        turned = write_last_axis(turned, new.T.copy(), np.array(position))
        position += step
        kept = list(range(max(0, position - window), position))
        ordered, held = read(ring, np.array(position))
        assert [int(row[0]) for row in ordered][window - len(kept) :] == kept
        assert sorted(int(p) for p in held if p >= 0) == kept
        np.testing.assert_array_equal(turned, ring.T)
        for slot, p in enumerate(held):
            assert p < 0 or ring[slot, 0] == p


def test_a_donated_ring_is_written_where_it_is() -> None:
    executable = ash.compile(write.graph, donate=("ring",))
    ring = np.zeros((5, WIDTH), np.float32)
    (written,) = executable(ring, numbers(7, 2), np.array(7))
    assert np.shares_memory(written, ring)
    np.testing.assert_array_equal(written[:, 0], [0, 0, 7, 8, 0])


def test_attention_over_a_ring_is_that_of_a_window() -> None:
    window, steps = 6, 20

    @ash.jit
    def step(
        q: ash.f32[1, WIDTH], keys: ash.f32[6, WIDTH], values: ash.f32[6, WIDTH],
        k: ash.f32[1, WIDTH], v: ash.f32[1, WIDTH], position: ash.i64[()],
    ):  # fmt: skip
        keys, values = (ash.ring_write(r, x, position) for r, x in ((keys, k), (values, v)))
        seen = ash.ring_positions(window, position + 1) >= 0
        scores = ash.where(seen, q @ keys.T, -np.inf)
        return ash.softmax(scores, axis=-1) @ values, keys, values

    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, steps, WIDTH)).astype(np.float32)
    keys = values = np.zeros((window, WIDTH), np.float32)
    for p in range(steps):
        here = slice(p, p + 1)
        found, keys, values = step(q[here], keys, values, k[here], v[here], np.array(p))
        past = slice(max(0, p - window + 1), p + 1)
        scores = np.exp(k[past] @ q[p])
        np.testing.assert_allclose(found[0], scores @ v[past] / scores.sum(), rtol=2e-5, atol=2e-5)


def test_a_ring_of_other_axes() -> None:
    def other(ring: ash.f32["w", 4], new: ash.f32["n"]):
        return ash.ring_write(ring, new, 0)

    with pytest.raises(TraceError, match="is written into"):
        _ = ash.jit(other).graph


def test_a_position_for_each() -> None:
    def each(ring: ash.f32["w", 4], new: ash.f32["n", 4], position: ash.i64["n"]):
        return ash.ring_write(ring, new, position)

    with pytest.raises(TraceError, match="a position is"):
        _ = ash.jit(each).graph


def test_a_ring_without_slots() -> None:
    def none(ring: ash.f32[0, 4], new: ash.f32["n", 4]):
        return ash.ring_write(ring, new, 0)

    with pytest.raises(RequirementError, match="at least one slot"):
        _ = ash.jit(none).graph
