"""Caches of transformers go in and come out, and `generate` gives eager's tokens, by a compiled
forward and under torch.compile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ["TRANSFORMERS_OFFLINE"] = "1"

import pytest
import torch
import transformers as tf

import anyshape as ash
from anyshape.api.dynamo_backend import compiled_graphs
from anyshape.api.transformers_generate import compile_for_generate
from anyshape.base.errors import InputError, UnsupportedModelError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's and transformers' own

TOKENS: dict[str, Any] = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SMALL: dict[str, Any] = {
    "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 64, **TOKENS,
}  # fmt: skip
MODELS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: tf.GPT2LMHeadModel(
        tf.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, **TOKENS)
    ),
    "llama": lambda: tf.LlamaForCausalLM(tf.LlamaConfig(**SMALL)),
    "mistral": lambda: tf.MistralForCausalLM(tf.MistralConfig(**SMALL, sliding_window=6)),
}
PAST = ("batch", None, "past", None)
PROMPTS = ((1, 1), (3, 7), (2, 12))


@pytest.fixture(autouse=True)
def _without_gradients() -> Iterator[None]:
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def close(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def prompt(batch: int, seq: int) -> Any:
    return torch.randint(3, 100, (batch, seq))


def filled(model: Any, batch: int, length: int) -> Any:
    """A cache that has seen so many tokens."""
    cache = tf.DynamicCache()
    model(input_ids=prompt(batch, length), past_key_values=cache, use_cache=True)
    return cache


# --- caches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("empty", [tf.DynamicCache, lambda config: tf.DynamicCache()])
def test_a_cache_grows_from_call_to_call(empty: Any) -> None:
    model = MODELS["llama"]().eval()
    example = {"input_ids": prompt(2, 5), "past_key_values": filled(model, 2, 3)}
    axes = {"input_ids": ("batch", "seq"), "past_key_values": PAST}
    fast = ash.compile(model, kwargs=example, axes=axes)
    ids, ours, theirs = prompt(3, 9), empty(config=model.config), empty(config=model.config)
    for start, stop in ((0, 4), (4, 5), (5, 9)):
        found = fast(input_ids=ids[:, start:stop], past_key_values=ours)
        wanted = model(input_ids=ids[:, start:stop], past_key_values=theirs)
        assert type(found) is type(wanted)
        assert found.past_key_values is ours
        assert ours.get_seq_length() == stop
        close(found.logits, wanted.logits)
        for one, other in zip(ours.layers, theirs.layers, strict=True):
            close(one.keys, other.keys)
            close(one.values, other.values)


def test_a_cache_among_the_results() -> None:
    model = MODELS["llama"]().eval()
    given = {"input_ids": prompt(2, 5), "use_cache": True}
    fast = ash.compile(model, kwargs=given, axes={"input_ids": ("batch", "seq")})
    for batch, seq in PROMPTS:
        ids = prompt(batch, seq)
        found, wanted = (each(input_ids=ids, use_cache=True) for each in (fast, model))
        assert type(found.past_key_values) is tf.DynamicCache
        assert found.past_key_values.get_seq_length() == seq
        close(found.past_key_values.layers[1].values, wanted.past_key_values.layers[1].values)
    again = model(input_ids=prompt(2, 1), past_key_values=found.past_key_values)
    assert again.past_key_values.get_seq_length() == 13  # eager continues it


class Tupled(torch.nn.Module):
    """A model of transformers inside of another one, which returns a tuple."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, ids: Any, cache: Any) -> Any:
        out = self.inner(input_ids=ids, past_key_values=cache)
        return out.logits.argmax(-1), out.past_key_values


def test_a_cache_in_a_tuple() -> None:
    model = Tupled(MODELS["llama"]()).eval()
    example = prompt(2, 5), filled(model.inner, 2, 3)
    fast = ash.compile(model, example, axes={"ids": ("batch", "seq"), "cache": PAST})
    ids, ours, theirs = prompt(1, 6), tf.DynamicCache(), tf.DynamicCache()
    found, wanted = fast(ids, ours), model(ids, theirs)
    assert found[1] is ours
    assert torch.equal(found[0], wanted[0])
    assert ours.get_seq_length() == 6


