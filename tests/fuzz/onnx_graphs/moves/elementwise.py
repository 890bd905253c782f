"""Elements one by one: functions, arithmetic, logic, conversions."""

from __future__ import annotations

import numpy as np
from tests.fuzz.onnx_graphs.generator import DTYPES, FLOATS, INTEGERS, Generator, Unfit
from tests.fuzz.onnx_graphs.program import Type

FUNCTIONS = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Exp", "Log",
    "Sigmoid", "Sin", "Sinh", "Sqrt", "Tan", "Tanh", "Ceil", "Floor", "Round", "Reciprocal",
    "Softplus", "Softsign", "HardSwish", "Mish", "IsNaN",
)  # fmt: skip
OF_NUMBERS = ("Abs", "Neg", "Sign", "Relu", "Identity", "BitwiseNot")
WITH_ALPHA = ("Elu", "LeakyRelu", "ThresholdedRelu", "Celu", "Swish")
ARITHMETIC = ("Add", "Sub", "Mul", "Add", "Mul", "Max", "Min", "Pow", "PRelu")
COMPARISONS = ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
NUMBERS = (*FLOATS, *FLOATS, *INTEGERS)


def function(g: Generator) -> None:
    g.node(g.rng.choice(FUNCTIONS), g.pick(FLOATS))


def of_numbers(g: Generator) -> None:
    g.node(g.rng.choice(OF_NUMBERS), g.pick(NUMBERS))


def _some(g: Generator, *numbers: float) -> float | None:
    return g.rng.choice((None, *numbers))


def with_attributes(g: Generator) -> None:
    x = g.pick(FLOATS)
    match g.rng.randrange(7):
        case 0:
            g.node(g.rng.choice(WITH_ALPHA), x, alpha=_some(g, 0.3, 1.5, 2.0))
        case 1:
            g.node("Selu", x, alpha=_some(g, 0.7), gamma=_some(g, 2.0))
        case 2:
            g.node("HardSigmoid", x, alpha=_some(g, 0.1), beta=_some(g, 0.25, 0.9))
        case 3:
            x = g.pick(("float32", *INTEGERS))  # onnxruntime computes f64 in f32
            g.node("Shrink", x, bias=_some(g, 0.5, 2.0), lambd=_some(g, 0.0, 1.5))
        case 4:
            g.node("Gelu", x, approximate=g.rng.choice((None, "none", "tanh")))
        case 5:
            flags = (g.rng.choice((None, 0, 1)) for _ in range(2))
            with_infinities = g.node("Div", x, g.constant(0.0, g.dtype(x)))
            g.node(
                "IsInf",
                with_infinities,
                **dict(zip(("detect_negative", "detect_positive"), flags, strict=True)),
            )
        case _:
            axis = g.axis(x) if g.opset >= 13 else g.axis(x) % g.rank(x)
            op = g.rng.choice(("Softmax", "LogSoftmax", "Hardmax"))
            g.node(op, x, axis=g.rng.choice((None, axis, axis)))


def other(g: Generator, x: str) -> str:
    """An operand of the same dtype that may broadcast with it."""
    dtype = g.dtype(x)
    found = [name for name in g.names((dtype,)) if _broadcasts(g, x, name)]
    if found and g.rng.random() < 0.6:
        return g.rng.choice(found)
    if g.rng.random() < 0.3:
        dims = [each.dims for each in g.inputs if each.name == x]
        kept = dims[0][g.rng.randint(0, len(dims[0])) :] if dims else ()
        return g.input(dtype, *(dim if g.rng.random() < 0.8 else 1 for dim in kept))
    shape: list[int] = []
    for axis in range(-g.rng.randint(0, g.rank(x)), 0):
        sizes = set(g.size(x, axis))
        shape.append(sizes.pop() if len(sizes) == 1 and g.rng.random() < 0.7 else 1)
    return g.random_constant(dtype, *shape)


def _broadcasts(g: Generator, x: str, y: str) -> bool:
    try:
        for a, b in zip(g.each(x), g.each(y), strict=True):
            np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


