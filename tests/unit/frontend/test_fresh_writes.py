"""Which writes of a model nobody can tell from new tensors; all others torch makes functional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape.frontend.aten.walk import writes

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


class Applies(torch.nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def filled(x: Any) -> Any:
    return torch.zeros_like(x).masked_fill_(x > 0, -1.0)


def rectified(x: Any) -> Any:
    return (x + 1).relu_().mul_(2.0)


def into_the_input(x: Any) -> Any:
    return x.mul_(2.0)


def into_a_view(x: Any) -> Any:
    y = x + 1
    y[0].mul_(2.0)
    return y


def into_a_part(x: Any) -> Any:
    y = x + 1
    y.chunk(2)[0].add_(1)
    return y


def read_again(x: Any) -> Any:
    y = x + 1
    return y.relu_() + y


def read_before(x: Any) -> Any:
    y = x + 1
    z = y * 3
    return y.relu_() + z


def wider(x: Any) -> Any:
    return (x + 1).add_(x[0])


def narrower(x: Any) -> Any:
    return (x.half() + 1).add_(x)


UNSEEN = [filled, rectified, read_again]
SEEN = [into_the_input, into_a_view, into_a_part, read_before, wider, narrower]


def given_back(x: Any) -> Any:
    return torch.nn.functional.dropout(x, 0.5, training=False).mul_(2.0)


def test_a_result_that_may_be_an_operand() -> None:
    """Dropout returns its operand in evaluation, though its schema calls it new."""
    program = torch.export.export(Applies(given_back), (torch.randn(3, 4),))
    assert writes(program.graph_module)


@pytest.mark.parametrize("function", UNSEEN + SEEN)
def test_writes(function: Callable[[Any], Any]) -> None:
    example = torch.randn(3, 4)
    program = torch.export.export(Applies(function), (example,))
    assert writes(program.graph_module) == (function in SEEN)
    model = ash.compile(Applies(function), (example,), axes={"x": ("n", None)})
    for n in (5, 1):
        x = torch.randn(n, 4)
        mine, torchs = x.clone(), x.clone()
        torch.testing.assert_close(model(mine), function(torchs))
        torch.testing.assert_close(mine, torchs)
