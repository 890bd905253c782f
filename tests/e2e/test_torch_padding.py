"""Pads of every mode over axes of any size, negative widths too, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape as ash
from anyshape.base.errors import FactViolationError

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


class Pads(torch.nn.Module):
    def __init__(self, widths: tuple[int, ...], mode: str) -> None:
        super().__init__()
        self.widths, self.mode = widths, mode

    def forward(self, x: Any) -> Any:
        return torch.nn.functional.pad(x, self.widths, self.mode)


CASES = [(mode, (2, 1, 0, 3)) for mode in ("circular", "reflect", "replicate", "constant")]
CASES += [(mode, (-1, 2, 1, -2)) for mode in ("reflect", "replicate", "constant")]


@pytest.mark.parametrize(("mode", "widths"), CASES)  # torch exports no circular pad that cuts
def test_modes(mode: str, widths: tuple[int, ...]) -> None:
    layer = Pads(widths, mode)
    axes = {"x": ("n", None, "h", "w")}
    model = ash.compile(layer, (torch.randn(2, 3, 5, 7),), axes=axes)
    for n, h, w in ((1, 4, 4), (2, 9, 5), (0, 5, 6)):
        x = torch.randn(n, 3, h, w)
        if n or mode == "constant":  # torch refuses no images for the others
            assert torch.equal(model(x), layer(x))


def test_further_than_torch_goes() -> None:
    model = ash.compile(Pads((3, 0), "reflect"), (torch.randn(2, 7),), axes={"x": ("n", "t")})
    x = torch.randn(1, 4)
    assert torch.equal(model(x), Pads((3, 0), "reflect")(x))
    with pytest.raises(FactViolationError) as caught:
        model(torch.randn(1, 3))
    assert str(caught.value).startswith("'3 < t' does not hold for t=3\n")
    assert "a pad of 3 and 0, mode 'reflect', along axis 1, whose size is t" in str(caught.value)


def test_an_edge_goes_as_far_as_one_likes() -> None:
    layer = Pads((3, 5), "replicate")
    model = ash.compile(layer, (torch.randn(2, 7),), axes={"x": ("n", "t")})
    for size in (1, 2, 3, 9):
        x = torch.randn(2, size)
        assert torch.equal(model(x), layer(x))
    with pytest.raises(FactViolationError, match="mode 'replicate'"):
        model(torch.randn(2, 0))


def test_circular_convolutions() -> None:
    layer = torch.nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular")
    axes = {"input": ("n", None, "h", "w")}
    model = ash.compile(layer, (torch.randn(2, 2, 5, 7),), axes=axes)
    with torch.no_grad():
        for h, w in ((1, 1), (6, 3)):
            x = torch.randn(1, 2, h, w)
            torch.testing.assert_close(model(x), layer(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_no_channels_are_refused_as_by_torch(mode: str) -> None:
    layer = Pads((1, 2), mode)
    model = ash.compile(layer, (torch.randn(2, 3, 7),), axes={"x": ("n", "c", "t")})
    for shape in ((0, 3, 7), (1, 1, 4)):
        assert torch.equal(model(torch.ones(shape)), layer(torch.ones(shape)))
    with pytest.raises(RuntimeError):
        layer(torch.randn(2, 0, 7))
    with pytest.raises(FactViolationError, match="needs a channel"):
        model(torch.randn(2, 0, 7))


class PadsTo(torch.nn.Module):
    """Cuts where there is more than is wanted."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode

    def forward(self, x: Any, y: Any) -> Any:
        wanted, size = y.shape[0], x.shape[2]
        table = torch.nn.functional.pad(x, (0, 8 - size)) + torch.arange(8)
        both = torch.nn.functional.pad(x, (size - wanted, wanted - size), value=2.0)
        return table, both, torch.nn.functional.pad(x, (wanted - 3, 1), self.mode)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
@pytest.mark.parametrize("example", [(6, 4), (4, 6)])
def test_sizes_decide_whether_a_pad_cuts(mode: str, example: tuple[int, int]) -> None:
    def inputs(size: int, wanted: int) -> tuple[Any, Any]:
        return torch.randn(2, 3, size), torch.randn(wanted)

    layer, compared = PadsTo(mode), 0
    model = ash.compile(layer, inputs(*example), axes={"x": ("n", None, "t"), "y": ("m",)})
    for sizes in (example, (4, 2), (2, 4), (9, 1), (8, 0), (0, 0), (0, 3), (5, 2), (11, 5), (3, 3)):
        x, y = inputs(*sizes)
        try:
            wanted = layer(x, y)
        except RuntimeError:
            with pytest.raises(FactViolationError):
                model(x, y)
        else:
            torch.testing.assert_close(model(x, y), wanted, rtol=0, atol=0)
            compared += 1
    assert compared >= 4


class ToTheSizeOf(torch.nn.Module):
    """As U-Nets do whose halves were rounded up: what was doubled again may be longer, or not."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode

    def forward(self, x: Any, y: Any) -> Any:
        down, right = (a - b for a, b in zip(x.shape[-2:], y.shape[-2:], strict=True))
        widths = (right // 2, right - right // 2, 0, down)
        return torch.nn.functional.pad(y, widths, self.mode) + x


@pytest.mark.parametrize("mode", ["constant", "replicate"])
def test_sizes_decide_whether_a_width_cuts(mode: str) -> None:
    layer, channels = ToTheSizeOf(mode), (2, 3)
    axes = {"x": (None, None, "h", "w"), "y": (None, None, "a", "b")}
    example = torch.randn(*channels, 5, 7), torch.randn(*channels, 6, 9)
    model = ash.compile(layer, example, axes=axes, strict=True)
    for h, w, a, b in ((5, 7, 6, 9), (6, 9, 5, 7), (4, 4, 4, 4), (1, 9, 7, 2), (8, 1, 1, 6)):
        x, y = torch.randn(*channels, h, w), torch.randn(*channels, a, b)
        assert torch.equal(model(x, y), layer(x, y))
