"""How models are called, and what is compiled: functions, collected arguments, classes of results,
and torch's own attention layers. Captured at one size, compared with eager at others."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape.base.errors import RefusedCaseError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


def close(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


# --- functions ------------------------------------------------------------------------------------


def product(x: Any, y: Any, *, scale: float = 1.0) -> Any:
    return torch.relu(x) @ y * scale


def test_a_function() -> None:
    axes = {"x": ("m", "k"), "y": ("k", "n")}
    example = torch.randn(3, 4), torch.randn(4, 5)
    model = ash.compile(product, example, {"scale": 0.5}, axes=axes)
    assert model.executable.source.name == "product"
    for m, k, n in ((3, 4, 5), (1, 7, 2), (0, 1, 1)):
        x, y = torch.randn(m, k), torch.randn(k, n)
        close(model(x, y, scale=0.5), product(x, y, scale=0.5))


def test_functions_that_use_modules() -> None:
    layer = torch.nn.Linear(4, 3).train()
    twice = lambda x: layer(layer(x)[:, :1].expand(-1, 4))  # noqa: E731
    x = torch.randn(5, 4)
    with torch.no_grad():
        for function in (layer.forward, lambda input: layer(input) + 0, torch.compile(layer)):
            model = ash.compile(function, (torch.randn(2, 4),), axes={"input": ("n", None)})
            close(model(x), layer(x))
        model = ash.compile(twice, (torch.randn(2, 4),), axes={"x": ("n", None)})
        close(model(x), twice(x))
    assert layer.training


# --- arguments ------------------------------------------------------------------------------------


class Collects(torch.nn.Module):
    def forward(self, x: Any, *rest: Any, scale: float = 1.0, **named: Any) -> Any:
        for each in rest:
            x = x + each
        return {name: x * scale - value for name, value in sorted(named.items())}


def test_collected_arguments_in_another_order() -> None:
    axes = {"x": ("n",), "rest": (("n",), ("n",)), "a": ("n",), "b": ("n",)}
    x = torch.randn(3)
    model = ash.compile(Collects(), (x, x, x), {"scale": 2.0, "a": x, "b": x}, axes=axes)
    for n in (1, 0, 5):
        x, y, z, a, b = torch.randn(5, n)
        close(model(x, y, z, b=b, a=a, scale=2.0), Collects()(x, y, z, a=a, b=b, scale=2.0))


class Difference(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x["a"] - x["b"]


def test_keys_of_a_dict_in_another_order() -> None:
    example = {"b": torch.randn(3), "a": torch.randn(3)}
    model = ash.compile(Difference(), (example,), axes={"x": {"a": ("n",), "b": ("n",)}})
    a, b = torch.randn(2, 7)
    close(model({"a": a, "b": b}), a - b)
    close(model({"b": b, "a": a}), a - b)


@dataclasses.dataclass
class Pair:
    first: Any
    second: Any


torch.export.register_dataclass(Pair)


class Swaps(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return Pair(x.second + 1, x.first)


@pytest.mark.parametrize("axes", [Pair(("n",), ("m",)), {"first": ("n",), "second": ("m",)}])
def test_registered_dataclasses(axes: Any) -> None:
    example = Pair(torch.randn(3), torch.randn(4))
    model = ash.compile(Swaps(), (example,), axes={"x": axes})
    first, second = torch.randn(6), torch.randn(2)
    found = model(Pair(first, second))
    assert type(found) is Pair
    close(found.first, second + 1)
    close(found.second, first)


class Insists(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        assert x.shape[0] > 1, "one row is none"
        return x * 2


def test_the_models_own_assertion() -> None:
    model = ash.compile(Insists(), (torch.randn(3, 4),), axes={"x": ("n", None)})
    x = torch.randn(2, 4)
    close(model(x), x * 2)
    with pytest.raises(RefusedCaseError, match=r"AssertionError: one row is none\n.* axis n = 1;"):
        model(torch.randn(1, 4))


# --- attention ------------------------------------------------------------------------------------

SIZES = ((3, 7), (1, 1), (2, 16))
WIDTH = dict.fromkeys(("query", "key", "value"), ("b", "s", None))


def causal(size: int) -> Any:
    return torch.nn.Transformer.generate_square_subsequent_mask(size)


def padded(batch: int, seq: int) -> Any:
    mask = torch.zeros(batch, seq, dtype=torch.bool)
    mask[0, (seq + 1) // 2 :] = True
    return mask


@pytest.mark.parametrize("weights", [True, False])
def test_multi_head_attention_with_masks(weights: bool) -> None:
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def call(batch: int, seq: int) -> tuple[Any, Any]:
        x = torch.randn(batch, seq, 8)
        masks = {"key_padding_mask": padded(batch, seq), "attn_mask": causal(seq) != 0}
        return (x, x, x), {"need_weights": weights, **masks}

    axes = {**WIDTH, "key_padding_mask": ("b", "s"), "attn_mask": ("s", "s")}
    model = ash.compile(layer, *call(2, 5), axes=axes)
    with torch.no_grad():
        for batch, seq in SIZES:
            args, kwargs = call(batch, seq)
            found, wanted = model(*args, **kwargs), layer(*args, **kwargs)
            close(found[0], wanted[0])
            assert (found[1] is None) == (wanted[1] is None) == (not weights)
            if weights:
                close(found[1], wanted[1])


def encoder() -> Any:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2).eval()


def test_an_encoder_with_a_mask_that_may_be_causal() -> None:
    """Whether it is, torch finds out from its elements; here it is applied, whatever it is."""
    model, layer = None, encoder()
    for batch, seq in ((2, 5), *SIZES):
        for mask in (causal(seq), causal(seq).T):
            x = torch.randn(batch, seq, 8)
            axes = {"src": ("b", "s", None), "mask": ("s", "s")}
            model = model or ash.compile(layer, (x, mask), axes=axes)
            with torch.no_grad():
                close(model(x, mask), layer(x, mask))


def test_an_encoder_with_padding() -> None:
    """In evaluation torch packs what is not padding, and leaves zeros for the rest: results are
    the same where there is no padding, which is all that they are for."""
    layer = encoder()
    axes = {"src": ("b", "s", None), "src_key_padding_mask": ("b", "s")}
    example = {"src_key_padding_mask": padded(2, 5)}
    model = ash.compile(layer, (torch.randn(2, 5, 8),), example, axes=axes)
    with torch.no_grad():
        for batch, seq in ((2, 5), *SIZES):
            x, mask = torch.randn(batch, seq, 8), padded(batch, seq)
            found = model(x, src_key_padding_mask=mask)
            wanted = layer(x, src_key_padding_mask=mask)
            close(found[~mask], wanted[~mask])
