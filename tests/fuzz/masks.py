"""Random graphs whose axes are padded, with the worst in the padding, against the graph as it is.

The interpreter runs both; with `native`, compiled code runs the padded one, as buckets do it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from tests.compliance.padded import Padded, padded_symbols, with_buckets, worst
from tests.fuzz.generate import random_binding
from tests.fuzz.native import all_nodes, assert_near, jumps_in, random_graph
from tests.fuzz.run import inner_facts, random_inputs

from anyshape.base.errors import FactViolationError
from anyshape.execute import compile_graph
from anyshape.execute.padding_executor import PaddingExecutor
from anyshape.ir import evaluate
from anyshape.ir.opdef import Trait


def check_masks(seed: int, tally: Counter[str], bindings: int = 4, *, native: bool = False) -> None:
    """One graph with some axes padded, at several bindings; any exception is a failure."""
    rng, graph = random_graph(seed)
    symbols = padded_symbols(graph)
    if not symbols or any(node.op.has(Trait.EFFECT) for node in all_nodes(graph.body)):
        return
    chosen = rng.sample(symbols, rng.randint(1, len(symbols)))
    if native:
        compiled = compile_graph(with_buckets(graph, chosen))
        executor = compiled.executor
        assert isinstance(executor, PaddingExecutor)
        executor.allocate = worst(seed)
    else:
        executor = Padded(graph, chosen, seed).executor
    nodes = executor.padded.graph.nodes()
    tally["graphs"] += 1
    tally["masks"] += sum(node.op.name == "select" for node in nodes)
    for _ in range(bindings):
        binding = random_binding(rng, graph)
        if binding is None:
            continue
        inputs = random_inputs(seed, graph, binding)
        try:
            wanted = evaluate(graph, *inputs)
        except FactViolationError as error:  # late sizes and branches may well fail
            if error.fact not in inner_facts(graph.body):
                raise
            continue
        before = executor.metrics()
        found = executor.run(inputs)
        after = executor.metrics()
        tally["runs"] += 1
        more = after.padded_elements - before.padded_elements
        tally["padded"] += more > after.valid_elements - before.valid_elements
        for left, right in zip(found, wanted, strict=True):
            assert (left.ndim, left.dtype) == (right.ndim, right.dtype)
            if not jumps_in(graph):
                assert left.shape == right.shape
                with np.errstate(all="ignore"):
                    assert_near(left, right)
