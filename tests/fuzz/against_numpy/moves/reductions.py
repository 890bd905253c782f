"""Moves: reductions and cumulative functions."""

from __future__ import annotations

from tests.fuzz.against_numpy.dtypes import ALL, FLOATS, INTEGERS
from tests.fuzz.against_numpy.generator import Generator
from tests.fuzz.against_numpy.program import Instruction
from tests.fuzz.against_numpy.spellings import CORRECTED, CUMULATIVE, REDUCTIONS


def axis_of(g: Generator, name: str) -> int:
    rank = g.rank(name)
    return g.rng.randrange(-rank, rank)


def some_axes(g: Generator, name: str) -> str:
    rank = g.rank(name)
    if not rank or g.rng.random() < 0.2:
        return "None"
    if g.rng.random() < 0.7:
        return str(axis_of(g, name))
    chosen = g.rng.sample(range(rank), g.rng.randint(1, rank))
    return str(tuple(axis - rank * (g.rng.random() < 0.3) for axis in chosen))


def reduction(g: Generator) -> Instruction:
    op = g.rng.choice(REDUCTIONS)
    operand = g.pick(ALL if op in ("max", "min", "any", "all", "sum") else (*FLOATS, *INTEGERS))
    more = {"correction": g.rng.choice((0, 0, 1))} if op in CORRECTED else {}
    keepdims = g.rng.random() < 0.4
    return g.make(op, operand, axis=some_axes(g, operand), keepdims=keepdims, **more)


def arg_reduction(g: Generator) -> Instruction:
    operand = g.pick((*FLOATS, *INTEGERS), least=1)
    axis = "None" if g.rng.random() < 0.2 else axis_of(g, operand)
    op = g.rng.choice(("argmax", "argmin"))
    return g.make(op, operand, axis=axis, keepdims=g.rng.random() < 0.3)


def cumulative(g: Generator) -> Instruction:
    op = g.rng.choice(CUMULATIVE)
    operand = g.pick((*FLOATS, *INTEGERS), least=1)
    axis = "None" if g.rng.random() < 0.15 else axis_of(g, operand)
    flags = {name: g.rng.random() < 0.3 for name in ("exclusive", "reverse")}
    return g.make(op, operand, axis=axis, **flags)


REDUCING = [*[reduction] * 6, arg_reduction, *[cumulative] * 2]
