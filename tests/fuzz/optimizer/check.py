"""One random graph, optimised in many ways, against the interpreter's values of it as written.

How far rounding may move an element is found by moving what the graph computes on the way
(`fuzz/rounding.py`): so graphs need not be free of cancellation, and what is not rounded is
compared bit by bit.

What is checked of a graph:
  - the whole pipeline, as native code for any of the instruction sets here, and after it in the
    interpreter;
  - native code without any pass that can be left out;
  - single passes, alone and left out, in the interpreter or as native code;
  - that passes find nothing more to do when they run a second time.
"""

from __future__ import annotations

import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from tests.fuzz.optimizer.program import (
    ALL,
    Program,
    axes_of,
    graph_of,
    random_binding,
    random_inputs,
)
from tests.fuzz.rounding import Bodies, Rounding

from anyshape.base.errors import FactViolationError
from anyshape.base.options import Options, options_from_environment
from anyshape.codegen.llvm import workers
from anyshape.execute import compile_graph
from anyshape.execute.target import executable_isas
from anyshape.ir import Graph, evaluate
from anyshape.ir.types import Array
from anyshape.passes import PASSES, run_passes
from anyshape.passes.pipeline import KERNELS, REQUIRED, pipeline
from anyshape.sym import Symbol

OPTIONAL = tuple(
    dict.fromkeys(p.name for p in PASSES if p.name not in REQUIRED and p.name != "segments")
)
"""Passes that can be left out."""

BEFORE_KERNELS = PASSES[: PASSES.index(KERNELS[0])]

IDLE = {
    "expand": "every compound that is drawn has kernels, or stands in them",
    "known-indices": "indices are of no sort and no worklist",
    "expert-loops": "groups are compared with loops over experts in tests/unit",
    "worklists": "as above",
    "growing-axes-first": "no input is donated: tests/fuzz/donated.py has these",
    "append": "as above",
    "caller-orders": "inputs lie in memory as their axes say",
    "refine-regions": "regions state no facts of their own: tests/fuzz/dynamic.py has these",
}
"""Passes before kernels that no graph gives work to, and why. A long run fails for any other."""

RUNS = (2, 8, 32)
"""How often a graph is run with rounding errors before an element is called wrong."""


@dataclass(frozen=True)
class Failure:
    """What was wrong, with which way to optimise, and the program."""

    kind: str
    detail: str
    way: str
    program: Program


@dataclass
class Tally:
    """What a run saw."""

    counts: Counter[str] = field(default_factory=Counter[str])
    moves: Counter[str] = field(default_factory=Counter[str])
    passes: Counter[str] = field(default_factory=Counter[str])  # that changed a graph

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.moves += other.moves
        self.passes += other.passes

    def missing(self) -> set[str]:
        """Moves that no graph has, and passes that had nothing to do."""
        names = {step.name for step in BEFORE_KERNELS} - IDLE.keys()
        return (ALL.keys() - self.moves.keys()) | (names - self.passes.keys())


Run = Callable[[Sequence[Array]], Sequence[Array]]


@dataclass(frozen=True)
class Way:
    """A name, and how to make of a graph what runs."""

    name: str
    make: Callable[[Graph], Run]


def interpreted(graph: Graph, without: Sequence[str]) -> Run:
    """After the passes, which have to leave graphs that verify."""
    optimised = run_passes(graph, pipeline(without), verify=True).graph
    return lambda inputs: evaluate(optimised, *inputs)


def native(graph: Graph, without: Sequence[str], isa: str = "") -> Run:
    workers.SOURCES_PER_WORKER = sys.maxsize  # children of a fuzzer compile alone
    options = Options(cache_dir=None, isa=options_from_environment().isa or isa)
    executable = compile_graph(graph, options, without=tuple(without))
    return lambda inputs: executable(*inputs)


