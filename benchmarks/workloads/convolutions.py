"""Convolutions one after the other, each followed by a relu: what is at the edges counts once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, TorchModel, WrittenModel

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


@dataclass(frozen=True)
class PlacesConv(WrittenModel):
    """relu of a convolution of 3 × 3 that keeps sizes, channels last. Ours only."""

    channels: int

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("batch", "h", "w", self.channels)}

    @property
    def result(self) -> Shape:
        return self.signature["x"]

    @property
    def weight_shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {"w": (1, 3, 3, self.channels, self.channels)}

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        return ash.relu(ash.conv(inputs[0], weights["w"], padding=[(1, 1), (1, 1)]))

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        return self._by_torch(inputs[0], weights["w"])

    def _by_torch(self, x: Any, w: Any) -> Any:
        """Weights come with their axes in reverse."""
        from torch.nn import functional

        y = functional.conv2d(x.permute(0, 3, 1, 2), w[..., 0].transpose(2, 3), padding=1)
        return functional.relu(y).permute(0, 2, 3, 1)

    def onnx(self) -> Sequence[str]:
        raise TypeError("this model is ours only")

    def flops(self, binding: Binding) -> int:
        return 2 * binding["batch"] * binding["h"] * binding["w"] * 9 * self.channels**2


@dataclass(frozen=True)
class PlacesConvBytes(PlacesConv):
    """The same of u8 by i8, scaled to f32 for each channel."""

    @property
    def dtypes(self) -> Mapping[str, str]:
        return {"x": "u8"}

    def weights(self) -> dict[str, Array]:
        rng = np.random.default_rng(0)
        (shape,) = self.weight_shapes.values()
        scales = rng.uniform(0.001, 0.002, self.channels).astype(np.float32)
        return {"w": rng.integers(-127, 128, shape).astype(np.int8), "scales": scales}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        shape = binding["batch"], binding["h"], binding["w"], self.channels
        return (np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8),)

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        x = (inputs[0].astype(ash.i32) - 117).astype(ash.f32) * 0.02
        w = ash.asarray(weights["w"]).astype(ash.f32) * weights["scales"]
        return ash.relu(ash.conv(x, w, padding=[(1, 1), (1, 1)]))

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        x = (inputs[0].float() - 117) * 0.02
        return self._by_torch(x, weights["w"].float() * weights["scales"].reshape(-1, 1, 1, 1, 1))
