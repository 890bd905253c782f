"""The same ops on neighbouring parts of a value are done once, on both."""

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import anyshape as ash
from anyshape.execute import compile_graph
from anyshape.ir import evaluate
from anyshape.ir.graph import Graph
from anyshape.ops.known import KERNEL
from anyshape.passes import run_passes
from anyshape.passes.sibling_maps import SiblingMaps

RNG = np.random.default_rng(0)
F32, BF16 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)
TYPES = {F32: ash.f32, BF16: ash.bf16}
W = RNG.standard_normal((24, 64)).astype(np.float32) / 4
FREQUENCIES = np.array([1, 0.1, 0.01, 0.001], np.float32)
SIZES = [(2, 5), (1, 1), (3, 0), (0, 4), (2, 33)]


def angles(x: Any) -> Any:
    return ash.arange(x.shape[1]).astype(ash.f32)[:, None] * FREQUENCIES


def halves(x: Any, angle: Any) -> Any:
    """A rotation of pairs that lie half a head apart."""
    angle = ash.concat([angle, angle], axis=-1)
    cos, sin = (f(angle).astype(x.dtype) for f in (ash.cos, ash.sin))
    turned = ash.concat([-x[..., 4:], x[..., :4]], axis=-1)
    return x * cos + turned * sin


def pairs(x: Any, angle: Any) -> Any:
    """A rotation of neighbours, through reshapes that split the last axis."""
    cos, sin = (f(angle).astype(x.dtype) for f in (ash.cos, ash.sin))
    split = x.reshape(*x.shape[:-1], 4, 2)
    a, b = split[..., 0], split[..., 1]
    both = ash.stack([a * cos - b * sin, a * sin + b * cos], axis=-1)
    return both.reshape(*x.shape)


def of_a_part(x: Any, angle: Any) -> Any:
    """A rotation of a part of each head."""
    cos, sin = (f(angle[..., :2]).astype(x.dtype) for f in (ash.cos, ash.sin))
    a, b = x[..., :2], x[..., 2:4]
    return ash.concat([a * cos - b * sin, a * sin + b * cos, x[..., 4:]], axis=-1)


def parts(x: Any, first: int = 4, second: int = 2) -> tuple[Any, Any, Any]:
    """Queries of 4 heads, keys and values of 2."""
    b, n, _ = x.shape
    y = (x @ W.astype(x.dtype.numpy)).reshape(b, n, 8, 8).transpose(0, 2, 1, 3)
    return y[:, :first], y[:, first : first + second], y[:, first + second :]


def attends(x: Any, rotation: Any) -> Any:
    (q, k, v), angle = parts(x), angles(x)
    return ash.attention(rotation(q, angle), rotation(k, angle), v, causal="top_left")


ROTATED = partial(attends, rotation=halves)


def traced(function: Any, dtype: Any = F32) -> Graph:
    def model(x: Any) -> Any:
        return function(x)

    model.__annotations__ = {"x": TYPES[dtype]["b", "n", 24]}
    return ash.jit(model).graph


def kernels(graph: Graph) -> int:
    return sum(node.op is KERNEL for node in graph.nodes())


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("rotation", [halves, pairs, of_a_part])
def test_fewer_kernels_and_the_same_bits(rotation: Any, dtype: Any) -> None:
    graph = traced(partial(attends, rotation=rotation), dtype)
    one, several = compile_graph(graph), compile_graph(graph, without=("sibling-maps",))
    assert kernels(one.graph) < kernels(several.graph)
    for sizes in SIZES:
        x = RNG.standard_normal((*sizes, 24)).astype(dtype)
        np.testing.assert_array_equal(*(e(x)[0] for e in (one, several)))


@pytest.mark.parametrize("sizes", SIZES)
def test_the_pass_alone_changes_nothing(sizes: tuple[int, int]) -> None:
    graph = traced(ROTATED)
    new = run_passes(graph, (SiblingMaps(),), verify=True).graph
    assert new != graph
    x = RNG.standard_normal((*sizes, 24)).astype(np.float32)
    np.testing.assert_array_equal(evaluate(new, x)[0], evaluate(graph, x)[0])


def test_parts_are_read_where_they_are() -> None:
    names = [kernel.name for kernel in compile_graph(traced(ROTATED)).kernels]
    assert "slice" not in names, "nothing is copied"


def test_explain_says_what_is_done_once() -> None:
    graph = traced(ROTATED)
    (taken,) = run_passes(graph, (SiblingMaps(),)).reports[0].taken
    assert taken.why == "2 parts of one value are computed together"


def test_once_is_enough() -> None:
    once = run_passes(traced(ROTATED), (SiblingMaps(),)).graph
    assert run_passes(once, (SiblingMaps(),)).graph == once


def another_angle(x: Any) -> Any:
    (q, k, v), angle = parts(x), angles(x)
    return ash.attention(halves(q, angle), halves(k, angle * 2), v)


def apart(x: Any) -> Any:
    """The values lie between the queries and the keys."""
    (q, v, k), angle = parts(x), angles(x)
    return ash.attention(halves(q, angle), halves(k, angle), v)


def also_returned(x: Any) -> Any:
    (q, k, v), angle = parts(x), angles(x)
    k = halves(k, angle)
    return ash.attention(halves(q, angle), k, v), k


def read_twice(x: Any) -> Any:
    """A part with two readers is no view: it would be copied for them."""
    (q, k, v), angle = parts(x), angles(x)
    q, k = halves(q, angle), halves(k, angle)
    return ash.attention(q, k, v), ash.attention(q * 2, k, v)


def scaled_by_head(x: Any) -> Any:
    """Another number for each head of the queries than for each of the keys."""
    (q, k, v), scales = parts(x, 3, 3), np.arange(3, dtype=np.float32)[:, None, None]
    return ash.attention(ash.exp(q * scales), ash.exp(k * scales), ash.concat([v, v], 1)[:, :3])


def empty_part(x: Any) -> Any:
    """Keys without rows end where they begin, and follow themselves."""
    y = (x @ W).reshape(*x.shape[:2], 8, 8)
    return ash.attention(ash.tanh(y[:, :, :4]), ash.tanh(y[:, :, 4:4]), y[:, :, 4:4] * 2)


def used_inside(x: Any) -> Any:
    """Something else needs what is between."""
    q, k, v = parts(x)
    squares = ash.exp(k)
    return ash.attention(ash.exp(q) + 1, squares + 1, v), squares.sum()


def views_only(x: Any) -> Any:
    q, k, v = parts(x)
    return ash.attention(q, k, v)


@pytest.mark.parametrize(
    "function",
    [
        another_angle,
        apart,
        also_returned,
        read_twice,
        scaled_by_head,
        empty_part,
        used_inside,
        views_only,
    ],
)
def test_what_differs_or_is_needed_elsewhere_stays(function: Any) -> None:
    graph = traced(function)
    assert run_passes(graph, (SiblingMaps(),)).graph == graph
    one, several = compile_graph(graph), compile_graph(graph, without=("sibling-maps",))
    assert kernels(one.graph) == kernels(several.graph)
