"""Convolutions one after the other, each followed by a relu: what is at the edges counts once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, TorchModel

# ruff: noqa: PLC0415 - torch is imported by the processes that use it


@dataclass(frozen=True)
class Convolutions(TorchModel):
    """Kernels are square. A single one may change the number of channels, and the sizes."""

    inside: int
    outside: int
    taps: int
    stride: int = 1
    padding: int = 0
    groups: int = 1
    transposed: bool = False
    layers: int = 1

    def module(self) -> Any:
        import torch

        torch.manual_seed(0)
        kind: Any = torch.nn.ConvTranspose2d if self.transposed else torch.nn.Conv2d
        numbers = {"stride": self.stride, "padding": self.padding, "groups": self.groups}
        layers: list[Any] = []
        for _ in range(self.layers):
            layers += [kind(self.inside, self.outside, self.taps, **numbers), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers).eval()

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"input": ("batch", self.inside, "h", "w")}

    @property
    def example(self) -> Binding:
        return {"batch": 2, "h": 17, "w": 19}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        shape = binding["batch"], self.inside, binding["h"], binding["w"]
        return (np.random.default_rng(1).standard_normal(shape, np.float32),)

    @property
    def weight_bytes(self) -> int:
        return 4 * self.layers * self._weights

    @property
    def _weights(self) -> int:
        return self.inside * self.outside // self.groups * self.taps**2

    def flops(self, binding: Binding) -> int:
        """Each weight meets each place of the result, or of the input if it is transposed."""
        sizes = binding["h"], binding["w"]
        places = (size if self.transposed else self._places(size) for size in sizes)
        return 2 * self.layers * self._weights * binding["batch"] * math.prod(places)

    def _places(self, size: int) -> int:
        return (size + 2 * self.padding - self.taps) // self.stride + 1
