"""Layers of whole models without our compounds, and the same with them: workloads of `ablation.py`.

Widths are those of models that people have: MiniLM's and BERT's encoders, GPT-2's decoder, a layer
of routed experts as papers print it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.workloads.in_primitives import (
    InPrimitives,
    Traced,
    layer_norm,
    softmax,
    weights,
)

import anyshape as ash

# --- multilayer perceptrons -----------------------------------------------------------------------


def mlp(width: int) -> Traced:
    def model(x: Any) -> Any:
        for n in range(3):
            x = ash.maximum(x @ weights(width, width, number=n) + weights(width, number=n), 0)
        return x

    return model


def mlp_of_compounds(width: int) -> Traced:
    def model(x: Any) -> Any:
        for n in range(3):
            matrix, bias = weights(width, width, number=n), weights(width, number=n)
            x = ash.dense(x, matrix, bias, activation="relu")
        return x

    return model


# --- transformers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """How a transformer's layer says what there are compounds for."""

    norm: Callable[[Any], Any]
    gelu: Callable[[Any], Any]
    attention: Callable[[Any, Any, Any, bool], Any]


def _attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if causal:
        scores = scores + ash.triu(ash.full(("seq", "seq"), -math.inf), 1)
    return softmax(scores) @ v


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + ash.erf(x * (1 / math.sqrt(2))))


BY_HAND = Spelling(layer_norm, _gelu, _attention)
COMPOUNDS = Spelling(
    lambda x: ash.layer_norm(x, axis=-1),
    ash.gelu,
    lambda q, k, v, causal: ash.attention(q, k, v, causal="top_left" if causal else "none"),
)


@dataclass(frozen=True)
class Layer:
    """Attention and a feed-forward part. Norms come before each (decoders) or behind it."""

    width: int
    heads: int
    is_decoder: bool
    spelling: Spelling

    def __call__(self, x: Any) -> Any:
        spelling = self.spelling
        if self.is_decoder:
            x = x + self._attended(spelling.norm(x))
            return x + self._fed_forward(spelling.norm(x))
        x = spelling.norm(x + self._attended(x))
        return spelling.norm(x + self._fed_forward(x))

    def _attended(self, x: Any) -> Any:
        width = self.width
        q, k, v = (self._heads(x @ weights(width, width, number=n)) for n in range(3))
        mixed = self.spelling.attention(q, k, v, self.is_decoder)
        flat = ash.transpose(mixed, (0, 2, 1, 3)).reshape(("batch", "seq", width))
        return flat @ weights(width, width, number=3)

    def _heads(self, x: Any) -> Any:
        shape = ("batch", "seq", self.heads, self.width // self.heads)
        return ash.transpose(x.reshape(shape), (0, 2, 1, 3))

    def _fed_forward(self, x: Any) -> Any:
        width = self.width
        wide = self.spelling.gelu(x @ weights(width, 4 * width) + weights(4 * width))
        return wide @ weights(4 * width, width) + weights(width)


# --- experts --------------------------------------------------------------------------------------

WIDTH, HIDDEN, EXPERTS, ACTIVE = 256, 512, 8, 2


def experts(x: Any) -> Any:
    """Expert by expert, each with the tokens that want it."""
    matrices = [
        [weights(*shape, number=3 * n + which) for which, shape in enumerate(_SHAPES)]
        for n in range(EXPERTS)
    ]
    scores, chosen = ash.topk(softmax(x @ weights(WIDTH, EXPERTS)), ACTIVE)
    out = ash.zeros_like(x)
    for n, (gate, up, down) in enumerate(matrices):
        mine, choice = ash.nonzero(chosen == n)
        tokens = x[mine]
        spoken = (ash.silu(tokens @ gate) * (tokens @ up)) @ down
        out[mine] += spoken * scores[mine, choice][:, None]
    return out


_SHAPES = ((WIDTH, HIDDEN), (WIDTH, HIDDEN), (HIDDEN, WIDTH))


# --- the workloads --------------------------------------------------------------------------------

LENGTHS = ((1, 16), (1, 64), (1, 128), (1, 512))


def _transformer(name: str, width: int, heads: int, is_decoder: bool) -> InPrimitives:
    by_hand, compounds = (
        Layer(width, heads, is_decoder, spelling) for spelling in (BY_HAND, COMPOUNDS)
    )
    return InPrimitives(name, by_hand, compounds, width, LENGTHS)


def _mlp(width: int) -> InPrimitives:
    shapes = ((1,), (32,), (128,))
    return InPrimitives(f"MLP {width}", mlp(width), mlp_of_compounds(width), width, shapes)


LAYERS: list[InPrimitives] = [
    _mlp(512),
    _mlp(2048),
    _transformer("encoder 384", 384, 12, is_decoder=False),
    _transformer("encoder 768", 768, 12, is_decoder=False),
    _transformer("GPT-2", 768, 12, is_decoder=True),
    InPrimitives("experts", experts, None, WIDTH, ((1,), (17,), (256,))),
]
