"""The pool that outputs come from: memory goes back, is used again, and is bounded."""

import gc

import numpy as np
import pytest
from tests.unit.runtime.handmade import add_program

from anyshape.runtime.program import output_pool, set_output_pool_limit


@pytest.fixture
def limit():
    gc.collect()  # arrays that other tests left
    before = output_pool().limit
    set_output_pool_limit(0)
    set_output_pool_limit(before)
    yield before
    set_output_pool_limit(before)


def make(n: int) -> np.ndarray:
    a = np.ones((n, n), np.float32)
    return add_program().run([a, a])[0]


def test_memory_returns_and_is_used_again(limit: int):
    before = output_pool()
    result = make(100)  # 40,000 bytes of 65,536
    assert output_pool().used == before.used + 65_536
    address = result.ctypes.data
    view = result[3:]
    del result
    gc.collect()
    assert output_pool().used == before.used + 65_536  # the view needs it
    del view
    gc.collect()
    assert output_pool().used == before.used
    assert output_pool().idle == 65_536
    assert make(110).ctypes.data == address
    assert output_pool().limit == limit


def test_idle_memory_is_bounded(limit: int):
    set_output_pool_limit(100_000)
    arrays = [make(100) for _ in range(5)]
    del arrays
    gc.collect()
    assert output_pool().idle == 65_536
    set_output_pool_limit(0)
    assert output_pool().idle == 0
    del limit


def test_empty_outputs(limit: int):
    results = [make(0) for _ in range(10)]
    assert all(result.shape == (0, 0) for result in results)
    assert len({result.ctypes.data for result in results}) == 10
    del limit
