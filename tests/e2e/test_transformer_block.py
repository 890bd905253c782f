"""A layer of torch's transformer encoder, compiled once, against torch at many shapes."""

from typing import Any

import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.ir import Graph

WIDTH, HEADS, HIDDEN = 96, 6, 160


def torch_layer() -> torch.nn.TransformerEncoderLayer:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, HIDDEN, dropout=0.0, activation="gelu", batch_first=True
    )
    return layer.eval()


LAYER = torch_layer()
W = {name: value.detach().numpy() for name, value in LAYER.named_parameters()}


def split(x: Any) -> Any:
    """[batch, seq, width] as [batch, heads, seq, width / heads]."""
    batch, seq, _ = x.shape
    return ash.transpose(ash.reshape(x, (batch, seq, HEADS, WIDTH // HEADS)), (0, 2, 1, 3))


def dense(x: Any, name: str) -> Any:
    return ash.dense(x, np.ascontiguousarray(W[f"{name}.weight"].T), W[f"{name}.bias"])


def norm(x: Any, name: str) -> Any:
    return ash.layer_norm(x, W[f"{name}.weight"], W[f"{name}.bias"])


@ash.jit
def block(x: ash.f32["batch", "seq", WIDTH], mask: ash.bool["batch", 1, 1, "seq"]):
    weights = np.split(W["self_attn.in_proj_weight"].T, 3, axis=1)
    biases = np.split(W["self_attn.in_proj_bias"], 3)
    q, k, v = (
        split(ash.dense(x, np.ascontiguousarray(w), b))
        for w, b in zip(weights, biases, strict=True)
    )
    mixed = ash.transpose(ash.attention(q, k, v, mask), (0, 2, 1, 3))
    x = norm(x + dense(ash.reshape(mixed, x.shape), "self_attn.out_proj"), "norm1")
    return norm(x + dense(ash.gelu(dense(x, "linear1")), "linear2"), "norm2")


@pytest.fixture(scope="module")
def compiled() -> Any:
    return ash.compile(block)


@pytest.mark.parametrize(("batch", "seq"), [(1, 1), (2, 7), (1, 65), (3, 200)])
def test_block_agrees_with_torch(compiled: Any, batch: int, seq: int) -> None:
    rng = np.random.default_rng(seq)
    x = rng.normal(size=(batch, seq, WIDTH)).astype(np.float32)
    mask = rng.random((batch, 1, 1, seq)) < 0.8
    mask[..., 0] = True  # torch has no answer for a row without keys
    with torch.no_grad():
        padding = torch.from_numpy(~mask[:, 0, 0])
        expected = LAYER(torch.from_numpy(x), src_key_padding_mask=padding).numpy()
    (found,) = compiled(x, mask)
    # torch gives zeros where the mask hides a position; what is there does not matter
    seen = mask[:, 0, 0]
    np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-4, atol=1e-4)


def kernels(graph: Graph) -> list[list[str]]:
    """The ops of each kernel."""
    nodes = [node for node in graph.nodes() if node.op.name == "kernel"]
    return [[inner.op.name for inner in node.regions[0].nodes()] for node in nodes]


def test_transposes_are_no_steps_of_their_own(compiled: Any) -> None:
    attention = [ops for ops in kernels(compiled.graph) if "attention" in ops]
    assert len(attention) == 1
    moved = [ops for ops in kernels(compiled.graph) if set(ops) == {"param", "transpose"}]
    assert moved == []
