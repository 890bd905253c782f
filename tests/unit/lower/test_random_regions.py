"""Random regions: the loop nest that lowering makes, against the interpreter of the graph."""

import random

import numpy as np
import pytest
from tests.fuzz import moves
from tests.fuzz.generate import Generator, new_generator, random_binding
from tests.fuzz.run import random_inputs

from anyshape.families.lower import lower_region
from anyshape.ir import Graph, evaluate
from anyshape.ir.types import Array
from anyshape.loop.interpret import run_kernel
from anyshape.loop.verify import verify_kernel
from anyshape.lower.context import RULES
from anyshape.sym import Symbol

MOVES = [
    moves.elementwise, moves.elementwise, moves.select, moves.reduction, moves.reshape,
    moves.transpose, moves.broadcast, moves.reverse, moves.slice_, moves.concat, moves.pad,
    moves.gather, moves.dot,
]  # fmt: skip


def lowerable(graph: Graph) -> bool:
    inner = [node for node in graph.nodes() if node.operands or node.op.name == "iota"]
    return all(node.op.name in RULES for node in inner) and graph.results[0].node.operands != ()


def random_region(seed: int) -> tuple[random.Random, Generator, Graph]:
    rng = random.Random(seed)
    generator = new_generator(rng)
    generator.grow(MOVES, rng.randint(1, 6))
    names = [f"p{index}" for index in range(len(generator.builder.params))]
    return rng, generator, generator.builder.graph("region", names, generator.pool[-1:])


def run_lowered(graph: Graph, inputs: list[Array], binding: dict[Symbol, int]) -> Array:
    lowered = lower_region(graph.body, graph.facts)
    verify_kernel(lowered.kernel)
    type_ = graph.results[0].tensor
    shape = [dim.evaluate(binding) for dim in type_.shape]
    out = np.zeros(shape, type_.dtype.numpy)
    flat = [array.reshape(-1) for array in inputs]
    sizes = [dim.evaluate(binding) for dim in lowered.sizes]
    run_kernel(lowered.kernel, [*flat, out.reshape(-1)], sizes)
    return out


@pytest.mark.parametrize("block", range(8))
def test_lowered_regions_mean_the_same(block: int) -> None:
    compared = 0
    for seed in range(block * 40, block * 40 + 40):
        rng, _, graph = random_region(seed)
        binding = random_binding(rng, graph)
        if not lowerable(graph) or binding is None:
            continue
        inputs = random_inputs(seed, graph, binding)
        (want,) = evaluate(graph, *inputs)
        if want.size > 2000:
            continue
        got = run_lowered(graph, inputs, binding)
        close = {"rtol": 1e-2, "atol": 1e-2} if want.dtype.itemsize <= 2 else {"rtol": 1e-5}
        np.testing.assert_allclose(
            got.astype(np.float64), want.astype(np.float64), err_msg=f"seed {seed}", **close
        )
        compared += 1
    assert compared > 10
