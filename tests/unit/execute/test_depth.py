"""Long chains: nothing recurses for each node, and kernels have a bound."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import anyshape as ash
from anyshape.ir import parse, verify

FRAMES = 200
"""What compiling a graph of two nodes needs, and a margin."""


@contextmanager
def few_frames() -> Iterator[None]:
    """Python's stack with room for `FRAMES` calls more."""
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def repeated(step: Callable[[ash.Tensor], ash.Tensor], count: int):
    @ash.jit
    def chain(x: ash.f32["n", 8]):
        for _ in range(count):
            x = step(x)
        return x

    return chain


def test_five_thousand_ops_in_a_row() -> None:
    """Traced, printed, read, verified, interpreted, compiled, explained and run."""
    x = np.linspace(-1, 1, 40, dtype=np.float32).reshape(5, 8)
    with few_frames():
        graph = repeated(lambda x: x * 1.0001 + 0.5, 2500).graph
        assert len(graph.nodes()) > 5000
        assert parse(graph.as_text(), graph.weights) == graph
        executable = ash.compile(verify(graph))
        assert "the kernel has 64 ops already" in str(executable.explain())
        (result,) = executable(x)
        (expected,) = ash.compile(graph, executor="reference")(x)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


STEPS = {
    "compounds": lambda x: ash.gelu(x) + 1.0,
    "rows": lambda x: ash.softmax(x, axis=-1) * 2.0,
    "reversed": lambda x: x[::-1] + 1.0,
    "reshaped": lambda x: (x.reshape((-1,)) + 1.0).reshape((-1, 8)) * 0.5,
    "products": lambda x: (x + 1.0) @ np.eye(8, dtype=np.float32),
}


@pytest.mark.parametrize("name", STEPS)
def test_chains_of_every_kind(name: str) -> None:
    x = np.linspace(-1, 1, 40, dtype=np.float32).reshape(5, 8)
    with few_frames():
        graph = repeated(STEPS[name], 150).graph
        (result,) = ash.compile(graph)(x)
    (expected,) = ash.compile(graph, executor="reference")(x)
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-5)
