"""Models that read one token of all: their last layer computes one row, with eager's results."""

from __future__ import annotations

import os
from typing import Any

os.environ["TRANSFORMERS_OFFLINE"] = "1"

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

import anyshape as ash

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's and transformers' own

BINDINGS = [(1, 1), (3, 1), (1, 2), (1, 17), (2, 33), (4, 7)]
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}


class LastToken(nn.Module):
    """A causal model: logits of the last token, then keys and values of all."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.model = tf.AutoModelForCausalLM.from_config(config).eval()

    def forward(self, ids: Tensor) -> tuple[Tensor, ...]:
        out = self.model(input_ids=ids, use_cache=True, logits_to_keep=1)
        layers = out.past_key_values.layers
        return out.logits, *(tensor for layer in layers for tensor in (layer.keys, layer.values))


class Pooled(nn.Module):
    """An encoder that says what its first token has gathered."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        config = tf.BertConfig(vocab_size=100, intermediate_size=64, **SMALL)
        self.model = tf.BertModel(config).eval()

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.model(input_ids=ids, attention_mask=mask).pooler_output


CAUSAL = {
    "gpt2": tf.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4),
    "llama": tf.LlamaConfig(
        vocab_size=100, intermediate_size=64, num_key_value_heads=2, head_dim=8, **SMALL
    ),
}


def tokens(batch: int, seq: int) -> Tensor:
    return torch.randint(3, 100, (batch, seq), generator=torch.Generator().manual_seed(batch * seq))


def narrowed(executable: Any) -> set[str]:
    groups = executable.explain().applied
    return {group.op for group in groups if group.rule == "narrowing"}


def close(found: Tensor, wanted: Tensor) -> bool:
    assert found.shape == wanted.shape
    return (found - wanted).abs().max().item() <= 1e-4 * wanted.abs().max().item()


@pytest.mark.parametrize("name", CAUSAL)
def test_last_token(name: str) -> None:
    model = LastToken(CAUSAL[name])
    fast = ash.compile(model, (tokens(2, 5),), axes={"ids": ("batch", "seq")})
    assert {"attention", "dot"} <= narrowed(fast)
    for batch, seq in BINDINGS:
        ids = tokens(batch, seq)
        with torch.no_grad():
            wanted = model(ids)
        for ours, exact in zip(fast(ids), wanted, strict=True):
            assert close(ours, exact), (batch, seq)


def test_first_token() -> None:
    model = Pooled()
    axes = {"ids": ("batch", "seq"), "mask": ("batch", "seq")}
    fast = ash.compile(model, (tokens(2, 5), torch.ones(2, 5, dtype=torch.long)), axes=axes)
    assert narrowed(fast) == {"attention", "dot", "layer_norm"}
    for batch, seq in BINDINGS:
        ids, mask = tokens(batch, seq), torch.ones(batch, seq, dtype=torch.long)
        mask[0, seq // 2 + 1 :] = 0
        with torch.no_grad():
            wanted = model(ids, mask)
        assert close(fast(ids, mask), wanted), (batch, seq)
