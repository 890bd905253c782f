"""A transformer block, compiled once, at several shapes; and two mistakes explained.

Its axes have names, and facts say what the block needs of them. Every result is compared with a
plain NumPy computation that knows nothing of anyshape.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from _show import heading, mistake, seconds

import anyshape as ash

WIDTH, HEADS, HIDDEN = 32, 4, 64


@dataclass
class Weights:
    """The parameters of the block: a container of annotated fields."""

    scale: ash.f32[WIDTH]
    qkv: ash.f32[WIDTH, 3 * WIDTH]
    up: ash.f32[WIDTH, HIDDEN]
    down: ash.f32[HIDDEN, WIDTH]


@ash.jit(axes=[ash.Axis("seq", min=1, max=512, likely=[128])], where="pooled == seq // 2")
def block(x: ash.f32["batch", "seq", WIDTH], skip: ash.f32["batch", "pooled", WIDTH], w: Weights):
    """Attention and MLP; then neighbours are averaged in pairs, and `skip` is added."""
    q, k, v = ash.split(ash.rms_norm(x, w.scale) @ w.qkv, 3, axis=-1)
    q, k, v = (t.reshape("batch", "seq", HEADS, -1).swapaxes(1, 2) for t in (q, k, v))
    x = x + ash.attention(q, k, v, causal=True).swapaxes(1, 2).reshape(x.shape)
    x = x + ash.silu(x @ w.up) @ w.down
    even = x[:, : x.shape[1] // 2 * 2]
    return even.reshape("batch", "seq // 2", 2, WIDTH).mean(axis=2) + skip


def plain(x: Any, skip: Any, w: Weights) -> Any:
    """The same, in NumPy and float64."""
    x = x.astype(np.float64)
    normal = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w.scale
    q, k, v = (
        p.reshape(*x.shape[:2], HEADS, WIDTH // HEADS) for p in np.split(normal @ w.qkv, 3, -1)
    )
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(WIDTH // HEADS)
    scores = np.where(np.tri(x.shape[1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    x = x + np.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape)
    hidden = x @ w.up
    x = x + hidden / (1 + np.exp(-hidden)) @ w.down
    return (x[:, : x.shape[1] // 2 * 2 : 2] + x[:, 1::2]) / 2 + skip


random = np.random.default_rng(0)


def array(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32) / np.sqrt(shape[-1], dtype=np.float32)


weights = Weights(array(WIDTH), array(WIDTH, 3 * WIDTH), array(WIDTH, HIDDEN), array(HIDDEN, WIDTH))


@ash.jit
def wrong(q: ash.f32["batch", "seq", 64], k: ash.f32["batch", "kv", 64]):
    return q + k


def main() -> None:
    heading("One graph for all shapes")
    print(block.graph.as_text())

    heading("Compiled once, for all of them")
    spent = seconds(lambda: block.executable)
    compiled = block.executable
    print(f"{1e3 * spent:.0f} ms for {compiled.explain().kernels}")

    heading("Run at shapes it has never seen")
    print(
        f"{'binding':<22}{'output':<16}{'to prepare':<14}{'to run':<14}largest difference to NumPy"
    )
    for batch, seq in [(1, 1), (1, 7), (2, 16), (5, 131), (0, 8)]:
        arguments = array(batch, seq, WIDTH), array(batch, seq // 2, WIDTH), weights
        before = compiled.metrics()
        found = block(*arguments)
        prepared = (compiled.metrics().specialize_ns - before.specialize_ns) / 1e3
        ran = 1e6 * min(seconds(partial(block, *arguments)) for _ in range(20))
        difference = np.abs(found - plain(*arguments)).max(initial=0)
        print(
            f"{f'batch={batch}, seq={seq}':<22}{found.shape!s:<16}"
            f"{f'{prepared:.0f} µs':<14}{f'{ran:.0f} µs':<14}{difference:.1e}"
        )

    heading("What one of these shapes looks like to the machine")
    print(compiled.specialize(batch=5, seq=131).as_text())

    heading("Two shape mistakes, found before anything runs")
    mistake("Arguments that disagree", block, array(2, 8, WIDTH), array(3, 4, WIDTH), weights)
    mistake("A function that cannot work", wrong, array(2, 8, 64), array(2, 8, 64))


if __name__ == "__main__":
    main()
