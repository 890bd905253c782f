"""Sentences into vectors: MiniLM-L6 with its real weights, and pooling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, TorchModel

# ruff: noqa: PLC0415 - torch is imported by the processes that use it

LAYERS, WIDTH, EXPANSION = 6, 384, 4
MATRICES = LAYERS * (4 + 2 * EXPANSION) * WIDTH**2
WORDS = 30_000


@dataclass(frozen=True)
class MiniLm(TorchModel):
    def module(self) -> Any:
        from examples.sentence_encoder import load_encoder, model_folder

        folder = model_folder()
        if folder is None:
            raise FileNotFoundError("the weights of MiniLM: make bench installs them")
        return load_encoder(folder)

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"input_ids": ("batch", "seq"), "attention_mask": ("batch", "seq")}

    @property
    def example(self) -> Binding:
        return {"batch": 2, "seq": 9}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        shape = (binding["batch"], binding["seq"])
        rng = np.random.default_rng(1)
        return rng.integers(0, WORDS, shape), np.ones(shape, np.int64)

    @property
    def weight_bytes(self) -> int:
        """Of the matrices; a call looks up few words."""
        return 4 * MATRICES

    def flops(self, binding: Binding) -> int:
        rows = binding["batch"] * binding["seq"]
        return 2 * rows * MATRICES + LAYERS * 4 * rows * binding["seq"] * WIDTH
