"""Graphs whose kernels are run between protected pages: a few of every family."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.guard import dtypes

import anyshape as ash
from anyshape.ir import Graph, parse
from anyshape.passes import run_passes
from anyshape.passes.winograd import Winograd

RNG = np.random.default_rng(7)


def weight(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


# --- map ------------------------------------------------------------------------------------------


@ash.jit
def elementwise(x: ash.f32["a", "b"], y: ash.f32["b"], z: ash.f32["a", 1]):
    return ash.tanh(x + y) * z - ash.exp(-x), x > y


@ash.jit
def narrow(x: ash.f16["a", "b"], y: ash.bf16["b"], z: ash.i8["a", "b"]):
    return x * 2.0, y + 1.0, z + z


@ash.jit
def casts(x: ash.f32["a", "b"], y: ash.i32["a", "b"], z: ash.u8["a"]):
    return x.astype(ash.i32), x.astype(ash.bf16), y.astype(ash.f64), z.astype(ash.f16), y != 0


@ash.jit
def transposes(x: ash.f32["a", "b", "c"], y: ash.i16["a", "b"]):
    return x.transpose(2, 0, 1) * 2.0, x.swapaxes(0, 1) + 1.0, y.T + y.T


@ash.jit
def pads(x: ash.f32["a", "b"]):
    return ash.pad(x, [(1, 2), (3, 0)]) * 2.0, ash.pad(x, [(0, 1), (0, 5)])


@ash.jit
def concats(x: ash.f32["a", "b"], y: ash.f32["a", "c"], z: ash.f32["c", "b"]):
    return ash.concat([x, y, x], axis=1) + 1.0, ash.concat([x, z], axis=0)


@ash.jit
def slices(x: ash.f32["a", "2*b", "c"]):
    return x[:, ::2] + x[:, 1::2], x[:, ::-1] * 2.0, x[..., None] + 1.0


# --- data decide where ----------------------------------------------------------------------------


@ash.jit
def gathers(table: ash.f32["v", "c"], ids: ash.i64["a", "b"]):
    return ash.take(table, ids, axis=0) * 2.0


@ash.jit
def elements(x: ash.f32["a", "v"], ids: ash.i32["b"]):
    return ash.take(x, ids, axis=1) + 1.0


TIED = weight(4161, 65)


@ash.jit
def tied(ids: ash.i64["a"], more: ash.i32["b"]):
    rows = ash.softmax(ash.take(TIED, ids, axis=0))
    return rows, ash.einsum("bk,vk->bv", ash.take(TIED, more, axis=0), TIED)


SCATTERED = """
axes { a: 0.. b: 0.. c: 0.. }
graph slices(x: f32[a, b], i: i64[c], u: f32[c, b], v: f32[a, c]) -> (f32[a, b], f32[a, b]) {
  %0 = scatter(x, i, u) {axis=0, combine=add} : f32[a, b]
  %1 = scatter(x, i, v) {axis=1} : f32[a, b]
  return %0, %1
}
"""
SCATTERED_ALONG = """
axes { a: 0.. b: 0.. c: 0.. }
graph elements(x: f16[a, b], i: i32[c, b], u: f16[c, b], j: u8[a, c], v: f16[a, c])
    -> (f16[a, b], f16[a, b], f16[c, b]) {
  %0 = scatter_along(x, i, u) {axis=0, combine=mul} : f16[a, b]
  %1 = scatter_along(x, j, v) {axis=1, combine=max} : f16[a, b]
  %2 = take_along(x, i) {axis=0} : f16[c, b]
  return %0, %1, %2
}
"""
SORTED = """
axes { a: 0.. b: 0.. }
graph sorted(x: f32[a, b], y: i64[a, b], z: bf16[a, b])
    -> (f32[a, b], i64[a, b], i64[a, b], i64[a, b], bf16[a, b // 2], i64[a, b // 2]) {
  %0, %1 = sort(x) {axis=1}
  %2, %3 = sort(y) {axis=0, descending=true}
  %4, %5 = topk(z) {axis=1, k=b // 2}
  return %0, %1, %2, %3, %4, %5
}
"""
COMPACTED = """
axes { a: 0.. b: 0.. }
graph compacted(x: f32[a, b], mask: bool[a, b], rows: bool[a], y: bf16[a, b], c: i64[a])
    -> (i64[a*b, 2], i64[1], bf16[a*b], i64[1], f32[a, b], i64[1], i64[a, 1], i64[1], i64[a]) {
  %0, %1 = compact_places(x, c) {parts=a, length=b}
  %2, %3 = compact_rows(mask, y, c) {parts=a, length=b}
  %4 = part_counts(rows) {parts=0, length=a}
  %5, %6 = compact_rows(rows, x, %4) {parts=0, length=a}
  %7, %8 = compact_places(rows, %4) {parts=0, length=a}
  %9 = part_counts(y) {parts=a, length=b}
  return %0, %1, %2, %3, %5, %6, %7, %8, %9
}
"""
SUPPRESSED = """
axes { a: 0.. b: 0.. c: 0.. }
graph kept(x: f32[a, c, 4], i: i64[a, b, c], n: i64[a, b], t: f64[])
    -> (i64[a, b, c], i64[a, b]) {
  %0, %1 = suppress(x, i, n, t) {most=c}
  return %0, %1
}
"""
CHECKED = """
axes { a: 0.. b: 0.. }
graph checked(x: i64[a, b], y: u8[a], z: i32[b], none: i64[4]) -> i64[4] {
  %0 = first_outside(x, none) {size=b, number=0, live=a, from_end=true}
  %1 = first_outside(y, %0) {size=200, number=1, live=1}
  %2 = first_outside(z, %1) {size=a, number=2, live=b}
  return %2
}
"""


# --- rows -----------------------------------------------------------------------------------------


@ash.jit
def normalized(x: ash.f32["a", "b", "c"], w: ash.f32["c"]):
    return ash.softmax(x), ash.layer_norm(x, w, w), ash.log_softmax(x, axis=1)


@ash.jit
def reductions(x: ash.f32["a", "b", "c"]):
    return x.sum(axis=-1), x.max(axis=0), x.mean(axis=1), x.sum(), ash.argmax(x, axis=-1)


@ash.jit
def narrow_rows(x: ash.f64["a", "b"], y: ash.f16["a", "b"], z: ash.i8["a", "b"]):
    return x.prod(axis=1), y.max(axis=1), z.sum(axis=1), ash.argmin(z, axis=0), (z > 0).all(axis=1)


@ash.jit
def cumulative(x: ash.f32["a", "b"], y: ash.i8["a", "b"]):
    return (
        ash.cumsum(ash.exp(x), axis=1) * 2.0,
        ash.cumprod(x, axis=0, reverse=True),
        ash.cummax(x, axis=1, exclusive=True, reverse=True),
        ash.cummin(y, axis=0, exclusive=True),
    )


# --- matrix products ------------------------------------------------------------------------------

PACKED, ODD, BIAS = weight(33, 70), weight(5, 3), weight(70)


@ash.jit
def packed(x: ash.f32["a", 33], y: ash.f32["a", 70]):
    return ash.gelu(x @ PACKED + BIAS) + y


@ash.jit
def halved(x: ash.f32["a", 33], y: ash.f32["a", 35]):
    both = x @ PACKED
    return ash.sigmoid(both[:, :35]) * both[:, 35:] + y


@ash.jit
def packed_odd(x: ash.f32["a", "b", 5]):
    return x @ ODD


@ash.jit
def dynamic(x: ash.f32["a", "b"], w: ash.f32["b", "c"], bias: ash.f32["c"]):
    return ash.relu(x @ w + bias)


@ash.jit
def transposed(x: ash.f32["b", "a"], w: ash.f32["c", "b"]):
    return x.T @ w.T


@ash.jit
def batched(x: ash.f32["a", 2, "b", "c"], w: ash.f32["a", 2, "c", "d"]):
    return x @ w


@ash.jit
def one_row(x: ash.f32[1, "b"], w: ash.f32["b", "c"]):
    return x @ w


@ash.jit
def wide(x: ash.f64["a", "b"], w: ash.f64["b", "c"]):
    return x @ w


@ash.jit
def half(x: ash.bf16["a", "b"], w: ash.bf16["b", "c"]):
    return x @ w


@ash.jit
def computed_rows(x: ash.f32["a", "b", 33], s: ash.f32["a", 1, 1], y: ash.f32["a", "b", 33]):
    return ash.relu(x * s + y) @ PACKED


@ash.jit
def computed_columns(x: ash.bf16["a", "b"], w: ash.bf16["b", "c"], keep: ash.bool["b", "c"]):
    return x @ ash.where(keep, w, 0.0)


@ash.jit
def computed_few(x: ash.f32["a", "b"], w: ash.f32["c", "b"]):
    return (x + 1.0) @ w.T


EXPERTS = weight(3, 5, 70)


@ash.jit
def grouped(x: ash.f32["a", "b"], w: ash.f32["c", "b", "d"], ends: ash.i64["c"], y: ash.f32["d"]):
    return ash.relu(ash.grouped_dot(x, w, ends)) + y


@ash.jit
def grouped_packed(x: ash.f32["a", 5], ends: ash.i32[3]):
    return ash.grouped_dot(x, EXPERTS, ends)


@ash.jit
def grouped_halved(x: ash.f32["a", 5], ends: ash.i32[3]):
    both = ash.grouped_dot(x, EXPERTS, ends)
    return both[:, :35] * both[:, 35:]


@ash.jit
def grouped_half(x: ash.f16["a", "b"], w: ash.f16["c", "b", "d"], ends: ash.i32["c"]):
    return ash.grouped_dot(x, w, ends)


# --- convolutions ---------------------------------------------------------------------------------

TAPS = weight(1, 3, 3, 5, 37)
GROUPED_TAPS = weight(2, 3, 2, 4, 5)
DEPTHWISE_TAPS = weight(37, 3, 3, 1, 1)
LINE_DEPTHWISE_TAPS = weight(6, 3, 1, 1).astype(np.float16)
LINE_TAPS = weight(1, 4, 6, 64)


@ash.jit
def conv_padded(x: ash.f32["z", "h", "w", 5], y: ash.f32[37]):
    return ash.relu(ash.conv(x, TAPS, padding=[(1, 1), (1, 1)]) + y)


@ash.jit
def conv_in_place(x: ash.f32["z", "h + 3", "w + 3", 5]):
    return ash.conv(x, TAPS, strides=[2, 1])


@ash.jit
def conv_strided(x: ash.f32["z", "h + 4", "w + 1", 5]):
    return ash.conv(x, TAPS, strides=[3, 2], dilations=[1, 2], padding=[(0, 0), (3, 1)])


@ash.jit
def conv_grouped(x: ash.f32["z", "h", "w", 8]):
    return ash.conv(x, GROUPED_TAPS, padding=[(1, 1), (0, 1)])


BYTE_TAPS = RNG.integers(-128, 128, (1, 3, 3, 5, 37)).astype(np.int8)
DEPTHWISE_BYTE_TAPS = RNG.integers(-128, 128, (37, 3, 3, 1, 1)).astype(np.int8)
GROUPED_BYTE_TAPS = RNG.integers(-128, 128, (2, 3, 2, 4, 5)).astype(np.int8)


@ash.jit
def conv_bytes_padded(x: ash.u8["z", "h", "w", 5], zero: ash.u8[()], y: ash.f32[37]):
    padded = ash.pad(x, [(0, 0), (1, 1), (2, 0), (0, 0)], zero).astype(ash.i32)
    return ash.conv(padded, ash.asarray(BYTE_TAPS).astype(ash.i32)).astype(ash.f32) * y


@ash.jit
def conv_bytes_in_place(x: ash.u8["z", "h + 3", "w + 3", 5]):
    return ash.conv(x.astype(ash.i32), ash.asarray(BYTE_TAPS).astype(ash.i32), strides=[2, 1])


@ash.jit
def conv_bytes_dilated(x: ash.u8["z", "h + 4", "w + 1", 5]):
    steps = {"strides": [3, 2], "dilations": [1, 2], "padding": [(0, 0), (3, 1)]}
    return ash.conv(x.astype(ash.i32), ash.asarray(BYTE_TAPS).astype(ash.i32), **steps)


@ash.jit
def conv_bytes_grouped(x: ash.u8["z", "h", "w", 8]):
    taps = ash.asarray(GROUPED_BYTE_TAPS).astype(ash.i32)
    return ash.conv(x.astype(ash.i32), taps, padding=[(1, 1), (0, 1)])


@ash.jit
def conv_bytes_depthwise(x: ash.u8["z", "h", "w", 37]):
    taps = ash.asarray(DEPTHWISE_BYTE_TAPS).astype(ash.i32)
    return ash.conv(x.astype(ash.i32), taps, padding=[(1, 1), (1, 1)])


@ash.jit
def conv_depthwise(x: ash.f32["z", "h", "w", 37], y: ash.f32["z", "h", "w", 37]):
    return ash.conv(x, DEPTHWISE_TAPS, padding=[(1, 1), (1, 1)]) + y


@ash.jit
def conv_depthwise_in_place(x: ash.f32["z", "h + 3", "w + 3", 37]):
    return ash.conv(x, DEPTHWISE_TAPS, strides=[1, 2])


@ash.jit
def conv_depthwise_half(x: ash.f16["z", "s", 6]):
    return ash.conv(x, LINE_DEPTHWISE_TAPS, strides=[2], padding=[(3, 2)], dilations=[2])


@ash.jit
def conv_dynamic(x: ash.f32["z", "s", 5], taps: ash.f32[1, 3, 5, "n"]):
    return ash.conv(x, taps, padding=[(2, 2)])


@ash.jit
def conv_half(x: ash.f16["z", "s + 4", 6]):
    return ash.conv(x, LINE_TAPS.astype(np.float16))


@ash.jit
def conv_volume(x: ash.f32["z", "z", "a", "b", 4]):
    return ash.conv(x, GROUPED_TAPS[:1, None], padding=[(0, 0), (1, 1), (1, 1)])


TILED_TAPS = weight(1, 3, 3, 33, 37)


@ash.jit
def conv_in_tiles(x: ash.f32["z", "h", "w", 33], y: ash.f32["z", "h", "w", 37]):
    return ash.relu(ash.conv(x, TILED_TAPS, padding=[(1, 1), (1, 1)]) + y)


@ash.jit
def conv_in_tiles_without_padding(x: ash.f32["z", "h + 2", "w + 4", 33]):
    return ash.conv(x, TILED_TAPS, padding=[(0, 2), (0, 0)])


def with_tiles_of(tile: int) -> tuple[Graph, ...]:
    """Of convolutions with fewer multiplications."""
    models = conv_in_tiles, conv_in_tiles_without_padding
    return tuple(run_passes(m.graph, (Winograd((tile,)),)).graph for m in models)


# --- attention ------------------------------------------------------------------------------------


@ash.jit
def attention(q: ash.f32["a", 2, "s", 16], k: ash.f32["a", 2, "t", 16], v: ash.f32["a", 2, "t", 8]):
    return ash.attention(q, k, v)


@ash.jit
def segments(
    q: ash.f32[2, "s", 16], k: ash.f32[2, "s", 16], v: ash.f32[2, "s", 8], e: ash.i64["a"]
):
    return ash.ragged_attention(q, k, v, e)


@ash.jit
def causal(q: ash.f32["a", 2, "s", 64], k: ash.f32["a", 2, "s", 64], v: ash.f32["a", 2, "s", 64]):
    return ash.attention(q, k, v, causal=True)


@ash.jit
def masked(
    q: ash.f32["a", 4, "s", 8], k: ash.f32["a", 2, "t", 8], v: ash.f32["a", 2, "t", 8],
    mask: ash.bool["s", "t"],
):  # fmt: skip
    return ash.attention(q, k, v, mask)


@ash.jit
def decoding(
    q: ash.f32["a", 4, 1, 16], k: ash.f32["a", "t", 2, 16], v: ash.f32["a", "t", 2, 8],
    mask: ash.f32["a", 1, 1, "t"],
):  # fmt: skip
    values = v.transpose(0, 2, 1, 3)
    return ash.attention(q, k.transpose(0, 2, 1, 3), values, mask).reshape(-1, 32) * 2.0


@ash.jit
def drafting(q: ash.bf16["a", 2, 3, 8], k: ash.bf16["a", 1, "t", 8], v: ash.bf16["a", 1, "t", 8]):
    return ash.attention(q, k, v, causal="bottom_right")


@ash.jit
def pools(x: ash.f32["a", "b", "c"]):
    largest = ash.max_pool(x, (3, 3), 2, 1)
    return largest, ash.avg_pool(x, (3, 3), 2, 1), ash.max_pool(x, (3,), 1, 1)


@ash.jit
def resized(x: ash.f32["a", "b"]):
    """Twice as wide, between neighbours."""
    width = x.shape[1]
    place = ash.maximum(ash.arange(2 * width).astype(ash.f32) * 0.5 - 0.25, 0.0)
    first = ash.floor(place).astype(ash.i64)
    second = ash.minimum(first + 1, width - 1)
    share = place - ash.floor(place)
    return ash.take(x, first, 1) * (1 - share) + ash.take(x, second, 1) * share


def of(*models: ash.Jitted[..., Any] | str) -> Callable[[], tuple[Graph, ...]]:
    """Graphs of functions, or from text: made by whoever runs them."""
    return lambda: tuple(parse(m) if isinstance(m, str) else m.graph for m in models)


FAMILIES = {
    "map": of(elementwise, narrow, casts),
    "movement": of(transposes, pads, concats, slices),
    "gather": of(gathers, elements, tied),
    "scatter": of(SCATTERED, SCATTERED_ALONG),
    "sort": of(SORTED),
    "check": of(CHECKED),
    "compact": of(COMPACTED, SUPPRESSED),
    "row": of(normalized, reductions, narrow_rows),
    "cumulative": of(cumulative),
    "dot": of(packed, halved, packed_odd, dynamic, transposed),
    "other dots": of(batched, one_row, wide, half),
    "computed operands": of(computed_rows, computed_columns, computed_few),
    "grouped dot": of(grouped, grouped_packed, grouped_halved, grouped_half),
    "convolution": of(conv_padded, conv_in_place, conv_strided),
    "other convolutions": of(conv_grouped, conv_dynamic, conv_half, conv_volume),
    "convolutions of bytes": of(conv_bytes_padded, conv_bytes_in_place, conv_bytes_dilated),
    "other convolutions of bytes": of(conv_bytes_grouped, conv_bytes_depthwise),
    "tiles of 2": lambda: with_tiles_of(2),
    "tiles of 4": lambda: with_tiles_of(4),
    "depthwise": of(conv_depthwise, conv_depthwise_in_place, conv_depthwise_half),
    "images": of(pools, resized),
    "attention": of(attention, causal, masked, segments),
    "few queries": of(decoding, drafting),
    **dtypes.FAMILIES,
}
