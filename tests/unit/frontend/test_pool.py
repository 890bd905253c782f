"""Windows and pools of the Python front, against NumPy's view of windows."""

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import anyshape as ash
from anyshape.base.errors import AnyshapeError

SIZES = ((1, 3, 3), (2, 8, 17), (3, 33, 5), (0, 4, 4))


def image(*sizes: int) -> Any:
    return np.random.default_rng(0).standard_normal(sizes, np.float32)


@pytest.mark.parametrize("sizes", SIZES)
def test_windows_are_numpys(sizes: tuple[int, ...]) -> None:
    @ash.jit
    def seen(x: ash.f32["batch", "height", "width"]) -> ash.Tensor:
        return ash.windows(x, (3, 2), (2, 1))

    x = image(*sizes)
    np.testing.assert_array_equal(seen(x), sliding_window_view(x, (3, 2), axis=(1, 2))[:, ::2])


@pytest.mark.parametrize("sizes", SIZES)
def test_pools_reduce_windows(sizes: tuple[int, ...]) -> None:
    @ash.jit
    def pools(x: ash.f32["batch", "height", "width"]) -> tuple[ash.Tensor, ash.Tensor]:
        return ash.max_pool(x, (3, 3), 2, 1), ash.avg_pool(x, (3, 3), 2, 1, count_padding=False)

    x = image(*sizes)
    widths = ((0, 0), (1, 1), (1, 1))
    greatest = np.pad(x, widths, constant_values=-np.inf)
    inside = np.pad(x, widths, constant_values=np.nan)
    found, means = pools(x)
    view = sliding_window_view(greatest, (3, 3), axis=(1, 2))[:, ::2, ::2]
    np.testing.assert_array_equal(found, view.max((-2, -1), initial=-np.inf))
    wanted = np.nanmean(sliding_window_view(inside, (3, 3), axis=(1, 2))[:, ::2, ::2], (-2, -1))
    np.testing.assert_allclose(means, wanted, rtol=1e-5, atol=1e-6)


def test_one_place_more_where_the_last_window_begins_inside() -> None:
    @ash.jit
    def pool(x: ash.f32["n"]) -> ash.Tensor:
        return ash.max_pool(x, (2,), 3, ceil_mode=True)

    for n, wanted in ((4, [1, 3]), (5, [1, 4]), (6, [1, 4]), (7, [1, 4, 6])):
        np.testing.assert_array_equal(pool(np.arange(n, dtype=np.float32)), wanted)


def test_steps_are_numbers() -> None:
    @ash.jit
    def pool(x: ash.f32["n", "m"]) -> ash.Tensor:
        return ash.max_pool(x, (2,), x.shape[0])

    with pytest.raises(AnyshapeError, match="windows that are n apart"):
        pool(np.zeros((3, 9), np.float32))
