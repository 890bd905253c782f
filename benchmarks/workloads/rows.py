"""Ops that work row by row: softmax, layer norm, and gelu on the same matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from benchmarks.harness.model import Array, Binding, Shape, WrittenModel

# ruff: noqa: PLC0415 - an engine's library is imported by its own process only

RowOp: TypeAlias = Literal["softmax", "layer_norm", "gelu"]


@dataclass(frozen=True)
class Rows(WrittenModel):
    """One op on x[rows, width]."""

    op: RowOp
    width: int

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("rows", self.width)}

    @property
    def result(self) -> Shape:
        return ("rows", self.width)

    @property
    def weight_shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {"scale": (self.width,), "bias": (self.width,)} if self.op == "layer_norm" else {}

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        if self.op == "layer_norm":
            return ash.layer_norm(inputs[0], weights["scale"], weights["bias"])
        return ash.softmax(inputs[0]) if self.op == "softmax" else ash.gelu(inputs[0])

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        from torch.nn import functional

        if self.op == "layer_norm":
            scale, bias = weights["scale"], weights["bias"]
            return functional.layer_norm(inputs[0], (self.width,), scale, bias)
        (x,) = inputs
        return functional.softmax(x, -1) if self.op == "softmax" else functional.gelu(x)

    def onnx(self) -> Sequence[str]:
        statements: dict[RowOp, str] = {
            "softmax": "y = Softmax <axis = -1> (x)",
            "layer_norm": "y = LayerNormalization <axis = -1, epsilon = 1e-5> (x, scale, bias)",
            "gelu": "y = Gelu(x)",
        }
        return [statements[self.op]]

    def flops(self, binding: Binding) -> int:
        return 0
