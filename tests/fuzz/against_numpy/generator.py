"""Grows a random program while evaluating it, at all of its bindings, in NumPy.

So a move sees the shapes and numbers at every size, and what NumPy refuses never becomes part of a
program. Two sizes are the same if they are equal at all bindings; the first binding has sizes that
make unequal expressions unequal.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tests.fuzz.against_numpy.dtypes import ALL, FLOATS, INTEGERS, NoMeaning
from tests.fuzz.against_numpy.inputs import FILLS, LAYOUTS, MOST_ELEMENTS, values_of
from tests.fuzz.against_numpy.noise import Noisy, exact
from tests.fuzz.against_numpy.program import Input, Instruction, Program, size_of, step
from tests.fuzz.against_numpy.spellings import SPELLINGS

SIZES = (1, 2, 3, 4, 5, 7, 8, 13, 15, 16, 17, 31, 33, 63, 64, 65, 97, 129)
GENERIC = {"a": 5, "b": 7, "c": 11, "d": 3}
EXPRESSIONS = ("{0}", "{0}", "{0}", "{0}", "2*{0}", "{0}+1", "{0}//2+1", "3*{0}+2", "{0}+{1}")
MOST_INPUTS = 7
MOST_AXES = 5

Dim = tuple[int, ...]
"""One size at every binding."""

Move = Callable[["Generator"], Instruction | None]


@dataclass
class Generator:
    """A program that grows."""

    rng: random.Random
    seed: int
    bindings: list[dict[str, int]]
    inputs: list[Input] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    values: list[dict[str, Noisy]] = field(default_factory=list)  # one for each binding
    fill: str = "grid"

    # --- what there is ------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        return list(self.values[0])

    def dtype(self, name: str) -> str:
        return self.values[0][name].dtype

    def rank(self, name: str) -> int:
        return self.values[0][name].ndim

    def dims(self, name: str) -> tuple[Dim, ...]:
        shapes = [values[name].shape for values in self.values]
        return tuple(zip(*shapes, strict=True))

    def pick(
        self, dtypes: Sequence[str] = ALL, least: int = 0, most: int = MOST_AXES, new: bool = True
    ) -> str:
        """A value of these types and ranks, later ones more likely; or a new input."""
        fits = [
            name for name in self.names
            if self.dtype(name) in dtypes and least <= self.rank(name) <= most
        ]  # fmt: skip
        if fits:
            return self.rng.choice([*fits, *fits[-3:]])
        if not new:
            raise NoMeaning("no such value")
        return self.random_input(self.rng.choice(dtypes), max(least, min(most, 2)))

    # --- sizes as text ------------------------------------------------------------------------

    def dim_of(self, text: str) -> Dim:
        return tuple(size_of(text, sizes) for sizes in self.bindings)

    def axis_text(self, dim: Dim) -> str:
        """A size in the words of annotations."""
        if len(set(dim)) == 1:
            return str(dim[0])
        texts = [text for given in self.inputs for text in given.shape if text[0] != "?"]
        fits = [text for text in texts if self.dim_of(text) == dim]
        if not fits:
            raise NoMeaning("a size that no annotation has")
        return self.rng.choice(fits)

    def size_text(self, dim: Dim) -> str:
        """A size as it may be written inside a function."""
        if len(set(dim)) == 1:
            return str(dim[0])
        places = [
            f"{name}.shape[{axis}]"
            for name in self.names for axis, found in enumerate(self.dims(name)) if found == dim
        ]  # fmt: skip
        named = [f'"{axis}"' for axis in self.bindings[0] if self.dim_of(axis) == dim]
        named = [text for text in named if text[1] != "n"]
        if not places + named:
            raise NoMeaning("a size that nothing has")
        return self.rng.choice(places + named)

    # --- what is added ------------------------------------------------------------------------

    def result(self) -> str:
        used = [name for i in self.instructions for name in i.results]
        return f"v{len(used)}"

    def make(
        self, op: str, *operands: str, results: int = 1, key: str | None = None, **params: object
    ) -> Instruction:
        first = int(self.result()[1:])
        names = tuple(f"v{first + i}" for i in range(results))
        spelling = self.rng.choice(SPELLINGS[key or op])
        texts = tuple((name, str(value)) for name, value in params.items())
        return Instruction(names, op, spelling, operands, texts)

    def make_spelled(self, op: str, spelling: str, *operands: str) -> Instruction:
        return replace(self.make("ravel"), op=op, spelling=spelling, operands=operands)

    def add(self, instruction: Instruction) -> None:
        """Evaluates it at every binding; NoMeaning leaves everything as it was."""
        after = [dict(values) for values in self.values]
        for values, sizes in zip(after, self.bindings, strict=True):
            step(instruction, values, sizes)
            for name in instruction.results:
                if values[name].size > MOST_ELEMENTS or values[name].ndim > MOST_AXES:
                    raise NoMeaning("too large")
        kinds = {tuple((v[n].dtype, v[n].ndim) for n in instruction.results) for v in after}
        if len(kinds) > 1:
            raise NoMeaning("a type that depends on sizes")
        self.values = after
        self.instructions.append(instruction)

    def add_input(
        self, dtype: str, shape: Sequence[str], fill: str | None = None, layout: str | None = None
    ) -> str:
        if len(self.inputs) >= MOST_INPUTS:
            raise NoMeaning("enough inputs")
        usual = "dense" if self.rng.random() < 0.5 else self.rng.choice(list(LAYOUTS))
        kind = fill or (self.fill if self.rng.random() < 0.9 else self.rng.choice(FILLS))
        given = Input(f"x{len(self.inputs)}", dtype, tuple(shape), kind, layout or usual)
        arrays = [values_of(given, sizes, self.seed) for sizes in self.bindings]
        self.inputs.append(given)
        for values, array in zip(self.values, arrays, strict=True):
            values[given.name] = exact(array)
        return given.name

    def random_dim(self) -> str:
        """An axis, an expression of axes, a constant, or a size without a name."""
        axes = [axis for axis in self.bindings[0] if axis[0] != "n"]
        chance = self.rng.random()
        if chance < 0.12:
            return str(self.rng.choice((1, 2, 3, 4, 8, 16, 17)))
        if chance < 0.18:
            free = [axis for axis in self.bindings[0] if axis[0] == "n"]
            used = {text for given in self.inputs for text in given.shape}
            free = [axis for axis in free if f"?{axis}" not in used]
            if free:
                return f"?{free[0]}"
        return self.rng.choice(EXPRESSIONS).format(self.rng.choice(axes), self.rng.choice(axes))

    def random_input(self, dtype: str, rank: int) -> str:
        return self.add_input(dtype, self.shape_text(rank))

    def shape_text(self, rank: int) -> list[str]:
        dims: list[str] = []
        for _ in range(rank):
            dim = self.random_dim()
            dims.append(dim if dim not in dims or dim[0] != "?" else "1")
        return dims


def new_generator(seed: int, bindings: int = 5) -> Generator:
    rng = random.Random(seed)
    axes = ["a", "b", "c", "d"][: rng.choice((1, 2, 2, 3, 4))]
    pool = SIZES[: rng.choice((5, 9, 11, 13, 18, 18))]
    hidden = ["n0", "n1"]
    generic = {axis: GENERIC[axis] for axis in axes} | {"n0": 6, "n1": 9}
    zeros = rng.random() < 0.45
    made = [generic]
    for _ in range(bindings - 1):
        few = (0, 1, 1, 2, 3) if zeros and rng.random() < 0.5 else ()
        choices = (*pool, *few, *few, *few)
        made.append({axis: rng.choice(choices) for axis in [*axes, *hidden]})
    generator = Generator(rng, seed, made, values=[{} for _ in made])
    generator.fill = rng.choice(("grid", "grid", "grid", "normal", "normal", "wild"))
    return generator


def random_dtype(rng: random.Random) -> str:
    chance = rng.random()
    if chance < 0.3:
        return "f32"
    if chance < 0.6:
        return rng.choice(FLOATS)
    return rng.choice(INTEGERS) if chance < 0.9 else "bool"


def begin(generator: Generator) -> None:
    """The first inputs: every axis stands alone in one of them."""
    rng = generator.rng
    dtype = random_dtype(rng)
    for _ in range(rng.randint(1, 3)):
        dtype = dtype if rng.random() < 0.6 else random_dtype(rng)
        for _ in range(20):
            try:
                generator.random_input(dtype, rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)))
                break
            except NoMeaning:
                continue
    for axis in generator.bindings[0]:
        alone = any(axis in given.shape for given in generator.inputs)
        if axis[0] != "n" and not alone:
            generator.add_input(rng.choice((dtype, "f32")), [axis])


def grow(generator: Generator, moves: Sequence[Move], length: int) -> None:
    for _ in range(20 * length):
        if len(generator.instructions) >= length:
            break
        before = len(generator.inputs)
        try:
            instruction = generator.rng.choice(moves)(generator)
            if instruction is not None:
                generator.add(instruction)
        except NoMeaning:
            while len(generator.inputs) > before:
                gone = generator.inputs.pop()
                for values in generator.values:
                    del values[gone.name]


def finish(generator: Generator) -> Program:
    """Returns what nothing uses, and now and then something that is used."""
    used = set[str]().union(*(i.uses for i in generator.instructions))
    made = [name for i in generator.instructions for name in i.results]
    leaves = [name for name in made if name not in used]
    more = [name for name in generator.names if name in used and generator.rng.random() < 0.1]
    returns = leaves + more or generator.names[:1]
    return Program(
        generator.seed, tuple(generator.inputs), tuple(generator.instructions), tuple(returns),
        tuple(generator.bindings),
    )  # fmt: skip
