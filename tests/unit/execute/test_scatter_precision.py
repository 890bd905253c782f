"""Sums and products that scatters make of 16-bit floats: in f32, and rounded once at the end."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import anyshape as ash
from anyshape.ir import evaluate, parse

NUMPY = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
SCATTERS = {
    "numbers": ("DTYPE[n], i: i64[s], u: DTYPE[s]", "DTYPE[n]", "scatter", 0),
    "rows": ("DTYPE[n, m], i: i64[s], u: DTYPE[s, m]", "DTYPE[n, m]", "scatter", 0),
    "columns": ("DTYPE[m, n], i: i64[s], u: DTYPE[m, s]", "DTYPE[m, n]", "scatter", 1),
    "elements": ("DTYPE[n, m], i: i64[s, m], u: DTYPE[s, m]", "DTYPE[n, m]", "scatter_along", 0),
    "some elements": (
        "DTYPE[n, m], i: i64[s, 2], u: DTYPE[s, 2]", "DTYPE[n, m]", "scatter_along", 0,
    ),
}  # fmt: skip


def graph_of(name: str, dtype: str, combine: str) -> Any:
    operands, result, op, axis = SCATTERS[name]
    text = f"""axes {{ n: 0..   m: 2..   s: 0.. }}
graph put(x: {operands}) -> {result} {{
  %0 = {op}(x, i, u) {{axis={axis}, combine={combine}}} : {result}
  return %0
}}
"""
    return parse(text.replace("DTYPE", dtype))


def shapes_of(name: str, n: int, m: int, s: int) -> tuple[tuple[int, ...], ...]:
    """Of x, indices and updates."""
    return {
        "numbers": ((n,), (s,), (s,)),
        "rows": ((n, m), (s,), (s, m)),
        "columns": ((m, n), (s,), (m, s)),
        "elements": ((n, m), (s, m), (s, m)),
        "some elements": ((n, m), (s, 2), (s, 2)),
    }[name]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", SCATTERS)
def test_ones_are_counted(name: str, dtype: str) -> None:
    """5,000 of them; rounded after each, they would be 2,048 in f16, and 256 in bf16."""
    numpy = NUMPY[dtype]
    x, indices, updates = shapes_of(name, 3, 70, 5000)
    arrays = [np.zeros(x, numpy), np.ones(indices, np.int64), np.ones(updates, numpy)]
    graph = graph_of(name, dtype, "add")
    (expected,) = evaluate(graph, *arrays)
    assert float(np.max(expected)) == float(np.asarray(5000).astype(numpy))
    for donate in ((), ("x",)):
        (counted,) = ash.compile(graph, donate=donate)(*arrays)
        np.testing.assert_array_equal(counted, expected)


@pytest.mark.parametrize("combine", ["add", "mul"])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", SCATTERS)
def test_the_same_bits_as_the_definition(name: str, dtype: str, combine: str) -> None:
    numpy, rng = NUMPY[dtype], np.random.default_rng(5)
    graph = graph_of(name, dtype, combine)
    run = ash.compile(graph)
    for n, m, s in ((1, 2, 1), (4, 3, 40), (0, 2, 0), (5, 67, 200), (130, 129, 64), (7, 64, 0)):
        shapes = shapes_of(name, n, m, s)
        x, u = (rng.uniform(0.5, 1.5, shape).astype(numpy) for shape in shapes[::2])
        i = rng.integers(0, max(n, 1), shapes[1])
        (expected,) = evaluate(graph, x, i, u)
        np.testing.assert_array_equal(run(x, i, u)[0], expected)
        wide = evaluate(graph_of(name, "f32", combine), x.astype(np.float32), i, u.astype("f4"))
        np.testing.assert_array_equal(expected, wide[0].astype(numpy))
