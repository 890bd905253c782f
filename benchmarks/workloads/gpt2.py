"""GPT-2 with random weights: a prompt at once, or a text one token after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.harness.model import Array, Binding, TorchModel

# ruff: noqa: PLC0415 - torch is imported by the processes that use it


@dataclass(frozen=True)
class Gpt2(TorchModel):
    """Tokens and the past of all layers, to logits of the last token and the longer past."""

    layers: int = 12
    width: int = 768
    heads: int = 12
    words: int = 50_257

    def module(self) -> Any:
        from benchmarks.workloads.torch_modules import CachedGpt2
        from transformers import GPT2Config

        config = GPT2Config(
            vocab_size=self.words, n_embd=self.width, n_layer=self.layers, n_head=self.heads
        )
        return CachedGpt2(config)

    @property
    def signature(self) -> Mapping[str, Any]:
        past = ("batch", None, "past", None)
        return {"input_ids": ("batch", "seq"), "past": [past] * (2 * self.layers)}

    @property
    def example(self) -> Binding:
        return {"batch": 2, "seq": 3, "past": 5}

    def arguments(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return tensors[0], list(tensors[1:])

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        rng = np.random.default_rng(1)
        batch, past = binding["batch"], binding["past"]
        ids = rng.integers(0, self.words, (batch, binding["seq"]))
        shape = (batch, self.heads, past, self.width // self.heads)
        caches = (rng.standard_normal(shape, np.float32) for _ in range(2 * self.layers))
        return ids, *caches

    @property
    def weight_bytes(self) -> int:
        """Of the matrices; the words are also the last of these, and a token looks up one."""
        return 4 * (self._in_layers + self.words * self.width)

    @property
    def _in_layers(self) -> int:
        return self.layers * 12 * self.width**2

    def flops(self, binding: Binding) -> int:
        """Each token attends to those before it and to itself; logits are of the last one only."""
        batch, seq, past = binding["batch"], binding["seq"], binding["past"]
        seen = seq * past + seq * (seq + 1) // 2
        attention = 4 * self.layers * seen * self.width
        return batch * (2 * seq * self._in_layers + attention + 2 * self.words * self.width)


@dataclass(frozen=True)
class Gpt2Steps(Gpt2):
    """One token after the other; what a step returns of the past, the next one takes."""

    steps: int = 200

    def perform(self, run: Callable[[Sequence[Any]], Sequence[Any]], tensors: Sequence[Any]) -> Any:
        token, results = tensors[0], tensors
        for _ in range(self.steps):
            results = run((token, *results[1:]))
        return results[:1]

    @property
    def donated(self) -> tuple[str, ...]:
        return ("past",)

    @property
    def readings(self) -> int:
        return self.steps

    def flops(self, binding: Binding) -> int:
        past = binding["past"]
        return sum(super(Gpt2Steps, self).flops({**binding, "past": past + n})
                   for n in range(self.steps))  # fmt: skip
