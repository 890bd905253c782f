"""Attention in parts of the keys, against torch's in f64."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import anyshape as ash
from anyshape import Executable
from anyshape.frontend.builder.tensor import Tensor
from anyshape.passes import PASSES, run_passes
from anyshape.passes.long_tasks import LongTasks

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def cached() -> Executable:
    """Keys in the order in which a cache grows, fewer of their heads than of the queries', a mask,
    and something behind it."""

    @ash.jit
    def attend(
        q: ash.f32["batch", 6, "new", 20],
        k: ash.f32["keys", "batch", 3, 20],
        v: ash.f32["keys", "batch", 3, 24],
        seen: ash.bool["batch", 1, 1, "keys"],
    ) -> Tensor:
        k, v = k.transpose(1, 2, 0, 3), v.transpose(1, 2, 0, 3)
        return ash.attention(q, k, v, seen, causal="bottom_right") * 2

    return ash.compile(attend, strict=True)


def arrays(batch: int, new: int, keys: int) -> list[Any]:
    q = RNG.standard_normal((batch, 6, new, 20), np.float32)
    k, v = (RNG.standard_normal((keys, batch, 3, n), np.float32) for n in (20, 24))
    return [q, k, v, RNG.random((batch, 1, 1, keys)) < 0.9]


def expected(q: Any, k: Any, v: Any, seen: Any) -> Any:
    k, v = (torch.from_numpy(x).double().permute(1, 2, 0, 3) for x in (k, v))
    rows, keys = q.shape[2], k.shape[2]
    mask = torch.from_numpy(seen) & torch.ones(rows, keys, dtype=torch.bool).tril(keys - rows)
    q = torch.from_numpy(q).double()
    return 2 * scaled_dot_product_attention(q, k, v, mask, enable_gqa=True).nan_to_num().numpy()


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("new", [1, 3, 8, 9])
@pytest.mark.parametrize("keys", [1, 511, 512, 513, 1301])
def test_any_number_of_keys(cached: Executable, batch: int, new: int, keys: int) -> None:
    given = arrays(batch, new, max(keys, new))
    np.testing.assert_allclose(cached(*given)[0], expected(*given), atol=4e-6)


def test_nothing(cached: Executable) -> None:
    np.testing.assert_array_equal(cached(*arrays(2, 1, 0))[0], np.zeros((2, 6, 1, 24)))
    assert cached(*arrays(0, 1, 600))[0].shape == (0, 6, 1, 24)


def test_a_kernel_in_parts_is_divided_once(cached: Executable) -> None:
    kernels = run_passes(cached.graph, PASSES[:-1]).graph
    assert "part_attention" in kernels.as_text()
    assert run_passes(kernels, [LongTasks()]).graph == kernels


def test_a_query_that_sees_nothing(cached: Executable) -> None:
    q, k, v, seen = arrays(2, 1, 700)
    seen[0] = False
    seen[1, ..., :600] = False  # whole parts
    (found,) = cached(q, k, v, seen)
    np.testing.assert_allclose(found, expected(q, k, v, seen), atol=4e-6)


def test_infinities_and_nan(cached: Executable) -> None:
    q, k, v, seen = arrays(1, 1, 600)
    seen[:] = True
    v[3, 0, 0, 1], v[550, 0, 1, 2] = np.inf, np.nan
    found = cached(q, k, v, seen)[0][0, :, 0]
    assert np.isinf(found[:2, 1]).all()
    assert np.isnan(found[2:4, 2]).all()
    assert np.isfinite(found[4:]).all()


def test_only_heads_beside_each_other_are_walked_together() -> None:
    assert "part_attention" in _passed("keys, 1, 3", (1, 2, 0, 3))
    assert "part_attention" not in _passed("1, 3, keys", (0, 1, 2, 3))
    assert "part_attention" not in _passed("keys, 1, 3", (1, 2, 0, 3), causal=True)


@pytest.mark.parametrize(
    ("keys", "parts"), [(511, 0), (512, 2), (1279, 4), (1280, 4), (1791, 6), (99_999, 32)]
)
def test_two_threads_have_equally_many_parts(cached: Executable, keys: int, parts: int) -> None:
    first, *_ = cached.specialize(batch=1, new=1, keys=keys).steps
    assert first.cost.tasks == parts


def _passed(shape: str, order: tuple[int, ...], causal: bool = False) -> str:
    past = ash.f32[(*(int(s) if s.isdigit() else s for s in shape.split(", ")), 8)]

    def attend(q: Any, k: Any, v: Any) -> Any:
        k, v = k.transpose(*order), v.transpose(*order)
        return ash.attention(q, k, v, causal=causal)

    attend.__annotations__ = {"q": ash.f32[1, 3, 1, 8], "k": past, "v": past}
    return ash.compile(ash.jit(attend)).as_text()


def test_no_parts_of_as_many_keys_as_queries() -> None:
    @ash.jit
    def encode(x: ash.f32["batch", "seq", 3, 8]):
        q, k, v = (x.transpose(0, 2, 1, 3) * n for n in range(3))
        return ash.attention(q, k, v)

    assert "part_attention" not in ash.compile(encode).as_text()
