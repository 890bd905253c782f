"""Pools, resizes and norms of images, compiled once and compared with eager mode at other sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as fn

import anyshape as ash
from anyshape.base.errors import AnyshapeError

SIZES = ((2, 4, 20, 31), (1, 4, 5, 7), (3, 4, 33, 18), (2, 4, 12, 12), (1, 4, 64, 67))

POOLS: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: fn.max_pool2d(x, 3, 2, 1),
    "max beside each other": lambda x: fn.max_pool2d(x, 2),
    "max, every place": lambda x: fn.max_pool2d(x, 3, 1, 1),
    "max, dilated": lambda x: fn.max_pool2d(x, 2, 3, 1, dilation=2),
    "max, one place more": lambda x: fn.max_pool2d(x, 2, 3, 0, ceil_mode=True),
    "max with places": lambda x: fn.max_pool2d(x, 3, 2, 1, return_indices=True),
    "max of a line": lambda x: fn.max_pool1d(x.flatten(1, 2), 3, 2, return_indices=True),
    "max, a large window": lambda x: fn.max_pool2d(fn.pad(x, (9, 9, 9, 9)), 9, 4),
    "average": lambda x: fn.avg_pool2d(x, 3, 2, 1),
    "average without padding": lambda x: fn.avg_pool2d(x, 3, 2, 1, True, False),
    "average, one place more": lambda x: fn.avg_pool2d(x, 2, 3, 1, True),
    "average by a number": lambda x: fn.avg_pool2d(x, 2, divisor_override=3),
    "average of boxes": lambda x: fn.avg_pool3d(x.unsqueeze(1), 2, 1, 1),
    "norm": lambda x: fn.lp_pool2d(x.abs(), 3.0, 3, 2),
    "adaptive average": lambda x: fn.adaptive_avg_pool2d(x, (7, 5)),
    "adaptive average of all": lambda x: fn.adaptive_avg_pool2d(x, 1),
    "adaptive average of rows": lambda x: fn.adaptive_avg_pool2d(x, (5, 1)),
    "adaptive average of columns": lambda x: fn.adaptive_avg_pool2d(x, (1, 7)),
    "adaptive max of all": lambda x: fn.adaptive_max_pool2d(x, 1),
    "adaptive max of columns": lambda x: fn.adaptive_max_pool2d(x, (1, 3)),
    "adaptive max": lambda x: fn.adaptive_max_pool2d(x, (3, 4)),
    "adaptive max with places": lambda x: fn.adaptive_max_pool2d(x, (3, 4), return_indices=True),
    "columns": lambda x: fn.unfold(x, 3, 1, 1, 2),
    "windows": lambda x: x.unfold(2, 3, 2).unfold(3, 2, 1),
}

EDGES: dict[str, Callable[[Any], Any]] = {
    "max": POOLS["max"],
    "max, every place": POOLS["max, every place"],
    "average": POOLS["average"],
    "average without padding": POOLS["average without padding"],
}
"""Padded pools, of which rows may be edges throughout."""

RESIZES: dict[str, Callable[[Any], Any]] = {
    "nearest, twice": lambda x: fn.interpolate(x, scale_factor=2.0),
    "nearest, by a half more": lambda x: fn.interpolate(x, scale_factor=1.5),
    "nearest, smaller": lambda x: fn.interpolate(x, size=(3, 2)),
    "nearest, exact": lambda x: fn.interpolate(x, size=(13, 9), mode="nearest-exact"),
    "linear": lambda x: fn.interpolate(x.flatten(1, 2), scale_factor=2.0, mode="linear"),
    "bilinear, twice": lambda x: fn.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "bilinear, corners": lambda x: fn.interpolate(x, (17, 40), mode="bilinear", align_corners=True),
    "bilinear, one row": lambda x: fn.interpolate(x, (1, 5), mode="bilinear", align_corners=True),
    "trilinear": lambda x: fn.interpolate(x.unsqueeze(1), (3, 9, 8), mode="trilinear"),
    "bicubic": lambda x: fn.interpolate(x, (17, 40), mode="bicubic"),
    "bicubic, corners": lambda x: fn.interpolate(
        x, scale_factor=(1.5, 0.75), mode="bicubic", align_corners=True
    ),
    "area": lambda x: fn.interpolate(x, (7, 6), mode="area"),
}

NORMS: dict[str, Callable[[Any], Any]] = {
    "group": lambda x: fn.group_norm(x, 2, torch.arange(1.0, 5.0), torch.ones(4)),
    "all channels": lambda x: fn.group_norm(x, 1, torch.arange(1.0, 5.0), torch.ones(4)),
    "group without weights": lambda x: fn.group_norm(x, 4),
    "instance": lambda x: fn.instance_norm(x, weight=torch.arange(1.0, 5.0)),
    "instance by averages": lambda x: fn.instance_norm(
        x, torch.ones(4), torch.full((4,), 2.0), use_input_stats=False
    ),
    "local response": lambda x: fn.local_response_norm(x, 3),
}


def compiled(function: Callable[[Any], Any]) -> Any:
    return ash.compile(
        function, (torch.randn(SIZES[0]),), axes={"x": ("batch", None, "height", "width")}
    )


def compare(found: Any, wanted: Any) -> None:
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*POOLS, *RESIZES, *NORMS])
def test_images_of_any_size_are_as_in_eager_mode(name: str) -> None:
    function = {**POOLS, **RESIZES, **NORMS}[name]
    fast = compiled(function)
    assert not fast.explain().host_ops
    torch.manual_seed(0)
    for sizes in SIZES:
        x = torch.randn(sizes)
        compare(fast(x), function(x))
        turned = x.transpose(2, 3).contiguous().transpose(2, 3)
        compare(fast(turned), function(x))


@pytest.mark.parametrize("name", EDGES)
def test_rows_that_are_all_edges(name: str) -> None:
    fast = compiled(EDGES[name])
    for width in (1, 2, 3, 4, 31, 32, 33, 34, 65, 130):
        for height in (1, 2, 5):
            x = torch.randn(1, 4, height, width)
            compare(fast(x), EDGES[name](x))


@pytest.mark.parametrize("name", ["nearest, twice", "bilinear, twice", "bicubic"])
def test_resized_rows_of_every_width(name: str) -> None:
    fast = compiled(RESIZES[name])
    for width in (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 200):
        x = torch.randn(1, 4, 3, width)
        compare(fast(x), RESIZES[name](x))


def test_a_pool_is_one_kernel() -> None:
    for name in ("max", "max beside each other", "average", "average without padding", "norm"):
        assert len(compiled(POOLS[name]).kernels) == 1, name


def test_nothing_is_greater_than_nan_and_padding_is_no_place() -> None:
    def function(x: Any) -> Any:
        return fn.max_pool2d(x, 3, 2, 1, return_indices=True)

    fast = compiled(function)
    x = torch.randn(1, 4, 9, 11)
    x[0, 0] = -torch.inf
    x[0, 1, 2:5, 3:6] = torch.nan
    x[0, 2, 4, 4] = torch.inf
    found, wanted = fast(x), function(x)
    torch.testing.assert_close(found[0], wanted[0], equal_nan=True)
    assert torch.equal(found[1], wanted[1])


@pytest.mark.parametrize("name", ["adaptive average", "adaptive max", "adaptive max with places"])
def test_adaptive_pools_of_an_empty_axis_are_refused(name: str) -> None:
    fast, nothing = compiled(POOLS[name]), torch.randn(1, 4, 0, 5)
    with pytest.raises(RuntimeError, match="non-zero size"):
        POOLS[name](nothing)
    with pytest.raises(AnyshapeError, match="axis 2 is not empty"):
        fast(nothing)


def test_the_mean_of_nothing() -> None:
    function, nothing = POOLS["adaptive average of all"], torch.randn(1, 4, 0, 5)
    torch.testing.assert_close(compiled(function)(nothing), function(nothing), equal_nan=True)


@pytest.mark.parametrize("kind", ["max", "average", "average without padding"])
@pytest.mark.parametrize(("size", "step", "low"), [(2, 2, 0), (3, 2, 0), (3, 3, 1), (5, 4, 2)])
def test_a_window_may_hang_over_the_end_of_a_smaller_image(
    kind: str, size: int, step: int, low: int
) -> None:
    def function(x: Any) -> Any:
        if kind == "max":
            return fn.max_pool2d(x, size, step, low, ceil_mode=True)
        return fn.avg_pool2d(x, size, step, low, True, kind == "average")

    model = compiled(function)
    for h, w in [(1, 1), (1, 9), (2, 2), (2, 1), (3, 2), (5, 4), (0, 3)]:
        x = torch.randn(2, 4, h, w)
        try:
            expected = function(x)
        except RuntimeError:
            with pytest.raises(AnyshapeError):
                model(x)
        else:
            torch.testing.assert_close(model(x), expected)


def test_a_window_that_does_not_fit_is_refused() -> None:
    fast = compiled(lambda x: fn.max_pool2d(x, 4, 1))
    with pytest.raises(AnyshapeError, match="a window of 4 does not fit"):
        fast(torch.randn(1, 4, 3, 9))
