"""Kernels of concatenations: sizes of parts are sizes of the kernel, so that many are one."""

from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.families.family import Lowered
from anyshape.families.lower import lower_region
from anyshape.ir.graph import Graph
from anyshape.loop.verify import verify_kernel
from anyshape.passes import PASSES, run_passes


def strided(count: int, first: int = 0) -> Graph:
    """Slices with a step, each of another length."""

    def function(x: Any) -> Any:
        return ash.concat([x[n::2] for n in range(first, first + count)])

    function.__annotations__ = {"x": ash.f32["n"]}
    return ash.jit(function).graph


def kernels(graph: Graph) -> list[Lowered]:
    passed = run_passes(graph, PASSES).graph
    regions = [node.regions[0] for node in passed.nodes() if node.op.name == "kernel"]
    return [lower_region(region, passed.facts) for region in regions]


def test_kernels_that_differ_in_sizes_of_parts_are_one() -> None:
    (first,), (other,) = kernels(strided(4, first=1)), kernels(strided(4, first=50))
    assert first.kernel == other.kernel


@pytest.mark.parametrize("count", [64, 256])
def test_the_number_of_kernels_does_not_grow(count: int) -> None:
    lowered = kernels(strided(count))
    assert len(lowered) == (count - 1) // 3
    assert len({kernel.kernel for kernel in lowered}) == 3  # slices, from 0 on, and what they make


def test_level_2_computes_bounds_and_sizes() -> None:
    (lowered,) = kernels(strided(4, first=1))
    pairs = [(f"min(n, {n})", f"(n - min(n, {n}) + 1)//2") for n in range(1, 5)]
    assert [str(size) for size in lowered.sizes] == [
        "n",
        *(text for pair in pairs for text in pair),
    ]


def test_sizes_of_few_parts_stay_dims() -> None:
    (lowered,) = kernels(strided(3))
    assert [str(size) for size in lowered.sizes] == ["n"]


@pytest.mark.parametrize("count", [4, 8, 40])
def test_accesses_are_proved_in_bounds(count: int) -> None:
    for lowered in kernels(strided(count)):
        assert not list(verify_kernel(lowered.kernel))


def test_a_whole_that_has_a_name_is_known_to_be_the_sum() -> None:
    def function(x: Any, y: Any) -> Any:
        bounds = [0, 3, 5, 7, 9]
        parts = [x[a:b] for a, b in zip(bounds, [*bounds[1:], None], strict=True)]
        return ash.concat(parts) + y

    function.__annotations__ = {"x": ash.f32["n"], "y": ash.f32["n"]}
    graph = ash.jit(function).graph
    for lowered in kernels(graph):
        assert not list(verify_kernel(lowered.kernel))
    executable = ash.compile(graph)
    for size in (0, 1, 4, 8, 9, 10, 100):
        x = np.arange(size, dtype=np.float32)
        assert np.array_equal(executable(x, x)[0], x + x)


@pytest.mark.parametrize("count", [5, 8, 21, 70])
def test_strided_slices_are_those_of_numpy(count: int) -> None:
    executable = ash.compile(strided(count))
    for size in (0, 1, 2, 7, count - 1, count, count + 1, 333):
        x = np.arange(size, dtype=np.float32)
        expected = np.concatenate([x[n::2] for n in range(count)])
        assert np.array_equal(executable(x)[0], expected), size
