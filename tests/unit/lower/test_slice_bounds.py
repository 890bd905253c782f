"""Kernels of many slices: their bounds are sizes, so that proofs are short and code is shared."""

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.families.family import Lowered
from anyshape.families.lower import lower_region
from anyshape.ir.graph import Graph
from anyshape.ir.node import Region
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel
from anyshape.lower.slice_bounds import sizes_of_bounds
from anyshape.passes import PASSES, run_passes


def sum_of_slices(first: int, count: int, length: int = 1) -> Graph:
    def function(x: Any) -> Any:
        return reduce(add, [x[n : n + length] for n in range(first, first + count)])

    function.__annotations__ = {"x": ash.f32["n"]}
    return ash.jit(function).graph


def only_kernel(graph: Graph) -> tuple[Region, Lowered]:
    passed = run_passes(graph, PASSES).graph
    (region,) = (
        inner.regions[0]
        for node in passed.nodes()
        for inner in (node, *(n for r in node.regions for n in r.nodes()))
        if inner.op.name == "kernel"
    )
    return region, lower_region(region, passed.facts)


def test_kernels_that_differ_in_clamped_bounds_have_one_text() -> None:
    texts = {kernel_text(only_kernel(sum_of_slices(first, 16))[1].kernel) for first in (1, 50)}
    assert len(texts) == 1


def test_their_accesses_are_proved_in_bounds() -> None:
    assert not list(verify_kernel(only_kernel(sum_of_slices(0, 30))[1].kernel))


def test_level_2_computes_the_bounds() -> None:
    _, lowered = only_kernel(sum_of_slices(1, 6))
    assert [str(size) for size in lowered.sizes] == [
        "n",
        *(f"min(n, {bound})" for bound in range(1, 8)),
    ]


def test_bounds_of_few_slices_stay_dims() -> None:
    region, lowered = only_kernel(sum_of_slices(1, 3))
    assert not sizes_of_bounds(region)
    assert [str(size) for size in lowered.sizes] == ["n"]


@pytest.mark.parametrize("size", [0, 1, 7, 19, 20, 21, 300])
def test_slices_of_one_element_add_up_at_any_size(size: int) -> None:
    x = np.random.default_rng(0).standard_normal(size, np.float32)
    expected = reduce(add, [x[n : n + 1] for n in range(20)])
    assert np.allclose(ash.compile(sum_of_slices(0, 20))(x), expected)


@pytest.mark.parametrize("size", [9, 30, 300])
def test_longer_slices_are_read_through_their_bounds(size: int) -> None:
    x = np.random.default_rng(0).standard_normal((size, 3), np.float32)

    def function(x: Any) -> Any:
        return ash.concat([x[n : n + 4, :] * 2.0 for n in range(6)])

    function.__annotations__ = {"x": ash.f32["n", 3]}
    expected = np.concatenate([x[n : n + 4] * 2 for n in range(6)])
    assert np.allclose(ash.compile(ash.jit(function).graph)(x), expected)
