"""Models of transformers: one compile each, then many sizes, paddings and steps, against eager."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ["TRANSFORMERS_OFFLINE"] = "1"

import numpy as np
import pytest
import torch
import transformers as tf

import anyshape as ash
from anyshape.api.transformers_exporter import AnyshapeExporter

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's and transformers' own

SMALL: dict[str, Any] = {
    "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64,
}  # fmt: skip
DEEPSEEK: dict[str, Any] = {
    "num_key_value_heads": 4, "n_routed_experts": 8, "n_group": 2, "topk_group": 1,
    "num_experts_per_tok": 2, "moe_intermediate_size": 16, "q_lora_rank": 16, "kv_lora_rank": 16,
    "qk_rope_head_dim": 8, "v_head_dim": 8, "qk_nope_head_dim": 8, "first_k_dense_replace": 1,
}  # fmt: skip
MODELS: dict[str, Callable[[], Any]] = {
    "bert": lambda: tf.BertModel(tf.BertConfig(**SMALL)),
    "gpt2": lambda: tf.GPT2LMHeadModel(
        tf.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4)
    ),
    "llama": lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**SMALL, num_key_value_heads=2)),
    "mixtral": lambda: tf.MixtralForCausalLM(
        tf.MixtralConfig(**SMALL, num_key_value_heads=2, num_local_experts=4)
    ),
    "deepseek": lambda: tf.DeepseekV3ForCausalLM(tf.DeepseekV3Config(**SMALL, **DEEPSEEK)),
}
NAMES = {"input_ids": ("batch", "seq"), "attention_mask": ("batch", "seq")}


def made(name: str) -> Any:
    torch.manual_seed(0)
    return MODELS[name]().eval()


def bindings() -> list[tuple[int, int]]:
    rng = np.random.default_rng(0)
    drawn = [(int(rng.integers(1, 5)), int(rng.integers(1, 50))) for _ in range(16)]
    return [(1, 1), (1, 17), (3, 1), (2, 2), *drawn]


def padded(batch: int, seq: int, left: bool) -> dict[str, Any]:
    """Tokens, and a mask that leaves out a part of the first sequence."""
    mask = torch.ones(batch, seq, dtype=torch.long)
    if left:
        mask[0, : seq // 2] = 0
    else:
        mask[0, seq - seq // 2 :] = 0
    return {"input_ids": torch.randint(0, 100, (batch, seq)), "attention_mask": mask}


def close(found: Any, wanted: Any) -> None:
    assert (found - wanted).abs().max() <= 1e-4 * wanted.abs().max()


def flags_of(name: str) -> dict[str, Any]:
    return {} if name == "bert" else {"use_cache": False}


def compiled(model: Any, flags: dict[str, Any]) -> Any:
    found = ash.compile(model, kwargs={**padded(1, 1, True), **flags}, axes=NAMES)
    assert dict(found.explain().host_ops) == {}
    return found


def inputs_in_turn() -> Iterator[dict[str, Any]]:
    """At twenty bindings, padded left and right in turn."""
    for number, (batch, seq) in enumerate(bindings()):
        yield padded(batch, seq, left=number % 2 == 0)


@pytest.mark.parametrize("name", MODELS)
def test_any_size_and_padding(name: str) -> None:
    model, flags = made(name), flags_of(name)
    fast = compiled(model, flags)
    for inputs in inputs_in_turn():
        with torch.no_grad():
            wanted = model(**inputs, **flags)
        found = fast(**inputs, **flags)
        assert type(found) is type(wanted)
        close(found[0], wanted[0])


def test_a_dense_layer_is_eight_kernels() -> None:
    """Norm, product, rotation, attention, projection, norm, gated product, product."""
    counts: list[int] = []
    for layers in (1, 2):
        config = tf.LlamaConfig(**SMALL | {"num_hidden_layers": layers}, num_key_value_heads=2)
        graph = compiled(tf.LlamaForCausalLM(config).eval(), {"use_cache": False}).executable.graph
        counts.append(sum(node.op.name == "kernel" for node in graph.nodes()))
    assert counts[1] - counts[0] == 8


@pytest.mark.parametrize("name", MODELS)
def test_bfloat16_is_as_exact_as_torch(name: str) -> None:
    """On average: where two experts are almost equal, a token may go to either of them."""
    model, flags = made(name).to(torch.bfloat16), flags_of(name)
    exact, fast = copy.deepcopy(model).float(), compiled(model, flags)
    errors: dict[str, list[float]] = {"ours": [], "torch": []}
    for inputs in inputs_in_turn():
        with torch.no_grad():
            wanted, theirs = (one(**inputs, **flags)[0] for one in (exact, model))
        ours = fast(**inputs, **flags)[0]
        assert ours.dtype == torch.bfloat16
        for who, found in (("ours", ours), ("torch", theirs)):
            errors[who].append((found.float() - wanted).abs().mean().item())
    assert np.mean(errors["ours"]) <= 1.2 * np.mean(errors["torch"])


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_steps_with_a_growing_cache(name: str) -> None:
    model = made(name)
    fast = AnyshapeExporter().export(model, _step(model, 1, 3, 2))
    axes = {axis.name for axis in fast.axes}
    assert axes == {"batch_size", "sequence_length", "past_sequence_length"}
    ids = torch.randint(0, 100, (2, 9))
    cache = _past(model, 2, 0)
    seen = []
    for start, stop in ((0, 4), (4, 5), (5, 6), (6, 9)):
        mask = torch.ones(2, stop, dtype=torch.long)
        out = fast(input_ids=ids[:, start:stop], attention_mask=mask, past_key_values=cache)
        cache = out.past_key_values
        seen.append(out.logits)
    with torch.no_grad():
        close(torch.cat(seen, 1), model(input_ids=ids).logits)


def _past(model: Any, batch: int, length: int) -> Any:
    config = model.config
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    cache = tf.DynamicCache(config=config)
    for layer in range(config.num_hidden_layers):
        cache.update(
            torch.randn(batch, heads, length, 8), torch.randn(batch, heads, length, 8), layer
        )
    return cache


def _step(model: Any, batch: int, past: int, seq: int) -> dict[str, Any]:
    mask = torch.ones(batch, past + seq, dtype=torch.long)
    ids = torch.zeros(batch, seq, dtype=torch.long)
    return {"input_ids": ids, "attention_mask": mask, "past_key_values": _past(model, batch, past)}
