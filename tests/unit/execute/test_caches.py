"""Several caches of one model, each growing in place along an axis of its own."""

from typing import Any

import numpy as np

import anyshape as ash

STEPS = 60


@ash.jit
def step(
    a: ash.f32["na", 2, 3], b: ash.f32[2, "nb", 3], c: ash.f32[2, 3, "nc"], x: ash.f32[2, 3],
):  # fmt: skip
    """One more position of each, along the first, the middle and the last axis."""
    new = x * 2
    return (
        ash.concat([a, new[None]], axis=0),
        ash.concat([b, new[:, None]], axis=1),
        ash.concat([c, (new + 1)[:, :, None]], axis=2),
    )


def address(array: Any) -> int:
    return array.__array_interface__["data"][0]


def test_caches_grow_in_place_along_any_axis() -> None:
    executable = ash.compile(step.graph, donate=("a", "b", "c"))
    caches = tuple(np.zeros(shape, np.float32) for shape in ((0, 2, 3), (2, 0, 3), (2, 3, 0)))
    rows = np.random.default_rng(0).standard_normal((STEPS, 2, 3)).astype(np.float32)
    moves = [0, 0, 0]
    for x in rows:
        before = [address(cache) for cache in caches]
        caches = executable(*caches, x)
        for n, (cache, place) in enumerate(zip(caches, before, strict=True)):
            moves[n] += address(cache) != place
    np.testing.assert_array_equal(caches[0], rows * 2)
    np.testing.assert_array_equal(caches[1], np.moveaxis(rows * 2, 0, 1))
    np.testing.assert_array_equal(caches[2], np.moveaxis(rows * 2 + 1, 0, 2))
    assert max(moves) < STEPS // 4, f"caches moved {moves} times in {STEPS} steps"
