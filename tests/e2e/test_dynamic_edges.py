"""Where data decide nothing, everything, or what is undecided: no rows, all rows, ties, NaN, -0.

Programs as people write them, against NumPy and torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

import anyshape as ash

# ruff: noqa: UP037 - names of axes are no forward references

Array = np.ndarray[Any, Any]
NAN, INF = float("nan"), float("inf")
WEIGHTS = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def integers(most: int, *shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, most, shape)


def assert_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


# --- cuts and regions -----------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [-9, 0, 9], ids=["none", "some", "all"])
def test_a_cut_behind_a_cut(shift: int) -> None:
    @ash.jit
    def cut(x: ash.f32["n", 4], mask: ash.f32["n"]):
        z = x[mask > 0] @ WEIGHTS
        kept = z[z[:, 0] > 0]
        return z, kept, kept.mT @ kept, kept.shape[0]

    executable = ash.compile(cut, strict=True)
    for n in (0, 1, 2, 300):
        x, mask = floats(n, 4), floats(n, seed=1) + np.float32(shift)
        z = x[mask > 0] @ WEIGHTS
        kept = z[z[:, 0] > 0]
        assert_same(executable(x, mask), (z, kept, kept.T @ kept, len(kept)))


def test_branches_in_a_loop_in_a_scan() -> None:
    @ash.jit
    def nested(rows: ash.f32["r", 4], often: ash.i64[()]):
        def each(state: Any, row: Any) -> Any:
            def step(i: Any, y: Any) -> Any:
                def other() -> Any:
                    return ash.cond(row[0] > 0, lambda: y * 0.5 + row, lambda: y - 1)

                return i + 1, ash.cond(y.sum() > 0, other, lambda: y + 2)

            last = ash.while_loop(lambda i, y: i < often, step, (often * 0, state))[1]
            return last, last.max()

        return ash.scan(each, ash.zeros(4), rows)

    executable = ash.compile(nested, strict=True)
    for r, often in ((0, 3), (1, 0), (1, 1), (5, 7)):
        rows, state, best = floats(r, 4), np.zeros(4, np.float32), np.zeros(r, np.float32)
        for number, row in enumerate(rows):
            for _ in range(often):
                positive = state * np.float32(0.5) + row if row[0] > 0 else state - 1
                state = positive if state.sum() > 0 else state + 2
            best[number] = state.max()
        assert_same(executable(rows, np.array(often)), (state, best))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_two_caches_that_a_loop_grows(axis: int) -> None:
    @ash.jit
    def grown(x: ash.f32["a", "b", "c"], often: ash.i64[()]):
        first = ash.take(x, ash.asarray([0]), axis=axis)

        def step(i: Any, y: Any, z: Any) -> Any:
            scale = (i + 1).astype(ash.f32)
            return i + 1, ash.concat([y, first * scale], axis), ash.concat([z, first - scale], axis)

        return ash.while_loop(lambda i, y, z: i < often, step, (often * 0, x, x * 2))[1:]

    executable = ash.compile(grown, strict=True)
    for shape in ((1, 1, 1), (2, 3, 4), (5, 2, 1)):
        for often in (0, 1, 9):
            x = floats(*shape)
            first, y, z = np.take(x, [0], axis), x, x * 2
            for scale in range(1, often + 1):
                y = np.concatenate([y, first * np.float32(scale)], axis)
                z = np.concatenate([z, first - np.float32(scale)], axis)
            assert_same(executable(x, np.array(often)), (y, z))


def test_a_loop_that_data_end_where_one_is_left() -> None:
    @ash.jit
    def above(x: ash.f32["n"]):
        def goes_on(y: Any, rounds: Any) -> Any:
            return ash.asarray(y.shape[0]) > 1

        return ash.while_loop(goes_on, lambda y, n: (y[y > y.mean()], n + 1), (x, ash.asarray(0)))

    executable = ash.compile(above, strict=True)
    for n in (0, 1, 2, 500):
        x = y = floats(n)
        rounds = 0
        while len(y) > 1:
            y, rounds = y[y > y.mean()], rounds + 1
        assert_same(executable(x), (y, rounds))


def test_threads_share_loops_with_state() -> None:
    @ash.jit
    def grown(x: ash.f32["n", 4], often: ash.i64[()]):
        def step(i: Any, z: Any) -> Any:
            return i + 1, ash.concat([z, ash.tanh(z.sum(0, keepdims=True))])

        return ash.while_loop(lambda i, z: i < often, step, (often * 0, x[x[:, 0] > 0]))[1]

    def expected(x: Array, often: int) -> Array:
        z = x[x[:, 0] > 0]
        for _ in range(often):
            z = np.concatenate([z, np.tanh(z.sum(0, keepdims=True))])
        return z

    executable = ash.compile(grown, strict=True, threads=2)
    cases = [(floats(n, 4, seed=n), often) for n in (0, 1, 7, 40) for often in (0, 1, 5)]

    def calls(first: int) -> None:
        for number in range(60):
            x, often = cases[(first + number) % len(cases)]
            assert_same(executable(x, np.array(often)), (expected(x, often),))

    with ThreadPoolExecutor(5) as threads:
        list(threads.map(calls, range(5)))


# --- rings and experts ----------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 3, 8])
def test_more_and_fewer_positions_than_a_ring_has(window: int) -> None:
    @ash.jit
    def turned(ring: ash.f32["w", 2], new: ash.f32["n", 2], at: ash.i64[()]):
        end, written = at + new.shape[0], ash.ring_write(ring, new, at)
        places = ash.ring_positions(ring.shape[0], end)
        return written, places, ash.ring_read(written, end)

    executable = ash.compile(turned, strict=True)
    for n in (0, 1, 8, 9, 20):
        for at in (0, 7):
            ring, new = floats(window, 2), floats(n, 2, seed=1)
            written, end = ring.copy(), at + n
            for i in range(n):
                written[(at + i) % window] = new[i]
            places = [end - 1 - (end - 1 - slot) % window for slot in range(window)]
            oldest_first = [written[(end + i) % window] for i in range(window)]
            expected = written, places, oldest_first
            assert_same(executable(ring, new, np.array(at)), expected)


@pytest.mark.parametrize("capacity", [0, 1, 100])
@pytest.mark.parametrize("keys", ["any", "one", "outside"])
def test_experts_with_and_without_room(capacity: int, keys: str) -> None:
    experts = floats(5, 6, 7)

    @ash.jit
    def layer(x: ash.f32["t", 6], chosen: ash.i64["t", 2], room: ash.f32["c"]):
        order, ends, position, source = ash.worklist(chosen, 5, room.shape[0])
        return ash.grouped_dot(x[source], experts, ends)[position], ends, ash.sort(order)

    executable = ash.compile(layer, strict=True)
    for tokens in (0, 1, 50):
        drawn = {"any": (0, 5), "one": (4, 5), "outside": (-2, 8)}[keys]
        chosen = np.random.default_rng(0).integers(*drawn, (tokens, 2))
        x, taken = floats(tokens, 6), np.zeros(5, int)
        y = np.zeros((tokens, 2, 7), np.float32)
        for place in np.ndindex(tokens, 2):
            expert = chosen[place]
            if 0 <= expert < 5 and taken[expert] < capacity:
                taken[expert] += 1
                y[place] = x[place[0]] @ experts[expert]
        found = executable(x, chosen, np.zeros(capacity, np.float32))
        assert_same(found, (y, np.cumsum(taken), np.arange(2 * tokens)))


# --- orders and values ----------------------------------------------------------------------------

VALUES = {
    "none": [],
    "one": [1.0],
    "nan": [NAN],
    "nans": [NAN, 2.0, NAN, 1.0, NAN],
    "zeros": [-0.0, 0.0, -0.0, 0.0],
    "ends": [-INF, NAN, INF, -INF, INF, 0.0],
    "ties": [3.0, 3.0, 1.0, 3.0, 1.0],
}


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_unique_values(values: list[float], equal_nan: bool) -> None:
    @ash.jit
    def unique(x: ash.f32["n"]):
        return ash.unique(x, True, True, True, equal_nan=equal_nan)

    x = np.array(values, np.float32)
    assert_same(unique(x), np.unique(x, True, True, True, equal_nan=equal_nan))


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_all_and_none_of_the_greatest(values: list[float]) -> None:
    @ash.jit
    def ordered(x: ash.f32["n"]):
        n = x.shape[0]
        least = ash.topk(x, n, largest=False)
        return *ash.topk(x, n), *least, *ash.topk(x, n // 2), *ash.topk(x, 0)

    x = np.array(values, np.float32)
    down, up = (torch.from_numpy(x).sort(stable=True, descending=d) for d in (True, False))
    half = down[0][: len(x) // 2], down[1][: len(x) // 2]
    assert_same(ordered(x), (*down, *up, *half, down[0][:0], down[1][:0]))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5, 2000), (700, 3)])
def test_equal_elements_keep_their_order(shape: tuple[int, int]) -> None:
    @ash.jit
    def orders(x: ash.i64["a", "n"]):
        return ash.argsort(x, 0), ash.argsort(x, 1), ash.argsort(x, 1, descending=True)

    x = integers(4, *shape)
    down = torch.from_numpy(x).sort(dim=1, stable=True, descending=True).indices
    rising = (np.argsort(x, axis, kind="stable") for axis in (0, 1))
    assert_same(orders(x), (*rising, down))


@pytest.mark.parametrize("n", [0, 1, 5, 100])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_repeated_and_counted(n: int, most: int) -> None:
    """With `most` of 1, nothing is repeated at all."""

    @ash.jit
    def repeated(x: ash.f32["n", 2], often: ash.i64["n"]):
        return (
            ash.repeat_interleave(x, often, axis=0),
            ash.repeat_interleave(x, 0, axis=0),
            ash.bincount(often),
            ash.bincount(often, minlength=often.shape[0]),
            ash.bincount(often, x[:, 0], minlength=2),
        )

    x, often = floats(n, 2), integers(most, n)
    counts = np.bincount(often), np.bincount(often, minlength=n), np.bincount(often, x[:, 0], 2)
    assert_same(repeated(x, often), (np.repeat(x, often, axis=0), x[:0], *counts))


def overlap(one: Array, other: Array) -> float:
    """What two boxes share, of what either has."""
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    shared = np.prod(np.maximum(high - low, 0))
    return float(shared / (sum(np.prod(box[2:] - box[:2]) for box in (one, other)) - shared))


def kept_boxes(boxes: Array, scores: Array, above: float = -INF) -> list[int]:
    """Each box that no better one overlaps by more than 0.4, the first of equals first."""
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        hidden = any(overlap(boxes[i], boxes[j]) > 0.4 for j in kept)
        if scores[i] > above and not hidden:
            kept.append(int(i))
    return kept


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 120])
def test_boxes_that_remain(n: int, ties: bool) -> None:
    @ash.jit
    def remain(boxes: ash.f32["n", 4], scores: ash.f32["n"]):
        kept = ash.nms(boxes, scores, 0.4)
        some = ash.nms(boxes, scores, 0.4, 3), ash.nms(boxes, scores, 0.4, 0)
        return kept, boxes[kept], *some, ash.nms(boxes, scores, 0.4, score_threshold=0.5)

    rng = np.random.default_rng(n)
    corners, sizes = 10 * rng.random((n, 2)), 1 + 3 * rng.random((n, 2))
    boxes = np.concatenate([corners, corners + sizes], axis=1).astype(np.float32)
    scores = rng.random(n).astype(np.float32)
    if ties:
        boxes[1:2] = boxes[: min(1, n - 1)]
        scores = np.round(3 * scores) / 3
    kept, above = kept_boxes(boxes, scores), kept_boxes(boxes, scores, 0.5)
    assert_same(remain(boxes, scores), (kept, boxes[kept], kept[:3], kept[:0], above))
