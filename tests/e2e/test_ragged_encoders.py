"""Padded encoders of transformers as ragged ones, against torch with each sequence alone.

Their embeddings differ in how they know positions: a table, running totals of tokens that are no
padding, a table that every sequence has, rotations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import anyshape as ash
from anyshape.base.errors import RaggedModelError

WORDS, LONGEST = 60, 64
SIZES: dict[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": LONGEST,
}


def of_width(config: Any, **options: Any) -> Any:
    return config(**SIZES, **options)


CONFIGS: dict[str, Any] = {
    "electra": lambda: of_width(transformers.ElectraConfig, embedding_size=32),
    "roberta": lambda: of_width(transformers.RobertaConfig, pad_token_id=1),
    "distilbert": lambda: transformers.DistilBertConfig(
        vocab_size=WORDS,
        dim=32,
        n_layers=2,
        n_heads=4,
        hidden_dim=64,
        max_position_embeddings=LONGEST,
    ),
    "modernbert": lambda: of_width(
        transformers.ModernBertConfig, pad_token_id=0, global_attn_every_n_layers=1
    ),
}


def ragged(config: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config).eval()
    ids = torch.randint(3, WORDS, (2, 7))
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    axes = dict.fromkeys(given, ("batch", "seq"))
    return model, ash.compile(model, kwargs=given, axes=axes, ragged="seq")


@pytest.mark.parametrize("name", CONFIGS)
def test_tokens_are_those_of_each_sequence_alone(name: str) -> None:
    """Among the words are those that a padded model takes for padding."""
    model, compiled = ragged(CONFIGS[name]())
    sequences = [torch.randint(0, WORDS, (length,)) for length in (5, 1, 17, 30)]
    found = compiled(input_ids=ash.pack(sequences))["last_hidden_state"]
    for ids, start in zip(sequences, found.offsets, strict=False):
        with torch.no_grad():
            own = model(input_ids=ids[None], attention_mask=torch.ones_like(ids)[None])
        tokens = np.asarray(found.values[start : start + len(ids)])
        np.testing.assert_allclose(tokens, own.last_hidden_state[0], rtol=1e-4, atol=1e-5)


def test_biases_of_positions_are_refused() -> None:
    with pytest.raises(RaggedModelError, match="sub meets tokens along two axes"):
        ragged(of_width(transformers.MPNetConfig))
