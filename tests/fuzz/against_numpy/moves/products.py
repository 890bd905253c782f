"""Moves: products in all their forms, layers and control flow."""

from __future__ import annotations

from tests.fuzz.against_numpy.dtypes import FLOATS, INTEGERS, NoMeaning
from tests.fuzz.against_numpy.generator import Dim, Generator
from tests.fuzz.against_numpy.moves.elementwise import partner
from tests.fuzz.against_numpy.moves.reductions import axis_of
from tests.fuzz.against_numpy.program import Instruction

NUMERIC = (*FLOATS, *INTEGERS)


def known_dims(g: Generator) -> list[Dim]:
    return [dim for name in g.names for dim in g.dims(name)]


def like(g: Generator, name: str) -> str:
    """An element type, mostly that of a value."""
    return g.dtype(name) if g.rng.random() < 0.75 else g.rng.choice(NUMERIC)


def matching(g: Generator, dims: list[Dim | None], dtype: str) -> str:
    """A value of this shape (None: any size) or a new input, so that products fit."""
    fits = [
        name for name in g.names
        if g.rank(name) == len(dims) and g.dtype(name) != "bool"
        and all(want in (None, dim) for want, dim in zip(dims, g.dims(name), strict=True))
    ]  # fmt: skip
    if fits and g.rng.random() < 0.5:
        return g.rng.choice(fits)
    shape = [g.random_dim() if want is None else g.axis_text(want) for want in dims]
    if sum(text[0] == "?" for text in shape) > 1:
        raise NoMeaning("two sizes without a name")
    return g.add_input(dtype, shape)


def matmul(g: Generator) -> Instruction:
    left = g.pick(NUMERIC, least=1, most=4)
    dims = g.dims(left)
    shapes: list[list[Dim | None]] = [[dims[-1]], [dims[-1], None], [dims[-1], None]]
    if len(dims) > 2:
        shapes += [[*dims[:-2], dims[-1], None]] * 2
    return g.make("matmul", left, matching(g, g.rng.choice(shapes), like(g, left)))


def transposed_matmul(g: Generator) -> Instruction:
    """x.mT @ y, x @ y.mT: the form of operands that kernels care about."""
    left = g.pick(NUMERIC, least=2, most=4)
    dims = g.dims(left)
    batch = list(dims[:-2]) if g.rng.random() < 0.5 else []
    if g.rng.random() < 0.5:
        right = matching(g, [*batch, dims[-2], None], like(g, left))
        return g.make("matmul", f"{left}.mT", right)
    return g.make("matmul", left, f"{matching(g, [*batch, None, dims[-1]], like(g, left))}.mT")


def dot_general(g: Generator) -> Instruction:
    left = g.pick(NUMERIC, least=1, most=4)
    dims = g.dims(left)
    axes = g.rng.sample(range(len(dims)), g.rng.randint(1, min(2, len(dims))))
    batch = axes[1:] if g.rng.random() < 0.6 else []
    contract = [axis for axis in axes if axis not in batch]
    wanted: list[Dim | None] = [dims[axis] for axis in (*contract, *batch)]
    order = g.rng.sample(range(len(wanted) + 1), len(wanted) + 1)
    shape: list[Dim | None] = [[*wanted, None][i] for i in order]
    right = matching(g, shape, like(g, left))
    at = [order.index(i) for i in range(len(wanted))]
    pairs = (contract, at[: len(contract)]), (batch, at[len(contract) :])
    return g.make("dot_general", left, right, contract=pairs[0], batch=pairs[1])


def small_products(g: Generator) -> Instruction:
    left = g.pick(NUMERIC, least=1, most=3)
    if g.rng.random() < 0.5:
        return g.make("vecdot", left, partner(g, left, NUMERIC))
    return g.make("outer", left, g.pick(NUMERIC, most=2))


def einsum(g: Generator) -> Instruction:
    """Letters by size: one for each size, so that whatever is picked fits."""
    count = g.rng.choice((1, 2, 2, 2, 3))
    operands = [g.pick(NUMERIC, least=1, most=3) for _ in range(count)]
    letters: dict[Dim, str] = {}
    terms: list[str] = []
    for name in operands:
        term = ""
        for dim in g.dims(name):
            letter = letters.setdefault(dim, "ijklmnopqrs"[len(letters)])
            while letter in term:  # no letter twice in a term: a second one of this size
                letter = chr(ord(letter) - 32) if letter.islower() else chr(ord(letter) + 1)
            term += letter
        terms.append(term)
    every = list(dict.fromkeys("".join(terms)))
    result = g.rng.sample(every, g.rng.randint(0, min(3, len(every))))
    return g.make("einsum", *operands, equation=f'"{",".join(terms)}->{"".join(result)}"')


