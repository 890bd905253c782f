"""Attention that PyTorch modules write in primitives: one attention each, with torch's values."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import anyshape as ash


class NanoAttention(nn.Module):
    """Causal self-attention as nanoGPT has it, with a stored triangle."""

    def __init__(self, width: int = 32, heads: int = 4, longest: int = 64) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        triangle = torch.tril(torch.ones(longest, longest))
        self.register_buffer("bias", triangle.view(1, 1, longest, longest))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, seq, width = x.shape
        parts = self.qkv(x).split(width, dim=2)
        q, k, v = (
            p.view(batch, seq, self.heads, width // self.heads).transpose(1, 2) for p in parts
        )
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.shape[-1]))
        scores = scores.masked_fill(self.bias[:, :, :seq, :seq] == 0, float("-inf"))
        mixed = functional.softmax(scores, dim=-1) @ v
        return self.project(mixed.transpose(1, 2).contiguous().view(batch, seq, width))


class Einsum(nn.Module):
    """An additive triangle of -inf, heads behind the sequence, and a softmax in f32."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.unflatten(-1, (4, 8))
        scores = torch.einsum("bqhd,bkhd->bhqk", heads, heads) / math.sqrt(8)
        length = x.shape[1]
        scores = scores + torch.triu(torch.full((length, length), float("-inf")), 1)
        weights = torch.softmax(scores.float(), -1).to(x.dtype)
        return torch.einsum("bhqk,bkhd->bqhd", weights, heads)


class SharedHeads(nn.Module):
    """Keys and values repeated for groups of heads, and hidden by the lowest number."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = x.unflatten(-1, (4, 8)).transpose(1, 2)
        few = x[..., :16].unflatten(-1, (2, 8)).transpose(1, 2)
        k = few.repeat_interleave(2, 1)
        v = few[:, :, None].expand(-1, -1, 2, -1, -1).reshape(q.shape)
        length = x.shape[1]
        seen = torch.tril(torch.ones(length, length, dtype=torch.bool))
        scores = torch.matmul(q, k.mT) * 8**-0.5
        scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
        return torch.matmul(functional.softmax(scores, -1), v)


class Window(nn.Module):
    """A sliding window over soft-capped scores."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        position = torch.arange(x.shape[1])
        distance = position[:, None] - position[None, :]
        seen = (distance >= 0) & (distance < 5)
        scores = 30 * torch.tanh(torch.bmm(x, x.transpose(1, 2)) / 30)
        return torch.bmm(torch.softmax(scores.masked_fill(~seen, -torch.inf), -1), x)


class HiddenOnEitherSide(nn.Module):
    """A window by what it hides, on heads that `einsum` has in front."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.unflatten(-1, (4, 8)).transpose(1, 2)
        position = torch.arange(x.shape[1])
        distance = position[:, None] - position
        scores = torch.einsum("bhqd,bhkd->bhqk", heads, heads)
        hidden = (distance < 0) | (distance >= 5)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        return torch.einsum("bhqk,bhkd->bhqd", weights, heads)


class OneKeyHead(nn.Module):
    """All heads read one head of keys, repeated for them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.unflatten(-1, (4, 8)).transpose(1, 2)
        one = x[:, None, :, :8].repeat(1, 4, 1, 1)
        return torch.softmax(heads @ one.mT, -1) @ one


class Groups(nn.Module):
    """Groups of heads are an axis, along which keys are broadcast."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        groups = x.unflatten(-1, (2, 2, 8)).permute(0, 2, 3, 1, 4)
        few = x[..., :16].unflatten(-1, (2, 8)).transpose(1, 2)[:, :, None]
        return torch.softmax(groups @ few.mT, -1) @ few


class Alibi(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.unflatten(-1, (4, 8)).transpose(1, 2)
        position = torch.arange(x.shape[1])
        slopes = 2.0 ** -torch.arange(1, 5)
        bias = slopes[:, None, None] * (position[None, :] - position[:, None])
        scores = heads @ heads.mT * 8**-0.5 + bias
        return torch.softmax(scores, -1) @ heads


class RelativeBias(nn.Module):
    """A bias for each head and distance, from a table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.unflatten(-1, (4, 8)).transpose(1, 2)
        position = torch.arange(x.shape[1])
        distance = (position[None, :] - position[:, None]).clamp(-4, 4) + 4
        bias = self.table(distance).permute(2, 0, 1)
        return torch.softmax(heads @ heads.mT + bias, -1) @ heads


MODULES: list[tuple[type[nn.Module], dict[str, str]]] = [
    (NanoAttention, {"causal": "top_left", "masks": "0"}),
    (Einsum, {"causal": "top_left", "masks": "0"}),
    (SharedHeads, {"causal": "top_left", "masks": "0"}),
    (Window, {"causal": "top_left", "low": "-4", "cap": "30.0", "masks": "0"}),
    (HiddenOnEitherSide, {"causal": "top_left", "low": "-4", "masks": "0", "kernels": "1"}),
    (OneKeyHead, {"masks": "0", "heads": "1"}),
    (Groups, {"masks": "0", "heads": "1"}),
    (Alibi, {"masks": "1"}),
    (RelativeBias, {"masks": "1"}),
]


def attention_nodes(graph: Any) -> list[Any]:
    inner = [region for node in graph.nodes() for region in node.regions]
    nodes = [*graph.nodes(), *(node for region in inner for node in region.nodes())]
    return [node for node in nodes if node.op.name == "attention"]


@pytest.mark.parametrize(("module", "attrs"), MODULES, ids=[m.__name__ for m, _ in MODULES])
def test_primitives_are_attention(module: type[nn.Module], attrs: dict[str, str]) -> None:
    torch.manual_seed(0)
    model = module().eval()
    compiled = ash.compile(model, (torch.randn(2, 7, 32),), axes={"x": ["batch", "seq", None]})
    (node,) = attention_nodes(compiled.executable.graph)
    found = {name: str(getattr(node.attrs, name)) for name in ("causal", "low", "cap")}
    found["masks"] = str(len(node.operands) - 3)
    found["heads"] = str(node.operands[1].tensor.shape[1])
    kernels = [node for node in compiled.executable.graph.nodes() if node.op.name == "kernel"]
    found["kernels"] = str(len(kernels))
    assert {name: found[name] for name in attrs} == attrs
    for batch, seq in ((2, 7), (1, 1), (3, 64), (1, 0), (0, 5), (2, 33)):
        x = torch.randn(batch, seq, 32)
        with torch.no_grad():
            np.testing.assert_allclose(compiled(x), model(x), rtol=1e-4, atol=1e-5)


def test_heads_that_are_repeated_are_read_once() -> None:
    compiled = ash.compile(
        SharedHeads(), (torch.randn(2, 7, 32),), axes={"x": ["batch", "seq", None]}
    )
    (node,) = attention_nodes(compiled.executable.graph)
    assert [str(value.tensor.shape[1]) for value in node.operands[:3]] == ["4", "2", "2"]
