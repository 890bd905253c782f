"""`make fuzz-groups`: thousands of random fusion groups, compiled, against the interpreter.

Graphs here hold only what kernels are generated for. Each is compiled once and run at several
bindings, with inputs that are dense, strided, reversed or transposed, natively and step by step.
Graphs are divided among processes; a failure prints the seed of the one graph.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice

import numpy as np
from tests.fuzz.generate import finish, new_generator, random_binding
from tests.fuzz.moves import SIMPLE, attention
from tests.fuzz.native import check_call, places, share_in_kernels
from tests.fuzz.run import random_inputs
from tests.options import options_with

from anyshape.base.options import options_from_environment
from anyshape.codegen.llvm import workers
from anyshape.execute import compile_graph
from anyshape.ir import Graph
from anyshape.ir.types import Array

MOVES = [*SIMPLE, attention]
LEAST_SHARE = 0.9
"""Of the nodes, how many have to be in generated kernels."""

GRAPHS_PER_TASK = 10


def random_graph(seed: int) -> tuple[random.Random, Graph]:
    rng = random.Random(seed)
    generator = new_generator(rng)
    generator.grow(MOVES, rng.randint(4, 14))
    return rng, finish(generator)


def check_groups(seed: int, bindings: int = 3, isa: str = "") -> Counter[str]:
    """One graph at several bindings; any exception is a failure. Returns what was seen."""
    rng, graph = random_graph(seed)
    options = options_with(cache_dir=None, isa=isa or options_from_environment().isa)
    native = compile_graph(graph, options)
    stepwise = compile_graph(graph, options, executor="stepwise")
    kernels = [node for node in native.graph.nodes() if node.op.name == "kernel"]
    tally = places(native.graph.body) + Counter(graphs=1, groups=len(kernels))
    for number in range(bindings):
        binding = random_binding(rng, graph)
        if binding is not None:
            inputs = [rng.choice(LAYOUTS)(array) for array in random_inputs(seed, graph, binding)]
            check_call(native if number % 2 == 0 else stepwise, inputs)
            tally["runs"] += 1
    return tally


# --- layouts --------------------------------------------------------------------------------------


def _strided(array: Array) -> Array:
    wide = np.zeros(tuple(2 * size for size in array.shape), array.dtype)
    view = wide[(*(slice(None, None, 2) for _ in array.shape), ...)]
    view[...] = array
    return view


def _reversed(array: Array) -> Array:
    return np.flip(np.flip(array).copy())


def _transposed(array: Array) -> Array:
    return array.copy(order="F")


LAYOUTS: tuple[Callable[[Array], Array], ...] = (np.copy, _strided, _reversed, _transposed)


# --- running --------------------------------------------------------------------------------------


def check_seeds(first: int) -> Counter[str]:
    """A task of a process, which compiles alone: there is one for each CPU."""
    workers.SOURCES_PER_WORKER = sys.maxsize
    tally: Counter[str] = Counter()
    for seed in range(first, first + GRAPHS_PER_TASK):
        try:
            tally += check_groups(seed)
        except Exception as error:
            error.add_note(f"make fuzz-groups ARGS='--seed {seed} --groups 1'")
            raise
    return tally


def run(groups: int, seed: int, processes: int) -> Counter[str]:
    """As many graphs as it takes to see that many groups."""
    tally: Counter[str] = Counter()
    with ProcessPoolExecutor(processes) as pool:
        starts = count(seed, GRAPHS_PER_TASK)
        while tally["groups"] < groups:
            for found in pool.map(check_seeds, islice(starts, 4 * processes)):
                tally += found
            print(f"\r{tally['groups']}/{groups} groups", end="", file=sys.stderr, flush=True)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    start = time.perf_counter()
    tally = run(options.groups, options.seed, options.processes)
    share = share_in_kernels(tally)
    print(f"\n{dict(tally)} in {time.perf_counter() - start:.0f} s")
    print(f"{share:.1%} of the nodes are in generated kernels")
    return 0 if share >= LEAST_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
