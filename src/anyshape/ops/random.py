"""Random numbers from explicit keys, and the one effect that makes a key from nothing.

Philox 4x32-10 (Salmon et al., SC'11) is counter-based: element i of a draw is word i % 4 of block
i // 4, so any tile of a draw can be computed alone and results do not depend on how work is split.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshape.ir.attrs import Attrs
from anyshape.ir.build import Builder
from anyshape.ir.context import ShapeContext
from anyshape.ir.node import Region, Value
from anyshape.ir.opdef import Call, OpDef, Signature, Trait, register
from anyshape.ir.types import FLOATS, TOKEN, Array, DType, Shape, TokenType, Type, f32, f64, u32
from anyshape.ops.compose import Expr
from anyshape.ops.rules import check_allowed
from anyshape.sym import Dim

KEY_WORDS = 2
ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)  # what each round adds to the words of the key
_LOW = np.uint64(0xFFFFFFFF)


def philox(counters: Array, key: Array) -> Array:
    """All rounds on counters [n, 4] u32 with a key [2] u32."""
    words = [counters[:, lane].astype(np.uint64) for lane in range(4)]
    keys = [int(word) for word in key]
    for _ in range(ROUNDS):
        left, right = words[0] * MULTIPLIERS[0], words[2] * MULTIPLIERS[1]
        words = [
            (right >> np.uint64(32)) ^ words[1] ^ np.uint64(keys[0]),
            right & _LOW,
            (left >> np.uint64(32)) ^ words[3] ^ np.uint64(keys[1]),
            left & _LOW,
        ]
        keys = [(word + step) & 0xFFFFFFFF for word, step in zip(keys, WEYL, strict=True)]
    return np.stack(words, axis=1).astype(np.uint32)


@dataclass(frozen=True)
class BitsAttrs(Attrs):
    """Result shape; draws of one key with different streams are independent."""

    shape: tuple[Dim, ...]
    stream: int = 0


def _check_key(ctx: ShapeContext, key: Shape) -> None:
    if len(key) != 1:
        raise ctx.refuse_operand(f"key has rank {len(key)}, expected u32[{KEY_WORDS}]")
    ctx.require_equal(key[0], Dim.of(KEY_WORDS), "a key has two words")


def bits_shape(
    ctx: ShapeContext, shapes: Sequence[Shape], attrs: BitsAttrs | DrawAttrs, /
) -> tuple[Shape, ...]:
    _check_key(ctx, shapes[0])
    if isinstance(attrs, BitsAttrs) and not 0 <= attrs.stream <= int(_LOW):
        raise ctx.refuse_attribute("stream", f"must be a word of 32 bits, got {attrs.stream}")
    ctx.require_sizes(attrs.shape)
    return (attrs.shape,)


def _bits_dtype(op: str, dtypes: Sequence[DType], attrs: BitsAttrs, /) -> tuple[DType, ...]:
    check_allowed(f"{op} (key)", dtypes[0], (u32,))
    return (u32,)


def _bits(call: Call[BitsAttrs]) -> Array:
    shape = tuple(int(dim) for dim in call.attrs.shape)
    count = math.prod(shape)
    index = np.arange(-(-count // 4), dtype=np.uint64)
    counters = np.zeros((len(index), 4), np.uint32)
    counters[:, 0], counters[:, 1] = index & _LOW, index >> np.uint64(32)
    counters[:, 2] = call.attrs.stream
    return philox(counters, call.args[0]).reshape(-1)[:count].reshape(shape)


random_bits = register(
    OpDef(
        "random_bits",
        Signature(("key",)),
        BitsAttrs,
        _bits_dtype,
        bits_shape,
        reference=_bits,
        traits=frozenset({Trait.INDEXED}),
    )
)


# --- distributions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawAttrs(Attrs):
    """Shape and dtype of a draw."""

    shape: tuple[Dim, ...]
    dtype: DType = f32


def _draw_dtype(op: str, dtypes: Sequence[DType], attrs: DrawAttrs, /) -> tuple[DType, ...]:
    check_allowed(f"{op} (key)", dtypes[0], (u32,))
    check_allowed(op, attrs.dtype, FLOATS)
    return (attrs.dtype,)


def _unit(bits: Expr, bits_used: int, dtype: DType) -> Expr:
    """Uniform in [0, 1) from the upper bits, exactly representable in the result."""
    upper = bits.apply("floordiv", 1 << (32 - bits_used))
    return upper.cast(dtype if dtype is f64 else f32) * 2.0**-bits_used


def _uniform(b: Builder, operands: Sequence[Value], attrs: DrawAttrs, /) -> Value:
    bits = Expr(b, b.emit("random_bits", operands[0], shape=attrs.shape))
    used = {"f32": 24, "f64": 24, "f16": 11, "bf16": 8}[attrs.dtype.name]
    return _unit(bits, used, attrs.dtype).cast(attrs.dtype).value


def _normal(b: Builder, operands: Sequence[Value], attrs: DrawAttrs, /) -> Value:
    """Box-Muller: radius from one draw, angle from another."""
    draws = (b.emit("random_bits", operands[0], shape=attrs.shape, stream=s) for s in (0, 1))
    radius, angle = (_unit(Expr(b, draw), 24, attrs.dtype) for draw in draws)
    # 1 - u is in (0, 1], where the logarithm is finite.
    length = ((radius.apply("neg") + 1).apply("log") * -2.0).apply("sqrt")
    return (length * (angle * (2 * math.pi)).apply("cos")).cast(attrs.dtype).value


KEY = Signature(("key",))
random_uniform = register(
    OpDef("random_uniform", KEY, DrawAttrs, _draw_dtype, bits_shape, decompose=_uniform)
)
random_normal = register(
    OpDef("random_normal", KEY, DrawAttrs, _draw_dtype, bits_shape, decompose=_normal)
)


# --- effects --------------------------------------------------------------------------------------


def _token_type(
    ctx: ShapeContext, types: Sequence[Type], attrs: Attrs, regions: Sequence[Region], /
) -> tuple[Type, ...]:
    return (TOKEN,)


token = register(
    OpDef(
        "token",
        Signature(()),
        Attrs,
        type_rule=_token_type,
        reference=lambda call: np.zeros((), np.bool_),
        doc="The token that the first effect of a region takes.",
    )
)


def _entropy_type(
    ctx: ShapeContext, types: Sequence[Type], attrs: Attrs, regions: Sequence[Region], /
) -> tuple[Type, ...]:
    if not isinstance(types[0], TokenType):
        raise ctx.refuse_operand(f"takes a token, got {types[0]}")
    return (u32[KEY_WORDS], TOKEN)


def _entropy(call: Call[Attrs]) -> tuple[Array, ...]:
    words = np.array([secrets.randbits(32) for _ in range(KEY_WORDS)], np.uint32)
    return words, call.args[0]


entropy = register(
    OpDef(
        "entropy",
        Signature(("token",)),
        Attrs,
        type_rule=_entropy_type,
        reference=_entropy,
        traits=frozenset({Trait.EFFECT}),
        doc="A new key from the operating system: unseeded randomness, in a stated order.",
    )
)
