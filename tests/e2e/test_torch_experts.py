"""Mixtures of experts from torch, in the spellings that people use, against torch itself."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import DeepseekV3Config, MixtralConfig
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

import anyshape as ash

EXPERTS, CHOICES, WIDTH, HIDDEN = 4, 2, 16, 24
LAYER = ["topk", "worklist", "gather", "grouped_dot+slice+silu+mul", "grouped_dot"]
"""What a layer is made of, beside its router and the sum of what experts add."""


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1, self.w3 = (
            nn.Linear(WIDTH, HIDDEN, bias=False),
            nn.Linear(WIDTH, HIDDEN, bias=False),
        )
        self.w2 = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def routes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights, chosen = torch.topk(functional.softmax(self.gate(x), dim=1), CHOICES, dim=-1)
        return weights / weights.sum(dim=-1, keepdim=True), chosen


class OneHotMasks(Router):
    """As transformers 4 had Mixtral and Qwen."""

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.routes(x)
        out = torch.zeros_like(x)
        masks = functional.one_hot(chosen, num_classes=EXPERTS).permute(2, 1, 0)
        for number, expert in enumerate(self.experts):
            choice, rows = torch.where(masks[number])
            current = x[None, rows].reshape(-1, WIDTH)
            out.index_add_(0, rows, expert(current) * weights[rows, choice, None])
        return out


class Comparisons(Router):
    """As DeepSeek's and Mistral's own code has it: `results[rows] += …`."""

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.routes(x)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, choice = torch.where(chosen == number)
            out = out.index_put((rows,), weights[rows, choice, None] * expert(x[rows]), True)
        return out


def random_weights(module: nn.Module) -> Any:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in (*module.parameters(), *module.buffers()):
            weight.normal_(0, weight.shape[-1] ** -0.5, generator=generator)
    return module.eval()


class Batched(nn.Module):
    """A block of transformers on rows without a batch."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x.unsqueeze(0)).squeeze(0)


def mixtral(form: str) -> nn.Module:
    config = MixtralConfig(
        hidden_size=WIDTH, intermediate_size=HIDDEN, num_local_experts=EXPERTS,
        num_experts_per_tok=CHOICES, experts_implementation=form,
    )  # fmt: skip
    return Batched(MixtralSparseMoeBlock(config))


def deepseek(experts: int = 256) -> nn.Module:
    """Group-limited routing with a correction of scores, and a shared expert."""
    config = DeepseekV3Config(
        hidden_size=32, moe_intermediate_size=16, n_routed_experts=experts,
        num_local_experts=experts, num_experts_per_tok=8, n_group=8, topk_group=4,
        n_shared_experts=1, norm_topk_prob=True, routed_scaling_factor=2.5,
        experts_implementation="eager",
    )  # fmt: skip
    return Batched(DeepseekV3MoE(config))


MODELS = {
    "one-hot masks": OneHotMasks,
    "comparisons": Comparisons,
    "transformers, one by one": lambda: mixtral("eager"),
    "transformers, grouped": lambda: mixtral("grouped_mm"),
}


def compiled(module: Any, width: int) -> Any:
    example = torch.randn(5, width)
    return ash.compile(module, (example,), axes={"x": ("tokens", None)}, strict=True)


def agrees(module: Any, model: Any, tokens: int, width: int) -> None:
    x = torch.randn(tokens, width, generator=torch.Generator().manual_seed(tokens))
    with torch.no_grad():
        expected = module(x).numpy()
    np.testing.assert_allclose(model(x).numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_a_mixture_of_experts_is_a_worklist_and_two_products(name: str) -> None:
    module = random_weights(MODELS[name]())
    model = compiled(module, WIDTH)
    names = [kernel.name for kernel in model.executable.kernels]
    assert [name for name in names if name in LAYER] == LAYER
    assert not any("sort" in name or "scatter" in name for name in names)
    for tokens in (0, 1, 2, 33):
        agrees(module, model, tokens, WIDTH)


def test_experts_are_eager_again_after_the_capture() -> None:
    module = mixtral("eager")
    compiled(random_weights(module), WIDTH)
    assert module.block.experts.config._experts_implementation == "eager"


def test_deepseek_routes_256_experts_by_groups() -> None:
    module = random_weights(deepseek())
    model = compiled(module, 32)
    for tokens in (0, 1, 2, 63, 700, 4096):
        agrees(module, model, tokens, 32)


def test_all_tokens_may_go_to_the_same_experts() -> None:
    module: Any = random_weights(deepseek(64))
    module.block.gate.e_score_correction_bias[16:24] = 100
    model = compiled(module, 32)
    for tokens in (1, 100):
        agrees(module, model, tokens, 32)