def ways(program: Program) -> Iterator[Way]:
    """The whole pipeline always; of the others, some that the seed chooses."""
    rng = random.Random(f"ways {program.seed}")
    yield Way("optimised, interpreted", lambda graph: interpreted(graph, ()))
    chosen = rng.choice(OPTIONAL)
    others = tuple(name for name in OPTIONAL if name != chosen)
    yield Way(f"{chosen} alone, interpreted", lambda graph: interpreted(graph, others))
    yield Way(f"without {chosen}, interpreted", lambda graph: interpreted(graph, (chosen,)))
    share = rng.randrange(6)
    isa = "" if program.plain else rng.choice(("", "", *executable_isas()[1:]))
    yield Way(f"optimised {isa}, native", lambda graph: native(graph, (), isa))
    if share == 0:
        yield Way("without any, native", lambda graph: native(graph, OPTIONAL))
    elif share == 1:
        yield Way(f"{chosen} alone, native", lambda graph: native(graph, others))
    elif share == 2:
        yield Way(f"without {chosen}, native", lambda graph: native(graph, (chosen,)))


# --- checking -------------------------------------------------------------------------------------


def check(
    program: Program, tally: Tally, ways_of: Callable[[Program], Iterator[Way]] = ways
) -> Failure | None:
    """The first failure; refusals of graphs that are valid are failures too."""
    graph = graph_of(program)
    tally.counts["graphs"] += 1
    tally.moves.update(name for name, _ in program.moves)
    calls = list(_calls(program, graph))
    if not passes_are_done(graph, tally):
        return Failure("passes twice", "a second run changes the graph", "passes twice", program)
    for way in ways_of(program):
        try:
            detail = _first_difference(way.make(graph), calls, tally)
        except Exception as error:
            return Failure(type(error).__name__, traceback.format_exc(), way.name, program)
        if detail is not None:
            return Failure("values", detail, way.name, program)
        tally.counts[way.name.rpartition(", ")[2]] += 1
    return None


def passes_are_done(graph: Graph, tally: Tally) -> bool:
    """Whether passes that come before kernels do nothing when they run again."""
    once = run_passes(graph, BEFORE_KERNELS)
    tally.passes.update({report.name for report in once.reports if report.changed})
    return run_passes(once.graph, BEFORE_KERNELS).graph == once.graph


@dataclass(frozen=True)
class Call:
    """Inputs at a binding, what they give, and how far rounding may move that."""

    binding: dict[Symbol, int]
    rounding: Rounding


def _calls(program: Program, graph: Graph, count: int = 3) -> Iterator[Call]:
    rng = random.Random(f"calls {program.seed}")
    axes = axes_of(program)
    bodies = Bodies()
    for number in range(count):
        binding = random_binding(rng, graph, axes, has_long=not program.plain)
        if not binding:
            continue
        special = number == count - 1
        inputs = random_inputs(rng.getrandbits(32), program, graph, binding, special)
        with suppress(FactViolationError):  # sizes that data decide need not fit others
            yield Call(binding, Rounding(graph, inputs, evaluate(graph, *inputs), bodies))


def _first_difference(run: Run, calls: Sequence[Call], tally: Tally) -> str | None:
    for call in calls:
        for number, found in enumerate(run(call.rounding.inputs)):
            problem = _difference(np.asarray(found), call.rounding, number, tally)
            if problem is not None:
                sizes = {symbol.name: size for symbol, size in call.binding.items()}
                return f"result {number} at {sizes}: {problem}"
    return None


def _difference(found: Array, rounding: Rounding, number: int, tally: Tally) -> str | None:
    wanted = rounding.wanted[number]
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return f"{found.dtype}{found.shape}, expected {wanted.dtype}{wanted.shape}"
    tally.counts["elements"] += wanted.size
    wrong = ~same(found, wanted)
    room = np.zeros(wanted.shape)
    for runs in RUNS:
        if not wrong.any():
            return None
        room = rounding.room(number, runs)
        with np.errstate(all="ignore"):
            distance = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
            tally.counts["loose elements"] += int((wrong & np.isinf(room)).sum())
            wrong &= ~((distance <= room) | np.isinf(room))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{int(wrong.sum())} of {wrong.size}, first {found[at]} at {at}, "
        f"expected {wanted[at]} ± {room[at]:.2g}"
    )


def same(left: Array, right: Array) -> Array:
    both_nan = np.isnan(left) & np.isnan(right) if left.dtype.kind in "fV" else False
    return (left == right) | both_nan
