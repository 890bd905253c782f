"""Grows a random module while running it in eager mode, at all of its sizes.

So a move sees the shapes at every size. A statement that fails at the example's sizes is not kept,
nor one that fails at most of the others: where it fails, the module is one that raises there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from tests.fuzz.torch_modules.program import HEADER, Input, Program, Sizes, Statement

AXES = ("n", "m", "k")
CONSTANTS = ("3", "4", "8")
DTYPES = ("int64", "int64", "bool", "int32", "uint8", "float64")
"""Of inputs that are not float32."""
MOST_ELEMENTS = 3000
MOST_RANK = 5
LARGEST = 1e4
FAILURES = 4
"""At so many of the ten sizes a module may raise."""

Move = Callable[["Generator"], "Statement | str | None"]
"""A statement; or an expression, which becomes a local name; or None where it does not fit."""


@dataclass
class Run:
    """`forward` so far at certain sizes: its local names, until it returned or raised."""

    names: dict[str, Any]
    ended: bool = False
    failed: bool = False

    @property
    def goes_on(self) -> bool:
        return not self.ended and not self.failed


@dataclass
class Generator:
    """A module that grows."""

    rng: random.Random
    program: Program
    runs: list[Run] = field(default_factory=list[Run])  # the first one is the example's
    count: int = 0

    # --- what there is ------------------------------------------------------------------------

    @property
    def names(self) -> dict[str, Any]:
        return self.runs[0].names

    @property
    def alive(self) -> list[Run]:
        return [run for run in self.runs if run.goes_on]

    def tensors(self, *, rank: int = 0, floats: bool = False) -> list[str]:
        """Local names of tensors, later ones more often."""
        found = [
            name
            for name, value in self.names.items()
            if isinstance(value, torch.Tensor)
            and value.dim() >= rank
            and (value.is_floating_point() or not floats)
        ]
        return [*found, *found[-3:], *found[-1:]]

    def pick(self, *, rank: int = 0, floats: bool = True) -> str | None:
        found = self.tensors(rank=rank, floats=floats)
        return self.rng.choice(found) if found else None

    def rank(self, name: str) -> int:
        return int(self.names[name].dim())

    def size(self, name: str, axis: int) -> tuple[int, ...]:
        """The size of one position in every run that has it."""
        shapes = [run.names[name].shape for run in self.alive]
        return tuple(shape[axis] if axis < len(shape) else -1 for shape in shapes)

    def constant(self, name: str, axis: int) -> int | None:
        sizes = set(self.size(name, axis))
        return sizes.pop() if len(sizes) == 1 else None

    def axis(self, name: str) -> int:
        """An axis, counted from either end."""
        rank = self.rank(name)
        return self.rng.randrange(-rank, rank)

    def numbers(self) -> list[str]:
        """Local names of integers that depend on sizes."""
        return [name for name, value in self.names.items() if type(value) is int and name != "i"]

    # --- growing ------------------------------------------------------------------------------

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def layer(self, made: str) -> str:
        name = f"layer{len(self.program.layers)}"
        self.program = replace(self.program, layers=(*self.program.layers, (name, made)))
        torch.manual_seed(0)
        layer = eval(made, {"torch": torch})
        for run in self.runs:
            setattr(run.names["self"], name, layer)
        return f"self.{name}"

    def grow(self, move: Move) -> bool:
        """Whether the move fits."""
        before = self.program
        made = move(self)
        if made is None:
            return False
        if isinstance(made, str):
            made = Statement(f"{self.fresh()} = {made}")
        statement = Statement(made.text, made.condition, move.__name__.strip("_"))
        for run in self.alive:
            self._step(run, statement)
        if self._is_sound():
            self.program = replace(self.program, statements=(*before.statements, statement))
            return True
        self.program = before
        self.start()
        return False

    def start(self) -> None:
        """Runs everything from the beginning: a statement may have written into anything."""
        program = self.program
        self.runs = []
        for number, sizes in enumerate((program.example, *program.others)):
            args, kwargs = program.call(sizes, number)
            order = [each.name for each in program.inputs if not each.keyword]
            names: dict[str, Any] = {"self": program.module()}
            exec(HEADER, names)
            names |= dict(zip(order, args, strict=True)) | kwargs
            self.runs.append(Run(names))
        for statement in program.statements:
            for run in self.alive:
                self._step(run, statement)

    def _step(self, run: Run, statement: Statement) -> None:
        names = run.names
        try:
            if statement.condition is None:
                exec(statement.text, names)
                run.failed = not all(map(_is_moderate, names.values()))
            elif eval(statement.condition, names):
                run.ended = True
                run.failed = "raise" in statement.text
        except Exception:
            run.failed = True

    def _is_sound(self) -> bool:
        failures = sum(run.failed for run in self.runs)
        return self.runs[0].goes_on and failures <= FAILURES and len(self.alive) > 3


def _is_moderate(value: Any) -> bool:
    """Neither large nor long; of anything else than a tensor it is not asked."""
    if not isinstance(value, torch.Tensor):
        return not isinstance(value, int) or abs(value) < LARGEST
    if value.numel() > MOST_ELEMENTS or value.dim() > MOST_RANK:
        return False
    return not value.numel() or bool(value.double().abs().nan_to_num(0, LARGEST).max() < LARGEST)


# --- inputs and sizes -----------------------------------------------------------------------------


def random_sizes(rng: random.Random) -> tuple[Sizes, tuple[Sizes, ...]]:
    """The example's, mostly ordinary, and ten others: empty, one, odd, equal, multiples."""
    example = {axis: rng.choice((2, 3, 4, 5, 6, 7, 8)) for axis in AXES}
    if rng.random() < 0.1:
        example[rng.choice(AXES)] = rng.choice((0, 1, 1))
    equal = rng.choice((1, 2, 3, 4, 6))
    axis = rng.choice(AXES)
    others: list[Sizes] = [
        example,
        {**example, axis: example[axis] + 1},
        {**example, rng.choice(AXES): 0},
        {**example, rng.choice(AXES): 1},
        dict.fromkeys(AXES, equal),
        dict.fromkeys(AXES, 1),
        {axis: size * 2 for axis, size in example.items()},
        *({each: rng.randrange(0, 13) for each in AXES} for _ in range(2)),
        {each: rng.choice((1, 3, 5, 9, 12, 16)) for each in AXES},
    ]
    return example, tuple(others)


