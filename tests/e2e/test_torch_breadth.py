"""Signal, sampling and searching ops of torch modules against eager mode, at sizes that were not
captured, with inputs that are not contiguous. Each group is one compile."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import anyshape as ash

WINDOW = torch.hann_window(24)
TABLE = torch.randn(9, 5, generator=torch.Generator().manual_seed(1))


class Signals(torch.nn.Module):
    """Transforms of real and complex lines, of frames, and back."""

    def forward(self, x: Any) -> Any:
        spectrum = torch.fft.rfft(x)
        planes = torch.fft.fft2(x, norm="ortho")
        frames = torch.stft(x, 24, 8, 20, WINDOW[:20], center=True, return_complex=True)
        back = torch.istft(frames, 24, 8, 20, WINDOW[:20])
        return (
            (spectrum * 2 + 1).abs(), torch.view_as_real(planes.conj() / 3.0 - planes),
            torch.fft.irfft(spectrum, x.shape[1]),
            torch.view_as_real(torch.fft.ifft(x, dim=0).resolve_conj()),
            torch.view_as_real(frames), back, torch.fft.hfft(torch.fft.ihfft(x, norm="ortho")),
            torch.fft.fftshift(x), torch.view_as_real(torch.fft.rfftn(x)),
            torch.fft.irfft2(torch.fft.rfft2(x), x.shape),
        )  # fmt: skip


class Samples(torch.nn.Module):
    """Values between elements, and windows added up."""

    def forward(self, x: Any, grid: Any) -> Any:
        options = (
            ("bilinear", "zeros", False), ("bilinear", "border", True),
            ("bilinear", "reflection", False), ("bicubic", "reflection", True),
            ("nearest", "zeros", True), ("bicubic", "zeros", False),
        )  # fmt: skip
        h, w = x.shape[2:]
        opened = functional.unfold(x, (3, 2), dilation=(2, 1), padding=2, stride=(2, 1))
        return (
            *(
                functional.grid_sample(x, grid, mode, pad, corners)
                for mode, pad, corners in options
            ),
            functional.fold(opened, (h, w), (3, 2), dilation=(2, 1), padding=2, stride=(2, 1)),
            functional.interpolate(x, size=(3, 7), mode="bilinear", antialias=True),
            functional.interpolate(x, size=(9, 2), mode="bicubic", antialias=True),
        )


class Searches(torch.nn.Module):
    """What order tells, bags of rows, distances, bits and functions."""

    def forward(self, x: Any, whole: Any, bags: Any) -> Any:
        rows, line = x.sort(1).values, x[:, 0].sort().values
        few = torch.round(x)
        indices = whole.flatten() % 9
        return (
            *torch.median(x, 1), *torch.kthvalue(x, 1, 0, keepdim=True), few.mode(1).values,
            torch.nanmedian(torch.where(x > 1, torch.nan, x), 1).values, torch.median(x),
            torch.searchsorted(rows, few, right=True), torch.bucketize(few, line),
            torch.isin(whole, whole[:, 0]), torch.histc(x, 5), torch.histc(x, 4, -1.0, 1.0),
            *(functional.embedding_bag(indices, TABLE, bags, mode=mode, padding_idx=2)
              for mode in ("sum", "mean", "max")),
            torch.cdist(x, few), torch.cdist(x, few, 1.0), torch.renorm(x, 2, 0, 1.0),
            whole << 3, whole >> torch.abs(few[:, :1].long()), torch.bitwise_right_shift(whole, 70),
            functional.linear(whole, whole[:2], whole[0, :2]),
            torch.addmm(whole[0], whole, whole.T @ whole),
            torch.lgamma(x), torch.digamma(x), torch.erfinv(x / 4), torch.erfc(x),
        )  # fmt: skip


def _flipped(tensor: Any) -> Any:
    """The same numbers with other strides."""
    wide = torch.zeros((*reversed(tensor.shape), 2), dtype=tensor.dtype)
    view = wide[..., 0].permute(*reversed(range(tensor.dim())))
    view.copy_(tensor)
    return view


def _signals(b: int, t: int) -> tuple[Any, ...]:
    return (torch.randn(b, t),)


def _samples(n: int, h: int, w: int, o: int) -> tuple[Any, ...]:
    return torch.randn(n, 2, h, w), torch.randn(n, o, o, 2)


def _searches(a: int, b: int) -> tuple[Any, ...]:
    starts = torch.arange(4) * (a * b) // 5
    return torch.randn(a, b), torch.randint(-40, 40, (a, b)), starts


@pytest.mark.filterwarnings("ignore:torch.searchsorted")  # eager mode's, of strides
@pytest.mark.parametrize(
    ("module", "make", "sizes", "axes"),
    [
        (Signals(), _signals, [(3, 40), (1, 31), (17, 101), (2, 64)], {"x": ("b", "t")}),
        (
            Samples(), _samples, [(2, 6, 5, 4), (1, 1, 1, 1), (3, 9, 4, 7)],
            {"x": ("n", None, "h", "w"), "grid": ("n", "o", "o", None)},
        ),
        (
            Searches(), _searches, [(4, 6), (2, 2), (33, 10)],
            {"x": ("a", "b"), "whole": ("a", "b")},
        ),
    ],
    ids=["signals", "samples", "searches"],
)  # fmt: skip
def test_ops_without_torch_kernels(
    module: Any, make: Callable[..., tuple[Any, ...]], sizes: Sequence[Any], axes: Any
) -> None:
    torch.manual_seed(0)
    fast = ash.compile(module, make(*sizes[0]), axes=axes, strict=True)
    for size in sizes:
        inputs = make(*size)
        for given in (inputs, tuple(map(_flipped, inputs))):
            for number, (found, wanted) in enumerate(
                zip(fast(*given), module(*given), strict=True)
            ):
                assert found.dtype == wanted.dtype, number
                np.testing.assert_allclose(
                    found.numpy(), wanted.numpy(), rtol=2e-4, atol=2e-4, err_msg=f"{number} {size}"
                )


@ash.jit
def _windows(x: ash.f32["n"], y: ash.f64["n"]):
    n = x.shape[0]
    return (
        ash.hanning(n), ash.hamming(n), ash.blackman(n), ash.bartlett(n), ash.kaiser(n, 8.6),
        ash.fft.rfftfreq(n), ash.fft.fftfreq(n, 0.5), ash.fft.ifftshift(x),
        ash.fft.irfft(ash.fft.rfft(y, norm="forward"), n, norm="forward"),
        ash.fft.rfft(y, 7), ash.fft.irfftn(ash.fft.rfftn(ash.outer(y, y), (3, 6)), (3, 6)),
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3, 8, 37, 400])
def test_windows_and_frequencies_are_those_of_numpy(n: int) -> None:
    x = np.random.default_rng(n).standard_normal(n)
    wanted = (
        np.hanning(n), np.hamming(n), np.blackman(n), np.bartlett(n), np.kaiser(n, 8.6),
        np.fft.rfftfreq(n), np.fft.fftfreq(n, 0.5), np.fft.ifftshift(x), x,
        np.stack([part(np.fft.rfft(x, 7)) for part in (np.real, np.imag)], -1),
        np.fft.irfftn(np.fft.rfftn(np.outer(x, x), (3, 6), (0, 1)), (3, 6), (0, 1)),
    )  # fmt: skip
    for found, expected in zip(_windows(x.astype(np.float32), x), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-6)


@ash.jit
def _mel_weights(x: ash.f32["n", 201]):
    return x @ ash.mel_weights(201, 8, 16000.0, 20.0)


def test_mel_weights_are_triangles_between_their_neighbours() -> None:
    """By interpolation: NumPy's `interp` of a unit vector over corners is a triangle."""

    def mel(hertz: Any) -> Any:
        return 2595 * np.log10(1 + np.asarray(hertz) / 700)

    corners = 700 * (10 ** (np.linspace(mel(20.0), mel(8000.0), 10) / 2595) - 1)
    frequencies = np.linspace(0, 8000, 201)
    wanted = [np.interp(frequencies, corners, np.eye(10)[i + 1]) for i in range(8)]
    found = _mel_weights(np.eye(201, dtype=np.float32))
    np.testing.assert_allclose(np.asarray(found), np.transpose(wanted), atol=1e-6)
