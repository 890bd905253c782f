"""Random graphs with symbolic axes.

A `Generator` grows one region: it keeps the values made so far and applies random moves to them
(`moves.py`, `loops.py`). A move may be refused by the shape rules; that is part of the test, as
long as the refusal is one of ours. All choices come from one seeded source.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anyshape.base.errors import AnyshapeError
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Value
from anyshape.ir.types import ALL_DTYPES, FLOATS, DType, TensorType, bool_, f32, i64
from anyshape.sym import Axis, Dim, Facts, Symbol

MAX_RANK = 5
"""Moves that raise the rank stop here, so that sizes stay small."""

AXES = (
    Axis("batch", min=0, max=5),
    Axis("seq", min=0, max=9),
    Axis("heads", min=1, max=4),
    Axis("even", min=0, max=12, multiple_of=2),
    Axis("one", ranges=[(1, 1), (3, 4)]),
)

Move = Callable[["Generator"], None]


@dataclass
class Generator:
    """Values of one region under construction, and what is random about it."""

    rng: random.Random
    builder: Builder
    pool: list[Value]
    depth: int = 0
    inside: Sequence[Move] = ()  # what bodies are grown by, besides simple moves
    axes: tuple[Axis, ...] = AXES  # that have a size

    # --- picking ------------------------------------------------------------------------------

    def dtype(self) -> DType:
        return self.rng.choice((f32, f32, f32, i64, bool_, self.rng.choice(ALL_DTYPES)))

    def dim(self) -> Dim:
        """A size for a new parameter."""
        symbol = Dim.of(self.rng.choice(self.axes).name)
        forms = (symbol, symbol, symbol, symbol + 1, 2 * symbol, symbol // 2 + 1, Dim.of(1),
                 Dim.of(3), Dim.of(4))  # fmt: skip
        return self.rng.choice(forms)

    def tensor(self, accept: Callable[[TensorType], bool] = lambda _: True) -> Value:
        """A value whose type is accepted; newer ones are likelier, so graphs get deep."""
        fitting = [v for v in self.pool if isinstance(v.type, TensorType) and accept(v.type)]
        if not fitting:
            raise NotApplicableError
        return self.rng.choices(fitting, weights=range(1, len(fitting) + 1))[0]

    def float_tensor(self, min_rank: int = 0) -> Value:
        return self.tensor(lambda t: t.dtype in FLOATS and t.rank >= min_rank)

    def axis(self, value: Value) -> int:
        return self.rng.randrange(value.tensor.rank)

    # --- making -------------------------------------------------------------------------------

    def emit(self, op: str, *operands: Value, **attrs: object) -> Value:
        value = self.builder.emit(op, *operands, **attrs)
        self.pool.append(value)
        return value

    def grow(self, moves: Sequence[Move], count: int) -> int:
        """Applies `count` random moves; returns how many were refused."""
        refused = 0
        for _ in range(count):
            try:
                self.rng.choice(moves)(self)
            except NotApplicableError:
                continue
            except AnyshapeError:
                refused += 1
        return refused


class NotApplicableError(Exception):
    """The move found no values that it could use."""


def new_generator(rng: random.Random) -> Generator:
    """A generator for a whole graph, with parameters over the named axes."""
    builder = Builder.at_entry(Facts(axes=AXES))
    generator = Generator(rng, builder, [])
    # Every axis gets its size from somewhere, whatever expressions the others use.
    anchors = [builder.param(f32[axis.name]) for axis in AXES]
    generator.pool.extend(rng.sample(anchors, 2))
    for _ in range(rng.randint(2, 4)):
        shape = tuple(generator.dim() for _ in range(rng.randint(0, 4)))
        generator.pool.append(builder.param(TensorType(generator.dtype(), shape)))
    return generator


def finish(generator: Generator) -> Graph:
    """A graph whose results are the last values made and one random earlier one."""
    results = [*generator.pool[-2:], generator.rng.choice(generator.pool)]
    names = [f"p{index}" for index in range(len(generator.builder.params))]
    return generator.builder.graph("fuzz", names, results)


def random_binding(rng: random.Random, graph: Graph, tries: int = 60) -> dict[Symbol, int] | None:
    """Sizes that satisfy the axes and every fact without late symbols, if found in time."""
    entry = {Symbol(axis.name) for axis in AXES}
    facts = [fact.predicate for fact in graph.facts.facts if fact.predicate.symbols <= entry]
    for _ in range(tries):
        binding = {Symbol(axis.name): _size(rng, axis) for axis in AXES}
        if all(predicate.holds(binding) for predicate in facts):
            return binding
    return None


def _size(rng: random.Random, axis: Axis) -> int:
    low, high = rng.choice(axis.ranges)
    assert high is not None
    return rng.randrange(low, high + 1, axis.multiple_of)
