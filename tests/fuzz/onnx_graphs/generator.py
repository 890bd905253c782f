"""Grows a random model a node at a time, each run alone by onnxruntime at all of the sizes.

So a move sees the values at every size. A node that onnxruntime refuses, or that fails at the
first sizes or at most of the others, is taken back; where it fails the model raises.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.fuzz.onnx_graphs.oracle import of_node, ran, types_of
from tests.fuzz.onnx_graphs.program import (
    Array,
    Body,
    Constant,
    Input,
    Node,
    Port,
    Program,
    Type,
    given,
    random_array,
)

OPSETS = range(7, 24)
AXES = ("n", "m", "k")
FLOATS = ("float32", "float16", "float64")
INTEGERS = ("int64", "int32", "uint8", "int8", "uint32")
DTYPES = (*("float32",) * 8, "float16", "float64", *INTEGERS, "bool", "bool")
MOST_ELEMENTS = 4000
MOST_RANK = 6
LARGEST = 1e5

Move = Callable[["Generator"], Any]
"""Adds nodes, or raises `Unfit`."""


class Unfit(Exception):  # noqa: N818 - nothing is wrong
    """A move that finds no operands, or a node that onnxruntime does not take."""


@dataclass
class Generator:
    """A model that grows, or a body inside it: these share inputs and constants."""

    rng: random.Random
    seed: int
    opset: int
    sizes: list[dict[str, int]]
    inputs: list[Input] = field(default_factory=list[Input])
    constants: list[Constant] = field(default_factory=list[Constant])
    nodes: list[Node] = field(default_factory=list[Node])
    values: dict[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    types: dict[str, Type] = field(default_factory=dict[str, Type])
    alive: list[bool] = field(default_factory=list[bool])  # sizes at which nothing has raised
    numbers: Iterator[int] = field(default_factory=itertools.count)
    depth: int = 0

    # --- what there is ----------------------------------------------------------------------------

    def names(
        self,
        dtypes: Sequence[str] | None = None,
        ranks: Iterable[int] = range(MOST_RANK),
        sequences: bool = False,
    ) -> list[str]:
        """Tensors of these dtypes and ranks, or sequences; later ones more often."""
        found = [
            name
            for name, kind in self.types.items()
            if kind.is_sequence == sequences
            and (dtypes is None or kind.dtype in dtypes)
            and (sequences or self.rank(name) in ranks)
            and not name.startswith("c")
        ]
        return [*found, *found[-4:], *found[-2:]]

    def pick(
        self, dtypes: Sequence[str] | None = None, ranks: Iterable[int] = range(MOST_RANK)
    ) -> str:
        """One of them, or a new input."""
        wanted = list(ranks)
        found = self.names(dtypes, wanted)
        if found and self.rng.random() < 0.93:
            return self.rng.choice(found)
        if len(self.inputs) > 5:
            raise Unfit
        dtype = self.rng.choice(dtypes) if dtypes else self.rng.choice(DTYPES)
        rank = self.rng.choice([rank for rank in wanted if rank <= 4])
        return self.input(dtype, *(self.random_dim() for _ in range(rank)))

    def random_dim(self) -> str | int:
        return self.rng.choice((*AXES, *AXES, 1, 3, 4))

    def dtype(self, name: str) -> str:
        return self.types[name].dtype

    def is_float(self, name: str) -> bool:
        return self.dtype(name) in FLOATS

    def each(self, name: str) -> list[Any]:
        """A value at the sizes that are alive."""
        return [v for v, alive in zip(self.values[name], self.alive, strict=True) if alive]

    def rank(self, name: str) -> int:
        return self.each(name)[0].ndim

    def same_rank(self, name: str) -> bool:
        return len({value.ndim for value in self.each(name)}) == 1

    def size(self, name: str, axis: int) -> list[int]:
        return [value.shape[axis] for value in self.each(name)]

    def fixed(self, name: str, axis: int) -> int:
        """The size of an axis that is the same everywhere."""
        found = set(self.size(name, axis))
        if len(found) != 1:
            raise Unfit
        return found.pop()

    def axis(self, name: str) -> int:
        """Counted from either end."""
        rank = self.rank(name)
        if rank == 0:
            raise Unfit
        return self.rng.randrange(-rank, rank)

    def some_axes(self, name: str) -> tuple[int, ...]:
        """Any number of different ones, counted from either end."""
        rank = self.rank(name)
        chosen = self.rng.sample(range(rank), self.rng.randint(0, rank))
        return tuple(axis - rank * (self.rng.random() < 0.4) for axis in chosen)

    # --- growing ----------------------------------------------------------------------------------

    def fresh(self, letter: str = "v") -> str:
        return f"{letter}{next(self.numbers)}"

    def input(self, dtype: str, *dims: str | int, bound: int = 0) -> str:
        made = Input(self.fresh("x"), dims, dtype, bound)
        self.inputs.append(made)
        found = tuple(given(made, self.seed, n, sizes) for n, sizes in enumerate(self.sizes))
        self.values[made.name], self.types[made.name] = found, Type(dtype)
        return made.name

    def array(self, array: Array) -> str:
        """A constant."""
        numbers = tuple(array.reshape(-1).tolist())
        is_node = self.rng.random() < 0.2
        made = Constant(self.fresh("c"), array.dtype.name, array.shape, numbers, is_node)
        self.constants.append(made)
        self.values[made.name] = (array,) * len(self.sizes)
        self.types[made.name] = Type(made.dtype)
        return made.name

    def constant(self, numbers: Any, dtype: str = "int64") -> str:
        return self.array(np.array(numbers, dtype))

    def random_constant(self, dtype: str, *shape: int) -> str:
        return self.array(
            random_array(np.random.default_rng(self.rng.randrange(2**32)), dtype, shape)
        )

    def node(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        (made,) = self.several(op, 1, *inputs, domain=domain, **attributes)
        return made

    def several(
        self, op: str, outputs: int, *inputs: str, domain: str = "", **attributes: Any
    ) -> tuple[str, ...]:
        """A node of several outputs. Attributes that are None are left out."""
        while inputs and not inputs[-1]:
            inputs = inputs[:-1]
        kept = tuple((name, value) for name, value in attributes.items() if value is not None)
        names = tuple(self.fresh() for _ in range(outputs))
        node = Node(op, inputs, names, kept, domain)
        reads = sorted(set(node.reads()))
        made = of_node(node, self.opset, tuple((name, self.types[name]) for name in reads))
        if made is None:
            raise Unfit
        feeds = [{name: self.values[name][n] for name in reads} for n in range(len(self.sizes))]
        results = [
            ran(made, feed) if alive else None
            for feed, alive in zip(feeds, self.alive, strict=True)
        ]
        alive = [each is not None for each in results]
        kinds = types_of(made)
        if not alive[0] or sum(alive) * 2 < len(alive) or None in kinds:
            raise Unfit
        if not all(_is_moderate(value) for each in results for value in each or ()):
            raise Unfit
        self.alive[:] = alive
        for number, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            self.values[name] = tuple(None if each is None else each[number] for each in results)
            assert kind is not None
            self.types[name] = kind
            if not kind.is_sequence and not self.same_rank(name):
                raise Unfit
        self.nodes.append(node)
        return names

    def grow(self, move: Move) -> bool:
        """Whether the move fits."""
        lists: list[list[Any]] = [self.inputs, self.constants, self.nodes]
        lengths = [len(each) for each in lists]
        values, types, alive = dict(self.values), dict(self.types), list(self.alive)
        try:
            move(self)
        except Unfit:
            for each, length in zip(lists, lengths, strict=True):
                del each[length:]
            self.values, self.types, self.alive[:] = values, types, alive
            return False
        return True

    def body(self, parameters: dict[str, tuple[Any, ...]], types: dict[str, Type]) -> Generator:
        """One that grows inside: it sees all that there is, and its parameters."""
        return Generator(
            self.rng, self.seed, self.opset, self.sizes, self.inputs, self.constants, [],
            {**self.values, **parameters}, {**self.types, **types}, self.alive, self.numbers,
            self.depth + 1,
        )  # fmt: skip

    def adopt(self, inner: Generator) -> None:
        """Inputs and constants that a body has made are the model's."""
        for each in (*self.inputs, *self.constants):
            self.values.setdefault(each.name, inner.values.get(each.name, ()))
            self.types.setdefault(each.name, Type(each.dtype))

    def as_body(self, inputs: Iterable[str], outputs: Iterable[str]) -> Body:
        return Body(self._ports(inputs), tuple(self.nodes), self._ports(outputs))

    def _ports(self, names: Iterable[str]) -> tuple[Port, ...]:
        return tuple(
            Port(name, kind, None if kind.is_sequence else self.rank(name))
            for name, kind in ((name, self.types[name]) for name in names)
        )


