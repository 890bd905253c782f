"""Whole convolutional networks, for images or sound of any size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, TorchModel

# ruff: noqa: PLC0415 - torch is imported by the processes that use it

NetName: TypeAlias = Literal["ResNet-18", "MobileNet-V2", "U-Net", "ConvNeXt-tiny", "Conv-TasNet"]


@dataclass(frozen=True)
class Net(TorchModel):
    """By its name; weights are random."""

    name: NetName

    def module(self) -> Any:
        from benchmarks.workloads.net_modules import net

        return net(self.name)

    @property
    def is_sound(self) -> bool:
        return self.name == "Conv-TasNet"

    @property
    def signature(self) -> Mapping[str, Shape]:
        name = "x" if self.name in ("U-Net", "Conv-TasNet") else "input"  # as `forward` has it
        return {name: ("batch", 1, "samples") if self.is_sound else ("batch", 3, "h", "w")}

    @property
    def example(self) -> Binding:
        return {"batch": 2, "samples": 1030} if self.is_sound else {"batch": 2, "h": 97, "w": 131}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        (named,) = self.signature.values()
        shape = tuple(binding[size] if isinstance(size, str) else size for size in named)
        return (np.random.default_rng(1).standard_normal(shape, np.float32),)

    @property
    def weight_bytes(self) -> int:
        return sum(4 * weight.numel() for weight in self.module().parameters())

    def flops(self, binding: Binding) -> int:
        return 0  # they differ by place: none are stated
