"""Losses that refuse some of their data, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

import anyshape as ash
from anyshape.base.errors import AnyshapeError, UnitRangeError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

ROWS = {"x": ("b", None), "y": ("b", None)}


def entropy(x: Any, y: Any) -> Any:
    return functional.binary_cross_entropy(x, y)


def weighted(x: Any, y: Any) -> Any:
    return functional.binary_cross_entropy(x, y, weight=x + 1, reduction="sum")


@pytest.mark.parametrize("function", [entropy, weighted])
def test_binary_cross_entropy(function: Any) -> None:
    model = ash.compile(function, (torch.rand(5, 3), torch.rand(5, 3)), axes=ROWS)
    ends = torch.tensor([[0.0, 1.0, 0.5]])
    for x, y in ((torch.rand(4, 3), torch.rand(4, 3)), (ends, 1 - ends), (ends[:0], ends[:0])):
        torch.testing.assert_close(model(x, y), function(x, y), equal_nan=True)
    for bad in (1.5, -0.1, float("nan")):
        x = torch.rand(4, 3)
        x[2, 1] = bad
        for pair in ((x, torch.rand(4, 3)), (torch.rand(4, 3), x)):
            with pytest.raises(RuntimeError):
                function(*pair)
            with pytest.raises(UnitRangeError) as caught:
                model(*pair)
            assert caught.value.position == (2, 1)


def test_the_message() -> None:
    model = ash.compile(entropy, (torch.rand(5, 3), torch.rand(5, 3)), axes=ROWS)
    with pytest.raises(UnitRangeError) as caught:
        model(torch.full((1, 3), 2.0), torch.rand(1, 3))
    line = entropy.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        f"binary_cross_entropy ({__file__}:{line}): the element at [0, 0] is not between 0 and 1\n"
        "fix: pass probabilities, as torch.sigmoid gives them, or use the loss of logits"
    )


def test_margin_losses() -> None:
    """torch's own decompositions are not what its kernels compute."""

    def function(x: Any, one: Any, several: Any) -> Any:
        return functional.multi_margin_loss(x, one), functional.multilabel_margin_loss(x, several)

    def call(rows: int, classes: int) -> tuple[Any, ...]:
        several = torch.full((rows, classes), -1)
        several[:, :2] = torch.tensor([0, 2])[:classes]
        return torch.rand(rows, classes), torch.ones(rows, dtype=torch.int64), several

    axes = {"x": ("b", "c"), "one": ("b",), "several": ("b", "c")}
    model = ash.compile(function, call(5, 4), axes=axes)
    for rows, classes in ((1, 3), (4, 6)):
        given = call(rows, classes)
        torch.testing.assert_close(model(*given), function(*given))
    with pytest.raises(RuntimeError, match="non-empty"):
        function(*call(2, 0))
    with pytest.raises(AnyshapeError):
        model(*call(2, 0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_soft_margins_overflow_as_in_torch(dtype: Any, reduction: str) -> None:
    def loss(x: Any, y: Any) -> Any:
        return functional.soft_margin_loss(x, y, reduction=reduction)

    example = torch.randn(5, 3, dtype=dtype)
    model = ash.compile(loss, (example, example.sign()), axes=ROWS)
    for rows, scale in ((1, 1), (4, 30), (7, 200), (0, 1)):
        x = torch.randn(rows, 3).to(dtype) * scale
        y = torch.randn(rows, 3).sign().to(dtype)
        found, wanted = model(x, y), loss(x, y)
        assert found.dtype == wanted.dtype
        torch.testing.assert_close(found, wanted, equal_nan=True, rtol=1e-2, atol=1e-3)