def test_a_static_cache_at_its_own_batch() -> None:
    """Its layers hold their batch and length as numbers; how far they are filled is a tensor."""
    model = MODELS["llama"]().eval()

    def started() -> Any:
        torch.manual_seed(1)
        cache = tf.StaticCache(config=model.config, max_cache_len=16)
        model(input_ids=prompt(2, 3), past_key_values=cache)
        return cache

    example = {"input_ids": prompt(2, 4), "past_key_values": started()}
    fast = ash.compile(model, kwargs=example, axes={"input_ids": (None, "seq")})
    ours, theirs = started(), started()
    for seq in (4, 1, 2, 5):
        ids = prompt(2, seq)
        found = fast(input_ids=ids, past_key_values=ours).logits
        close(found, model(input_ids=ids, past_key_values=theirs).logits)
        assert int(ours.get_seq_length()) == int(theirs.get_seq_length())


# --- what is refused ------------------------------------------------------------------------------


def message(call: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


def test_a_cache_that_counts_is_refused() -> None:
    model = MODELS["mistral"]().eval()
    cache = tf.DynamicCache(config=model.config)
    example = {"input_ids": prompt(2, 5), "past_key_values": cache}
    assert message(lambda: ash.compile(model, kwargs=example)) == (
        "input 'past_key_values' has a DynamicSlidingWindowLayer as layer 0, which counts its "
        "tokens as a number\n"
        "fix: pass a DynamicCache() that is made without a config: it keeps all tokens"
    )


class Forgets(Tupled):
    def forward(self, ids: Any, cache: Any) -> Any:
        return super().forward(ids, cache)[0]


def test_a_cache_that_would_be_lost_is_refused() -> None:
    model = Forgets(MODELS["llama"]()).eval()
    example = prompt(2, 5), filled(model.inner, 2, 3)
    axes = {"ids": ("batch", "seq"), "cache": PAST}
    assert message(lambda: ash.compile(model, example, axes=axes)) == (
        "input 'cache' is a DynamicCache that the model does not return\n"
        "fix: return it; for a model of transformers, pass kwargs={..., 'use_cache': True}"
    )


def test_a_cache_that_is_built_otherwise_is_refused() -> None:
    model = MODELS["llama"]().eval()
    example = {"input_ids": prompt(2, 5), "past_key_values": tf.DynamicCache()}
    fast = ash.compile(model, kwargs=example, axes={"input_ids": ("batch", "seq")})
    assert message(lambda: fast(input_ids=prompt(1, 2), past_key_values=filled(model, 1, 3))) == (
        "input 'past_key_values' has 2 layers, unlike the example's\n"
        "fix: pass a cache of the same class and layers"
    )


def test_generate_is_for_decoders() -> None:
    bert = tf.BertModel(tf.BertConfig(**{**SMALL, "num_hidden_layers": 1})).eval()
    bert.forward = lambda input_ids: None
    with pytest.raises(UnsupportedModelError) as caught:
        compile_for_generate(bert)
    assert "a forward without the parameters attention_mask, past_key_values" in str(caught.value)
    assert "fix: compile_for_generate is for decoders" in str(caught.value)


# --- generate -------------------------------------------------------------------------------------


def tokens(model: Any) -> list[Any]:
    """Greedy, with padding on the left, and with beams."""
    torch.manual_seed(2)
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[0, :5] = 0
    calls: list[dict[str, Any]] = [{"inputs": prompt(*sizes)} for sizes in PROMPTS]
    calls.append({"inputs": prompt(2, 12), "attention_mask": mask})
    calls.append({"inputs": prompt(2, 5), "num_beams": 3})
    return [model.generate(**call, max_new_tokens=7, do_sample=False) for call in calls]


@pytest.mark.parametrize("name", MODELS)
def test_generate_with_a_compiled_forward(name: str) -> None:
    model = MODELS[name]().eval()
    wanted = tokens(model)
    forward = compile_for_generate(model)
    model.forward = forward
    found = tokens(model)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
    assert forward.compiled.metrics().runs >= 5 * 7 - 5
    del model.forward
    assert torch.equal(tokens(model)[1], wanted[1])


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_generate_under_torch_compile(name: str, cache: str) -> None:
    torch._dynamo.reset()
    model = MODELS[name]().eval()
    calls: list[dict[str, Any]] = [
        {"inputs": prompt(*sizes), "max_new_tokens": 5, "do_sample": False} for sizes in PROMPTS[1:]
    ]
    wanted = [model.generate(**call, cache_implementation=cache) for call in calls]
    model.forward = torch.compile(model.forward, backend="anyshape", dynamic=True)
    found = [model.generate(**call, cache_implementation=cache) for call in calls]
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
    assert compiled_graphs()
    assert all(graph.executable is not None for graph in compiled_graphs())
