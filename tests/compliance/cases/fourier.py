"""Fourier transforms, against sums of products with roots of unity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.compliance.case import Collection, emit
from tests.compliance.tolerance import accumulated

CASES = Collection()

DIVISORS: dict[str, Callable[[int], float]] = {
    "none": lambda n: 1, "length": lambda n: n, "root": lambda n: n**0.5,
}  # fmt: skip
CLOSE = accumulated(400)  # sums of up to a few hundred numbers of order one
LENGTHS = 1, 2, 31, 37, 48, 300


def _with_lengths(*lines: int) -> tuple[dict[str, int], ...]:
    return tuple({"b": b, "n": n} for b, n in zip(lines, LENGTHS, strict=True))


def _roots(n: int, sign: int) -> Any:
    k = np.arange(n)
    turns = (k[:, None] * k % n).astype(np.longdouble) / n
    return np.exp(sign * 8j * np.arctan(np.longdouble(1)) * turns)


def _summed(numbers: Any, axis: int, sign: int) -> Any:
    """In more digits than any dtype has: else sums of roots err by as much as transforms may, and
    by how much depends on the machine's BLAS."""
    wide = np.moveaxis(numbers, axis, -1).astype(np.clongdouble)
    found = (wide @ _roots(numbers.shape[axis], sign)).astype(np.complex128)
    return np.moveaxis(found, -1, axis)


def _parts(numbers: Any) -> Any:
    return np.stack([numbers.real, numbers.imag], -1)


def _fft(axis: int, inverse: bool, scaling: str) -> Callable[[Any], Any]:
    def expect(x: Any) -> Any:
        found = _summed(x[..., 0] + 1j * x[..., 1], axis, 1 if inverse else -1)
        return _parts(found / DIVISORS[scaling](x.shape[axis]))

    return expect


def _rfft(scaling: str) -> Callable[[Any], Any]:
    def expect(x: Any) -> Any:
        n = x.shape[-1]
        return _parts(_summed(x, -1, -1)[..., : n // 2 + 1] / DIVISORS[scaling](n))

    return expect


def _irfft(n_of: Callable[[int], int], scaling: str) -> Callable[[Any], Any]:
    def expect(x: Any) -> Any:
        n = n_of(x.shape[-2])
        half = x[..., 0] + 1j * x[..., 1]
        half[..., 0] = half[..., 0].real
        if n % 2 == 0:
            half[..., -1] = half[..., -1].real
        rest = half[..., 1 : (n + 1) // 2][..., ::-1].conj()
        whole = np.concatenate([half, rest], -1)
        return _summed(whole, -1, 1).real / DIVISORS[scaling](n)

    return expect


for _dtype, _axis, _inverse, _scaling in (
    ("f32", 1, False, "none"), ("f32", 0, True, "length"), ("f64", 1, True, "root"),
    ("f64", 0, False, "none"),
):  # fmt: skip
    _shape = f"{_dtype}[b, n, 2]" if _axis else f"{_dtype}[n, b, 2]"
    CASES.add(
        "fft", f"{_dtype} axis {_axis} {_scaling}", (_shape,),
        emit("fft", axis=_axis, inverse=_inverse, scaling=_scaling), (_shape,),
        _fft(_axis, _inverse, _scaling), ("1 <= n",), tolerance=CLOSE,
        sizes=_with_lengths(1, 3, 40, 2, 17, 5),
    )  # fmt: skip
for _dtype, _scaling in (("f32", "none"), ("f64", "length"), ("f32", "root")):
    CASES.add(
        "rfft", f"{_dtype} {_scaling}", (f"{_dtype}[b, n]",), emit("rfft", scaling=_scaling),
        (f"{_dtype}[b, n//2 + 1, 2]",), _rfft(_scaling), ("1 <= n",), tolerance=CLOSE,
        sizes=_with_lengths(1, 3, 70, 2, 33, 1),
    )  # fmt: skip
for _dtype, _scaling in (("f32", "length"), ("f64", "none"), ("f32", "root")):
    CASES.add(
        "irfft", f"{_dtype} {_scaling} even", (f"{_dtype}[b, n + 1, 2]",),
        emit("irfft", length="2*n", scaling=_scaling), (f"{_dtype}[b, 2*n]",),
        _irfft(lambda m: 2 * (m - 1), _scaling), ("1 <= 2*n",), tolerance=CLOSE,
        sizes=({"b": 70, "n": 24}, {"b": 1, "n": 150}, {"b": 3, "n": 37}, {"b": 2, "n": 1}),
    )  # fmt: skip
CASES.add(
    "irfft", "f32 odd", ("f32[b, n, 2]",), emit("irfft", length="2*n - 1"), ("f32[b, 2*n - 1]",),
    _irfft(lambda m: 2 * m - 1, "none"), ("1 <= 2*n - 1",), tolerance=CLOSE,
    sizes=({"b": 40, "n": 24}, {"b": 1, "n": 150}, {"b": 3, "n": 19}, {"b": 2, "n": 1}),
)  # fmt: skip
