"""A matrix product with constant weights, alone or with a bias and gelu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, WrittenModel

# ruff: noqa: PLC0415 - an engine's library is imported by its own process only


@dataclass(frozen=True)
class Dense(WrittenModel):
    """x[rows, depth] @ w[depth, columns], then + bias and gelu if asked."""

    depth: int
    columns: int
    gelu: bool = False

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("rows", self.depth)}

    @property
    def result(self) -> Shape:
        return ("rows", self.columns)

    @property
    def weight_shapes(self) -> Mapping[str, tuple[int, ...]]:
        product = {"w": (self.depth, self.columns)}
        return product | ({"bias": (self.columns,)} if self.gelu else {})

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        activation = "gelu" if self.gelu else "none"
        return ash.dense(inputs[0], weights["w"], weights.get("bias"), activation=activation)

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        from torch.nn import functional

        y = functional.linear(inputs[0], weights["w"], weights.get("bias"))
        return functional.gelu(y) if self.gelu else y

    def numpy(self, weights: Mapping[str, Array], *inputs: Array) -> Array:
        if self.gelu:
            raise TypeError("NumPy has no gelu")
        return inputs[0] @ weights["w"]

    def onnx(self) -> Sequence[str]:
        if self.gelu:
            return ["p = MatMul(x, w)", "s = Add(p, bias)", "y = Gelu(s)"]
        return ["y = MatMul(x, w)"]

    def flops(self, binding: Binding) -> int:
        return 2 * binding["rows"] * self.depth * self.columns


@dataclass(frozen=True)
class DenseBytes(Dense):
    """x[rows, depth] of u8 @ w[depth, columns] of i8, scaled to f32. Ours only."""

    @property
    def dtypes(self) -> Mapping[str, str]:
        return {"x": "u8"}

    def weights(self) -> dict[str, Array]:
        rng = np.random.default_rng(0)
        return {"w": rng.integers(-128, 128, (self.depth, self.columns)).astype(np.int8)}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        rng = np.random.default_rng(1)
        return (rng.integers(0, 256, (binding["rows"], self.depth)).astype(np.uint8),)

    @property
    def weight_bytes(self) -> int:
        return self.depth * self.columns

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        x = (inputs[0].astype(ash.i32) - 128).astype(ash.f32) * 0.01
        return x @ (ash.asarray(weights["w"]).astype(ash.f32) * 0.01)

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        from torch.nn import functional

        x = (inputs[0].float() - 128) * 0.01
        return functional.linear(x, weights["w"].float() * 0.01)
