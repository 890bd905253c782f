"""The graphs of the table of compile times: their size follows the number that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.workloads.growth import SHAPES

import anyshape as ash


@pytest.mark.parametrize("shape", SHAPES)
def test_graphs_grow_with_the_number_of_nodes(shape: str) -> None:
    small, large = (len(SHAPES[shape](nodes).graph().nodes()) for nodes in (8, 32))
    assert 2.5 <= large / small <= 6


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "layers"])
def test_graphs_run_at_their_sizes(shape: str) -> None:
    made = SHAPES[shape](6)
    graph = made.graph()
    for turn in range(2):
        arrays = made.arrays(made.sizes(turn))
        (result,) = ash.compile(graph, executor="reference")(*arrays)
        assert np.all(np.isfinite(result))
