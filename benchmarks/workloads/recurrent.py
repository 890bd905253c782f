"""Recurrent layers: modules of torch, and an LSTM cell that is written as a scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, TorchModel, WrittenModel

# ruff: noqa: PLC0415 - engines are imported by the processes that use them


@dataclass(frozen=True)
class Recurrent(TorchModel):
    """Steps of a batch through a layer of torch."""

    kind: Literal["LSTM", "GRU", "RNN"]
    width: int = 256

    def module(self) -> Any:
        import torch

        torch.manual_seed(0)
        made = getattr(torch.nn, self.kind)(self.width, self.width)

        class Values(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = made

            def forward(self, x: Any) -> Any:
                return self.layer(x)[0]

        return Values().eval()

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("steps", "batch", self.width)}

    @property
    def example(self) -> Binding:
        return {"steps": 5, "batch": 3}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        shape = binding["steps"], binding["batch"], self.width
        return (np.random.default_rng(1).standard_normal(shape, np.float32),)

    @property
    def gates(self) -> int:
        return {"LSTM": 4, "GRU": 3, "RNN": 1}[self.kind]

    @property
    def weight_bytes(self) -> int:
        return 4 * 2 * self.gates * self.width**2

    def flops(self, binding: Binding) -> int:
        return binding["steps"] * binding["batch"] * 4 * self.gates * self.width**2


@dataclass(frozen=True)
class LstmScan(WrittenModel):
    """The cell of the papers, one step after the other; torch has it as one op."""

    width: int = 256

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("steps", "batch", self.width)}

    @property
    def result(self) -> Shape:
        return ("steps", "batch", self.width)

    @property
    def weight_shapes(self) -> Mapping[str, tuple[int, ...]]:
        matrix = self.width, 4 * self.width
        return {"wx": matrix, "wh": matrix}

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        (x,) = inputs

        def step(state: Any, now: Any) -> Any:
            h, c = state
            i, f, g, o = ash.split(now @ weights["wx"] + h @ weights["wh"], 4, axis=1)
            c = ash.sigmoid(f) * c + ash.sigmoid(i) * ash.tanh(g)
            h = ash.sigmoid(o) * ash.tanh(c)
            return (h, c), h

        zeros = ash.zeros((x.shape[1], self.width))
        return ash.scan(step, (zeros, zeros), x)[1]

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        import torch

        (x,) = inputs
        zeros = torch.zeros(1, x.shape[1], self.width)
        matrices = [weights["wx"], weights["wh"]]
        return torch.lstm(x, (zeros, zeros), matrices, False, 1, 0.0, False, False, False)[0]

    def onnx(self) -> Sequence[str]:
        raise NotImplementedError("it is compared with torch alone")

    def flops(self, binding: Binding) -> int:
        return binding["steps"] * binding["batch"] * 16 * self.width**2
