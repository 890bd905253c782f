"""Ops of `com.microsoft`."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.fuzz.onnx_graphs.generator import FLOATS, Generator, Unfit
from tests.fuzz.onnx_graphs.moves.layers import fixed_columns
from tests.fuzz.onnx_graphs.moves.quantized import BYTES, pair, scale, zero
from tests.fuzz.onnx_graphs.moves.reductions import flag
from tests.fuzz.onnx_graphs.program import MICROSOFT


def _node(
    g: Generator, op: str, *inputs: str, outputs: int = 1, **attributes: Any
) -> tuple[str, ...]:
    return g.several(op, outputs, *inputs, domain=MICROSOFT, **attributes)


def activation(g: Generator) -> None:
    op = g.rng.choice(("Gelu", "BiasGelu", "FastGelu", "QuickGelu"))
    if op in ("Gelu", "QuickGelu"):
        _node(g, op, g.pick(("float32",)))
        return
    x = fixed_columns(g, ("float32",))
    bias = (g.random_constant("float32", g.fixed(x, -1)),)
    _node(g, op, x, *(bias if op == "BiasGelu" or g.rng.random() < 0.5 else ()))


def norm(g: Generator) -> None:
    x = fixed_columns(g, FLOATS, 2)
    rows = [g.random_constant(g.dtype(x), g.fixed(x, -1)) for _ in range(3)]
    skip = g.node("Neg", x) if g.rng.random() < 0.5 else g.node("Abs", x)
    if g.rng.random() < 0.6:
        op, given = "SkipLayerNormalization", rows[: g.rng.randint(1, 3)]
    else:
        op, given = "SkipSimplifiedLayerNormalization", rows[: g.rng.randint(1, 2)]
    _node(g, op, x, skip, *given, epsilon=g.rng.choice((None, 1e-3)))


def simplified(g: Generator) -> None:
    x = fixed_columns(g, ("float32", "float64"))
    g.node(
        "SimplifiedLayerNormalization", x, g.random_constant(g.dtype(x), g.fixed(x, -1)), axis=-1
    )


def product(g: Generator) -> None:
    x = fixed_columns(g, ("float32",), 2)
    rows, columns, turned = g.fixed(x, -1), g.rng.choice((1, 5, 16)), g.rng.choice((0, 1))
    y = g.random_constant("float32", *((columns, rows) if turned else (rows, columns)))
    _node(g, "FusedMatMul", x, y, transB=turned, alpha=g.rng.choice((None, 0.5)))


def gemm(g: Generator) -> None:
    x = fixed_columns(g, ("float32",), 2)
    if g.rank(x) != 2:
        raise Unfit
    rows, columns = g.fixed(x, -1), g.rng.choice((1, 5, 16))
    y, bias = g.random_constant("float32", rows, columns), g.random_constant("float32", columns)
    activation = g.rng.choice(("Relu", "Tanh", "Sigmoid"))
    _node(g, "FusedGemm", x, y, bias, activation=activation)


def few_bits(g: Generator) -> None:
    """Weights of four or eight bits, in blocks of 16."""
    x = fixed_columns(g, ("float32",))
    rows, columns, bits = g.fixed(x, -1), g.rng.choice((1, 5, 16)), 4
    if not rows:
        raise Unfit
    blocks = -(-rows // 16)
    source = np.random.default_rng(g.rng.randrange(2**32))
    weight = g.array(source.integers(0, 256, (columns, blocks, 16 * bits // 8)).astype(np.uint8))
    scales = scale(g, "float32", columns * blocks)
    points = (g.array(source.integers(0, 256, columns * -(-blocks * bits // 8)).astype(np.uint8)),)
    _node(g, "MatMulNBits", x, weight, scales, *points[: g.rng.randint(0, 1)], K=rows, N=columns,
          bits=bits, block_size=16)  # fmt: skip


def attention(g: Generator) -> None:
    hidden, heads = 8, g.rng.choice((1, 2))
    x = g.input("float32", g.rng.choice(("n", 2)), g.rng.choice(("m", "k")), hidden)
    if g.rng.random() < 0.5:
        weight, bias = g.random_constant("float32", hidden, 24), g.random_constant("float32", 24)
        _node(g, "Attention", x, weight, bias, num_heads=heads, unidirectional=flag(g))
        return
    other = g.node("Neg", x)
    _node(g, "MultiHeadAttention", x, other, x, num_heads=heads, unidirectional=flag(g))


def rotary(g: Generator) -> None:
    heads, width = g.rng.choice((1, 2)), 4
    x = g.input("float32", "n", "m", heads * width)
    tables = (g.random_constant("float32", 16, width // 2) for _ in range(2))
    _node(g, "RotaryEmbedding", x, g.constant([g.rng.choice((0, 2))]), *tables, interleaved=flag(g))


def byte_product(g: Generator) -> None:
    x, y, columns = pair(g)
    shape = g.rng.choice(((), (columns,)))
    match g.rng.randrange(3):
        case 0:
            real = fixed_columns(g, ("float32",))
            y = g.random_constant(g.rng.choice(BYTES), g.fixed(real, -1), columns)
            _node(g, "DynamicQuantizeMatMul", real, y, scale(g, "float32", *shape))
        case 1:
            points = (zero(g, g.dtype(x)), zero(g, g.dtype(y), *shape))
            _node(g, "MatMulIntegerToFloat", x, y, scale(g), scale(g, "float32", *shape), *points)
        case _:
            if g.rank(x) != 2:
                raise Unfit
            points = (scale(g), zero(g, g.dtype(x)), y, scale(g), zero(g, g.dtype(y)))
            bias = g.random_constant("int32", columns)
            last = (scale(g), zero(g, g.dtype(x))) if g.rng.random() < 0.6 else ()
            _node(g, "QGemm", x, *points, bias, *last, alpha=1.0)


def byte_function(g: Generator) -> None:
    x = g.pick(BYTES, range(1, 5))
    to = g.dtype(x)
    own, result = (scale(g), zero(g, to)), (scale(g), zero(g, to))
    match g.rng.randrange(6):
        case 0:
            _node(g, "QLinearSigmoid", x, *own, *result)
        case 1:
            _node(g, "QLinearLeakyRelu", x, *own, *result, alpha=0.2)
        case 2:
            op = g.rng.choice(("QLinearAdd", "QLinearMul"))
            _node(g, op, x, *own, x, scale(g), zero(g, to), *result)
        case 3:
            _node(g, "QLinearGlobalAveragePool", x, *own, *result, channels_last=flag(g))
        case 4:
            _node(g, "QLinearSoftmax", x, *own, *result, axis=g.axis(x), opset=13)
        case _:
            _node(g, "QLinearConcat", *result, x, *own, x, scale(g), zero(g, to), axis=g.axis(x))


CONTRIB = (activation, norm, simplified, product, gemm, few_bits, attention, rotary, byte_product,
           byte_function)  # fmt: skip
