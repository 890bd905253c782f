"""Moves: order, places that integers say, elements that data choose."""

from __future__ import annotations

from tests.fuzz.against_numpy.dtypes import FLOATS, INTEGERS, NoMeaning
from tests.fuzz.against_numpy.generator import Generator
from tests.fuzz.against_numpy.moves.movement import index_input
from tests.fuzz.against_numpy.moves.reductions import axis_of
from tests.fuzz.against_numpy.program import Instruction

NUMBERS = (*FLOATS, *INTEGERS)


def sort(g: Generator) -> Instruction:
    operand = g.pick(NUMBERS, least=1)
    op = g.rng.choice(("sort", "argsort"))
    return g.make(op, operand, axis=axis_of(g, operand), descending=g.rng.random() < 0.4)


def topk(g: Generator) -> Instruction:
    operand = g.pick(NUMBERS, least=1)
    axis = axis_of(g, operand)
    most = min(g.dims(operand)[axis])
    k = g.rng.choice((0, 1, 2, 5, f"{operand}.shape[{axis}]"))
    if isinstance(k, int):
        k = min(k, most)
    largest = g.rng.random() < 0.7
    return g.make("topk", operand, results=2, k=k, axis=axis, largest=largest)


def middle(g: Generator) -> Instruction:
    operand = g.pick(NUMBERS, least=1)
    axis = axis_of(g, operand)
    op = g.rng.choice(("kthvalue", "median", "mode"))
    more = {"k": g.rng.choice((1, 2))} if op == "kthvalue" else {}
    return g.make(op, operand, axis=axis, **more)


def among(g: Generator) -> Instruction:
    """Places among a few numbers, or how many there are between them."""
    operand = g.pick(NUMBERS)
    op = g.rng.choice(("searchsorted", "searchsorted", "isin", "histc"))
    if op == "histc":
        return g.make(op, operand, bins=4, low=-1, high=3)
    few = sorted(g.rng.randint(0, 5) for _ in range(g.rng.randint(1, 5)))
    line = f"np.array({few}, {g.rng.choice(('np.float32', 'np.int64', 'np.int8'))})"
    more = {} if op == "isin" else {"right": g.rng.random() < 0.5}
    return g.make(op, operand, line, **more)


def take_along(g: Generator) -> Instruction:
    operand = g.pick(NUMBERS, least=1, most=3)
    axis = axis_of(g, operand)
    dims = list(g.dims(operand))
    indices = index_input(g, dims[axis], "index", dims)
    return g.make("take_along", operand, indices, axis=axis)


def scatter(g: Generator) -> Instruction:
    """What is put has the shape of where it is put; an order names no place twice."""
    operand = g.pick(NUMBERS, least=1, most=3)
    axis = axis_of(g, operand)
    dims = list(g.dims(operand))
    same = [name for name in g.names if g.dims(name) == tuple(dims) and g.dtype(name) in NUMBERS]
    alike = [name for name in same if g.dtype(name) == g.dtype(operand)]
    if g.rng.random() < 0.6:
        indices = index_input(g, dims[axis], "position", dims)
        return g.make("scatter_add", operand, indices, g.rng.choice(alike), dim=axis)
    orders = [name for name in same if g.dtype(name) == "i64"]
    if not orders:
        raise NoMeaning("nothing to put by")
    return g.make("scatter", operand, g.rng.choice(orders), g.rng.choice(alike), dim=axis)


def compress(g: Generator) -> Instruction:
    operand = g.pick(least=1, most=3)
    if g.rng.random() < 0.5:
        mask = g.add_input("bool", [g.axis_text(dim) for dim in g.dims(operand)])
        return g.make("masked_select", operand, mask)
    axis = axis_of(g, operand)
    flags = g.add_input("bool", [g.axis_text(g.dims(operand)[axis])])
    return g.make("compress", flags, operand, axis=axis)


def unique(g: Generator) -> Instruction:
    return g.make("unique", g.pick(NUMBERS, least=1, most=3), results=4)


def bincount(g: Generator) -> Instruction:
    known = [dim for name in g.names for dim in g.dims(name)]
    bound, length = g.rng.choice(known), g.rng.choice(known)
    counted = index_input(g, bound, "position", [length])
    if g.rng.random() < 0.5:
        return g.make("bincount", counted, minlength=g.rng.choice((0, 1, 9)))
    fits = [name for name in g.names if g.dims(name) == (length,) and g.dtype(name) in NUMBERS]
    if not fits:
        raise NoMeaning("no weights of that size")
    return g.make("weighted_bincount", counted, g.rng.choice(fits))


def repeat_interleave(g: Generator) -> Instruction:
    operand = g.pick(least=1, most=3)
    axis = axis_of(g, operand)
    times = g.add_input("i64", [g.axis_text(g.dims(operand)[axis])], "position:4")
    return g.make("repeat_interleave", operand, times, axis=axis)


SELECTION = [*[sort] * 2, topk, middle, among, take_along, *[scatter] * 2, compress, unique,
             bincount, repeat_interleave]  # fmt: skip