def _is_moderate(value: Any) -> bool:
    """Neither large nor long."""
    if isinstance(value, list):
        return len(value) < 20 and all(map(_is_moderate, value))
    if not isinstance(value, np.ndarray) or value.size > MOST_ELEMENTS or value.ndim > MOST_RANK:
        return False
    finite = value[np.isfinite(value)] if value.dtype.kind == "f" else value
    return not finite.size or float(np.abs(finite.astype(np.float64)).max()) < LARGEST


# --- programs -------------------------------------------------------------------------------------


def random_sizes(rng: random.Random) -> list[dict[str, int]]:
    """Ordinary ones, then empty, one, odd, equal."""
    first = {axis: rng.randrange(2, 8) for axis in AXES}
    equal = dict.fromkeys(AXES, rng.choice((1, 2, 3, 5)))
    odd = {axis: rng.choice((1, 3, 5, 7, 9, 11)) for axis in AXES}
    empty = {**odd, rng.choice(AXES): 0}
    return [first, odd, {**first, rng.choice(AXES): 1}, equal, empty][: rng.choice((4, 5, 5, 5))]


def random_program(seed: int, longest: int, moves: Sequence[tuple[Move, int]]) -> Program:
    """The model of a seed; moves have weights."""
    rng = random.Random(seed)
    executor = "native" if rng.random() < 0.2 else "reference"
    sizes = random_sizes(rng)
    generator = Generator(rng, seed, rng.choice(OPSETS), sizes, alive=[True] * len(sizes))
    for _ in range(rng.choice((1, 2, 2))):
        dims = (generator.random_dim() for _ in range(rng.choice((1, 2, 2, 3, 3, 4))))
        generator.input(rng.choice(DTYPES), *dims)
    extend(generator, rng.randint(1, longest), moves)
    return Program(
        seed, generator.opset, tuple(generator.inputs), tuple(generator.constants),
        tuple(generator.nodes), _results(generator),
        tuple(tuple(each.items()) for each in sizes), executor,
    )  # fmt: skip


def extend(generator: Generator, length: int, moves: Sequence[tuple[Move, int]]) -> None:
    """By so many moves, or as many as fit."""
    choices, weights = zip(*moves, strict=True)
    for _ in range(length):
        for _ in range(12):
            (move,) = generator.rng.choices(choices, weights)
            if generator.grow(move):
                break
    if not generator.nodes:
        generator.node("Identity", generator.inputs[0].name)


def _results(generator: Generator) -> tuple[tuple[str, Type], ...]:
    """What nothing reads, and sometimes some of the rest."""
    rng = generator.rng
    read = {name for node in generator.nodes for name in node.reads()}
    made = [name for node in generator.nodes for name in node.outputs]
    often = 0.1 if rng.random() < 0.5 else 0.6
    chosen = [name for name in made if name not in read or rng.random() < often]
    return tuple((name, generator.types[name]) for name in chosen)
