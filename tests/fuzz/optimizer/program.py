"""A random graph as data: the seeds of its axes and of each of its moves.

A move draws from a source of its own, so that leaving one out changes no other: shrinking is
leaving out moves.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
from tests.fuzz.generate import Generator, NotApplicableError
from tests.fuzz.optimizer.moves import MOVES

from anyshape.base.errors import AnyshapeError
from anyshape.ir import Graph
from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.types import Array, TensorType, bool_, f16, f32, f64
from anyshape.sym import Axis, Dim, Facts, Symbol

NAMES = ("batch", "seq", "keys", "even")
LONGEST = 11


@dataclass(frozen=True)
class Program:
    """What a graph is made from; `moves` are names and seeds."""

    seed: int
    moves: tuple[tuple[str, int], ...]

    def without(self, index: int) -> Program:
        return replace(self, moves=(*self.moves[:index], *self.moves[index + 1 :]))


def random_program(seed: int, longest: int = LONGEST) -> Program:
    rng = random.Random(seed)
    count = rng.randint(2, longest)
    names = rng.choices(list(MOVES), [MOVES[name].weight for name in MOVES], k=count)
    return Program(seed, tuple((name, rng.getrandbits(32)) for name in names))


def axes_of(seed: int) -> tuple[Axis, ...]:
    """Axes with facts: ranges with and without 0 and an end, divisors, likely values."""
    rng = random.Random(f"axes {seed}")
    axes = list[Axis]()
    for name in NAMES:
        step = 2 if name == "even" else 1
        least = rng.choice((0, step))
        most = rng.choice((None, 12, 512))
        axes.append(Axis(name, min=least, max=most, multiple_of=step))
    return tuple(axes)


def graph_of(program: Program) -> Graph:
    """Moves that find nothing to work on, or that shape rules refuse, leave nothing behind."""
    rng = random.Random(f"inputs {program.seed}")
    axes = axes_of(program.seed)
    builder = Builder.at_entry(Facts(axes=axes))
    for axis in axes:  # every axis has its size from somewhere
        builder.param(f32[axis.name])
    generator = Generator(rng, builder, [], axes=axes)
    generator.pool += [_input(generator) for _ in range(rng.randint(1, 3))]
    generator.pool.append(builder.param(TensorType(bool_, _shape(rng, 2))))
    for name, seed in program.moves:
        generator.rng = random.Random(seed)
        _apply(generator, name)
    return _finished(generator, random.Random(f"results {program.seed}"))


def _apply(generator: Generator, name: str) -> None:
    before = len(generator.pool)
    try:
        MOVES[name].apply(generator)
    except (NotApplicableError, AnyshapeError):
        del generator.pool[before:]


def _input(generator: Generator) -> Value:
    dtype = generator.rng.choices((f32, f16, f64), (20, 1, 1))[0]
    shape = _shape(generator.rng, generator.rng.choice((1, 2, 2, 3)))
    return generator.builder.param(TensorType(dtype, shape))


def _shape(rng: random.Random, rank: int) -> tuple[Dim, ...]:
    free = [Dim.of(name) for name in NAMES]
    fixed = [Dim.of(size) for size in (1, 4, 8, 16, 33)]
    last = rng.choice((*free, *fixed, *fixed))
    return (*(rng.choice((*free, Dim.of(3))) for _ in range(rank - 1)), last)


def _finished(generator: Generator, rng: random.Random) -> Graph:
    """The last values are results, and perhaps an earlier one."""
    params = {value.node for value in generator.builder.params}
    made = [value for value in generator.pool if value.node not in params] or generator.pool
    results = [*made[-rng.randint(1, 3) :], *(rng.sample(made, 1) if rng.random() < 0.3 else ())]
    names = [f"p{index}" for index in range(len(generator.builder.params))]
    return generator.builder.graph("fuzz", names, list(dict.fromkeys(results)))


# --- calls ----------------------------------------------------------------------------------------

SIZES = (0, 1, 2, 3, 5, 8, 17)


def random_binding(rng: random.Random, graph: Graph, axes: tuple[Axis, ...]) -> dict[Symbol, int]:
    """Sizes that satisfy the axes and the facts; the least ones if none are found."""
    facts = [fact.predicate for fact in graph.facts.facts]
    for _ in range(40):
        binding = {Symbol(axis.name): _size(rng, axis) for axis in axes}
        if all(fact.holds(binding) for fact in facts if fact.symbols <= binding.keys()):
            return binding
    return {}


def _size(rng: random.Random, axis: Axis) -> int:
    low, high = axis.ranges[0]
    fitting = [n for n in SIZES if low <= n <= (high or n)]
    return -(-rng.choice(fitting) // axis.multiple_of) * axis.multiple_of


def random_inputs(
    seed: int, graph: Graph, binding: dict[Symbol, int], special: bool
) -> list[Array]:
    rng = np.random.default_rng(seed)
    types = [type_ for type_ in graph.body.params if isinstance(type_, TensorType)]
    return [_array(rng, type_, binding, special) for type_ in types]


def _array(
    rng: np.random.Generator, type_: TensorType, binding: dict[Symbol, int], special: bool
) -> Array:
    shape = tuple(dim.evaluate(binding) for dim in type_.shape)
    if type_.dtype is bool_:
        return rng.random(shape) < 0.7
    x = np.asarray(rng.normal(size=shape))
    if special and x.size:
        some = rng.random(shape) < 0.1
        x = np.where(some, rng.choice((np.nan, np.inf, -np.inf, -0.0, 0.0), shape), x)
    return x.astype(type_.dtype.numpy)
