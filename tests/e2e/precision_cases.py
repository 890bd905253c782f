"""Sums in all forms, each written for anyshape, NumPy and torch, and the inputs they meet."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np
import torch

import anyshape as ash
from anyshape.frontend.builder.tracer import active

Function = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """A computation on tensors of these shapes; NumPy's form also gives the exact result."""

    shapes: tuple[tuple[int, ...], ...]
    ours: Function
    numpy: Function
    torch: Function
    dtypes: tuple[str, ...] = ("f16", "bf16", "f32", "f64")
    sums: int = 1  # one after the other: a variance is of a mean


def jitted(case: Case, dtype: str) -> Any:
    """Compiled for any sizes: every size is an axis, the same one where sizes are equal."""
    types = [getattr(ash, dtype)[tuple(f"n{size}" for size in shape)] for shape in case.shapes]
    source = case.ours
    function = FunctionType(source.__code__, source.__globals__, source.__name__)
    function.__annotations__ = dict(zip(signature(source).parameters, types, strict=True))
    return ash.jit(function)


def _softmax(x: Any) -> Any:
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def _attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(np.asarray(q.shape[-1], q.dtype))
    return _softmax(scores) @ v


def _our_attention(q: Any, k: Any, v: Any) -> Any:
    return ash.attention(q, k, v)


def _counts(x: Any, y: Any) -> Any:
    """Rows of x added where the columns of y are largest."""
    total = np.zeros((y.shape[1], x.shape[1]), x.dtype)
    np.add.at(total, np.argmax(y, 1), x)
    return total


def _torch_counts(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    total = torch.zeros((y.shape[1], x.shape[1]), dtype=x.dtype)
    return total.index_add(0, y.argmax(1), x)


def _our_counts(x: Any, y: Any) -> Any:
    start = ash.zeros((y.shape[1], x.shape[1]), x.dtype)
    return active().emit("scatter", start, ash.argmax(y, 1), x, axis=0, combine="add")


WIDE = ("f32", "f64")

CASES = {
    "sum, last": Case(((3, 40_000),), *(lambda x: x.sum(-1),) * 3),
    "sum, last of 300": Case(((30, 300),), *(lambda x: x.sum(-1),) * 3, WIDE),
    "sum, first": Case(((40_000, 3),), *(lambda x: x.sum(0),) * 3),
    "sum, first of many columns": Case(((5_000, 130),), *(lambda x: x.sum(0),) * 3, WIDE),
    "sum, middle": Case(((2, 20_000, 3),), *(lambda x: x.sum(1),) * 3),
    "sum, first and last": Case(
        ((200, 3, 150),), *(lambda x: x.sum((0, 2)),) * 3, WIDE
    ),
    "sum, all": Case(((300, 401),), *(lambda x: x.sum(),) * 3),
    "mean, last": Case(((3, 40_000),), *(lambda x: x.mean(-1),) * 3, WIDE),
    "mean, first": Case(((10_000, 3),), *(lambda x: x.mean(0),) * 3),
    "var, last": Case(
        ((3, 20_000),), lambda x: x.var(-1), lambda x: x.var(-1),
        lambda x: x.var(-1, correction=0), WIDE, sums=2,
    ),
    "var, first": Case(
        ((20_000, 3),), lambda x: x.var(0), lambda x: x.var(0),
        lambda x: x.var(0, correction=0), WIDE, sums=2,
    ),
    "norm, last": Case(
        ((3, 40_000),), lambda x: ash.sqrt((x * x).sum(-1)), lambda x: np.sqrt((x * x).sum(-1)),
        lambda x: (x * x).sum(-1).sqrt(),
    ),
    "sum of products, first": Case(
        ((20_000, 3), (20_000, 3)), *(lambda x, y: (x * y).sum(0),) * 3, WIDE
    ),
    "sum where positive": Case(
        ((40_000, 3),), lambda x: ash.where(x > 0, x, 0).sum(0),
        lambda x: np.where(x > 0, x, 0).sum(0), lambda x: torch.where(x > 0, x, 0).sum(0), WIDE,
    ),
    "softmax": Case(
        ((2, 40_000),), lambda x: ash.softmax(x, -1), _softmax, lambda x: x.softmax(-1), WIDE
    ),
    "dot of vectors": Case(((200_003,), (200_003,)), *(lambda x, y: x @ y,) * 3, WIDE),
    "matrix and vector": Case(((5, 50_000), (50_000,)), *(lambda x, y: x @ y,) * 3, WIDE),
    "product": Case(((7, 20_000), (20_000, 40)), *(lambda x, y: x @ y,) * 3),
    "product, transposed": Case(
        ((2, 50_000), (3, 50_000)), lambda x, y: x @ y.mT, lambda x, y: x @ y.T,
        lambda x, y: x @ y.mT, WIDE,
    ),
    "attention": Case(
        ((1, 2, 20, 8), (1, 2, 3_000, 8), (1, 2, 3_000, 10)), _our_attention, _attention,
        torch.nn.functional.scaled_dot_product_attention, WIDE,
    ),
    "attention of one query": Case(
        ((1, 2, 1, 8), (1, 2, 3_000, 8), (1, 2, 3_000, 10)), _our_attention, _attention,
        torch.nn.functional.scaled_dot_product_attention, WIDE,
    ),
    "rows added where data say": Case(
        ((10_000, 3), (10_000, 4)), _our_counts, _counts, _torch_counts
    ),
}  # fmt: skip


def _biased(shape: tuple[int, ...], draw: int) -> Any:
    del draw
    return np.full(shape, 0.1)


def _normal(shape: tuple[int, ...], draw: int) -> Any:
    return np.random.default_rng((sum(shape), draw)).standard_normal(shape)


def _alternating(shape: tuple[int, ...], draw: int) -> Any:
    del draw
    return np.resize([1.1, -1.0, 0.3], shape) * np.linspace(1, 2, shape[0] or 1).reshape(
        -1, *(1,) * (len(shape) - 1)
    )


INPUTS = {"biased": _biased, "normal": _normal, "alternating": _alternating}
"""Of a shape, and the number of a draw, which only the random one has several of."""
