"""Ops that are kernels of their own: scatters and sorting."""

from typing import Any

import numpy as np
import pytest

from anyshape.execute import compile_graph
from anyshape.families.lower import lower_region
from anyshape.ir import evaluate, parse
from anyshape.loop.printer import kernel_text

PUT = """
graph put(x: f32[n, m], u: f32[1, m]) -> f32[n, m] {
  %0 = constant() {value=i64[1] [2]} : i64[1]
  %1 = scatter(x, %0, u) {axis=0} : f32[n, m]
  return %1
}
"""
PUT_NUMBER = """
graph put_number(x: f32[n], i: i64[1]) -> f32[n] {
  %0 = constant() {value=f32[1] [2.5]} : f32[1]
  %1 = scatter(x, i, %0) {axis=0, combine=add} : f32[n]
  return %1
}
"""
SORTED_NUMBER = """
graph sorted_number(x: f32[n]) -> (f32[n], i64[1]) {
  %0 = constant() {value=f32[1] [2.5]} : f32[1]
  %1, %2 = sort(%0) {axis=0}
  %3 = add(x, %1) : f32[n]
  return %3, %2
}
"""


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("text", "arrays"),
    [
        (PUT, [ones(5, 7), 3 * ones(1, 7)]),
        (PUT_NUMBER, [ones(5), np.array([3])]),
        (SORTED_NUMBER, [ones(5)]),
    ],
)
def test_constants_of_one_element_are_operands(text: str, arrays: list[Any]) -> None:
    """Elsewhere they are part of the kernel's text."""
    graph = parse(text)
    found = compile_graph(graph)(*arrays)
    for got, expected in zip(found, evaluate(graph, *arrays), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("axis", "updates"), [(0, "m, k"), (1, "n, m")])
def test_the_copy_of_a_scatter_is_made_by_vectors(axis: int, updates: str) -> None:
    """Along the axis, if that is the last; else its lanes are along another one."""
    text = f"""
graph put(x: f32[n, k], i: i64[m], u: f32[{updates}]) -> f32[n, k] {{
  %0 = scatter(x, i, u) {{axis={axis}}} : f32[n, k]
  return %0
}}
"""
    graph = parse(text)
    kernel = kernel_text(lower_region(graph.body, graph.facts).kernel)
    lines = [line.strip() for line in kernel.splitlines() if "for " in line]
    wanted = ["for j <", "for n <", "for m0 <"] if axis == 0 else ["for n <", "for m0 <"]
    assert [line.split(" <")[0] + " <" for line in lines] == wanted
    assert [line.endswith("vector {") for line in lines] == [True, *[False] * (len(wanted) - 1)]
