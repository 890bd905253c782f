"""Runs of chains of images: the same bits as without, at any size and number of threads."""

from typing import Any

import numpy as np
import pytest
from tests.unit.plan.pipelines import (
    CACHE,
    inverted_residual,
    normal,
    passed,
    run_by,
    squeezed,
    with_small_cache,
)

import anyshape as ash
from anyshape.execute.native import NativeExecutor
from anyshape.ir import evaluate
from anyshape.ir.types import Array

BATCHES = [0, 1, 2, 3, 5, 8, 21]
PLACES = [(1, 1), (2, 3), (10, 10), (17, 9)]


def assert_same_bits(first: Array, second: Array) -> None:
    np.testing.assert_array_equal(first.view(np.uint32), second.view(np.uint32))


def is_taken(executor: NativeExecutor, **sizes: int) -> bool:
    tasks = [step.cost.tasks for step in executor.specialize(sizes).steps]
    return sum(tasks[:-1]) == 0 < tasks[-1]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("model", "cache", "channels_first"),
    [(inverted_residual(), CACHE, True), (squeezed(), CACHE // 16, False)],
    ids=["residual", "squeezed"],
)
def test_images_have_the_same_bits(
    model: Any, cache: int, channels_first: bool, threads: int
) -> None:
    graph, costs = passed(model), with_small_cache(threads, cache)
    on, off = run_by(costs, graph), run_by(costs, graph, chains=False)
    taken = 0
    for batch in BATCHES:
        for h, w in PLACES:
            x = normal(batch, 12, h, w) if channels_first else normal(batch, h, w, 8)
            found = on.run([x])[0]
            assert_same_bits(found, off.run([x])[0])
            expected = evaluate(model.graph, x)[0]
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
            taken += is_taken(on, batch=batch, h=h, w=w)
    assert taken >= 3


def test_what_is_handed_on_takes_memory_for_one_image_of_each_thread() -> None:
    model = inverted_residual(16, 96)
    on, off = (ash.compile(model, threads=2, without=w) for w in ([], ["pipeline"]))
    sizes = {"batch": 32, "h": 56, "w": 56}
    with_rings, whole = (e.specialize(**sizes).memory().arena for e in (on, off))
    assert 0 < with_rings <= 0.2 * whole
    x = normal(32, 16, 56, 56)
    assert_same_bits(on(x)[0], off(x)[0])
