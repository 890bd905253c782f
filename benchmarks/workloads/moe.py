"""A layer of routed experts in Mixtral's form: every token goes to two of those that are active."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, TorchModel

# ruff: noqa: PLC0415 - torch is imported by the processes that use it

PER_TOKEN = 2


@dataclass(frozen=True)
class Moe(TorchModel):
    """`form` is how transformers computes the experts: one by one, or all in a grouped product."""

    experts: int
    active: int = 8
    width: int = 512
    hidden: int = 1024
    form: Literal["eager", "grouped_mm"] = "grouped_mm"

    def module(self) -> Any:
        from benchmarks.workloads.torch_modules import MoeLayer
        from transformers import MixtralConfig

        config = MixtralConfig(
            hidden_size=self.width,
            intermediate_size=self.hidden,
            num_local_experts=self.experts,
            num_experts_per_tok=PER_TOKEN,
            experts_implementation=self.form,
        )
        return MoeLayer(config, self.active)

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("tokens", self.width)}

    @property
    def example(self) -> Binding:
        return {"tokens": 5}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        x = np.random.default_rng(1).standard_normal((binding["tokens"], self.width), np.float32)
        x[:, 0] = 1
        return (x,)

    @property
    def weight_bytes(self) -> int:
        """Of the two experts that the first token needs; more tokens may share them."""
        return 4 * PER_TOKEN * 3 * self.width * self.hidden

    def flops(self, binding: Binding) -> int:
        routing = 2 * self.width * self.experts
        return binding["tokens"] * (routing + PER_TOKEN * 6 * self.width * self.hidden)
