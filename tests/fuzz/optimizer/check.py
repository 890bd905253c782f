"""One random graph, optimised in many ways, against the interpreter's values of it as written.

How far rounding may move an element is found by moving inputs and weights a little: where that
changes a result, it is compared as loosely. So graphs need not be free of jumps and cancellation.

What is checked of a graph:
  - the whole pipeline, as native code, and after it in the interpreter;
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
from dataclasses import dataclass, field

import numpy as np
from tests.fuzz.optimizer.program import (
    Program,
    axes_of,
    graph_of,
    random_binding,
    random_inputs,
)

from anyshape.base.options import Options, options_from_environment
from anyshape.codegen.llvm import workers
from anyshape.execute import compile_graph
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

NUDGE = 2e-6
ROOM = 60.0
"""By how many times what a nudge of the inputs changes a result may be off."""


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

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.moves += other.moves


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


def native(graph: Graph, without: Sequence[str]) -> Run:
    workers.SOURCES_PER_WORKER = sys.maxsize  # children of a fuzzer compile alone
    options = Options(cache_dir=None, isa=options_from_environment().isa)
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
    yield Way("optimised, native", lambda graph: native(graph, ()))
    share = rng.randrange(6)
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
    if not passes_are_done(graph):
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


def passes_are_done(graph: Graph) -> bool:
    """Whether passes that come before kernels do nothing when they run again."""
    once = run_passes(graph, BEFORE_KERNELS).graph
    return run_passes(once, BEFORE_KERNELS).graph == once


@dataclass(frozen=True)
class Call:
    """Inputs at a binding, and what they give with how much room."""

    binding: dict[Symbol, int]
    inputs: list[Array]
    wanted: Sequence[Array]
    room: Sequence[Array]


def _calls(program: Program, graph: Graph, count: int = 3) -> Iterator[Call]:
    rng = random.Random(f"calls {program.seed}")
    axes = axes_of(program.seed)
    others = [(by, graph_of(program, by)) for by in (-NUDGE, NUDGE)]
    for number in range(count):
        binding = random_binding(rng, graph, axes)
        if not binding:
            continue
        inputs = random_inputs(rng.getrandbits(32), graph, binding, special=number == count - 1)
        wanted = evaluate(graph, *inputs)
        nudged = [evaluate(other, *_nudged(inputs, by)) for by, other in others]
        room = [_room(w, [n[i] for n in nudged]) for i, w in enumerate(wanted)]
        yield Call(binding, inputs, wanted, room)


def _nudged(inputs: Sequence[Array], by: float) -> list[Array]:
    """Each element by its own share: what is equal does not stay so."""
    rng = np.random.default_rng(1)
    return [
        (x * (1 + by * rng.random(x.shape))).astype(x.dtype) if x.dtype.kind == "f" else x
        for x in inputs
    ]


def _room(wanted: Array, nudged: Sequence[Array]) -> Array:
    """How far each element may be off; infinitely if a nudge makes it another kind of number."""
    wide = wanted.astype(np.float64)
    coarse = 4e-3 if wanted.dtype.itemsize <= 2 else 1e-5
    with np.errstate(all="ignore"):
        change = np.max([np.abs(n.astype(np.float64) - wide) for n in nudged], axis=0)
        room = coarse * (1 + np.abs(wide)) + ROOM * (1e3 if coarse > 1e-3 else 1) * change
    same = np.all([np.isfinite(n.astype(np.float64)) == np.isfinite(wide) for n in nudged], axis=0)
    # Kernels sum halves in f32 and round once (0037): what overflows between ops need not in them.
    exact = np.inf if wanted.dtype == np.float16 else 0
    return np.where(np.isfinite(wide), np.where(same, room, np.inf), np.where(same, exact, np.inf))


def _first_difference(run: Run, calls: Sequence[Call], tally: Tally) -> str | None:
    for call in calls:
        for number, found in enumerate(run(call.inputs)):
            wanted, room = call.wanted[number], call.room[number]
            sizes = {symbol.name: size for symbol, size in call.binding.items()}
            problem = _difference(np.asarray(found), wanted, room)
            if problem is not None:
                return f"result {number} at {sizes}: {problem}"
            tally.counts["elements"] += wanted.size
            tally.counts["loose elements"] += int(np.isinf(room).sum())
    return None


def _difference(found: Array, wanted: Array, room: Array) -> str | None:
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return f"{found.dtype}{found.shape}, expected {wanted.dtype}{wanted.shape}"
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(left - right) <= room
    same = near | (left == right) | (np.isnan(left) & np.isnan(right)) | np.isinf(room)
    if same.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    count = int((~same).sum())
    return (
        f"{count} of {same.size}, first {left[at]} at {at}, expected {right[at]} ± {room[at]:.2g}"
    )
