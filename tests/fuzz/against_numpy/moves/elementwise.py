"""Moves: elementwise functions of values, numbers, sizes and constant arrays."""

from __future__ import annotations

from tests.fuzz.against_numpy.dtypes import (
    ALL,
    FLOATS,
    INTEGERS,
    SIGNED,
    NoMeaning,
    is_float,
    limits,
)
from tests.fuzz.against_numpy.generator import Dim, Generator
from tests.fuzz.against_numpy.program import Instruction
from tests.fuzz.against_numpy.spellings import BINARY, FLOAT_FUNCTIONS, OTHER_UNARY

NUMBERS = ("2", "3", "0.5", "-1", "1.25", "0", "1", "-3.0", "7", "100", "True")
NUMERIC = (*FLOATS, *INTEGERS)


def broadcasts(left: tuple[Dim, ...], right: tuple[Dim, ...]) -> bool:
    """Whether shapes fit at all bindings for one reason: equal, or 1 by declaration."""
    pairs = zip(reversed(left), reversed(right), strict=False)
    return all(a == b or set(a) == {1} or set(b) == {1} for a, b in pairs)


def partner(g: Generator, name: str, dtypes: tuple[str, ...] = ALL) -> str:
    """A value that broadcasts with another, or a new input that does."""
    fits = [
        other for other in g.names
        if g.dtype(other) in dtypes and broadcasts(g.dims(name), g.dims(other))
    ]  # fmt: skip
    if fits and g.rng.random() < 0.8:
        return g.rng.choice(fits)
    shape = [g.axis_text(dim) for dim in g.dims(name)]
    shape = shape[g.rng.randint(0, len(shape)) :]
    shape = [text if g.rng.random() < 0.8 else "1" for text in shape]
    wanted = g.dtype(name) if g.dtype(name) in dtypes and g.rng.random() < 0.7 else None
    return g.add_input(wanted or g.rng.choice(dtypes), shape)


def number(g: Generator, dtype: str) -> str:
    """A number that a type holds."""
    fits = [text for text in NUMBERS if is_float(dtype) or _fits(text, dtype)]
    return g.rng.choice(fits)


def _fits(text: str, dtype: str) -> bool:
    if text == "True" or "." in text:
        return True
    low, high = limits("i64" if dtype == "bool" else dtype)
    return low <= int(text) <= high


def size_number(g: Generator, dtype: str) -> str:
    """A size in arithmetic, where the type holds it at all bindings."""
    name = g.pick(least=1)
    axis = g.rng.randrange(g.rank(name))
    dim = g.dims(name)[axis]
    if not is_float(dtype) and dtype != "bool" and max(dim) * 2 + 1 > limits(dtype)[1]:
        raise NoMeaning("a size that does not fit")
    return g.rng.choice(("{}", "{} * 2", "{} + 1", "{} // 2")).format(f"{name}.shape[{axis}]")


def constant_array(g: Generator, name: str) -> str:
    """A small array written into the program, along the last axis if its size is constant."""
    dims = g.dims(name)
    count = dims[-1][0] if dims and len(set(dims[-1])) == 1 and dims[-1][0] <= 8 else 1
    dtype = g.rng.choice(("np.float32", "np.int8", "np.int64", "np.uint8", "np.float16"))
    return f"np.array({[g.rng.randint(0, 5) for _ in range(count)]}, {dtype})"


def other_operand(g: Generator, name: str, dtypes: tuple[str, ...] = ALL) -> str:
    chance = g.rng.random()
    if chance < 0.6:
        return partner(g, name, dtypes)
    if chance < 0.8:
        return number(g, g.dtype(name))
    return size_number(g, g.dtype(name)) if chance < 0.92 else constant_array(g, name)


def binary(g: Generator) -> Instruction:
    op = g.rng.choice(BINARY)
    kinds = ALL if op.startswith(("bit", "log", "equal", "not", "less", "gr")) else NUMERIC
    kinds = (*INTEGERS, "bool") if op.startswith("bit") else kinds
    left = g.pick(kinds)
    right = other_operand(g, left, kinds)
    if op.startswith("bit") and "." in right and "shape" not in right and "np" not in right:
        right = "1"
    pair = (left, right) if g.rng.random() < 0.7 else (right, left)
    instruction = g.make(op, *pair)
    both_plain = right in g.names
    if "np." in instruction.spelling and not both_plain:
        return g.make_spelled(op, f"ash.{op}({{0}}, {{1}})", *pair)
    return instruction


def unary(g: Generator) -> Instruction:
    op = g.rng.choice((*FLOAT_FUNCTIONS, *OTHER_UNARY))
    kinds = {
        "bitwise_not": (*INTEGERS, "bool"),
        "logical_not": ALL,
        "negative": (*FLOATS, *SIGNED),
        "sign": (*FLOATS, *SIGNED),
    }.get(op, FLOATS if g.rng.random() < 0.85 else NUMERIC)
    operand = g.pick(kinds)
    if op == "gelu":
        return g.make(op, operand, approximate=g.rng.choice(('"none"', '"tanh"')))
    return g.make(op, operand)


def power(g: Generator) -> Instruction:
    base = g.pick(NUMERIC)
    if is_float(g.dtype(base)) and g.rng.random() < 0.3:
        return g.make("power", base, partner(g, base, FLOATS))
    exponents = ("2", "3", "0", "1", "0.5", "-1", "2.0") if is_float(g.dtype(base)) else "01235"
    return g.make("power", base, g.rng.choice(exponents))


def where(g: Generator) -> Instruction:
    left = g.pick()
    condition = partner(g, left, ("bool",) if g.rng.random() < 0.8 else ALL)
    right = number(g, g.dtype(left)) if g.rng.random() < 0.4 else partner(g, left)
    pair = (left, right) if g.rng.random() < 0.7 else (right, left)
    if pair[0] not in g.names:
        return g.make_spelled("where", "ash.where({0}, {1}, {2})", condition, *pair)
    return g.make("where", condition, *pair)


def shift(g: Generator) -> Instruction:
    operand = g.pick(INTEGERS)
    by = g.rng.choice("0137") if g.rng.random() < 0.5 else partner(g, operand, INTEGERS)
    return g.make(g.rng.choice(("left_shift", "right_shift")), operand, by)


def clip(g: Generator) -> Instruction:
    operand = g.pick(NUMERIC)
    low, high = g.rng.choice((("1", "3"), ("None", "2"), ("0", "None"), ("0", "2")))
    return g.make("clip", operand, low, high)


def astype(g: Generator) -> Instruction:
    return g.make("astype", g.pick(), dtype=f"ash.{g.rng.choice(ALL)}")


def asarray(g: Generator) -> Instruction:
    if g.rng.random() < 0.4:
        return g.make("asarray", g.pick(), dtype=f"ash.{g.rng.choice(ALL)}")
    return g.make("asarray", constant_array(g, g.pick()), dtype="None")


def size_value(g: Generator) -> Instruction:
    name = g.pick(least=1)
    axis = g.rng.randrange(g.rank(name))
    return g.make("size_value", size=f"{name}.shape[{axis}]")


ELEMENTWISE = [
    *[binary] * 12, *[unary] * 8, power, *[where] * 3, shift, clip, *[astype] * 3, asarray,
    size_value,
]  # fmt: skip