def arithmetic(g: Generator) -> None:
    x = g.pick(NUMBERS)
    pair = [x, other(g, x)]
    g.rng.shuffle(pair)
    g.node(g.rng.choice(ARITHMETIC), *pair)


def power(g: Generator) -> None:
    x = g.pick(NUMBERS)
    dtype = g.rng.choice((*FLOATS, "int64", "int32"))
    exponent = g.rng.choice((0, 1, 2, 3) if dtype[0] == "i" else (0.0, 0.5, 1.0, 2.0, 3.0, -1.0))
    g.node("Pow", x, g.constant(exponent, dtype))


def division(g: Generator) -> None:
    """Integers are not divided by 0: that ends the process."""
    x = g.pick(NUMBERS)
    y = other(g, x)
    is_float = g.is_float(x)
    if not is_float and any((value == 0).any() for value in g.values[y] if value is not None):
        y = g.constant(g.rng.choice((1, 2, 3, 7)), g.dtype(x))
    if g.rng.random() < 0.5:
        g.node("Div", x, y)
        return
    if is_float and any((value == 0).any() for value in g.values[y] if value is not None):
        y = g.constant(g.rng.choice((0.5, 1.5, -2.0)), g.dtype(x))
    g.node("Mod", x, y, fmod=1 if is_float else g.rng.choice((None, 0, 1)))


def several(g: Generator) -> None:
    x = g.pick(NUMBERS)
    others = (other(g, x) for _ in range(g.rng.randint(0, 3)))
    g.node(g.rng.choice(("Sum", "Mean", "Max", "Min")), x, *others)


def comparison(g: Generator) -> None:
    x = g.pick(DTYPES)
    g.node(g.rng.choice(COMPARISONS), x, other(g, x))


def truth(g: Generator) -> None:
    x = g.pick(("bool",))
    op = g.rng.choice(("And", "Or", "Xor", "Not", "Where"))
    if op == "Not":
        g.node("Not", x)
    elif op == "Where":
        y = g.pick(DTYPES)
        g.node("Where", x, y, other(g, y))
    else:
        g.node(op, x, other(g, x))


def bits(g: Generator) -> None:
    x = g.pick(INTEGERS)
    op = g.rng.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "BitShift"))
    if op != "BitShift":
        g.node(op, x, other(g, x))
        return
    dtype = g.dtype(x)
    places = g.constant(g.rng.randrange(int(np.dtype(dtype).itemsize) * 8), dtype)
    g.node(op, x, places, direction=g.rng.choice(("LEFT", "RIGHT")))


def cast(g: Generator) -> None:
    """Floats that no integer is near to have no meaning as one."""
    x, to = g.pick(DTYPES), g.rng.choice(DTYPES)
    if not _has_meaning(g, x, to):
        raise Unfit
    if g.opset >= 15 and g.rng.random() < 0.2:
        g.node("CastLike", x, g.constant(1, to))
        return
    g.node("Cast", x, to=Type(to).code)


def _has_meaning(g: Generator, x: str, to: str) -> bool:
    if not g.is_float(x) or np.dtype(to).kind not in "iu":
        return True
    bounds = np.iinfo(to)
    low, high = max(bounds.min, -(2**31)), min(bounds.max, 2**31)
    return all(bool(((v > low - 1) & (v < high)).all()) for v in g.each(x))


def clip(g: Generator) -> None:
    x = g.pick(NUMBERS)
    low, high = g.rng.choice((-2, 0, 1)), g.rng.choice((0, 2, 3))
    if g.dtype(x)[0] == "u":
        low = abs(low)
    if g.opset < 11:
        g.node("Clip", x, min=_some(g, float(low)), max=_some(g, float(high)))
        return
    bounds = [g.constant(n, g.dtype(x)) if g.rng.random() < 0.7 else "" for n in (low, high)]
    g.node("Clip", x, *bounds)


def dropout(g: Generator) -> None:
    g.several("Dropout", g.rng.choice((1, 1, 2)), g.pick(FLOATS))


ELEMENTWISE = (
    function, of_numbers, with_attributes, arithmetic, arithmetic, power, division, several,
    comparison, truth, bits, cast, cast, clip, dropout,
)  # fmt: skip
