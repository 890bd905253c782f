"""Layers of vision models on images of any size, and sums of segments, as modules of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, TorchModel

# ruff: noqa: PLC0415 - torch is imported by the processes that use it

ImageOp: TypeAlias = Literal[
    "max pool", "average pool", "bilinear, twice", "group norm", "batch norm"
]


@dataclass(frozen=True)
class Images(TorchModel):
    """One layer on x[batch, channels, height, width]."""

    op: ImageOp
    channels: int

    def module(self) -> Any:
        from torch import nn

        made: Mapping[ImageOp, Any] = {
            "max pool": nn.MaxPool2d(3, 2, 1),
            "average pool": nn.AvgPool2d(3, 2, 1),
            "bilinear, twice": nn.Upsample(scale_factor=2.0, mode="bilinear"),
            "group norm": nn.GroupNorm(8, self.channels),
            "batch norm": nn.BatchNorm2d(self.channels),
        }
        return made[self.op].eval()

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"input": ("batch", self.channels, "height", "width")}

    @property
    def example(self) -> Binding:
        return {"batch": 2, "height": 20, "width": 30}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        shape = (binding["batch"], self.channels, binding["height"], binding["width"])
        return (np.random.default_rng(1).standard_normal(shape, np.float32),)

    @property
    def weight_bytes(self) -> int:
        return 0

    def flops(self, binding: Binding) -> int:
        return 0


@dataclass(frozen=True)
class SegmentSums(TorchModel):
    """Rows added up by the segment that each belongs to."""

    segments: int
    width: int

    def module(self) -> Any:
        from benchmarks.workloads.torch_modules import Segments

        return Segments(self.segments, self.width)

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("rows", self.width), "segment": ("rows",)}

    @property
    def example(self) -> Binding:
        return {"rows": 50}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        rng = np.random.default_rng(1)
        x = rng.standard_normal((binding["rows"], self.width), np.float32)
        return x, rng.integers(0, self.segments, binding["rows"])

    @property
    def weight_bytes(self) -> int:
        return 0

    def flops(self, binding: Binding) -> int:
        return 0
