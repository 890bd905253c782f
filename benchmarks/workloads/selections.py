"""Selections: results whose size the data decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from benchmarks.harness.model import Array, Binding, Shape, TorchModel

# ruff: noqa: PLC0415 - torch is imported by the processes that use it

Kind = Literal["nonzero", "masked_select", "unique"]


@dataclass(frozen=True)
class Selection(TorchModel):
    """Of elements from -1 to 1: those above 0, or the distinct ones of some 2,000 values."""

    kind: Kind

    def module(self) -> Any:
        import torch

        functions: Mapping[Kind, Callable[[Any], Any]] = {
            "nonzero": lambda x: torch.nonzero(x > 0),
            "masked_select": lambda x: torch.masked_select(x, x > 0),
            "unique": torch.unique,
        }
        function = functions[self.kind]

        class Selecting(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return function(x)

        return Selecting()

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("n",)}

    @property
    def example(self) -> Binding:
        return {"n": 7}

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        x = np.random.default_rng(1).uniform(-1, 1, binding["n"])
        return ((np.round(x, 3) if self.kind == "unique" else x).astype(np.float32),)

    @property
    def weight_bytes(self) -> int:
        return 0

    def flops(self, binding: Binding) -> int:
        return 0
