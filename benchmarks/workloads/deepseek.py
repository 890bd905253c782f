"""A layer of experts in DeepSeek's form: eight of many, chosen by groups, and a shared one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, TorchModel

# ruff: noqa: PLC0415 - torch is imported by the processes that use it

PER_TOKEN, GROUPS, CHOSEN_GROUPS = 8, 8, 4


@dataclass(frozen=True)
class DeepSeek(TorchModel):
    """`one_sided` sends all tokens to the same eight experts."""

    experts: int = 256
    width: int = 512
    hidden: int = 256
    form: Literal["eager", "grouped_mm"] = "grouped_mm"
    one_sided: bool = False

    def module(self) -> Any:
        from benchmarks.workloads.torch_modules import DeepSeekLayer
        from transformers import DeepseekV3Config

        config = DeepseekV3Config(
            hidden_size=self.width,
            moe_intermediate_size=self.hidden,
            n_routed_experts=self.experts,
            num_local_experts=self.experts,
            num_experts_per_tok=PER_TOKEN,
            n_group=GROUPS,
            topk_group=CHOSEN_GROUPS,
            n_shared_experts=1,
            experts_implementation=self.form,
        )
        return DeepSeekLayer(config, PER_TOKEN if self.one_sided else 0)

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("tokens", self.width)}

    @property
    def example(self) -> Binding:
        return {"tokens": 5}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        rng = np.random.default_rng(1)
        return (rng.standard_normal((binding["tokens"], self.width), np.float32),)

    @property
    def weight_bytes(self) -> int:
        """Of the experts that the first token needs, the shared one among them."""
        return 4 * (PER_TOKEN + 1) * 3 * self.width * self.hidden

    def flops(self, binding: Binding) -> int:
        routing = 2 * self.width * self.experts
        return binding["tokens"] * (routing + (PER_TOKEN + 1) * 6 * self.width * self.hidden)
