"""Integers that stand for floats."""

from __future__ import annotations

import numpy as np
from tests.fuzz.onnx_graphs.generator import Generator, Unfit
from tests.fuzz.onnx_graphs.moves.layers import fixed_columns
from tests.fuzz.onnx_graphs.moves.windows import window

BYTES = ("uint8", "int8")
SCALES = (0.05, 0.1, 0.037, 0.5)


def scale(g: Generator, dtype: str = "float32", *shape: int) -> str:
    count = int(np.prod(shape, dtype=int))
    numbers = np.array([g.rng.choice(SCALES) for _ in range(count)], dtype)
    return g.array(numbers.reshape(shape))


def zero(g: Generator, dtype: str, *shape: int) -> str:
    low = 0 if dtype[0] == "u" else -3
    numbers = np.array([g.rng.randint(low, 5) for _ in range(int(np.prod(shape, dtype=int)))])
    return g.array(numbers.reshape(shape).astype(dtype))


def rounded(g: Generator) -> None:
    """For all, or for each slice of an axis."""
    kinds = ("float32", "float32", "float16") if g.opset >= 19 else ("float32",)
    x = g.pick(kinds)
    if not all(np.isfinite(v).all() for v in g.each(x)):
        raise Unfit
    to = g.rng.choice((*BYTES, *BYTES, *(("int16", "uint16") if g.opset >= 21 else ())))
    if g.rng.random() < 0.6 or not g.rank(x):
        given = (
            scale(g, g.dtype(x)),
            *((zero(g, to),) if g.rng.random() < 0.7 or to != "uint8" else ()),
        )
        made = g.node("QuantizeLinear", x, *given)
        axis = None
    else:
        axis = g.axis(x)
        size = g.fixed(x, axis)
        given = (scale(g, g.dtype(x), size), zero(g, to, size))
        made = g.node("QuantizeLinear", x, *given, axis=axis if g.opset >= 13 else None)
    if g.rng.random() < 0.6:
        g.node("DequantizeLinear", made, *given, axis=axis)


def blocked(g: Generator) -> None:
    if g.opset < 21:
        raise Unfit
    x = fixed_columns(g, ("float32",))
    size, block = g.fixed(x, -1), g.rng.choice((2, 3, 4))
    if g.rank(x) != 1 and len({v.shape for v in g.each(x)}) != 1:
        raise Unfit
    shape = (*g.each(x)[0].shape[:-1], -(-size // block))
    given = (scale(g, "float32", *shape), zero(g, "int8", *shape))
    g.node("QuantizeLinear", x, *given, axis=-1, block_size=block)


def real(g: Generator) -> None:
    x = g.pick((*BYTES, "int32"))
    point = (zero(g, g.dtype(x)),) if g.dtype(x) in BYTES and g.rng.random() < 0.6 else ()
    g.node("DequantizeLinear", x, scale(g), *point)


def dynamic(g: Generator) -> None:
    x = g.pick(("float32",))
    if not all(np.isfinite(v).all() for v in g.each(x)):
        raise Unfit
    parts = g.several("DynamicQuantizeLinear", 3, x)
    if g.rng.random() < 0.6:
        g.node("DequantizeLinear", *parts)


def pair(g: Generator, columns: int | None = None) -> tuple[str, str, int]:
    """Operands of a product of bytes, and how many columns it has."""
    x = fixed_columns(g, BYTES)
    if not g.fixed(x, -1):
        raise Unfit  # onnxruntime leaves what it finds in memory
    columns = columns or g.rng.choice((1, 3, 16))
    return x, g.random_constant(g.rng.choice(BYTES), g.fixed(x, -1), columns), columns


def product(g: Generator) -> None:
    x, y, columns = pair(g)
    points = [zero(g, g.dtype(x)), zero(g, g.dtype(y), *g.rng.choice(((), (columns,))))]
    found = g.node("MatMulInteger", x, y, *points[: g.rng.randint(0, 2)])
    if g.rng.random() < 0.5:
        g.node("Mul", g.node("Cast", found, to=1), scale(g))


def rounded_product(g: Generator) -> None:
    x, y, columns = pair(g)
    shape = g.rng.choice(((), (), (columns,)))
    to = g.dtype(x)
    g.node("QLinearMatMul", x, scale(g), zero(g, to), y, scale(g, "float32", *shape),
           zero(g, g.dtype(y), *shape), scale(g), zero(g, to))  # fmt: skip


def byte_image(g: Generator) -> str:
    found = [n for n in g.names(BYTES, (3, 4)) if len(set(g.size(n, 1))) == 1 and all(g.size(n, 1))]
    if found and g.rng.random() < 0.6:
        return g.rng.choice(found)
    channels = g.rng.choice((1, 2, 4))
    return g.input(g.rng.choice(BYTES), "n", channels, *("m", "k")[: g.rng.choice((1, 2, 2))])


def convolution(g: Generator) -> None:
    x = byte_image(g)
    channels = g.fixed(x, 1)
    group = g.rng.choice([n for n in (1, 1, channels) if channels % n == 0])
    kernel, made = window(g, x)
    out = group * g.rng.choice((1, 2))
    weight = g.random_constant(g.rng.choice(BYTES), out, channels // group, *kernel)
    made |= {"group": group} if group > 1 else {}
    if g.rng.random() < 0.4:
        points = [zero(g, g.dtype(x)), zero(g, g.dtype(weight))]
        g.node("ConvInteger", x, weight, *points[: g.rng.randint(0, 2)], **made)
        return
    shape = g.rng.choice(((), (out,)))
    bias = (g.random_constant("int32", out),) if g.rng.random() < 0.5 else ()
    g.node("QLinearConv", x, scale(g), zero(g, g.dtype(x)), weight, scale(g, "float32", *shape),
           zero(g, g.dtype(weight)), scale(g), zero(g, g.dtype(x)), *bias, **made)  # fmt: skip


QUANTIZED = (rounded, rounded, rounded, blocked, real, dynamic, product, product, rounded_product,
             convolution, convolution)  # fmt: skip
