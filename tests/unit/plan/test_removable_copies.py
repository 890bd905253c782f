"""Scatters into inputs that the caller gives up: only what changes is written."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import anyshape as ash
from anyshape.ir import parse
from anyshape.loop.printer import kernel_text
from anyshape.loop.removable_copies import removable_copies

ONE_AXIS = """axes { n: 0..   m: 0..   s: 0.. }
graph put(x: f32[n, m, 3], i: i64[s], u: f32[n, s, 3]) -> f32[n, m, 3] {
  %0 = scatter(x, i, u) {axis=1, combine=COMBINE} : f32[n, m, 3]
  return %0
}
"""
ALONG = """axes { n: 0..   m: 0..   s: 0.. }
graph put(x: f32[m, n], i: i64[s, n], u: f32[s, n]) -> f32[m, n] {
  %0 = scatter_along(x, i, u) {axis=0, combine=COMBINE} : f32[m, n]
  return %0
}
"""


def compiled(text: str, combine: str) -> tuple[ash.Executable, ash.Executable]:
    graph = parse(text.replace("COMBINE", combine))
    return ash.compile(graph, donate=("x",)), ash.compile(graph)


def inputs(text: str, n: int, m: int, s: int) -> list[Any]:
    rng = np.random.default_rng(n * 100 + m * 10 + s)
    shapes = ((n, m, 3), (s,), (n, s, 3)) if text is ONE_AXIS else ((m, n), (s, n), (s, n))
    return [
        rng.random(shapes[0], np.float32),
        rng.integers(-2, m + 2, shapes[1]),  # some are outside, and write nothing
        rng.random(shapes[2], np.float32),
    ]


@pytest.mark.parametrize("text", [ONE_AXIS, ALONG], ids=["slices", "elements"])
@pytest.mark.parametrize("combine", ["set", "add", "max"])
def test_the_same_results(text: str, combine: str) -> None:
    donated, plain = compiled(text, combine)
    assert donated.executor.plan.output_prefixes == {0: 0}
    for n, m, s in ((2, 5, 3), (1, 1, 1), (3, 0, 0), (0, 4, 2), (2, 7, 0), (67, 9, 20)):
        x, i, u = inputs(text, n, m, s)
        (expected,) = plain(x, i, u)
        mine = x.copy()
        assert donated(mine, i, u)[0] is mine
        np.testing.assert_array_equal(mine, expected)
        fixed = np.asfortranarray(x)
        np.testing.assert_array_equal(donated(fixed, i, u)[0], expected)
        np.testing.assert_array_equal(fixed, x)


@pytest.mark.parametrize("text", [ONE_AXIS, ALONG], ids=["slices", "elements"])
def test_the_copy_is_left_out(text: str) -> None:
    donated, plain = compiled(text, "set")
    (before,) = (step.variants[0].variant.kernel for step in plain.executor.plan.steps)
    (after,) = (step.variants[0].variant.kernel for step in donated.executor.plan.steps)
    assert (0, 3) in removable_copies(before)
    assert "= x0[" in kernel_text(before)
    assert "= x0[" not in kernel_text(after)


def test_what_else_reads_the_input_needs_the_copy() -> None:
    graph = parse("""axes { n: 0..   s: 0.. }
graph put(x: f32[n], i: i64[s], u: f32[s]) -> (f32[n], f32[n]) {
  %0 = scatter(x, i, u) {axis=0, combine=set} : f32[n]
  %1 = cumsum(x) {axis=0} : f32[n]
  return %0, %1
}
""")
    executable = ash.compile(graph, donate=("x",))
    x, i, u = np.array([3, 1, 2], np.float32), np.array([1]), np.array([9], np.float32)
    changed, summed = executable(x.copy(), i, u)
    assert changed.tolist() == [3, 9, 2]
    assert summed.tolist() == [3, 4, 6]


def test_an_update_that_is_the_input_itself() -> None:
    graph = parse("""axes { n: 0.. }
graph put(x: f32[n], i: i64[n]) -> f32[n] {
  %0 = scatter(x, i, x) {axis=0, combine=set} : f32[n]
  return %0
}
""")
    executable = ash.compile(graph, donate=("x",))
    x = np.arange(5, dtype=np.float32)
    (found,) = executable(x.copy(), np.array([1, 2, 3, 4, 0]))
    assert found.tolist() == [4, 0, 1, 2, 3]


class StaticCache(nn.Module):
    """Keys of a fixed number of places, written at some."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(2, 3, 16, 8))

    def forward(self, x: Any, places: Any) -> Any:
        self.keys.index_copy_(2, places, x)
        return self.keys.sum(2)


@pytest.mark.filterwarnings("ignore")
def test_a_static_cache_is_written_in_place() -> None:
    model = StaticCache()
    example = torch.randn(2, 3, 2, 8), torch.tensor([3, 4])
    axes = {"x": (None, None, "s", None), "places": ("s",)}
    fast = ash.compile(model, example, axes=axes)
    (scatter,) = (s for s in fast.executable.executor.plan.steps if s.name == "scatter")
    assert "= x0[" not in kernel_text(scatter.lowered.kernel)
    places = set()
    for place in range(0, 15, 2):
        x, where = torch.randn(2, 3, 2, 8), torch.tensor([place, place + 1])
        torch.testing.assert_close(fast(x, where), model(x, where))
        places.add(id(fast._state["keys"]))
    np.testing.assert_array_equal(fast.state["keys"], model.keys.numpy())
    assert len(places) <= 2
