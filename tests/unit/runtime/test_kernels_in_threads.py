"""Transforms, searches and selections by many threads at once, at sizes that take every way.

What these kernels share is the tables of transforms, which are made while others use theirs.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import anyshape as ash

# Passes of small and of all radices, a matrix, a convolution of each, and lines of one number.
LENGTHS = (1, 2, 3, 7, 31, 37, 48, 210, 1000, 1009, 4096, 8192, 10_007, 30_030)


def close(found: Any, expected: Any) -> None:
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5 * scale)


@ash.jit
def spectra(x: ash.f32["lines", "n", 2]):
    return ash.fft.fft(x), ash.fft.fft(x, axis=0), ash.fft.rfft(x[..., 0])


@ash.jit
def signals(x: ash.f32["lines", "n"]):
    return ash.fft.irfft(ash.fft.rfft(x), x.shape[1])


@ash.jit
def placed(ordered: ash.f32["n"], x: ash.f32["m"]):
    return ash.searchsorted(ordered, x), ash.searchsorted(ordered, x, right=True)


@ash.jit
def selected(x: ash.i64["n"]):
    return (*ash.unique(x, return_inverse=True, return_counts=True), x[x > 3], ash.sort(x))


def parts(numbers: Any) -> Any:
    return np.stack([numbers.real, numbers.imag], -1)


def transform(executable: ash.Executable, lines: int, length: int) -> None:
    rng = np.random.default_rng(length)
    x = rng.standard_normal((lines, 2 * length, 2), np.float32)[:, ::2]
    numbers = x[..., 0] + 1j * x[..., 1]
    along, across, half = executable(x)
    close(along, parts(np.fft.fft(numbers)))
    close(across, parts(np.fft.fft(numbers, axis=0)))
    close(half, parts(np.fft.rfft(x[..., 0])))


def there_and_back(executable: ash.Executable, lines: int, length: int) -> None:
    x = np.random.default_rng(length).standard_normal((lines, length), np.float32)
    close(executable(x)[0], x)


def search(executable: ash.Executable, rows: int, length: int) -> None:
    rng = np.random.default_rng(length)
    ordered = np.sort(rng.integers(0, 50, length).astype(np.float32))
    x = rng.integers(-1, 52, rows * 100).astype(np.float32)
    left, right = executable(ordered, x)
    np.testing.assert_array_equal(left, np.searchsorted(ordered, x))
    np.testing.assert_array_equal(right, np.searchsorted(ordered, x, "right"))


def select(executable: ash.Executable, rows: int, length: int) -> None:
    x = np.random.default_rng(rows).integers(0, 9, rows * length)
    found = executable(x)
    expected = (*np.unique(x, return_inverse=True, return_counts=True), x[x > 3], np.sort(x))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("function", "check"),
    [(spectra, transform), (signals, there_and_back), (placed, search), (selected, select)],
)
def test_all_lengths_at_once(function: Any, check: Callable[..., None]) -> None:
    executable = ash.compile(function, strict=True, threads=2)
    sizes = [(lines, length) for length in LENGTHS for lines in (1, 3, 18)] * 2
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(partial(check, executable), *size) for size in sizes]:
            done.result()
