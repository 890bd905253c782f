"""A random graph as data: the seeds of its axes and of each of its moves.

A move draws from a source of its own, so that leaving one out changes no other: shrinking is
leaving out moves.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tests.fuzz.generate import Generator, NotApplicableError
from tests.fuzz.optimizer.moves import MODELS, MOVES, Weighted

from anyshape.base.errors import AnyshapeError
from anyshape.ir import Graph
from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.types import Array, DType, TensorType, bf16, bool_, f16, f32, f64
from anyshape.sym import Axis, Dim, Facts, Symbol

NAMES = ("batch", "seq", "keys", "even")
LONGEST = 11


@dataclass(frozen=True)
class Program:
    """What a graph is made from; `moves` are names and seeds.

    Graphs that are `plain` have axes with few facts, and sizes and types that most models have.
    """

    seed: int
    moves: tuple[tuple[str, int], ...]
    plain: bool = False

    def without(self, index: int) -> Program:
        return replace(self, moves=(*self.moves[:index], *self.moves[index + 1 :]))


ALL: dict[str, Weighted] = {**MOVES, **MODELS}


def random_program(seed: int, longest: int = LONGEST) -> Program:
    """Most have what models are made of besides."""
    program = plain_program(seed, longest)
    rng = random.Random(f"models {seed}")
    if rng.random() < 0.3:
        return program
    moves = list(program.moves)
    names = rng.choices(list(MODELS), [each.weight for each in MODELS.values()], k=3)
    for name in names[: rng.randint(0, 3)]:
        moves.insert(rng.randint(0, len(moves)), (name, rng.getrandbits(32)))
    return replace(program, moves=tuple(moves), plain=False)


def plain_program(seed: int, longest: int = LONGEST) -> Program:
    """As a test names it by its seed: none of what was added later changes it."""
    rng = random.Random(seed)
    count = rng.randint(2, longest)
    names = rng.choices(list(MOVES), [MOVES[name].weight for name in MOVES], k=count)
    moves = tuple((name, rng.getrandbits(32)) for name in names)
    return Program(seed, moves, plain=True)


def axes_of(program: Program) -> tuple[Axis, ...]:
    """Axes with facts: ranges with and without 0 and an end, divisors, likely values."""
    rng = random.Random(f"axes {program.seed}")
    axes = list[Axis]()
    for name in NAMES:
        step = 2 if name == "even" else 1
        least = rng.choice((0, step))
        most = rng.choice((None, 12, 512))
        axes.append(Axis(name, min=least, max=most, multiple_of=step))
    if program.plain:
        return tuple(axes)
    more = random.Random(f"facts {program.seed}")
    return tuple(_with_facts(more, axis) for axis in axes)


def _with_facts(rng: random.Random, axis: Axis) -> Axis:
    """Likely values, a greater divisor, a gap, no broadcasting of 1; or none of these."""
    (low, high), step = axis.ranges[0], axis.multiple_of
    forms: tuple[Callable[[], Axis], ...] = (
        lambda: axis,
        lambda: axis,
        lambda: replace(axis, likely=(8,)),
        lambda: (
            Axis(axis.name, min=rng.choice((0, 8)), max=high, multiple_of=8)
            if (high or 8) >= 8
            else axis
        ),
        lambda: Axis(axis.name, ranges=[(step, step), (8, high)], multiple_of=step),
        lambda: Axis(axis.name, min=low, max=high, multiple_of=step, broadcasts=False),
    )
    return rng.choice(forms)()


def graph_of(program: Program) -> Graph:
    """Moves that find nothing to work on, or that shape rules refuse, leave nothing behind."""
    rng = random.Random(f"inputs {program.seed}")
    floats = PLAIN_FLOATS if program.plain else FLOATS
    axes = axes_of(program)
    builder = Builder.at_entry(Facts(axes=axes))
    for axis in axes:  # every axis has its size from somewhere
        builder.param(f32[axis.name])
    generator = Generator(rng, builder, [], axes=axes)
    generator.pool += [_input(generator, floats) for _ in range(rng.randint(1, 3))]
    generator.pool.append(builder.param(TensorType(bool_, _shape(rng, 2))))
    for name, seed in program.moves:
        generator.rng = random.Random(seed)
        _apply(generator, name)
    return _finished(generator, random.Random(f"results {program.seed}"))


def _apply(generator: Generator, name: str) -> None:
    before = len(generator.pool)
    try:
        ALL[name].apply(generator)
    except (NotApplicableError, AnyshapeError):
        del generator.pool[before:]


PLAIN_FLOATS = (f32,) * 20 + (f16, f64)
FLOATS = (f32,) * 18 + (f16, f64, bf16, bf16)


def _input(generator: Generator, floats: Sequence[DType]) -> Value:
    dtype = generator.rng.choices(floats)[0]
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
LONG = (16, 31, 32, 33, 47, 64, 65, 96, 97, 129)
"""Around tiles; of one axis in a call, as products of sizes grow fast."""


def random_binding(
    rng: random.Random, graph: Graph, axes: tuple[Axis, ...], has_long: bool = False
) -> dict[Symbol, int]:
    """Sizes that satisfy the axes and the facts; the least ones if none are found."""
    facts = [fact.predicate for fact in graph.facts.facts]
    for _ in range(40):
        long = rng.choice(axes) if has_long and rng.random() < 0.4 else None
        binding = {Symbol(axis.name): _size(rng, axis, axis is long) for axis in axes}
        if all(fact.holds(binding) for fact in facts if fact.symbols <= binding.keys()):
            return binding
    return {}


def _size(rng: random.Random, axis: Axis, is_long: bool) -> int:
    """One that the axis allows."""
    sizes = {-(-n // axis.multiple_of) * axis.multiple_of for n in (LONG if is_long else SIZES)}
    fitting = [
        n for n in sorted(sizes) if any(low <= n <= (high or n) for low, high in axis.ranges)
    ]
    return rng.choice(fitting or [axis.ranges[0][0]])


MAGNITUDES = (1.0,) * 12 + (1e-40, 1e-30, 1e-4, 30.0, 1e4, 1e30)
"""Of inputs: denormal, as small as squares vanish, as great as powers and squares overflow."""


def random_inputs(
    seed: int, program: Program, graph: Graph, binding: dict[Symbol, int], special: bool
) -> list[Array]:
    rng = np.random.default_rng(seed)
    types = [type_ for type_ in graph.body.params if isinstance(type_, TensorType)]
    sizes = random.Random(f"magnitudes {seed}")
    return [
        _array(rng, type_, binding, special, 1.0 if program.plain else sizes.choice(MAGNITUDES))
        for type_ in types
    ]


def _array(
    rng: np.random.Generator,
    type_: TensorType,
    binding: dict[Symbol, int],
    special: bool,
    magnitude: float,
) -> Array:
    shape = tuple(dim.evaluate(binding) for dim in type_.shape)
    if type_.dtype is bool_:
        return rng.random(shape) < 0.7
    x = np.asarray(rng.normal(size=shape)) * magnitude
    if special and x.size:
        some = rng.random(shape) < 0.1
        x = np.where(some, rng.choice((np.nan, np.inf, -np.inf, -0.0, 0.0), shape), x)
    with np.errstate(all="ignore"):
        return x.astype(type_.dtype.numpy)
