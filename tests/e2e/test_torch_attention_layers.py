"""torch's attention layers, with all that they take and return, at other sizes than captured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import anyshape as ash

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

SIZES = ((3, 7, 4), (1, 1, 1), (2, 16, 1), (4, 1, 9))
"""Batch, queries and keys; the example is another one."""
EXAMPLE = (2, 5, 6)


@pytest.fixture(autouse=True)
def _without_gradients() -> Iterator[None]:
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def close(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def padding(batch: int, keys: int) -> Any:
    """True at what is left out; something of each row stays."""
    mask = torch.zeros(batch, keys, dtype=torch.bool)
    mask[0, (keys + 1) // 2 :] = True
    return mask


def as_floats(mask: Any) -> Any:
    return torch.zeros(mask.shape).masked_fill(mask, float("-inf"))


def seen(queries: int, keys: int) -> Any:
    """True where a query must not look; each looks at the first key."""
    return torch.ones(queries, keys, dtype=torch.bool).triu(1)


KINDS = {"bool": lambda mask: mask, "float": as_floats}


@pytest.mark.parametrize(
    ("kind", "average", "batch_first"),
    [("bool", True, True), ("float", False, True), ("bool", False, False), ("float", True, False)],
)
def test_weights_are_returned(kind: str, average: bool, batch_first: bool) -> None:
    """Averaged over heads or for each of them; queries and keys differ in number."""
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=batch_first).eval()

    def call(batch: int, queries: int, keys: int) -> dict[str, Any]:
        x, y = torch.randn(batch, queries, 8), torch.randn(batch, keys, 8)
        x, y = (x, y) if batch_first else (x.transpose(0, 1), y.transpose(0, 1))
        masks = {"key_padding_mask": padding(batch, keys), "attn_mask": seen(queries, keys)}
        given = {name: KINDS[kind](mask) for name, mask in masks.items()}
        return {"query": x, "key": y, "value": y, "average_attn_weights": average, **given}

    query, key = ("b", "q", None), ("b", "k", None)
    if not batch_first:
        query, key = ("q", "b", None), ("k", "b", None)
    axes = {"query": query, "key": key, "value": key}
    axes |= {"key_padding_mask": ("b", "k"), "attn_mask": ("q", "k")}
    fast = ash.compile(layer, kwargs=call(*EXAMPLE), axes=axes)
    for sizes in SIZES:
        given = call(*sizes)
        (found, weights), wanted = fast(**given), layer(**given)
        close(found, wanted[0])
        close(weights, wanted[1])


def test_a_mask_for_each_head() -> None:
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def call(batch: int, seq: int) -> tuple[Any, ...]:
        x = torch.randn(batch, seq, 8)
        return x, x, x, None, True, torch.randn(batch * 2, seq, seq)

    rows = ("b", "s", None)
    axes = {"query": rows, "key": rows, "value": rows, "attn_mask": ("2*b", "s", "s")}
    fast = ash.compile(layer, call(3, 5), axes=axes)
    for batch, seq, _ in SIZES:
        given = call(batch, seq)
        for found, wanted in zip(fast(*given), layer(*given), strict=True):
            close(found, wanted)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_decoder_with_masks(norm_first: bool) -> None:
    layer = torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first)
    decoder = torch.nn.TransformerDecoder(layer, 2).eval()

    def call(batch: int, queries: int, keys: int) -> dict[str, Any]:
        return {
            "tgt": torch.randn(batch, queries, 8), "memory": torch.randn(batch, keys, 8),
            "tgt_mask": as_floats(seen(queries, queries)),
            "memory_key_padding_mask": padding(batch, keys),
        }  # fmt: skip

    axes = {
        "tgt": ("b", "q", None), "memory": ("b", "k", None), "tgt_mask": ("q", "q"),
        "memory_key_padding_mask": ("b", "k"),
    }  # fmt: skip
    fast = ash.compile(decoder, kwargs=call(*EXAMPLE), axes=axes)
    for sizes in SIZES:
        given = call(*sizes)
        close(fast(**given), decoder(**given))


def test_a_whole_transformer() -> None:
    model = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    axes = {"src": ("b", "k", None), "tgt": ("b", "q", None)}
    args = torch.randn(2, 6, 8), torch.randn(2, 5, 8)
    fast = ash.compile(model, args, axes=axes)
    for batch, queries, keys in SIZES:
        args = torch.randn(batch, keys, 8), torch.randn(batch, queries, 8)
        close(fast(*args), model(*args))


def test_a_function_of_a_layer() -> None:
    """Not a module, and the layer is not its argument."""
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def scores(x: Any, *, power: int = 1) -> Any:
        return {"scores": layer(x, x, x)[1] ** power, "sizes": (x.shape[0], x.shape[1] * 2)}

    axes = {"x": ("b", "s", None)}
    fast = ash.compile(scores, (torch.randn(2, 5, 8),), {"power": 2}, axes=axes)
    for batch, seq, _ in SIZES:
        x = torch.randn(batch, seq, 8)
        found, wanted = fast(x, power=2), scores(x, power=2)
        close(found["scores"], wanted["scores"])
        assert found["sizes"] == wanted["sizes"]
