"""Slices are read where they are, although heads are taken apart behind them."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.ir import evaluate
from anyshape.passes import run_passes
from anyshape.passes.slices_last import SlicesLast

RNG = np.random.default_rng(0)
W = RNG.standard_normal((24, 72)).astype(np.float32)
WIDE = RNG.standard_normal((24, 48)).astype(np.float32)
X = ash.f32["b", "n", 24]


def heads(x: Any, count: int) -> Any:
    b, n, width = x.shape
    return x.reshape(b, n, count, width // count).transpose(0, 2, 1, 3)


@ash.jit
def split(x: X):
    y = x @ W
    return ash.attention(heads(y[..., :24], 3), heads(y[..., 24:48], 3), heads(y[..., 48:], 3))


@ash.jit
def grouped(x: X):
    """Fewer heads of keys and values than of queries."""
    y = x @ WIDE
    return ash.attention(heads(y[..., :32], 4), heads(y[..., 32:40], 1), heads(y[..., 40:], 1))


@ash.jit
def unbound(x: X):
    b, n, _ = x.shape
    y = (x @ W).reshape(b, n, 3, 3, 8).transpose(2, 0, 3, 1, 4)
    return ash.attention(*(y[i] for i in range(3)))


@ash.jit
def one_key(x: X):
    """As in Falcon, where lists of one index choose the only head of keys and of values."""
    b, n, _ = x.shape
    y = (x @ WIDE).reshape(b, n, 6, 8)
    k, v = (ash.take(y, np.array([head]), axis=2) for head in (4, 5))
    return ash.attention(*(a.transpose(0, 2, 1, 3) for a in (y[:, :, :-2], k, v)))


@ash.jit
def multiplied(x: X):
    y = x @ W
    q, k = heads(y[..., :24], 3), heads(y[..., 24:48], 3)
    return q @ k.mT


@pytest.mark.parametrize("sizes", [(2, 5), (1, 1), (3, 0), (0, 4), (2, 33)])
@pytest.mark.parametrize(
    ("function", "count"), [(split, 3), (grouped, 3), (unbound, 3), (one_key, 3), (multiplied, 3)]
)
def test_nothing_is_copied(function: Any, count: int, sizes: tuple[int, int]) -> None:
    """Attention has two variants, and so has a product whose columns are apart."""
    executable = compile_graph(function.graph)
    names = [kernel.name for kernel in executable.kernels]
    assert len(names) == count, names
    assert "slice" not in names
    x = RNG.standard_normal((*sizes, 24)).astype(np.float32)
    (found,), (wanted,) = executable(x), evaluate(function.graph, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_without_it_every_part_is_copied() -> None:
    names = [kernel.name for kernel in compile_graph(split.graph, without=("slices-last",)).kernels]
    assert names.count("slice") == 3


@ash.jit
def uneven(x: ash.f32["b", 72]):
    """The cut goes through a group of 16, or there are steps, or axes beside it are reshaped."""
    b = x.shape[0]
    return (
        x[:, 8:40].reshape(b, 2, 16),
        x[:, 0:64:2].reshape(b, 4, 8),
        x[:, :64].reshape(b * 8, 8),
        x[1:, :64].reshape(b - 1, 8, 8),
    )


def test_what_does_not_fit_stays() -> None:
    graph = uneven.graph
    assert run_passes(graph, [SlicesLast()], verify=True).graph == graph


@ash.jit
def joined(x: ash.f32["b", 3, "k", 8]):
    """The axis inside may have any size."""
    b, _, k, _ = x.shape
    return x[:, 1].reshape(b, k, 8)


def test_an_axis_is_joined_with_one_of_any_size() -> None:
    passed = run_passes(joined.graph, [SlicesLast()], verify=True)
    assert [d.why for d in passed.reports[0].taken] == ["the slice is read where it is"]
    for sizes in ((2, 5), (1, 0), (0, 2)):
        x = RNG.standard_normal((sizes[0], 3, sizes[1], 8)).astype(np.float32)
        assert np.array_equal(evaluate(passed.graph, x)[0], x[:, 1])
