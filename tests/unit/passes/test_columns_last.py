"""Operands of dots in the order that matrix products read: same meaning, and only where needed."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.ir import evaluate
from anyshape.passes import run_passes
from anyshape.passes.columns_last import ColumnsLast


@ash.jit
def scores(q: ash.f32["b", "h", "s", 8], k: ash.f32["b", "h", "t", 8]):
    return ash.einsum("bhsd,bhtd->bhst", q, k)


@ash.jit
def apart(x: ash.f32["s", "k", "m"], w: ash.f32["n", "k"]):
    return ash.einsum("skm,nk->smn", x, w)


@ash.jit
def in_order(x: ash.f32["k", "m"], w: ash.f32["k", "n"]):
    return ash.einsum("km,kn->mn", x, w)


@ash.jit
def one_row(x: ash.f32["k"], w: ash.f32["n", "k"]):
    return ash.einsum("k,nk->n", x, w)


@ash.jit
def viewed(x: ash.f32["k", "s", "m"], w: ash.f32["k", "n"]):
    return ash.transpose(x, (1, 2, 0)) @ w


@ash.jit
def shared(x: ash.f32["k", "s", "m"], w: ash.f32["k", "n"]):
    turned = ash.transpose(x, (2, 0, 1))  # [m, k, s]
    return turned, ash.einsum("mks,kn->msn", turned, w)


SIZES = {"b": 2, "h": 3, "s": 4, "t": 5, "k": 6, "m": 7, "n": 1}


@pytest.mark.parametrize(
    ("function", "transposes"),
    [(scores, 0), (apart, 1), (in_order, 0), (one_row, 0), (viewed, 0), (shared, 1)],
)
def test_transposes_are_made_where_they_are_needed(function: Any, transposes: int) -> None:
    graph = function.graph
    passed = run_passes(graph, (ColumnsLast(),)).graph
    made = [node.op.name for node in passed.nodes()].count("transpose")
    assert made - [node.op.name for node in graph.nodes()].count("transpose") == transposes
    rng = np.random.default_rng(0)
    shapes = [type_.resolve(SIZES).shape for type_ in graph.body.params]
    arrays = [rng.normal(size=tuple(map(int, s))).astype(np.float32) for s in shapes]
    np.testing.assert_allclose(
        evaluate(passed, *arrays)[0], evaluate(graph, *arrays)[0], rtol=1e-5, atol=1e-6
    )


def test_constants_stay() -> None:
    weight = np.ones((40, 6), np.float32)

    @ash.jit
    def layer(x: ash.f32["m", 6]):
        return ash.einsum("mk,nk->mn", x, weight)

    passed = run_passes(layer.graph, (ColumnsLast(),)).graph
    assert passed == layer.graph
