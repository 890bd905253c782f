"""Padded torch models as ragged ones: every sequence gets what it gets alone, or the model is
refused by name."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import anyshape as ash
from anyshape.base.errors import (
    IndexRangeError,
    InputError,
    OffsetsError,
    OptionError,
    RaggedModelError,
)

WORDS, WIDTH, HEADS, LONGEST = 50, 24, 3, 40
LENGTHS = [[5], [0], [0, 0], [7, 1, 0, 40, 3], [1] * 9, [40, 40, 0]]


class Encoder(nn.Module):
    """Embeddings with positions, one layer of attention, and what a test adds."""

    def __init__(self, attend: Callable[..., Tensor], finish: Callable[..., Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.norm, self.mix = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
        self.attend, self.finish = attend, finish

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        batch, seq = input_ids.shape
        x = self.norm(self.words(input_ids) + self.places(torch.arange(seq)))
        q, k, v = (
            part.view(batch, seq, HEADS, -1).transpose(1, 2)
            for part in self.mix(x).chunk(3, dim=-1)
        )
        mixed = self.attend(q, k, v, attention_mask)
        h = x + mixed.transpose(1, 2).reshape(batch, seq, WIDTH)
        return self.finish(h, attention_mask)


def boolean(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    seen = mask[:, None, None, :].to(torch.bool)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def added(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    bias = (1.0 - mask[:, None, None, :].float()) * torch.finfo(torch.float32).min
    return torch.softmax(q @ k.mT / 8**0.5 + bias, -1) @ v


def unmasked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v)


def slightly(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    bias = (1.0 - mask[:, None, None, :].float()) * -10.0
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def causal(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def tokens(h: Tensor, mask: Tensor) -> Tensor:
    return h


def mean(h: Tensor, mask: Tensor) -> Tensor:
    """As sentence encoders write it."""
    wide = mask.unsqueeze(-1).expand(h.size()).float()
    return (h * wide).sum(1) / wide.sum(1).clamp(min=1e-9)


def both(h: Tensor, mask: Tensor) -> dict[str, Tensor]:
    top = h.masked_fill(mask[..., None] == 0, -torch.inf).max(1).values
    return {"tokens": functional.gelu(h) * 2, "top": top, "mean": mean(h, mask)}


def compiled(model: nn.Module, **options: Any) -> Any:
    ids = torch.ones(2, 5, dtype=torch.long)
    names = ("batch", "seq")
    example = {"input_ids": ids, "attention_mask": ids}
    axes = {"input_ids": names, "attention_mask": names}
    return ash.compile(model, kwargs=example, axes=axes, **{"ragged": "seq", **options})


def drawn(lengths: list[int]) -> list[np.ndarray]:
    rng = np.random.default_rng(len(lengths))
    return [rng.integers(0, WORDS, length) for length in lengths]


def alone(model: nn.Module, ids: np.ndarray) -> Any:
    given = torch.from_numpy(ids)[None]
    with torch.no_grad():
        return model(input_ids=given, attention_mask=torch.ones_like(given))


@pytest.mark.parametrize("attend", [boolean, added])
def test_tokens_and_pools_are_those_of_each_sequence_alone(attend: Any) -> None:
    model = Encoder(attend, both)
    ragged = compiled(model, threads=2)
    assert dict(ragged.executable.explain().host_ops) == {}
    for lengths in LENGTHS:
        ids = drawn(lengths)
        found = ragged(input_ids=ids)
        assert found["tokens"].offsets.tolist() == np.cumsum([0, *lengths]).tolist()
        for number, (sequence, first) in enumerate(zip(ids, found["tokens"].offsets, strict=False)):
            rows = found["tokens"].values[first : first + len(sequence)]
            if not len(sequence):
                assert (found["mean"][number] == 0).all()
                assert (found["top"][number] == -np.inf).all()
                continue
            wanted = alone(model, sequence)
            for name, own in (("tokens", rows), *((n, found[n][number]) for n in ("top", "mean"))):
                np.testing.assert_allclose(own, wanted[name][0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("recompile", [False, True])
def test_it_is_saved_and_loaded(tmp_path: Path, recompile: bool) -> None:
    ragged = compiled(Encoder(boolean, both))
    ragged.save(tmp_path / "ragged.ash")
    loaded = ash.load(tmp_path / "ragged.ash", recompile=recompile)
    loaded.save(tmp_path / "again.ash")
    for model in (loaded, pickle.loads(pickle.dumps(ragged)), ash.load(tmp_path / "again.ash")):
        for lengths in LENGTHS:
            found, wanted = model(input_ids=drawn(lengths)), ragged(drawn(lengths))
            assert found.keys() == wanted.keys()
            np.testing.assert_array_equal(found["tokens"].values, wanted["tokens"].values)
            np.testing.assert_array_equal(found["tokens"].offsets, wanted["tokens"].offsets)
            np.testing.assert_array_equal(found["mean"], wanted["mean"])
    assert {axis.name for axis in loaded.axes} == {"batch", "seq"}
    with pytest.raises(InputError, match="is a ndarray, and not ragged"):
        loaded(np.ones(3, np.int64))
    with pytest.raises(OffsetsError, match="offsets"):
        loaded(ash.Ragged(np.ones(3, np.int64), np.array([0, 5])))


def test_results_in_a_class_of_their_own_are_loaded_as_a_dict() -> None:
    class Pair(NamedTuple):
        tokens: Tensor
        mean: Tensor

    ragged = compiled(Encoder(boolean, lambda h, mask: Pair(h, mean(h, mask))))
    assert set(pickle.loads(pickle.dumps(ragged))(drawn([2, 3]))) == {"tokens", "mean"}


def test_what_is_given_may_be_packed_or_of_torch() -> None:
    model = Encoder(boolean, mean)
    ragged, ids = compiled(model), drawn([3, 0, 9])
    listed = ragged(input_ids=ids)
    np.testing.assert_array_equal(ragged(ash.pack(ids)), listed)
    packed = ash.pack(ids)
    tensors = ash.Ragged(torch.from_numpy(packed.values), torch.from_numpy(packed.offsets))
    found = ragged(input_ids=tensors)
    assert isinstance(found, Tensor)
    np.testing.assert_array_equal(found.numpy(), listed)


def test_lengths_and_words_are_checked() -> None:
    ragged = compiled(Encoder(boolean, mean))
    with pytest.raises(IndexRangeError, match="index 40"):
        ragged(input_ids=drawn([3, LONGEST + 1]))
    with pytest.raises(IndexRangeError, match=f"index {WORDS}"):
        ragged(input_ids=[np.array([0, WORDS])])
    with pytest.raises(OffsetsError, match="the last offset"):
        ragged(input_ids=ash.Ragged(np.zeros(3, np.int64), np.array([0, 2])))
    with pytest.raises(InputError, match="not ragged"):
        ragged(input_ids=np.zeros((2, 3), np.int64))
    with pytest.raises(InputError, match="pass input_ids"):
        ragged(input_ids=drawn([3]), attention_mask=drawn([3]))


def test_the_first_token_of_each_sequence() -> None:
    model = Encoder(boolean, lambda h, mask: torch.tanh(h[:, 0]))
    ragged, ids = compiled(model), drawn([3, 1, 40])
    found = ragged(input_ids=ids)
    for sequence, row in zip(ids, found, strict=True):
        np.testing.assert_allclose(row, alone(model, sequence)[0], rtol=1e-5, atol=1e-5)
    with pytest.raises(OffsetsError, match="sequence 1 is empty, and its first row is asked for"):
        ragged(input_ids=drawn([3, 0, 2]))


class Places(nn.Module):
    """A table without a batch, which the mask gives one."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(LONGEST, WIDTH))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return (self.table[: input_ids.shape[1]] * attention_mask[..., None]).sum(1)


