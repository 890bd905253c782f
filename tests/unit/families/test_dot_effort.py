"""What products are said to take: weights of large programs come from beyond the second level."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.families.lower_graph import lower_graph
from anyshape.passes import PASSES, run_passes
from anyshape.plan.costs import MachineCosts, cost_table
from anyshape.sym import Symbol

DEPTH, WIDTH = 256, 512
COSTS = MachineCosts(flop=4_000, cached_byte=5_000)
WEIGHTS = DEPTH * WIDTH * 4 * COSTS.cached_byte // 1_000
"""Picoseconds of reading those of one product from the second level."""


def products(pairs: int) -> Any:
    """One after the other, there and back: each with half a megabyte of weights."""
    there, back = np.ones((DEPTH, WIDTH), np.float32), np.ones((WIDTH, DEPTH), np.float32)
    weights = [(there + n, back + n) for n in range(pairs)]

    @ash.jit
    def function(x: ash.f32["m", DEPTH]):
        for up, down in weights:
            x = ash.relu(x @ up) @ down
        return x

    return function


def picoseconds(pairs: int, rows: int) -> list[int]:
    """Of each product, on one thread."""
    graph = run_passes(products(pairs).graph, PASSES).graph
    lowered = lower_graph(graph, NAMED_TARGETS["x86-64-avx512"].tiling)
    table = cost_table(lowered, COSTS)
    found: list[int] = []
    for kernel in lowered.kernels.values():
        variants = table.variants[kernel]
        sizes = {name: dim.evaluate({Symbol("m"): rows}) for name, dim in variants.sizes}
        found.append(variants.variants[0].alone.evaluate({Symbol("m"): rows, **sizes}))
    return found


@pytest.mark.parametrize("rows", [1, 2])
def test_far_weights_take_as_long_as_twice_as_many_near_ones(rows: int) -> None:
    near, far = picoseconds(1, rows), picoseconds(4, rows)
    assert len(far) == 4 * len(near) == 8
    for one, others in zip(near, (far[::2], far[1::2]), strict=True):
        assert WEIGHTS < one < 1.2 * WEIGHTS
        assert others == [one + WEIGHTS] * 4


def test_rows_that_multiply_for_longer_hide_where_weights_are() -> None:
    near, far = picoseconds(1, 64), picoseconds(4, 64)
    assert far == near * 4
