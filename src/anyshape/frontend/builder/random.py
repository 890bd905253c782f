"""Random numbers from explicit keys: the same key and shape give the same numbers.

A key is two u32 words: an input of the function, `key(seed)` with a constant, or `new_key()`,
which asks the operating system at every run. `split` makes keys that are independent of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anyshape.frontend.builder.convert import ArrayLike, asarray
from anyshape.frontend.builder.source import Sizes, make_shape
from anyshape.frontend.builder.tracer import active
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.types import DType, f32

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor


def key(seed: int) -> Tensor:
    """The key of a constant seed below 2**64."""
    return asarray(np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32))


def new_key() -> Tensor:
    """A key that differs in every run. It is an effect: such keys are drawn in program order."""
    tracer = active()
    if tracer.parent is not None:
        raise tracer.refuse(
            "random.new_key() inside a branch or loop",
            "draw the key outside, and split it: ash.random.split(key, n)",
        )
    token = tracer.token or tracer.node("token", (), NO_ATTRS)[0].value
    drawn, after = tracer.node("entropy", (token,), NO_ATTRS)
    tracer.token = after.value
    return drawn


def split(key: Tensor, count: int = 2) -> list[Tensor]:
    """Independent keys."""
    words = bits(key, (count, 2), stream=2)
    return [words[index] for index in range(count)]


def bits(key: Tensor, shape: Sizes, stream: int = 0) -> Tensor:
    """Uniform u32 words; streams of one key are independent."""
    return active().emit("random_bits", key, shape=make_shape(shape), stream=stream)


def uniform(
    key: Tensor, shape: Sizes, low: ArrayLike = 0.0, high: ArrayLike = 1.0, dtype: DType = f32
) -> Tensor:
    """Uniform in [low, high)."""
    unit = active().emit("random_uniform", key, shape=make_shape(shape), dtype=dtype)
    if isinstance(low, float) and isinstance(high, float) and (low, high) == (0.0, 1.0):
        return unit
    lowest = asarray(low, dtype)
    return unit * (asarray(high, dtype) - lowest) + lowest


def normal(key: Tensor, shape: Sizes, dtype: DType = f32) -> Tensor:
    """Mean 0, variance 1."""
    return active().emit("random_normal", key, shape=make_shape(shape), dtype=dtype)
