"""`make fuzz-native`: random graphs compiled to native code, against the interpreter.

Where an op may turn a difference in the last bit into any difference, nothing but dtypes and ranks
is compared: even sizes may differ, if they are late.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.fuzz.generate import finish, new_generator, random_binding
from tests.fuzz.loops import LOOPS
from tests.fuzz.moves import RARE, SIMPLE
from tests.fuzz.run import CONTRACTIONS, JUMPS, inner_facts, random_inputs

from anyshape.base.errors import FactViolationError
from anyshape.base.options import options_from_environment
from anyshape.execute import Executable, compile_graph
from anyshape.ir import Graph, Node, Region, evaluate
from anyshape.ir.opdef import PARAM, Trait
from anyshape.ir.types import Array
from anyshape.passes.native_forms import is_host

LEAST_SHARE = 0.9
"""Of the nodes, in generated kernels: a long run with less is a failure."""

MOVES = [*SIMPLE, *SIMPLE, *SIMPLE, *RARE, *LOOPS]

APPROXIMATE = CONTRACTIONS | {
    "sum", "mean", "softmax", "log_softmax", "layer_norm", "rms_norm", "gelu", "silu", "exp", "log",
    "expm1", "log1p", "tanh", "erf", "sigmoid", "sin", "cos", "pow", "rsqrt", "cumsum", "cumprod",
}  # fmt: skip
"""Ops whose last bits are the compiler's business."""


def random_graph(seed: int) -> tuple[random.Random, Graph]:
    rng = random.Random(seed)
    generator = new_generator(rng)
    generator.grow(MOVES, rng.randint(3, 10))
    return rng, finish(generator)


def check_native(seed: int, tally: Counter[str], bindings: int = 2, isa: str = "") -> None:
    """One graph, compiled once, at several bindings; any exception is a failure."""
    check_graph(seed, *random_graph(seed), tally, bindings, isa)


def check_graph(
    seed: int,
    rng: random.Random,
    graph: Graph,
    tally: Counter[str],
    bindings: int = 2,
    isa: str = "",
) -> Executable:
    options = options_from_environment()
    executable = compile_graph(graph, replace(options, isa=isa or options.isa))
    tally["graphs"] += 1
    tally.update(places(executable.graph.body))
    for _ in range(bindings):
        binding = random_binding(rng, graph)
        if binding is None:
            continue
        tally["runs"] += 1
        inputs = random_inputs(seed, graph, binding)
        try:
            check_call(executable, inputs)
        except FactViolationError as error:  # in both: late sizes and branches may well fail
            if error.fact not in inner_facts(graph.body):
                raise
            tally["late checks failed"] += 1
    return executable


def jumps_in(graph: Graph) -> bool:
    """Whether a difference in the last bit may become any difference."""
    names = {node.op.name for node in all_nodes(graph.body)}
    return bool(names & JUMPS and names & APPROXIMATE) or "entropy" in names


def check_call(executable: Executable, inputs: list[Array]) -> None:
    jumps = jumps_in(executable.source)
    try:
        results = evaluate(executable.source, *inputs)
    except FactViolationError:
        if not jumps:
            with pytest.raises(FactViolationError):
                executable(*inputs)
        raise
    for found, wanted in zip(executable(*inputs), results, strict=True):
        assert (found.ndim, found.dtype) == (wanted.ndim, wanted.dtype)
        if not jumps:
            assert found.shape == wanted.shape
            assert_near(found, wanted)


def all_nodes(region: Region) -> Iterator[Node]:
    """At every depth."""
    for node in region.nodes():
        yield node
        for inner in node.regions:
            yield from all_nodes(inner)


def places(region: Region) -> Counter[str]:
    """How many nodes are in kernels, and how many run on the host; sources and names do neither."""
    found: Counter[str] = Counter()
    for node in region.nodes():
        if node.op.name == "kernel":
            found["in kernels"] += sum(map(_computes, node.regions[0].nodes()))
            continue
        found["on the host"] += is_host(node)
        for inner in node.regions:
            found += places(inner)
    return found


def _computes(node: Node) -> bool:
    return node.op is not PARAM and node.op.name != "constant" and not node.op.has(Trait.ALIAS)


def share_in_kernels(tally: Counter[str]) -> float:
    return tally["in kernels"] / max(1, tally["in kernels"] + tally["on the host"])


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
    share = share_in_kernels(tally)
    print(f"{share:.1%} of the nodes are in generated kernels")
    return 0 if share >= LEAST_SHARE or options.graphs < 100 else 1


if __name__ == "__main__":
    sys.exit(main())
