"""A multilayer perceptron: layers of Linear and ReLU, all of one width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.model import Array, Binding, Shape, WrittenModel

# ruff: noqa: PLC0415 - an engine's library is imported by its own process only


@dataclass(frozen=True)
class Mlp(WrittenModel):
    width: int
    layers: int = 3

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("batch", self.width)}

    @property
    def result(self) -> Shape:
        return ("batch", self.width)

    @property
    def weight_shapes(self) -> Mapping[str, tuple[int, ...]]:
        matrices = {f"w{n}": (self.width, self.width) for n in range(self.layers)}
        return matrices | {f"b{n}": (self.width,) for n in range(self.layers)}

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        (x,) = inputs
        for n in range(self.layers):
            x = ash.dense(x, weights[f"w{n}"], weights[f"b{n}"], activation="relu")
        return x

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        from torch.nn import functional

        (x,) = inputs
        for n in range(self.layers):
            x = functional.relu(functional.linear(x, weights[f"w{n}"], weights[f"b{n}"]))
        return x

    def onnx(self) -> Sequence[str]:
        names = ["x", *(f"h{n}" for n in range(self.layers - 1)), "y"]
        return [
            f"p{n} = Gemm({names[n]}, w{n}, b{n})\n{names[n + 1]} = Relu(p{n})"
            for n in range(self.layers)
        ]

    def flops(self, binding: Binding) -> int:
        return 2 * binding["batch"] * self.width**2 * self.layers
