"""`make fuzz-native`: random graphs compiled to native code, against the interpreter.

Graphs have no late axes, loops or random numbers: the native executor refuses them. Where an op may
turn a difference in the last bit into any difference, only shapes and dtypes are compared.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

import numpy as np
from tests.fuzz import moves
from tests.fuzz.generate import finish, new_generator, random_binding
from tests.fuzz.run import CONTRACTIONS, JUMPS, random_inputs

from anyshape.execute import compile_graph
from anyshape.ir import Graph, evaluate
from anyshape.ir.types import Array

MOVES = [*moves.SIMPLE, moves.attention]

APPROXIMATE = CONTRACTIONS | {
    "sum", "mean", "softmax", "log_softmax", "layer_norm", "rms_norm", "gelu", "silu", "exp", "log",
    "expm1", "log1p", "tanh", "erf", "sigmoid", "sin", "cos", "pow", "rsqrt",
}  # fmt: skip
"""Ops whose last bits are the compiler's business."""


def random_graph(seed: int) -> tuple[random.Random, Graph]:
    rng = random.Random(seed)
    generator = new_generator(rng)
    generator.grow(MOVES, rng.randint(3, 10))
    return rng, finish(generator)


def check_native(seed: int, tally: Counter[str], bindings: int = 2) -> None:
    """One graph, compiled once, at several bindings; any exception is a failure."""
    rng, graph = random_graph(seed)
    executable = compile_graph(graph)
    names = {node.op.name for node in graph.nodes()}
    tally["graphs"] += 1
    tally["kernels"] += sum(node.op.name == "kernel" for node in executable.graph.nodes())
    for _ in range(bindings):
        binding = random_binding(rng, graph)
        if binding is None:
            continue
        inputs = random_inputs(seed, graph, binding)
        tally["runs"] += 1
        for found, wanted in zip(executable(*inputs), evaluate(graph, *inputs), strict=True):
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
            if not (names & JUMPS and names & APPROXIMATE):
                assert_near(found, wanted)


def assert_near(found: Array, wanted: Array) -> None:
    narrow = found.dtype.itemsize <= 2
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            found.astype(np.float64),
            wanted.astype(np.float64),
            rtol=3e-2 if narrow else 1e-3,
            atol=1e-3,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tally: Counter[str] = Counter()
    start = time.perf_counter()
    for index in range(options.graphs):
        try:
            check_native(options.seed + index, tally)
        except Exception:
            print(f"\nfailed: make fuzz-native ARGS='--seed {options.seed + index} --graphs 1'")
            raise
        if sys.stderr.isatty() or index % 100 == 0:
            print(f"\r{index + 1}/{options.graphs} graphs", end="", file=sys.stderr, flush=True)
    print(f"\n{dict(tally)} in {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
