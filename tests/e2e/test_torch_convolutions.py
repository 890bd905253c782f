"""Convolutions of torch: right at all sizes, captured or not, and one op each."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape.base.errors import FactViolationError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


def products(model: Any) -> int:
    return sum(node.op.name in ("conv", "dot") for node in model.executable.source.nodes())


def check(layer: Any, channels: int, sizes: list[tuple[int, ...]], most: int = 1) -> None:
    """Compiled at the first of `sizes`; `most` products are allowed."""
    names: tuple[Any, ...] = ("n", None, *"hwd"[: len(sizes[0])])
    example = torch.randn(2, channels, *sizes[0])
    model = ash.compile(layer.eval(), (example,), axes={"input": names})
    assert 0 < products(model) <= most
    with torch.no_grad():
        for number, size in enumerate((*sizes, sizes[0])):
            batch = 0 if number == len(sizes) else 1 + number % 3
            x = torch.randn(batch, channels, *size)
            torch.testing.assert_close(model(x), layer(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("groups", "padding"), [(1, 0), (3, 2)])
def test_patches_of_images(groups: int, padding: int) -> None:
    layer = torch.nn.Conv2d(3, 6, 16, 16, padding=padding, groups=groups)
    check(layer, 3, [(64, 48), (37, 95)])


def test_patches_that_are_not_square() -> None:
    check(torch.nn.Conv2d(3, 4, (2, 3), (2, 3)), 3, [(6, 9), (7, 5), (2, 3)])
    check(torch.nn.Conv3d(2, 4, (2, 1, 4), (2, 1, 4)), 2, [(4, 3, 8), (5, 1, 4)])
    check(torch.nn.Conv1d(2, 4, 300, 300, bias=False), 2, [(900,), (301,)])


def test_a_gap_between_places_is_no_patch() -> None:
    check(torch.nn.Conv1d(2, 4, 2, 2, dilation=2), 2, [(9,), (3,)])


def test_kernels_with_many_places() -> None:
    check(torch.nn.Conv2d(2, 4, (9, 11), (2, 3), dilation=(1, 2)), 2, [(24, 40), (9, 21)])
    check(torch.nn.Conv1d(4, 4, 70, 3, padding=7, groups=4), 4, [(240,), (70,)], 9)


def test_a_kernel_that_is_larger_than_its_input() -> None:
    layer = torch.nn.Conv1d(2, 3, 4)
    model = ash.compile(layer, (torch.randn(2, 2, 9),), axes={"input": ("n", None, "t")})
    with pytest.raises(FactViolationError) as caught:
        model(torch.randn(2, 2, 3))
    assert "'3 < t' does not hold for t=3" in str(caught.value)
    assert "the kernel reaches over 4 places, and the input has t" in str(caught.value)


ODD = [(13, 11), (57, 43), (1, 1), (1, 100), (31, 2), (7, 7), (17, 97), (3, 14), (29, 15), (2, 2)]


def test_three_by_three() -> None:
    check(torch.nn.Conv2d(5, 70, 3, padding=1), 5, ODD)


FORMS: dict[str, dict[str, Any]] = {
    "strided": {"kernel_size": 3, "stride": 2, "padding": 1},
    "dilated": {"kernel_size": 3, "dilation": 2, "padding": 2},
    "uneven": {"kernel_size": (2, 5), "stride": (1, 3), "padding": (1, 4), "dilation": (3, 1)},
    "one place": {"kernel_size": 1, "bias": False},
    "one place, strided": {"kernel_size": 1, "stride": 2},
    "first layer": {"kernel_size": 7, "stride": 2, "padding": 3},
    "same": {"kernel_size": 4, "padding": "same"},
    "groups": {"kernel_size": 3, "padding": 1, "groups": 2},
    "circular": {"kernel_size": 3, "padding": 1, "padding_mode": "circular"},
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    sizes = [(13, 11), (9, 40), (7, 7), (31, 2), (6, 43)]
    check(torch.nn.Conv2d(4, 34, **FORMS[form]), 4, sizes)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_valid_padding(rank: int) -> None:
    kind: Any = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)[rank - 1]
    check(kind(2, 3, 2, padding="valid"), 2, [(5,) * rank, (2,) * rank])


TRANSPOSED: dict[str, dict[str, Any]] = {
    "beside each other": {"kernel_size": 2, "stride": 2},
    "overlapping": {"kernel_size": 4, "stride": 2, "padding": 1},
    "odd": {"kernel_size": 3, "stride": 2, "padding": 1, "output_padding": 1},
    "gaps": {"kernel_size": 2, "stride": 3, "bias": False},
    "behind all taps": {"kernel_size": 2, "stride": 4, "output_padding": 3},
    "dilated": {"kernel_size": (3, 2), "stride": (1, 2), "dilation": (2, 3), "padding": (1, 0)},
    "groups": {"kernel_size": 3, "stride": 2, "groups": 2},
}


@pytest.mark.parametrize("form", TRANSPOSED)
def test_transposed(form: str) -> None:
    sizes = [(13, 11), (2, 40), (7, 7), (31, 3)]
    check(torch.nn.ConvTranspose2d(4, 6, **TRANSPOSED[form]), 4, sizes)


def test_transposed_of_other_ranks() -> None:
    check(torch.nn.ConvTranspose1d(3, 5, 8, stride=4, padding=2), 3, [(16,), (1,), (101,)])
    check(torch.nn.ConvTranspose3d(2, 3, 2, stride=2), 2, [(3, 4, 5), (1, 1, 1)])


@pytest.mark.parametrize("taps", [3, 5])
def test_depthwise(taps: int) -> None:
    for stride in (1, 2):
        layer = torch.nn.Conv2d(37, 37, taps, stride, taps // 2, groups=37)
        check(layer, 37, [(13, 11), (57, 43), (1, 1), (1, 30), (31, 3)])
    check(torch.nn.Conv2d(20, 20, taps, dilation=2, groups=20), 20, [(13, 11), (9, 9)])
    check(torch.nn.Conv1d(6, 6, taps, padding=taps, groups=6), 6, [(4,), (1,), (131,)])


def test_depthwise_edges_and_panels() -> None:
    """Places of which no tap is inside, rows shorter than the kernel, tiles of each size at both
    edges, more channels than a panel has, and slices."""
    narrow = [(2, width) for width in range(2, 12)]
    check(torch.nn.Conv2d(5, 5, 2, groups=5), 5, narrow)
    check(torch.nn.Conv2d(5, 5, (2, 9), padding=(3, 8), groups=5), 5, narrow)
    check(torch.nn.Conv2d(300, 300, 5, padding=2, groups=300), 300, [(7, 7), (3, 17)])
    for taps in (5, 7):  # rows with few places inside are edges throughout
        layer = torch.nn.Conv2d(40, 40, taps, padding=taps // 2, groups=40)
        check(layer, 40, [(3, width) for width in range(1, 20)])
    layer = torch.nn.Conv3d(3, 3, 3, (1, 2, 1), 1, groups=3)
    check(layer, 3, [(1, 1, 1), (2, 6, 9), (4, 3, 2)])
