"""What people write without our compounds, and the same with them: workloads of `ablation.py`.

A workload is a function of one array and its twin. Those of `layers_in_primitives.py` come behind.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness.model import Array

import anyshape as ash

Traced = Callable[[Any], Any]


@dataclass(frozen=True)
class InPrimitives:
    """`by_hand` and, if there is one, `compound` take x[rows, width], or x[batch, seq, width]."""

    name: str
    by_hand: Traced
    compound: Traced | None
    width: int
    shapes: tuple[tuple[int, ...], ...]

    def compiled(self, function: Traced, without: tuple[str, ...] = (), threads: int = 1) -> Any:
        names = ("batch", "seq") if len(self.shapes[0]) == 2 else ("rows",)
        axes = [ash.Axis(name, max=4096) for name in names]

        def model(x: Any) -> Any:
            return function(x)

        model.__annotations__ = {"x": ash.f32[(*names, self.width)]}
        return ash.jit(axes=axes, without=without, threads=threads)(model)

    def inputs(self, shape: tuple[int, ...]) -> Array:
        rng = np.random.default_rng(0)
        return rng.normal(size=(*shape, self.width)).astype(np.float32)


def weights(*shape: int, number: int = 0) -> Array:
    """Those with other numbers are others: products with equal weights would be computed once."""
    rng = np.random.default_rng([number, *shape])
    return (rng.normal(size=shape) / math.sqrt(shape[0])).astype(np.float32)


# --- rows -----------------------------------------------------------------------------------------


def softmax(x: Any) -> Any:
    power = ash.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def layer_norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * ash.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def rms_norm(x: Any) -> Any:
    return x * ash.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


# --- models ---------------------------------------------------------------------------------------


def swiglu(x: Any) -> Any:
    gate, up = (weights(256, 512, number=i) for i in range(2))
    down = weights(512, 256)
    hidden = x @ gate
    return x + (hidden * ash.sigmoid(hidden) * (x @ up)) @ down


def swiglu_of_compounds(x: Any) -> Any:
    gate, up = (weights(256, 512, number=i) for i in range(2))
    down = weights(512, 256)
    return x + (ash.silu(x @ gate) * (x @ up)) @ down


HEADS, WIDTH = 4, 256


def _heads(x: Any, heads: int = HEADS) -> Any:
    return ash.transpose(x.reshape(("batch", "seq", heads, WIDTH // HEADS)), (0, 2, 1, 3))


def nano_gpt(x: Any) -> Any:
    """A block as nanoGPT has it, without compounds: a mask of `-inf`, softmax and norms by hand."""
    q, k, v = (_heads(layer_norm(x) @ weights(WIDTH, WIDTH, number=i)) for i in range(3))
    scores = q @ k.mT * (1 / math.sqrt(WIDTH // HEADS))
    row, column = (ash.arange("seq")[:, None], ash.arange("seq")[None, :])
    mixed = softmax(ash.where(column <= row, scores, -math.inf)) @ v
    flat = ash.transpose(mixed, (0, 2, 1, 3)).reshape(("batch", "seq", WIDTH))
    x = x + flat @ weights(WIDTH, WIDTH, number=3)
    return x + ash.gelu(layer_norm(x) @ weights(WIDTH, 4 * WIDTH)) @ weights(4 * WIDTH, WIDTH)


def nano_gpt_of_compounds(x: Any) -> Any:
    normal = ash.layer_norm(x, axis=-1)
    q, k, v = (_heads(normal @ weights(WIDTH, WIDTH, number=i)) for i in range(3))
    mixed = ash.attention(q, k, v, causal="top_left")
    flat = ash.transpose(mixed, (0, 2, 1, 3)).reshape(("batch", "seq", WIDTH))
    x = x + flat @ weights(WIDTH, WIDTH, number=3)
    normal = ash.layer_norm(x, axis=-1)
    return x + ash.gelu(normal @ weights(WIDTH, 4 * WIDTH)) @ weights(4 * WIDTH, WIDTH)


def rotated(x: Any, cos: Any, sin: Any) -> Any:
    """Pairs that lie half a head apart, turned by angles of their positions."""
    half = x.shape[-1] // 2
    return x * cos + ash.concat([-x[..., half:], x[..., :half]], axis=-1) * sin


def llama(x: Any) -> Any:
    """A dense layer: heads that share keys, rotations, norms by hand, a gated feed-forward part."""
    shared, width = HEADS // 2, WIDTH // HEADS
    normal = rms_norm(x)
    q, k, v = (
        _heads(normal @ weights(WIDTH, heads * width, number=i), heads)
        for i, heads in enumerate((HEADS, shared, shared))
    )
    speeds = (10_000.0 ** (-np.arange(width // 2) * 2 / width)).astype(np.float32)
    angle = ash.arange("seq").astype(ash.f32)[:, None] * np.concatenate([speeds, speeds])
    cos, sin = ash.cos(angle), ash.sin(angle)
    mixed = ash.attention(rotated(q, cos, sin), rotated(k, cos, sin), v, causal="top_left")
    flat = ash.transpose(mixed, (0, 2, 1, 3)).reshape(("batch", "seq", WIDTH))
    x = x + flat @ weights(WIDTH, WIDTH, number=3)
    gate, up = (weights(WIDTH, 512, number=i) for i in range(2))
    down = weights(512, WIDTH)
    normal = rms_norm(x)
    return x + (ash.silu(normal @ gate) * (normal @ up)) @ down


ROWS = ((64,), (4096,))
SEQUENCES = ((1, 64), (4, 128))

IN_PRIMITIVES: list[InPrimitives] = [
    InPrimitives("softmax", softmax, lambda x: ash.softmax(x, axis=-1), 768, ROWS),
    InPrimitives("layer norm", layer_norm, lambda x: ash.layer_norm(x, axis=-1), 768, ROWS),
    InPrimitives("rms norm", rms_norm, lambda x: ash.rms_norm(x, axis=-1, eps=1e-5), 768, ROWS),
    InPrimitives("SwiGLU", swiglu, swiglu_of_compounds, 256, ROWS),
    InPrimitives("nanoGPT", nano_gpt, nano_gpt_of_compounds, WIDTH, SEQUENCES),
    InPrimitives("Llama", llama, None, WIDTH, SEQUENCES),
]
