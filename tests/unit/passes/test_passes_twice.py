"""What one pass leaves for another is taken up in the same run: a second run changes nothing."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.ir import evaluate
from anyshape.ir.graph import Graph
from anyshape.passes import PASSES, run_passes
from anyshape.passes.pipeline import KERNELS

BEFORE_KERNELS = PASSES[: PASSES.index(KERNELS[0])]

RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 24)).astype(np.float32)


SQUARE = RNG.normal(size=(24, 24)).astype(np.float32) / 10


def heads(x: Any, first: int) -> Any:
    return x[:, first : first + 8].reshape(-1, 2, 4).transpose(1, 0, 2)


@ash.jit
def one_head_of_attention(x: ash.f32["b", 4]):
    """Of two heads, the first is read: transposes of one head are reshapes."""
    y = x @ W
    q, k, v = (heads(y, first) for first in (0, 8, 16))
    return (ash.softmax(q @ k.mT * 0.5) @ v)[::2]


@ash.jit
def attention_of_groups(x: ash.f32[3, 2, "s", 2, 4]):
    """Attention gives its result a reshape, and its reader has one more."""
    q = x.transpose(0, 1, 3, 2, 4)
    y = ash.softmax(q @ q.mT * 0.5) @ q
    return y.reshape(3, 2, 2, -1, 1, 4) * np.ones((2, 1), np.float32)


@ash.jit
def recurrent(x: ash.f32["s", 4]):
    """The rows of a scan, which reads nothing but their product once that is in front of it."""

    def cell(h, row):
        h = ash.tanh(row @ W + h @ SQUARE)
        return h, h

    return ash.scan(cell, np.zeros(24, np.float32), x)


@ash.jit
def repeated(x: ash.f32["b", 4]):
    """Two captures of a loop, which reads nothing but their product."""
    step = lambda i, y: (i + 1, y * 0.5 + x @ W)  # noqa: E731
    return ash.while_loop(lambda i, y: i < 3, step, (np.int64(0), ash.repeat(x, 6, axis=1)))[1]


CASES: dict[Graph, list[np.ndarray]] = {
    one_head_of_attention.graph: [RNG.normal(size=(5, 4))],
    attention_of_groups.graph: [RNG.normal(size=(3, 2, 5, 2, 4))],
    recurrent.graph: [RNG.normal(size=(5, 4))],
    repeated.graph: [RNG.normal(size=(5, 4))],
}


@pytest.mark.parametrize("graph", CASES, ids=lambda graph: graph.name)
def test_a_second_run_changes_nothing(graph: Graph) -> None:
    once = run_passes(graph, BEFORE_KERNELS, verify=True).graph
    assert run_passes(once, BEFORE_KERNELS).graph == once
    inputs = [x.astype(np.float32) for x in CASES[graph]]
    for found, wanted in zip(evaluate(once, *inputs), evaluate(graph, *inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
