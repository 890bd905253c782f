"""An early exit: an encoder of twelve layers stops at the first one that is sure of its answer.

Every layer ends in a guess. `ash.cond` runs one of two branches: what the other one would have
computed costs nothing. The whole is one graph and one native call, at any batch and length.
"""

from functools import partial
from typing import Any

import numpy as np
from _show import heading, seconds

import anyshape as ash

LAYERS, WIDTH, HEADS, CLASSES = 12, 64, 4, 5

random = np.random.default_rng(0)


def matrix(rows: int, columns: int, scale: float = 1.0) -> Any:
    return (random.standard_normal((rows, columns)) * scale / np.sqrt(rows)).astype(np.float32)


QKV = [matrix(WIDTH, 3 * WIDTH) for _ in range(LAYERS)]
UP = [matrix(WIDTH, 4 * WIDTH) for _ in range(LAYERS)]
DOWN = [matrix(4 * WIDTH, WIDTH) for _ in range(LAYERS)]
HEAD = matrix(WIDTH, CLASSES, scale=3.0)


def layer(x: Any, number: int) -> Any:
    """One layer of an encoder: attention, then an MLP, both added to what there was."""
    batch, seq, _ = x.shape
    q, k, v = ash.split(ash.layer_norm(x) @ QKV[number], 3, axis=-1)
    q, k, v = (part.reshape(batch, seq, HEADS, -1).swapaxes(1, 2) for part in (q, k, v))
    x = x + ash.attention(q, k, v).swapaxes(1, 2).reshape(x.shape)
    return x + ash.gelu(ash.layer_norm(x) @ UP[number]) @ DOWN[number]


def guess(x: Any) -> Any:
    """How likely each class is, from the mean of all tokens."""
    return ash.softmax(x.mean(axis=1) @ HEAD, axis=-1)


@ash.jit(axes=[ash.Axis("batch", min=1), ash.Axis("seq", min=1)])
def classify(x: ash.f32["batch", "seq", WIDTH], sure: ash.f32[()]):
    """The classes, and how many layers it took: all of a batch must be sure."""
    x = layer(x, 0)
    classes, layers = guess(x), ash.asarray(1)
    for number in range(1, LAYERS):

        def go_on(x: Any = x, number: int = number) -> Any:
            following = layer(x, number)
            return following, guess(following), ash.asarray(number + 1)

        def stop(x: Any = x, classes: Any = classes, layers: Any = layers) -> Any:
            return x, classes, layers

        is_sure = classes.max(axis=-1).min() >= sure
        x, classes, layers = ash.cond(is_sure, stop, go_on)
    return classes, layers


# --- the same in NumPy ----------------------------------------------------------------------------


def plain_layer(x: Any, number: int) -> Any:
    batch, seq, _ = x.shape
    parts = np.split(plain_norm(x) @ QKV[number], 3, axis=-1)
    q, k, v = (part.reshape(batch, seq, HEADS, -1).swapaxes(1, 2) for part in parts)
    attended = plain_softmax(q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1])) @ v
    x = x + attended.swapaxes(1, 2).reshape(x.shape)
    hidden = plain_norm(x) @ UP[number]
    return x + hidden * plain_normal_cdf(hidden) @ DOWN[number]


def plain_norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def plain_softmax(x: Any) -> Any:
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def plain_normal_cdf(x: Any) -> Any:
    from math import erf  # noqa: PLC0415  NumPy has none

    return np.vectorize(erf)(x / np.sqrt(2)) / 2 + 0.5


def plain_classify(x: Any, sure: float) -> Any:
    x = x.astype(np.float64)
    for number in range(LAYERS):
        x = plain_layer(x, number)
        classes = plain_softmax(x.mean(axis=1) @ HEAD)
        if classes.max(axis=-1).min() >= sure:
            break
    return classes, number + 1


def main() -> None:
    compiled = ash.compile(classify, strict=True)
    heading("Twelve layers, one graph; sure enough is")
    print(f"{'':<10}{'batch':<8}{'seq':<8}{'layers':<10}{'time':<12}difference to NumPy")
    for batch, seq in ((1, 37), (3, 64)):
        x = random.standard_normal((batch, seq, WIDTH)).astype(np.float32)
        for sure in (0.3, 0.6, 0.8, 0.9, 2.0):
            given = x, np.asarray(sure, np.float32)
            classes, layers = compiled(*given)
            expected, count = plain_classify(x, np.float32(sure))
            assert layers == count
            spent = min(seconds(partial(compiled, *given)) for _ in range(20))
            name = "never" if sure > 1 else f"{sure:.0%}"
            off = np.abs(classes - expected).max()
            print(
                f"{name:<10}{batch:<8}{seq:<8}{f'{layers} of {LAYERS}':<10}"
                f"{f'{1e6 * spent:.0f} µs':<12}{off:.1e}"
            )


if __name__ == "__main__":
    main()
