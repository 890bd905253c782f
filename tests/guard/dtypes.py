"""Graphs of every family in every dtype it has, and what NumPy says of the products.

A product is named by its einsum, `km,kn->mn` where lhs is transposed; z is a batch.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import anyshape as ash
from anyshape.ir import Graph, parse
from anyshape.ir.types import ALL_DTYPES, FLOATS, NUMERIC, DType

ORDERS = ("mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->mn", "zkm,znk->zmn")

PRODUCT = """
axes {{ {axes} }}
graph product(x: {dtype}[{lhs}], y: {dtype}[{rhs}]) -> {dtype}[{result}] {{
  %0 = dot(x, y) {{{attrs}}} : {dtype}[{result}]
  return %0
}}
"""


DEEPEST = 20_000
"""Of products: deeper ones are computed in parts too, and are then several kernels."""


def product(dtype: DType, order: str) -> Graph:
    lhs, rhs, result = order.replace("->", ",").split(",")
    attrs = f"contract=([{lhs.index('k')}], [{rhs.index('k')}])"
    attrs += ", batch=([0], [0])" if "z" in result else ""
    axes = " ".join(f"{axis}: 0..{DEEPEST * (axis == 'k') or ''}" for axis in sorted({*lhs, *rhs}))
    shapes = {"lhs": ", ".join(lhs), "rhs": ", ".join(rhs), "result": ", ".join(result)}
    return parse(PRODUCT.format(dtype=dtype, attrs=attrs, axes=axes, **shapes))


def products(order: str) -> tuple[Graph, ...]:
    return tuple(product(dtype, order) for dtype in NUMERIC)


def constant_products() -> tuple[Graph, ...]:
    """Weights in panels, as they are and transposed."""
    return tuple(graph for dtype in NUMERIC for graph in _with_constants(dtype))


def _with_constants(dtype: DType) -> tuple[Graph, Graph]:
    weights = np.arange(33 * 70).reshape(33, 70).astype(dtype.numpy)

    @ash.jit
    def rows(x: dtype["m", 33]):  # type: ignore[valid-type]
        return x @ weights

    @ash.jit
    def columns(x: dtype[33, "m"]):  # type: ignore[valid-type]
        return x.mT @ weights

    return rows.graph, columns.graph


def grouped() -> tuple[Graph, ...]:
    return tuple(map(_grouped, NUMERIC))


def _grouped(dtype: DType) -> Graph:
    @ash.jit
    def product(
        x: dtype["m", "k"], w: dtype["c", "k", "n"], ends: ash.i64["c"]  # type: ignore[valid-type]
    ):  # fmt: skip
        return ash.grouped_dot(x, w, ends)

    return product.graph


def attentions() -> tuple[Graph, ...]:
    return tuple(graph for dtype in FLOATS for graph in _attentions(dtype))


def _attentions(dtype: DType) -> tuple[Graph, ...]:
    @ash.jit
    def causal(
        q: dtype["a", 2, "s", 24], k: dtype["a", 2, "t", 24], v: dtype["a", 2, "t", 40]  # type: ignore[valid-type]
    ):  # fmt: skip
        return ash.attention(q, k, v, causal="bottom_right")

    @ash.jit
    def masked(
        q: dtype["a", 2, "s", 8], k: dtype["a", 1, "t", 8], v: dtype["a", 1, "t", 8],  # type: ignore[valid-type]
        mask: dtype["s", "t"],  # type: ignore[valid-type]
    ):  # fmt: skip
        return ash.attention(q, k, v, mask)

    return causal.graph, masked.graph


ANY = """
axes {{ a: 0.. b: 0.. c: 0.. }}
graph any(x: {0}[a, b], f: {0}[], i: i64[c], u: {0}[c, b], w: {0}[a, b, c]) -> (
    {0}[b, a], {0}[a + 3, b + 1], {0}[a + c, b], {0}[a, b], {0}[c, b], {0}[c, a, b], {0}[a, b // 2]
) {{
  %0 = transpose(x) {{perm=[1, 0]}} : {0}[b, a]
  %1 = pad(x, f) {{low=[1, 0], high=[2, 1]}} : {0}[a + 3, b + 1]
  %2 = concat(x, u) {{axis=0}} : {0}[a + c, b]
  %3 = scatter(x, i, u) {{axis=0}} : {0}[a, b]
  %4 = gather(x, i) {{axis=0}} : {0}[c, b]
  %5 = transpose(w) {{perm=[2, 0, 1]}} : {0}[c, a, b]
  %6, %7 = topk(x) {{axis=1, k=b // 2}}
  return %0, %1, %2, %3, %4, %5, %6
}}
"""
ROWS = """
axes {{ a: 1.. b: 1.. }}
graph rows(x: {0}[a, b]) -> ({0}[a], {0}[b], i64[a], i64[b], {0}[a, b], {0}[a, b], {0}[a, b]) {{
  %0 = max(x) {{axes=[1]}} : {0}[a]
  %1 = min(x) {{axes=[0]}} : {0}[b]
  %2 = argmax(x) {{axis=1}} : i64[a]
  %3 = argmin(x) {{axis=0}} : i64[b]
  %4 = cummax(x) {{axis=1}} : {0}[a, b]
  %5 = cummin(x) {{axis=0}} : {0}[a, b]
  %6, %7 = sort(x) {{axis=0}}
  return %0, %1, %2, %3, %4, %5, %6
}}
"""


def of_each(text: str, dtypes: Sequence[DType]) -> tuple[Graph, ...]:
    return tuple(parse(text.format(dtype)) for dtype in dtypes)


def exact(order: str, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The product by NumPy, of numbers whose sums are exact."""
    wide = np.int64 if np.issubdtype(x.dtype, np.integer) else np.float64
    return np.einsum(order, x.astype(wide), y.astype(wide)).astype(x.dtype)


FAMILIES = {
    **{f"dot {order}": lambda order=order: products(order) for order in ORDERS},
    "constants, every dtype": constant_products,
    "groups, every dtype": grouped,
    "attention, every dtype": attentions,
    "movement, every dtype": lambda: of_each(ANY, ALL_DTYPES),
    "rows, every dtype": lambda: of_each(ROWS, NUMERIC),
}
