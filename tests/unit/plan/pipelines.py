"""Models whose rows go through several steps, and costs that make level 2 take chains at any size
that has more than one row."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

import anyshape as ash
from anyshape.base.options import options_from_environment
from anyshape.execute.compile import ProgramCompiler
from anyshape.execute.compile_options import CompileOptions
from anyshape.execute.native import NativeExecutor
from anyshape.ir.graph import Graph
from anyshape.ir.types import Array
from anyshape.passes import pipeline, run_passes
from anyshape.passes.donation import NOTHING_DONATED
from anyshape.plan.costs import MachineCosts

RNG = np.random.default_rng(14)


def eager(threads: int = 1) -> MachineCosts:
    """No cache, free steps: whatever members hand on is worth a chain."""
    return MachineCosts(cache_bytes=0, step=0, task=0, memory_byte=400_000, threads=threads)


def normal(*shape: int) -> Array:
    return (RNG.normal(size=shape) / max(1, shape[0]) ** 0.5).astype(np.float32)


def passed(model: Any) -> Graph:
    """The kernels of a traced function."""
    return run_passes(model.graph, pipeline()).graph


def run_by(costs: MachineCosts, graph: Graph, *, chains: bool = True) -> NativeExecutor:
    """The native program of a graph of kernels, with given costs."""
    choices = CompileOptions.of(threads=costs.threads)
    compiler = ProgramCompiler.of(options_from_environment(), choices, NOTHING_DONATED)
    executor = replace(compiler, costs=costs, pipeline=chains).executor(graph)
    assert isinstance(executor, NativeExecutor)
    return executor


def feed_forward(width: int = 24, hidden: int = 40, axes: Sequence[ash.Axis] = ()) -> Any:
    w1, b1, w2 = normal(width, hidden), normal(hidden), normal(hidden, width)
    scale, bias = normal(width), normal(width)

    @ash.jit(axes=axes)
    def model(x: ash.f32["rows", width]):
        return ash.layer_norm(ash.gelu(x @ w1 + b1) @ w2 + x, scale, bias)

    return model


def gated(width: int = 16, hidden: int = 70) -> Any:
    """Two products that meet, over rows of two axes."""
    gate, up, down = normal(width, hidden), normal(width, hidden), normal(hidden, width)

    @ash.jit
    def model(x: ash.f32["batch", "seq", width]):
        normed = ash.rms_norm(x)
        return x + ash.silu(normed @ gate) * (normed @ up) @ down

    return model


def random_chain(seed: int) -> tuple[Callable[..., Any], int]:
    """A model of up to eight layers, and its width: some mix rows, some read earlier values."""
    rng = np.random.default_rng(seed)
    widths = [int(n) for n in rng.integers(1, 70, 2)]
    width = widths[0]
    kinds = rng.integers(0, 7, int(rng.integers(2, 9)))
    outs = [width, *(int(n) for n in rng.choice(widths, len(kinds)))]
    weights = [normal(a, b) for a, b in pairwise(outs)]

    @ash.jit
    def model(x: ash.f32["batch", "seq", width]):
        earlier = {width: x}
        for kind, weight in zip(kinds, weights, strict=True):
            y = x @ weight
            match int(kind):
                case 0:
                    x = ash.gelu(y)
                case 1:
                    x = ash.softmax(y, axis=-1)
                case 2:
                    x = ash.layer_norm(y + weight[0]) * 2
                case 3:
                    x = y - ash.max(y, axis=-1, keepdims=True)
                case 4:
                    x = y + ash.sum(x, axis=-1, keepdims=True)
                case 5:
                    x = ash.cumsum(y, axis=1) / (1 + y * y)
                case _:
                    x = ash.tanh(y) + earlier.get(weight.shape[1], 1)
            if kind % 2:
                earlier[weight.shape[1]] = x
        return x

    return model, width


# --- images ---------------------------------------------------------------------------------------

CACHE = 1 << 14
"""Bytes of a cache that one image of `inverted_residual` fits, and two do not."""


def with_small_cache(threads: int = 1, cache_bytes: int = CACHE) -> MachineCosts:
    """Free steps, and a cache that images of 10 × 10 places overflow as soon as there are two."""
    return replace(eager(threads), cache_bytes=cache_bytes)


def inverted_residual(channels: int = 12, wide: int = 40, axes: Sequence[ash.Axis] = ()) -> Any:
    """A block of MobileNet on images, from and to torch's order of axes."""
    up, down = normal(channels, wide), normal(wide, channels)
    taps, bias = normal(wide, 3, 3, 1, 1), normal(wide)

    @ash.jit(axes=axes)
    def model(x: ash.f32["batch", channels, "h", "w"]):
        start = ash.transpose(x, (0, 2, 3, 1))
        seen = ash.clip(start @ up + bias, 0, 6)
        seen = ash.clip(ash.conv(seen, taps, padding=[(1, 1), (1, 1)]) + bias, 0, 6)
        return ash.transpose(start + seen @ down, (0, 3, 1, 2))

    return model


def squeezed(channels: int = 8) -> Any:
    """Convolutions of stride 2, a pool, what an image has in common scaling it, two joined. Places
    are so few that no sum over them is divided."""
    few = [ash.Axis("h", max=20), ash.Axis("w", max=20)]
    taps, again = normal(1, 3, 3, channels, channels), normal(1, 1, 1, channels, channels)
    squeeze = normal(channels, channels)

    @ash.jit(axes=few)
    def model(x: ash.f32["batch", "h", "w", channels]):
        half = ash.relu(ash.conv(x, taps, strides=(2, 2), padding=[(1, 1), (1, 1)]))
        scale = ash.sigmoid(ash.relu(ash.mean(half, axis=(1, 2), keepdims=True)) @ squeeze)
        scaled = ash.conv(half * scale, again)
        joined = ash.concat([scaled, half], axis=3)
        return ash.max(joined[:, :, :, 2:], axis=1)

    return model