def test_a_mask_has_axes_that_tokens_lack() -> None:
    model = Places()
    ragged, ids = compiled(model), drawn([3, 1, 40])
    for sequence, row in zip(ids, ragged(input_ids=ids), strict=True):
        np.testing.assert_allclose(row, alone(model, sequence)[0], rtol=1e-5, atol=1e-5)


REFUSED = {
    "it sees padding": (unmasked, tokens),
    "hides padding by -10": (slightly, tokens),
    "causal": (causal, tokens),
    "mean along the axis 'seq'": (boolean, lambda h, mask: h.mean(1)),
    "sum along 'seq' counts padding": (boolean, lambda h, mask: h.sum(1)),
    "counts padding": (boolean, lambda h, mask: (h * mask[..., None]).amax(1)),
    "cumsum": (boolean, lambda h, mask: h.cumsum(1)),
    "softmax": (boolean, lambda h, mask: h.softmax(1)),
    "reverse": (boolean, lambda h, mask: h.flip(1)),
    "mixes tokens": (boolean, lambda h, mask: h.reshape(h.shape[0], -1)),
    "no rule says that slice": (boolean, lambda h, mask: h[:, 1:2]),
    "concat": (boolean, lambda h, mask: torch.cat([h, h], 1)),
    "of each sequence and one of tokens": (boolean, lambda h, mask: h - mean(h, mask)[:, None]),
    "product": (boolean, lambda h, mask: h.mT @ h),
    "padded": (boolean, lambda h, mask: h / h.shape[1]),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_not_proved_is_refused_by_name(words: str) -> None:
    with pytest.raises(RaggedModelError) as caught:
        compiled(Encoder(*REFUSED[words]))
    assert words in str(caught.value)
    assert "\nfix: " in str(caught.value)


def test_axis_and_mask_must_be_there() -> None:
    model = Encoder(boolean, mean)
    with pytest.raises(RaggedModelError, match="no input has an axis 'tokens'"):
        compiled(model, ragged="tokens")
    with pytest.raises(RaggedModelError, match="no input 'padding'"):
        compiled(model, mask="padding")

    @ash.jit
    def function(x: ash.f32["n"]):
        return x

    with pytest.raises(OptionError, match="ragged"):
        ash.compile(function, ragged="n")


class Totals(nn.Module):
    """Running totals along tokens, of numbers and of the mask."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        kept = torch.cumsum(input_ids * attention_mask, 1)
        return torch.cat([kept[..., None], torch.cumsum(attention_mask, 1)[..., None] * 3], -1)


def test_running_totals_start_with_each_sequence() -> None:
    model = Totals()
    ragged, ids = compiled(model), drawn([3, 0, 1, 40])
    found = ragged(input_ids=ids)
    for sequence, start in zip(ids, found.offsets, strict=False):
        if len(sequence):
            rows = found.values[start : start + len(sequence)]
            np.testing.assert_array_equal(rows, alone(model, sequence)[0])
