"""Text of numbers and conditions that Python code computes from sizes."""

from __future__ import annotations

from tests.fuzz.torch_modules.generator import Generator

ARITHMETIC = (
    "{a} // 2", "{a} // 3 + 1", "{a} % 3", "{a} * 2", "{a} + 1", "{a} - 1", "{a} + {b}",
    "{a} * {b}", "max({a}, {b})", "min({a}, 4)", "max({a} - 2, 0)", "min({a}, {b})",
    "-(-{a} // 2)", "abs({a} - {b})", "{a} - {a} % 2", "({a} + 3) // 4 * 4", "{a} ** 2",
    "sum(({a}, {b}))", "{a} if {a} < {b} else {b}", "{a} // -2 + 6", "-{a} // 3 + {b}",
    "-{a} % 4", "({a} - 5) % 3", "({a} - {b}) // 2 + 3", "divmod({a}, 3)[0]", "divmod(-{a}, 3)[1]",
    "min({a}, {b}, 3)", "max(1, {a} - {b})", "sum([{a}, {b}, 1])", "{a} & 3", "{a} >> 1",
    "int({a} > 3)", "({a} > {b}) + 1", "math.prod(({a}, 2))", "({a} % 3) * ({b} % 2)",
)  # fmt: skip
THROUGH_FLOATS = (
    "int({a} * 0.5)", "int({a} / 2)", "math.ceil({a} / 2)", "math.floor({a} / 3)",
    "int({a} ** 0.5)", "round({a} / 4)", "int(math.sqrt({a}))", "math.trunc({a} * 0.25)",
    "int(float({a}) * 0.75)", "math.isqrt({a})", "int(math.log2({a} + 1))",
)  # fmt: skip
TAKEN = (
    "divmod({a}, 3)[1]", "len(range({a}))", "len(f'{{{a}}}')", "hash({a}) % 5",
    "({a}).bit_length()", "operator.index({a}) + 1", "len([0] * {a})", "[3, 1, 2][{a} % 3]",
    "{{4: 2, 6: 3}}.get({a}, 1)", "pow({a}, 2)", "int(str({a}))", "len(str({a}))",
    "sorted([{a}, {b}, 3])[1]", "int(np.ceil({a} / 2))", "int(np.sqrt({a}))", "int(bool({a}))",
    "(1 if isinstance({a}, int) else 2)", "(1 if type({a}) is int else 2)",
    "int({a} in (2, 4, 6))", "sum(range({a}))", "(5, 6, 7)[min({a}, 2)]", "~{a} + {a} + 2",
    "({a} << 1) >> 1", "{a} ^ 1", "int({a} and {b})", "({a} or 3)", "np.int64({a}) + 1",
    "min(*[{a}, {b}])", "math.gcd({a}, {b})", "sorted(({a}, {b}))[0]", "{a} | 1",
    "max([{a}, 2], key=lambda i: -i)", "len(({a},) * 2)", "int({a}.real)",
)  # fmt: skip
FLOATS = (
    "math.sqrt({a})", "{a} ** 0.5", "float({a})", "{a} / 2", "math.log({a} + 1)", "1 / ({a} + 1)",
    "{a} * 0.5", "({a} + 1) ** -0.5", "math.sqrt({a} * {b})", "{a} / ({b} + 1)",
)  # fmt: skip
CONDITIONS = (
    "{a} > 4", "{a} < {b}", "{a} % 2", "{a} % 2 == 0", "not {a} % 2", "{a} == {b}", "{a} == 1",
    "{a} != 0", "{a}", "not {a}", "2 < {a} < 9", "{a} <= {b} < 20", "{a} > 2 and {b} > 2",
    "{a} > 6 or {b} % 2", "{a} in (2, 4)", "{a} * {b} > 20", "{a} // 2 >= {b} - 3",
    "{a} / 2 > 2.5", "int({a} * 0.5) > 1", "{a} ** 0.5 > 2", "math.ceil({a} / 3) == 2",
    "isinstance({a}, int)", "type({a}) is int", "max({a}, {b}) > 5", "({a} - {b}) % 2 == 0",
    "bool({a} > 3)", "all(s > 1 for s in ({a}, {b}))", "{a} is not None and {a} > 3",
    "({a}, {b}) == (4, 4)", "({a}, 1) < ({b}, 2)", "{a} * 2 == {b}", "any([{a} == 3, {b} == 3])",
    "{a} - {b} > 0",
)  # fmt: skip


def size(g: Generator) -> str:
    """A size, as models read it; or a number that has been computed from some."""
    numbers = g.numbers()
    if numbers and g.rng.random() < 0.4:
        return g.rng.choice(numbers)
    name = g.pick(rank=1, floats=False)
    if name is None:
        return "3"
    return size_of(g, name, g.rng.randrange(g.rank(name)))


def size_of(g: Generator, name: str, axis: int) -> str:
    ways = [f"{name}.shape[{axis}]", f"{name}.size({axis})", f"{name}.shape[{axis - g.rank(name)}]"]
    if axis == 0 and g.rng.random() < 0.03:  # which makes a number of it
        return f"len({name})"
    if g.rank(name) == 1:
        ways.append(f"{name}.numel()")
    return g.rng.choice(ways)


def number(g: Generator, *, odd: float = 0.06) -> str:
    """An integer; with some probability one that cannot be followed at all sizes."""
    roll = g.rng.random()
    kinds = TAKEN if roll < odd / 3 else THROUGH_FLOATS if roll < odd else ARITHMETIC
    if g.rng.random() < 0.35:
        return size(g)
    return f"({g.rng.choice(kinds).format(a=size(g), b=size(g))})"


def real(g: Generator) -> str:
    return f"({g.rng.choice(FLOATS).format(a=size(g), b=size(g))})"


def condition(g: Generator) -> str:
    return g.rng.choice(CONDITIONS).format(a=size(g), b=size(g))
