"""Softmax attention by itself: q, k and v are inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.model import Array, Binding, Shape, WrittenModel

# ruff: noqa: PLC0415 - an engine's library is imported by its own process only


@dataclass(frozen=True)
class Attention(WrittenModel):
    """softmax(q @ k.T / sqrt(width)) @ v for each head."""

    heads: int
    width: int

    @property
    def signature(self) -> Mapping[str, Shape]:
        return dict.fromkeys(("q", "k", "v"), self.result)

    @property
    def result(self) -> Shape:
        return ("batch", self.heads, "seq", self.width)

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        return ash.attention(*inputs)

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        from torch.nn import functional

        return functional.scaled_dot_product_attention(*inputs)

    def onnx(self) -> Sequence[str]:
        return [
            f"scale = Constant <value_float = {self.width**-0.5}> ()",
            "keys = Transpose <perm = [0, 1, 3, 2]> (k)",
            "raw = MatMul(q, keys)",
            "scores = Mul(raw, scale)",
            "p = Softmax <axis = -1> (scores)",
            "y = MatMul(p, v)",
        ]

    def flops(self, binding: Binding) -> int:
        return 4 * binding["batch"] * self.heads * binding["seq"] ** 2 * self.width