def grouped_dot(g: Generator) -> Instruction:
    left = g.pick(FLOATS, least=2, most=2)
    rows, width = g.dims(left)
    groups = g.rng.choice(("1", "2", "3", "5"))
    columns = g.axis_text(g.rng.choice(known_dims(g)))
    weights = g.add_input(g.dtype(left), [groups, g.axis_text(width), columns])
    dtype = g.rng.choice(("i64", "i32"))
    offsets = g.add_input(dtype, [groups], f"offsets:{g.axis_text(rows)}")
    return g.make("grouped_dot", left, weights, offsets)


def dense(g: Generator) -> Instruction:
    left = g.pick(FLOATS, least=1, most=3)
    weight = matching(g, [g.dims(left)[-1], None], g.dtype(left))
    operands = [left, weight]
    if g.rng.random() < 0.7:
        operands.append(matching(g, [g.dims(weight)[1]], g.dtype(left)))
    names = ("none", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid")
    return g.make("dense", *operands, activation=f'"{g.rng.choice(names)}"')


# --- layers ---------------------------------------------------------------------------------------


def softmax(g: Generator) -> Instruction:
    operand = g.pick(FLOATS, least=1)
    return g.make(g.rng.choice(("softmax", "log_softmax")), operand, axis=axis_of(g, operand))


def norm(g: Generator) -> Instruction:
    operand = g.pick(FLOATS, least=1)
    axis = axis_of(g, operand)
    inner = list(g.dims(operand))[axis % g.rank(operand) :]
    op = g.rng.choice(("layer_norm", "rms_norm"))
    most = 2 if op == "layer_norm" else 1
    weights = [matching(g, [*inner], g.dtype(operand)) for _ in range(g.rng.randint(0, most))]
    more = {"eps": g.rng.choice(("1e-5", "1e-3"))} if op == "rms_norm" else {}
    return g.make(op, operand, *weights, axis=axis, **more)


def attention(g: Generator) -> Instruction:
    dtype = g.rng.choice(("f32", "f32", "f16", "bf16", "f64"))
    sizes = [g.axis_text(dim) for dim in known_dims(g)]
    batch, rows, columns, width = (g.rng.choice([*sizes, "1", "3", "8"]) for _ in range(4))
    heads, shared = g.rng.choice((("1", "1"), ("2", "2"), ("4", "2"), ("3", "1"), ("4", "1")))
    out = g.rng.choice((width, "5"))
    query = g.add_input(dtype, [batch, heads, rows, width])
    key = g.add_input(dtype, [batch, shared, columns, width])
    value = g.add_input(dtype, [batch, shared, columns, out])
    operands = [query, key, value]
    if g.rng.random() < 0.5:
        shape = [g.rng.choice((batch, "1")), g.rng.choice((heads, "1")), rows, columns]
        mask = g.add_input(g.rng.choice(("bool", dtype)), shape[g.rng.choice((0, 2)) :])
        operands.append(mask)
    causal = g.rng.choice(("False", "False", "True", '"bottom_right"'))
    return g.make("attention", *operands, causal=causal, scale=g.rng.choice(("None", "0.5")))


# --- control flow ---------------------------------------------------------------------------------

STEPS = ("add", "subtract", "maximum", "minimum", "multiply")


def cond(g: Generator) -> Instruction:
    left = g.pick(NUMERIC)
    right = partner(g, left, NUMERIC)
    pred = g.add_input("bool", []) if g.rng.random() < 0.5 else g.pick(("bool",), most=0)
    return g.make("cond", pred, left, right, then=g.rng.choice(STEPS), other=g.rng.choice(STEPS))


def loop(g: Generator) -> Instruction:
    state = g.pick(FLOATS, most=3)
    fits = [n for n in g.names if g.dims(n) == g.dims(state) and g.dtype(n) == g.dtype(state)]
    other = g.rng.choice(fits)
    step = g.rng.choice(STEPS[:4])
    return g.make("while_loop", state, other, step=step, times=g.rng.randint(0, 4))


def scan(g: Generator) -> Instruction:
    items = g.pick(FLOATS, least=1, most=3)
    state = matching(g, [*g.dims(items)[1:]], g.dtype(items))
    if g.dtype(state) != g.dtype(items) or max(g.dims(items)[0]) > 20:
        raise NoMeaning("a long scan, or one of two types")
    step, output = g.rng.choice(STEPS[:4]), g.rng.choice(STEPS)
    reverse = g.rng.random() < 0.3
    return g.make("scan", state, items, results=2, step=step, output=output, reverse=reverse)


PRODUCTS = [
    *[matmul] * 3, *[transposed_matmul] * 2, dot_general, small_products, *[einsum] * 2,
    grouped_dot, *[dense] * 2,
]  # fmt: skip
LAYERS = [*[softmax] * 2, *[norm] * 2, *[attention] * 2, cond, loop, scan]
