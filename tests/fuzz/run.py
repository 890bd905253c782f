"""`make fuzz`: random graphs, their symbolic shapes against what evaluation gives.

For each graph: it verifies, its text parses back to the identical graph, and at several random
bindings the interpreter finds every node's inferred shape and dtype in the array it computes.
A failure prints the seed of the one graph; `--seed N --graphs 1` runs it again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from tests.fuzz.generate import finish, new_generator, random_binding
from tests.fuzz.loops import LOOPS
from tests.fuzz.moves import RARE, SIMPLE

from anyshape.base.errors import FactViolationError
from anyshape.ir import Graph, Node, Region, all_ops, evaluate, parse, verify
from anyshape.ir.opdef import Trait
from anyshape.ir.types import Array, TensorType
from anyshape.passes import SIMPLIFY, run_passes
from anyshape.passes.expand import Expand
from anyshape.passes.fuse import Fuse
from anyshape.passes.narrowing import Narrowing
from anyshape.passes.segments import Segments
from anyshape.sym import Symbol


@dataclass
class Tally:
    """What a run saw."""

    ops: Counter[str] = field(default_factory=Counter)
    graphs: int = 0
    runs: int = 0
    nodes_checked: int = 0
    refused_moves: int = 0
    without_binding: int = 0
    late_violations: int = 0
    facts: int = 0

    def count(self, node: Node, results: tuple[Array, ...], sizes: dict[Symbol, int]) -> None:
        self.nodes_checked += 1
        self.ops[node.op.name] += 1


def random_graph(seed: int, tally: Tally) -> tuple[random.Random, Graph]:
    rng = random.Random(seed)
    generator = new_generator(rng)
    moves = [*SIMPLE, *RARE, *LOOPS]
    tally.refused_moves += generator.grow(moves, rng.randint(4, 14))
    return rng, finish(generator)


def check(seed: int, tally: Tally, bindings: int = 3) -> None:
    """Generates one graph and tests it; any exception is a failure."""
    rng, graph = random_graph(seed, tally)
    verify(graph)
    assert parse(graph.as_text(), graph.weights) == graph, "text does not round-trip"
    passes = (Expand(), *SIMPLIFY, Narrowing(), Fuse(), Segments(inside=(Fuse(),)))
    fused = run_passes(graph, passes, verify=True).graph
    tally.graphs += 1
    tally.facts += len(graph.facts.facts)
    for _ in range(bindings):
        binding = random_binding(rng, graph)
        if binding is None:
            tally.without_binding += 1
            continue
        try:
            compare(graph, fused, random_inputs(seed, graph, binding), tally)
        except FactViolationError as error:
            if error.fact not in inner_facts(graph.body):
                raise
            tally.late_violations += 1  # late sizes and branches: checks there may well fail
        tally.runs += 1


CONTRACTIONS = {"dot", "grouped_dot", "dense", "attention", "scan"}
"""NumPy adds up in an order of its own here: the last bits depend on how axes are grouped."""

JUMPS = {
    "floor", "ceil", "round", "sign", "mod", "floordiv", "cast", "argmax", "argmin", "eq", "ne",
    "lt", "le", "gt", "ge", "nonzero", "cond", "while", "select", "log", "log1p", "pow", "prod",
    "cumprod", "sort", "topk",
}  # fmt: skip
"""Ops after which a difference in the last bit may be any difference."""


def compare(graph: Graph, fused: Graph, inputs: list[Array], tally: Tally) -> None:
    """Evaluates a graph as it is, and fused and divided: the values are the same."""
    want = evaluate(graph, *inputs, observe=tally.count)
    if any(node.op.has(Trait.EFFECT) for node in graph.nodes()):
        return
    got = evaluate(fused, *inputs, observe=tally.count)
    names = {node.op.name for node in graph.nodes()}
    if names & CONTRACTIONS and names & JUMPS:
        return
    for left, right in zip(got, want, strict=True):
        if names & CONTRACTIONS:
            np.testing.assert_allclose(left.astype(float), right.astype(float), 2e-2, 1e-3)
        else:
            np.testing.assert_array_equal(left, right)


def inner_facts(region: Region) -> set[str]:
    """Facts that no choice of the input sizes can ensure: on late symbols, or inside regions."""
    found = {str(f) for f in region.facts.facts if f.predicate.symbols & region.born}
    for node in region.nodes():
        for inner in node.regions:
            found |= inner_facts(inner) | {str(fact) for fact in inner.facts.facts}
    return found


def random_inputs(seed: int, graph: Graph, binding: dict[Symbol, int]) -> list[Array]:
    rng = np.random.default_rng(seed)
    types = [type_ for type_ in graph.body.params if isinstance(type_, TensorType)]
    return [_array(rng, type_, binding) for type_ in types]


def _array(rng: np.random.Generator, type_: TensorType, binding: dict[Symbol, int]) -> Array:
    shape = tuple(dim.evaluate(binding) for dim in type_.shape)
    return rng.integers(0, 4, shape).astype(type_.dtype.numpy)


GENERATED = [op.name for op in all_ops() if not op.name.startswith("torch_")]
"""What graphs are made of; torch's kernels are not what is tried here."""


def coverage(tally: Tally) -> str:
    missing = [name for name in GENERATED if not tally.ops[name]]
    total = len(GENERATED)
    text = f"op coverage {total - len(missing)}/{total}"
    return text + (f", missing: {', '.join(missing)}" if missing else "")


def report(tally: Tally, seconds: float) -> str:
    rarest = ", ".join(f"{name} {count}" for name, count in tally.ops.most_common()[-8:])
    return (
        f"{tally.graphs} graphs, {tally.runs} runs, {tally.nodes_checked} node results compared "
        f"with their inferred types in {seconds:.0f} s\n"
        f"{tally.facts} facts recorded, {tally.refused_moves} moves refused, "
        f"{tally.without_binding} bindings not found, {tally.late_violations} late checks failed\n"
        f"{coverage(tally)}\nrarest: {rarest}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tally, start = Tally(), time.perf_counter()
    for index in range(options.graphs):
        seed = options.seed + index
        try:
            check(seed, tally)
        except Exception:
            print(f"\nfailed: make fuzz ARGS='--seed {seed} --graphs 1'")
            raise
        if sys.stderr.isatty() or index % 200 == 0:
            print(f"\r{index + 1}/{options.graphs} graphs", end="", file=sys.stderr, flush=True)
    print("", file=sys.stderr)
    print(report(tally, time.perf_counter() - start))
    complete = all(tally.ops[name] for name in GENERATED)
    return 0 if complete or options.graphs < 2000 else 1


if __name__ == "__main__":
    sys.exit(main())
