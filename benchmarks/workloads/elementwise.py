"""Elementwise models: the smallest call there is, and five ops in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.model import Array, Binding, Shape, WrittenModel

# ruff: noqa: PLC0415 - an engine's library is imported by its own process only


@dataclass(frozen=True)
class Add(WrittenModel):
    """a + b: what a call costs when there is nothing to compute."""

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"a": ("rows", "columns"), "b": ("rows", "columns")}

    @property
    def result(self) -> Shape:
        return ("rows", "columns")

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        return inputs[0] + inputs[1]

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        return inputs[0] + inputs[1]

    def numpy(self, weights: Mapping[str, Array], *inputs: Array) -> Array:
        return inputs[0] + inputs[1]

    def onnx(self) -> Sequence[str]:
        return ["y = Add(a, b)"]

    def flops(self, binding: Binding) -> int:
        return 0


@dataclass(frozen=True)
class FiveOps(WrittenModel):
    """relu((x + row) * column - x / 2): five cheap ops, a row and a column broadcast."""

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("rows", "columns"), "row": ("columns",), "column": ("rows", 1)}

    @property
    def result(self) -> Shape:
        return ("rows", "columns")

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        x, row, column = inputs
        return ash.relu((x + row) * column - x * 0.5)

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        x, row, column = inputs
        return ((x + row) * column - x * 0.5).relu()

    def onnx(self) -> Sequence[str]:
        return [
            "half = Constant <value_float = 0.5> ()",
            "s = Add(x, row)",
            "p = Mul(s, column)",
            "h = Mul(x, half)",
            "d = Sub(p, h)",
            "y = Relu(d)",
        ]

    def flops(self, binding: Binding) -> int:
        return 0
