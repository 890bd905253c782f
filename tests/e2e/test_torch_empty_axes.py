"""Images without channels or places, and other sizes that torch takes or refuses, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

import anyshape as ash
from anyshape.base.errors import AnyshapeError, FactViolationError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

SIZES = ((2, 4, 7), (1, 4, 1), (0, 4, 5), (2, 4, 0), (0, 4, 0), (3, 4, 2))


def greatest(x: Any) -> Any:
    return functional.max_pool1d(x, 2)


def with_places(x: Any) -> Any:
    return torch.nn.MaxPool1d(3, 2, 1, return_indices=True)(x)


def of_all(x: Any) -> Any:
    return functional.max_pool1d(x, x.shape[-1])


def mean(x: Any) -> Any:
    return functional.avg_pool1d(x, 2, padding=1)


def padded(x: Any) -> Any:
    return functional.conv1d(x, torch.ones(2, 4, 3), padding=2)


def transposed(x: Any) -> Any:
    return functional.conv_transpose1d(x, torch.ones(4, 2, 3))


@pytest.mark.parametrize("layer", [greatest, with_places, of_all, mean, padded, transposed])
def test_places(layer: Any) -> None:
    axes, outcomes = {"x": ("b", None, "n")}, set[bool]()
    model = ash.compile(layer, (torch.randn(3, 4, 6),), axes=axes, executor="reference")
    for size in SIZES:
        x = torch.randn(size)
        try:
            wanted = layer(x)
        except RuntimeError:
            outcomes.add(False)
            with pytest.raises(AnyshapeError):
                model(x)
        else:
            outcomes.add(True)
            torch.testing.assert_close(model(x), wanted)
    assert outcomes == {True, False}


def test_a_pool_needs_a_channel() -> None:
    axes = {"x": ("b", "c", None)}
    model = ash.compile(mean, (torch.randn(3, 4, 6),), axes=axes, executor="reference")
    with pytest.raises(RuntimeError):
        mean(torch.randn(2, 0, 6))
    with pytest.raises(FactViolationError, match="a pool needs a channel"):
        model(torch.randn(2, 0, 6))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_differences_are_none_where_there_is_not_enough(n: int) -> None:
    def differences(x: Any) -> Any:
        truths, whole = x > 0, (x * 9).byte()
        return (
            x.diff(n=n, dim=0), torch.diff(truths, n, 0), x.diff(n, prepend=x[:, :1]),
            torch.diff(whole, n, dim=-1, append=x), whole.diff(n, 0, whole[:1], whole[:2]),
        )  # fmt: skip

    axes = {"x": ("n", "m")}
    model = ash.compile(differences, (torch.randn(4, 6),), axes=axes, executor="reference")
    for size in ((4, 6), (1, 1), (0, 3), (2, 2), (3, 1), (9, 4)):
        x = torch.randn(size).abs()
        for found, wanted in zip(model(x), differences(x), strict=True):
            torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("correction", [-2, 0, 0.5, 3])
def test_nothing_has_no_variance(correction: float) -> None:
    def variances(x: Any) -> Any:
        return x.var(0, correction=correction), *torch.var_mean(x, correction=correction)

    axes = {"x": ("n", "m")}
    model = ash.compile(variances, (torch.randn(4, 6),), axes=axes, executor="reference")
    for size in ((4, 6), (1, 1), (0, 3), (2, 0), (3, 1)):
        x = torch.randn(size)
        for found, wanted in zip(model(x), variances(x), strict=True):
            torch.testing.assert_close(found, wanted, equal_nan=True)


def test_bytes_are_negated_as_by_torch() -> None:
    def negated(x: Any) -> Any:
        return -x

    every = torch.arange(256).to(torch.uint8)
    model = ash.compile(negated, (every[:7],), axes={"x": ("n",)})
    for x in (every, every[:1], every[:0], every[::3]):
        assert torch.equal(model(x), negated(x))


def test_any_sizes_stand_beside_a_size_of_0() -> None:
    """A tensor of no elements is short, and holds no sizes for all that."""

    def counted(x: Any) -> Any:
        return x[:, (x > 0).sum().item() // 2 :], (x > 0).any().item()

    axes = {"x": ("n", "m", None)}
    model = ash.compile(counted, (torch.randn(4, 6, 0),), axes=axes, executor="reference")
    for size in ((4, 6), (1, 1), (0, 3), (2, 0), (7, 5)):
        x = torch.randn(*size, 0)
        found, wanted = model(x), counted(x)
        assert found[0].shape == wanted[0].shape
        assert found[1:] == wanted[1:]
