"""Attention reads repeated keys and values where they are once."""

from typing import Any

import numpy as np
import pytest
from tests.unit.passes.stages import FIRST

import anyshape as ash
from anyshape.ir import evaluate
from anyshape.passes import run_passes


def repeated(x: Any, times: int) -> Any:
    batch, heads, seq, width = x.shape
    single = x.reshape(batch, heads, 1, seq, width)
    wide = ash.broadcast_to(single, (batch, heads, times, seq, width))
    return wide.reshape(batch, heads * times, seq, width)


@ash.jit
def grouped(q: ash.f32["b", 6, "s", 8], k: ash.f32["b", 2, "t", 8], v: ash.f32["b", 2, "t", 8]):
    return ash.attention(q, repeated(k, 3), repeated(v, 3))


@ash.jit
def masked(
    q: ash.f32["b", 6, "s", 8],
    k: ash.f32["b", 3, "t", 8],
    v: ash.f32["b", 3, "t", 5],
    mask: ash.f32["s", "t"],
):
    return ash.attention(q, repeated(k, 2), repeated(v, 2), mask=mask)


@ash.jit
def tiled(q: ash.f32["b", 6, "s", 8], k: ash.f32["b", 2, "t", 8], v: ash.f32["b", 2, "t", 8]):
    """All kv heads, three times over: another order of heads."""
    return ash.attention(q, ash.concat([k, k, k], axis=1), repeated(v, 3))


@ash.jit
def other_repetition(
    q: ash.f32["b", 6, "s", 8], k: ash.f32["b", 2, "t", 8], v: ash.f32["b", 3, "t", 8]
):
    return ash.attention(q, repeated(k, 3), repeated(v, 2))


@ash.jit
def unknown_heads(q: ash.f32["b", "h", "s", 8], k: ash.f32["b", "g", "t", 8]):
    return ash.attention(q, repeated(k, 2), repeated(k, 2))


@ash.jit
def unknown_times(q: ash.f32["b", "h", "s", 8], k: ash.f32["b", "g", "t", 8], r: ash.f32["r"]):
    times = r.shape[0]
    return ash.attention(q, repeated(k, times), repeated(k, times))


def heads_read(function: Any) -> list[str]:
    graph = run_passes(function.graph, FIRST, verify=True).graph
    (node,) = (node for node in graph.nodes() if node.op.name == "attention")
    return [str(value.tensor.shape[1]) for value in node.operands[1:3]]


def test_repetitions_are_removed():
    assert heads_read(grouped) == ["2", "2"]
    assert heads_read(masked) == ["3", "3"]


def test_what_is_no_repetition_stays():
    assert heads_read(tiled) == ["6", "6"]
    assert heads_read(other_repetition) == ["6", "6"]


@pytest.mark.parametrize("function", [unknown_heads, unknown_times])
def test_unknown_numbers_of_heads(function: Any):
    """That g divides the heads follows from what was required of g times n: nothing is added."""
    assert heads_read(function) == ["g", "g"]
    assert run_passes(function.graph, FIRST).graph.facts == function.graph.facts


@pytest.mark.parametrize("function", [grouped, masked, tiled, other_repetition])
@pytest.mark.parametrize(("b", "s", "t"), [(2, 3, 4), (1, 1, 1), (0, 2, 2), (1, 20, 33), (2, 1, 0)])
def test_the_same_meaning(function: Any, b: int, s: int, t: int):
    rng = np.random.default_rng(b * 100 + s * 10 + t)
    sizes = {"b": b, "s": s, "t": t}
    params = function.graph.body.params
    shapes = [[sizes.get(str(dim), dim.constant) for dim in type_.shape] for type_ in params]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    (expected,) = evaluate(function.graph, *arrays)
    passed = run_passes(function.graph, FIRST).graph
    np.testing.assert_allclose(evaluate(passed, *arrays)[0], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ash.compile(function)(*arrays)[0], expected, rtol=1e-4, atol=1e-6)
