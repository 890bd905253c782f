"""Random graphs whose sizes are born while they run, with regions inside regions: native runs
against the interpreter, and runs that are ended in the middle.

    python -m tests.fuzz.dynamic --graphs 300 --seed 7
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

from tests.fuzz.generate import finish, new_generator, random_binding
from tests.fuzz.loops import LOOPS
from tests.fuzz.moves import LATE, SIMPLE
from tests.fuzz.native import check_call, check_graph
from tests.fuzz.run import inner_facts, random_inputs

import anyshape as ash
from anyshape.base.errors import (
    CancelledError,
    DeadlineError,
    FactViolationError,
    MemoryLimitError,
)
from anyshape.execute import Executable
from anyshape.ir import Graph
from anyshape.ir.types import Array

MOVES = [*SIMPLE, *LATE, *LATE, *LATE, *LATE, *LOOPS, *LOOPS, *LOOPS, *LOOPS, *LOOPS]

ENDINGS = (MemoryLimitError, CancelledError, DeadlineError, FactViolationError)


def random_graph(rng: random.Random) -> Graph:
    generator = new_generator(rng)
    generator.inside = (*LATE, *LOOPS, *LOOPS, *LOOPS)
    generator.grow(MOVES, rng.randint(3, 8))
    return finish(generator)


def check_dynamic(seed: int, tally: Counter[str]) -> None:
    """Any exception is a failure."""
    rng = random.Random(seed)
    graph = random_graph(rng)
    executable = check_graph(seed, rng, graph, tally)
    binding = random_binding(rng, graph)
    if binding is None:
        return
    inputs = random_inputs(seed, graph, binding)
    for _ in range(3):
        end_somewhere(rng, executable, inputs, tally)
    try:
        check_call(executable, inputs)
    except FactViolationError as error:
        if error.fact not in inner_facts(graph.body):
            raise


def end_somewhere(
    rng: random.Random, executable: Executable, inputs: list[Array], tally: Counter[str]
) -> None:
    """A run that is not allowed to do what it wants: whatever it has done, the next is right."""
    limits: dict[str, object] = {"memory_limit": rng.choice([0, 64, 256, 1 << 12, 1 << 16])}
    if rng.random() < 0.3:
        limits["deadline"] = rng.choice([0.0, 1e-6, 1e-5, 1e-4])
    if rng.random() < 0.1:
        limits["cancellation"] = stop = ash.Cancellation()
        stop.cancel()
    try:
        executable.run(tuple(inputs), **limits)
    except ENDINGS as error:
        tally[type(error).__name__] += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tally: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.graphs):
        try:
            check_dynamic(seed, tally)
        except Exception:
            print(f"\nfailed: python -m tests.fuzz.dynamic --seed {seed} --graphs 1")
            raise
    print(dict(tally))
    return 0


if __name__ == "__main__":
    sys.exit(main())
