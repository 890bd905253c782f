"""The modules behind the models of `transformers`: with flat lists of tensors in and out.

This file imports torch; models import it when their module is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import (
    DeepseekV3Config,
    DynamicCache,
    GPT2Config,
    GPT2LMHeadModel,
    MixtralConfig,
)
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock


class CachedGpt2(nn.Module):
    """The logits of the last token, then keys and values of all layers: past and present."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.model = GPT2LMHeadModel(config).eval()

    def forward(self, input_ids: Tensor, past: Sequence[Tensor]) -> tuple[Tensor, ...]:
        pairs = list(zip(past[::2], past[1::2], strict=True))
        out = self.model(
            input_ids=input_ids,
            past_key_values=DynamicCache(pairs, config=self.model.config),
            use_cache=True,
            logits_to_keep=1,
        )
        layers = out.past_key_values.layers
        return out.logits, *(t for layer in layers for t in (layer.keys, layer.values))


class MoeLayer(nn.Module):
    """Mixtral's routed experts, of which those after the first few never get a token."""

    def __init__(self, config: MixtralConfig, active: int) -> None:
        super().__init__()
        self.block = MixtralSparseMoeBlock(config).eval()
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weight in self.block.parameters():
                weight.normal_(0, weight.shape[-1] ** -0.5, generator=generator)
            self._leave_idle(active)

    def _leave_idle(self, active: int) -> None:
        """Feature 0 is 1 in all tokens: the active experts ignore it, the others detest it."""
        router = self.block.gate.weight
        router[:, 0] = 0
        router[active:] = 0
        router[active:, 0] = -100

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x.unsqueeze(0)).squeeze(0)


class DeepSeekLayer(nn.Module):
    """DeepSeek's routed experts and its shared one; the first `favoured` get all tokens, if any."""

    def __init__(self, config: DeepseekV3Config, favoured: int) -> None:
        super().__init__()
        self.block = DeepseekV3MoE(config).eval()
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for weight in self.block.parameters():
                weight.normal_(0, weight.shape[-1] ** -0.5, generator=generator)
            self.block.gate.e_score_correction_bias[:favoured] = 100

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x.unsqueeze(0)).squeeze(0)


class Segments(nn.Module):
    """Rows added up by the segment that each belongs to."""

    def __init__(self, segments: int, width: int) -> None:
        super().__init__()
        self.shape = (segments, width)

    def forward(self, x: Tensor, segment: Tensor) -> Tensor:
        return torch.zeros(self.shape).index_add(0, segment, x)
