"""State of PyTorch models: a past that grows in place, buffers and inputs written in place."""

from __future__ import annotations

import copy
import os
from typing import Any

os.environ["TRANSFORMERS_OFFLINE"] = "1"

import numpy as np
import pytest
import torch
from tests.e2e.test_torch_transformers import close, made
from torch import nn

import anyshape as ash
from anyshape.api.transformers_exporter import AnyshapeExporter
from anyshape.base.errors import OptionError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's and transformers' own

STEPS = 200


def past_of(model: Any, batch: int, length: int) -> Any:
    import transformers as tf

    heads = getattr(model.config, "num_key_value_heads", model.config.num_attention_heads)
    cache = tf.DynamicCache(config=model.config)
    for layer in range(model.config.num_hidden_layers):
        keys, values = (torch.randn(batch, heads, length, 8) for _ in range(2))
        cache.update(keys, values, layer)
    return cache


def step_of(batch: int, past: int, seq: int, cache: Any) -> dict[str, Any]:
    mask = torch.ones(batch, past + seq, dtype=torch.long)
    ids = torch.zeros(batch, seq, dtype=torch.long)
    return {"input_ids": ids, "attention_mask": mask, "past_key_values": cache}


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_200_steps_move_the_cache_less_than_twice_its_size(name: str) -> None:
    model = made(name)
    example = step_of(1, 3, 2, past_of(model, 1, 3))
    fast = AnyshapeExporter().export(model, example, {"donate": ("past_key_values",)})
    for batch in (1, 3):
        ids = torch.randint(0, 100, (batch, STEPS))
        cache, seen, moved = past_of(model, batch, 0), [], 0
        for number in range(STEPS):
            inputs = step_of(batch, number, 1, cache)
            inputs["input_ids"] = ids[:, number : number + 1]
            before = places(cache)
            out = fast(**inputs)
            cache = out.past_key_values
            seen.append(out.logits)
            sizes = [tensor.nbytes for tensor in tensors(cache)]
            pairs = zip(before, places(cache), sizes, strict=True)
            moved += sum(size for old, new, size in pairs if old != new)
        with torch.no_grad():
            wanted = model(input_ids=ids)
        close(torch.cat(seen, 1), wanted.logits)
        for found, other in zip(tensors(cache), tensors(wanted.past_key_values), strict=True):
            close(found, other)
        assert moved <= 2 * sum(sizes)


def tensors(cache: Any) -> list[Any]:
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def places(cache: Any) -> list[int]:
    return [tensor.data_ptr() for tensor in tensors(cache)]


def test_branches_of_one_cache() -> None:
    """Several ways to go on from one past, as a search takes them: a call brings the cache that it
    is given up to date, as eager mode does, so each has one of its own with the same tensors."""
    model = made("llama")
    example = step_of(1, 3, 2, past_of(model, 1, 3))
    fast = AnyshapeExporter().export(model, example, {"donate": ("past_key_values",)})
    prefix = torch.randint(0, 100, (2, 7))
    start = step_of(2, 0, 7, past_of(model, 2, 0)) | {"input_ids": prefix}
    past = fast(**start).past_key_values
    for token in (5, 6, 7):
        ids = torch.full((2, 1), token)
        own = copy.copy(past)
        own.layers = [copy.copy(layer) for layer in past.layers]
        found = fast(**step_of(2, 7, 1, own) | {"input_ids": ids}).logits
        with torch.no_grad():
            close(found, model(input_ids=torch.cat([prefix, ids], 1)).logits[:, -1:])


class Statistics(nn.Module):
    """A running mean, and the number of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(8))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x: Any) -> Any:
        self.mean.mul_(0.5).add_(x.mean(0))
        self.calls.add_(1)
        return x - self.mean


@pytest.mark.parametrize("executor", ["native", "stepwise", "reference"])
@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_buffers_are_updated_in_place(executor: Any, kind: str) -> None:
    torch.manual_seed(0)
    model = Statistics()
    x = torch.randn(4, 8)
    fast = ash.compile(model, (x,), axes={"x": ("n", None)}, executor=executor)
    places: list[int] = []
    for n in (4, 1, 9, 3):
        x = torch.randn(n, 8)
        wanted = model(x)
        found = fast(x.numpy() if kind == "numpy" else x)
        np.testing.assert_allclose(np.asarray(found), wanted.numpy(), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(fast.state["mean"], model.mean.numpy(), rtol=1e-5, atol=1e-5)
        assert fast.state["calls"] == model.calls
        places.append(id(fast._state["mean"]))
    if executor != "reference":
        assert len(set(places[1:])) == 1


def test_a_compiled_model_never_writes_into_the_buffers_of_its_source() -> None:
    model = Statistics()
    fast = ash.compile(model, (torch.randn(4, 8),), axes={"x": ("n", None)})
    for _ in range(3):
        fast(torch.ones(2, 8))
    assert model.calls == 0
    assert not model.mean.any()


NAMES = {"x": ("n",), "y": ("n",)}


class Writer(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        x.mul_(2).add_(y)
        return x.sum()


def test_inputs_that_the_model_writes_into() -> None:
    fast = ash.compile(Writer(), (torch.ones(3), torch.ones(3)), axes=NAMES)
    x, y = torch.arange(5.0), torch.ones(5)
    assert fast(x, y) == 25
    assert x.tolist() == [1, 3, 5, 7, 9]
    assert y.tolist() == [1] * 5
    gaps = torch.arange(10.0)
    fast(gaps[::2], y)
    assert gaps.tolist() == [1, 1, 5, 3, 9, 5, 13, 7, 17, 9]


def test_names_that_are_no_arguments() -> None:
    with pytest.raises(OptionError) as caught:
        ash.compile(Writer(), (torch.ones(3), torch.ones(3)), axes=NAMES, donate=("past",))
    assert str(caught.value).splitlines()[0] == "donate='past' is not an argument: x, y"