def random_inputs(rng: random.Random) -> tuple[Input, ...]:
    """Several that share axes; some have sizes that are numbers."""
    inputs: list[Input] = []
    for name in ("x", "y", "z")[: rng.choice((1, 2, 2, 3))]:
        rank = rng.choice((1, 2, 2, 3, 3))
        dims = tuple(rng.choice((*AXES, *AXES, *CONSTANTS)) for _ in range(rank))
        dtype = rng.choice(("float32",) * 8 + DTYPES) if inputs else "float32"
        inputs.append(Input(name, dims, dtype, keyword=bool(inputs) and rng.random() < 0.3))
    if all(dim.isdigit() for each in inputs for dim in each.dims):
        inputs[0] = Input("x", ("n", *inputs[0].dims[1:]))
    return tuple(inputs)


def random_program(seed: int, longest: int, moves: Iterable[tuple[Move, int]]) -> Program:
    """The module of a seed; moves have weights."""
    rng = random.Random(seed)
    example, others = random_sizes(rng)
    executor = "native" if rng.random() < 0.15 else "reference"
    in_file, whole = rng.random() < 0.9, rng.random() < 0.7
    inputs = random_inputs(rng)
    start = Program(seed, inputs, (), (), "x", example, others, executor, in_file, whole)
    generator = Generator(rng, start)
    generator.start()
    choices, weights = zip(*moves, strict=True)
    for _ in range(rng.randrange(2, longest + 1)):
        for _ in range(8):
            (move,) = rng.choices(choices, weights)
            if generator.grow(move):
                break
    return replace(generator.program, result=_result(generator))


def _result(generator: Generator) -> str:
    """All that there is, in a container; or what was made last alone, or with some of the rest."""
    rng, program = generator.rng, generator.program
    tensors = [name for name, value in generator.names.items() if isinstance(value, torch.Tensor)]
    chosen = tensors if program.whole else [tensors[-1], *rng.sample(tensors, rng.choice((0, 1)))]
    if generator.numbers() and rng.random() < 0.1:
        chosen = [*chosen, rng.choice(generator.numbers())]
    if len(chosen) == 1 and rng.random() < 0.7:
        return chosen[0]
    listed = ", ".join(chosen)
    return rng.choice(
        (
            "{" + ", ".join(f"'{name}_': {name}" for name in chosen) + "}",
            f"({listed},)",
            f"[{listed}]",
            f"({chosen[0]}, {{'rest': [{', '.join(chosen[1:])}]}})",
        )
    )
