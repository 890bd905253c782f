"""Attention with bounds that hide nothing has no code for hidden keys."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(("queries", "keys"), [(16, 1), (3, 3), (1, 1)])
def test_causality_where_the_first_task_sees_all_keys(queries: int, keys: int) -> None:
    def model(q: Any, k: Any, v: Any) -> Any:
        return ash.attention(q, k, v, causal=True)

    sizes = (queries, keys, keys)
    names = zip("qkv", sizes, strict=True)
    model.__annotations__ = {name: ash.f32["b", 2, size, 8] for name, size in names}
    arrays = [RNG.standard_normal((3, 2, size, 8)).astype(np.float32) for size in sizes]
    native, reference = (ash.compile(ash.jit(model), executor=e) for e in ("native", "reference"))
    np.testing.assert_allclose(native(*arrays)[0], reference(*arrays)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("queries", "keys", "low"), [(4, 4, -1), (3, 6, 2), (5, 5, -8), (1, 4, 3)])
@pytest.mark.parametrize("outside", [-np.inf, -1e9])
def test_windows_that_one_task_looks_at_from_end_to_end(
    queries: int, keys: int, low: int, outside: float
) -> None:
    """Later queries do not see the first keys, and all of them are in one task. What is added to
    hidden scores makes tasks look at the numbers before they skip."""

    def model(q: Any, k: Any, v: Any) -> Any:
        scores = q @ ash.matrix_transpose(k)
        rows, columns = ash.arange(queries).reshape((-1, 1)), ash.arange(keys)
        seen = columns >= rows + low
        return ash.softmax(scores + ash.where(seen, 0.0, outside), axis=-1) @ v

    sizes = (queries, keys, keys)
    names = zip("qkv", sizes, strict=True)
    model.__annotations__ = {name: ash.f32["b", 2, size, 8] for name, size in names}
    arrays = [RNG.standard_normal((3, 2, size, 8)).astype(np.float32) for size in sizes]
    native, reference = (ash.compile(ash.jit(model), executor=e) for e in ("native", "reference"))
    np.testing.assert_allclose(native(*arrays)[0], reference(*arrays)[0], rtol=1e-5, atol=1e-6)
