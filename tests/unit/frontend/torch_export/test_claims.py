"""torch's sizes held against ours."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape.base.errors import UnsupportedModelError
from anyshape.frontend.torch_export.claims import differing_claims
from anyshape.ir.types import f32
from anyshape.sym import Dim


class Node:
    """As much of torch's node as is looked at."""

    def __init__(self, value: Any) -> None:
        self.meta = {"val": value}
        self.target = "aten.some.default"


def claims(value: Any) -> list[tuple[Dim, Dim]]:
    """What differs between a tensor of 2 x n and torch's value for it."""
    found: list[tuple[Dim, Dim]] = []

    def look(x: Any) -> Any:
        found.extend((c.ours, c.theirs) for c in differing_claims({Node(value): x}, {}, ()))
        return x

    look.__annotations__["x"] = f32[2, "n"]
    assert ash.jit(executor="reference")(look).graph.name
    return found


def test_another_number_is_a_claim() -> None:
    assert claims(torch.zeros(2, 3)) == [(Dim.of("n"), Dim.of(3))]
    assert claims(None) == []


def test_another_rank_is_refused() -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        claims(torch.zeros(2, 3, 1))
    assert str(caught.value) == (
        "the model uses what anyshape does not know:\n"
        "  the results of aten.some.default, which are others than torch has (1)\n"
        "fix: write this part of the model with other ops, or ask for it to be added"
    )
