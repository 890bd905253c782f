"""Functions whose kernels are run between protected pages: a few of every family."""

from typing import Any

import numpy as np

import anyshape as ash

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


# --- matrix products ------------------------------------------------------------------------------

PACKED, ODD, BIAS = weight(33, 70), weight(5, 3), weight(70)


@ash.jit
def packed(x: ash.f32["a", 33], y: ash.f32["a", 70]):
    return ash.gelu(x @ PACKED + BIAS) + y


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


# --- attention ------------------------------------------------------------------------------------


@ash.jit
def attention(q: ash.f32["a", 2, "s", 16], k: ash.f32["a", 2, "t", 16], v: ash.f32["a", 2, "t", 8]):
    return ash.attention(q, k, v)


@ash.jit
def causal(q: ash.f32["a", 2, "s", 64], k: ash.f32["a", 2, "s", 64], v: ash.f32["a", 2, "s", 64]):
    return ash.attention(q, k, v, causal=True)


@ash.jit
def masked(
    q: ash.f32["a", 4, "s", 8], k: ash.f32["a", 2, "t", 8], v: ash.f32["a", 2, "t", 8],
    mask: ash.bool["s", "t"],
):  # fmt: skip
    return ash.attention(q, k, v, mask)


FAMILIES = {
    "map": (elementwise, narrow, casts),
    "movement": (transposes, pads, concats, slices),
    "gather": (gathers, elements),
    "row": (normalized, reductions, narrow_rows),
    "dot": (packed, packed_odd, dynamic, transposed),
    "other dots": (batched, one_row, wide, half),
    "attention": (attention, causal, masked),
}
