"""One architecture: how its model is made, what it is called with, and at which sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers as tf

Inputs = dict[str, Any]
Make = Callable[..., Inputs]


@dataclass(frozen=True)
class Kind:
    """What models of a kind are called with. `make` gives the inputs for `sizes`, of which the
    first are the example; `axes` names those of the inputs that are there."""

    title: str
    loader: str  # a class of transformers
    axes: Mapping[str, Any]
    make: Make
    sizes: Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Architecture:
    """A model type of transformers, its configuration, and what is special about it.

    `refused` is empty for a model that comes through; else the error's message contains it, and
    `why` explains it.
    """

    name: str
    kind: Kind
    config: Mapping[str, Any]
    special: str
    without: tuple[str, ...] = ()  # inputs that it does not take
    extra: Mapping[str, Any] | None = None
    sizes: Sequence[tuple[int, ...]] = ()
    refused: str = ""
    why: str = ""

    def build(self) -> Any:
        """The model with random weights."""
        config = tf.AutoConfig.for_model(self.name, **self.config)
        return getattr(tf, self.kind.loader).from_config(config).eval()

    def inputs(self, *sizes: int) -> Inputs:
        made = {**self.kind.make(*sizes), **(self.extra or {})}
        return {name: value for name, value in made.items() if name not in self.without}

    @property
    def all_sizes(self) -> Sequence[tuple[int, ...]]:
        return self.sizes or self.kind.sizes

    @property
    def axes(self) -> dict[str, Any]:
        given = self.inputs(*self.all_sizes[0])
        return {name: names for name, names in self.kind.axes.items() if name in given}


def _tokens(batch: int, seq: int) -> Any:
    return torch.randint(3, 100, (batch, seq))


def _text(batch: int, seq: int) -> Inputs:
    """Tokens, and a mask that leaves out a part of the first sequence: in turn left and right."""
    mask = torch.ones(batch, seq, dtype=torch.long)
    mask[0, : seq // 2] = 0
    mask = mask if seq % 2 else mask.flip(1)
    return {"input_ids": _tokens(batch, seq), "attention_mask": mask}


def _uncached(batch: int, seq: int) -> Inputs:
    return {**_text(batch, seq), "use_cache": False}


def _both(batch: int, seq: int, out: int) -> Inputs:
    return {**_uncached(batch, seq), "decoder_input_ids": _tokens(batch, out)}


def _image(batch: int, height: int, width: int) -> Inputs:
    return {"pixel_values": torch.randn(batch, 3, height, width)}


def _image_and_text(images: int, texts: int, seq: int) -> Inputs:
    return {**_image(images, 32, 32), **_text(texts, seq)}


def _waves(batch: int, samples: int) -> Inputs:
    mask = torch.ones(batch, samples, dtype=torch.long)
    mask[0, samples - samples // 3 :] = 0
    return {"input_values": torch.randn(batch, samples), "attention_mask": mask}


def _spectrum_and_text(batch: int, out: int) -> Inputs:
    spectrum = torch.randn(batch, 16, 40)
    return {
        "input_features": spectrum,
        "decoder_input_ids": _tokens(batch, out),
        "use_cache": False,
    }


def _spectrum(batch: int) -> Inputs:
    return {"input_values": torch.randn(batch, 64, 32)}


TOKENS = ("batch", "seq")
TEXT = {"input_ids": TOKENS, "attention_mask": TOKENS}
LENGTHS = ((2, 5), (1, 1), (3, 1), (1, 17), (2, 33), (3, 24), (4, 7))
HEIGHTS = ((2, 32, 48), (1, 32, 32), (3, 40, 24), (2, 64, 40), (1, 37, 51))

ENCODER = Kind("encoder", "AutoModel", TEXT, _text, LENGTHS)
DECODER = Kind("decoder", "AutoModelForCausalLM", TEXT, _uncached, LENGTHS)
BOTH = Kind(
    "encoder and decoder", "AutoModelForSeq2SeqLM", {**TEXT, "decoder_input_ids": ("batch", "out")},
    _both, ((2, 5, 3), (1, 1, 1), (3, 1, 2), (1, 17, 9), (2, 33, 1), (3, 24, 5)),
)  # fmt: skip
IMAGE = Kind(
    "image", "AutoModel", {"pixel_values": ("batch", None, "height", "width")}, _image, HEIGHTS
)
IMAGE_AND_TEXT = Kind(
    "image and text", "AutoModel",
    {"pixel_values": ("images", None, None, None), "input_ids": ("texts", "seq"),
     "attention_mask": ("texts", "seq")},
    _image_and_text, ((2, 3, 5), (1, 1, 1), (3, 1, 7), (1, 4, 16), (5, 2, 9)),
)  # fmt: skip
SOUND = Kind(
    "sound", "AutoModel",
    {"input_values": ("batch", "samples"), "attention_mask": ("batch", "samples")}, _waves,
    ((2, 500), (1, 400), (3, 643), (1, 1001), (2, 777)),
)  # fmt: skip
SPECTRUM_AND_TEXT = Kind(
    "sound and text", "AutoModel",
    {"input_features": ("batch", None, None), "decoder_input_ids": ("batch", "out")},
    _spectrum_and_text, ((2, 5), (1, 1), (3, 1), (1, 9), (4, 7)),
)  # fmt: skip
SPECTRUM = Kind(
    "sound", "AutoModel", {"input_values": ("batch", None, None)}, _spectrum,
    ((2,), (1,), (3,), (5,), (7,)),
)  # fmt: skip
