"""Functions of torch that take numbers, given sizes: captured at one, compared at others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as fn

import anyshape as ash
from anyshape.base.errors import AnyshapeError

Function = Callable[[Any], Any]
SIZES = ((4, 6), (1, 1), (0, 5), (7, 11), (2, 1), (3, 0), (5, 2))


def image(x: Any) -> Any:
    return x.reshape(1, 1, *x.shape).expand(2, 3, -1, -1)


def written_diagonal(x: Any) -> Any:
    x.diagonal(x.shape[0] // 2 - 1).add_(5)
    x[:1].mul_(2)
    return x


def written_places(x: Any) -> Any:
    x[:, x.shape[0] - x.shape[1]] = 7
    x[x.shape[0] // 2, x.shape[1] // 2 :] = x.shape[1]
    x[..., x.shape[1] - 1] *= x.shape[0]
    x[None, :, -x.shape[0], None] += x[:, :1].clone()
    return x


def pair(indices: Any) -> tuple[Any, Any]:
    return indices[0], indices[1]


CASES: dict[str, Function] = {
    "linspace": lambda x: x * torch.linspace(0, 1, x.shape[1]),
    "linspace by names": lambda x: torch.linspace(-1, steps=x.shape[1] * 2, end=3),
    "linspace in f64": lambda x: torch.linspace(5, -5, x.shape[1], dtype=torch.float64),
    "logspace": lambda x: torch.logspace(0, 1, x.shape[1], 2.0),
    "hann_window": lambda x: x * torch.hann_window(x.shape[1]),
    "symmetric hann_window": lambda x: x * torch.hann_window(x.shape[1], periodic=False),
    "hamming_window": lambda x: x * torch.hamming_window(x.shape[1], False, 0.5),
    "blackman_window": lambda x: x * torch.blackman_window(x.shape[1]),
    "triu_indices": lambda x: torch.triu_indices(x.shape[0], x.shape[1], 1),
    "elements of a triangle": lambda x: (
        x[pair(torch.tril_indices(x.shape[0], x.shape[1], offset=-1))] * 2
    ),
    "one_hot": lambda x: fn.one_hot(x.abs().long(), x.shape[1]),
    "avg_pool2d": lambda x: fn.avg_pool2d(image(x), x.shape).flatten(1),
    "max_pool2d": lambda x: fn.max_pool2d(image(x), kernel_size=(x.size(0), x.size(1))),
    "max_pool1d": lambda x: fn.max_pool1d(x, x.shape[1]).squeeze(1),
    "max_pool1d of a batch": lambda x: fn.max_pool1d(image(x)[0], x.shape[1], x.shape[1]),
    "avg_pool1d": lambda x: fn.avg_pool1d(x, x.size(1)),
    "max_pool1d of steps": lambda x: fn.max_pool1d(image(x)[0], 1, 1, 0, 1),
    "an index of either sign": lambda x: x[:, x.shape[0] - x.shape[1]],
    "an index from the end": lambda x: x[-(x.shape[0] // 2), x.shape[1] - 1],
    "select": lambda x: x.select(1, x.shape[0] - x.shape[1]),
    "select_scatter": lambda x: torch.select_scatter(x, x[:, 0], 1, x.shape[0] - x.shape[1]),
    "written places": lambda x: written_places(x.clone()),
    "diagonal": lambda x: x.diagonal(x.shape[0] // 2 - 1) * 2,
    "diagonal of planes": lambda x: image(x).diagonal(1 - x.shape[0], -2, dim2=-1),
    "linalg.diagonal": lambda x: torch.linalg.diagonal(x, offset=x.shape[1] - 3),
    "diag": lambda x: (torch.diag(x, 2 - x.shape[0]), x.sum(1).diag(x.shape[0] - 3)),
    "diag_embed": lambda x: torch.diag_embed(x, x.shape[1] - 3, 0, 1),
    "written diagonal": lambda x: written_diagonal(x.clone()),
    "new_tensor": lambda x: (x.new_tensor(x.shape[0] / 2), x.long().new_tensor([7, x.shape[1]])),
    "as_tensor": lambda x: torch.as_tensor([[float(x.shape[0]), 0.5]], dtype=torch.float64),
    "a number": lambda x: x + torch.linspace(0, 1, 5).sum() + torch.hann_window(4).sum(),
}


class Model(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.filterwarnings("ignore::anyshape.HostOpsWarning")
@pytest.mark.parametrize("name", CASES)
def test_sizes_as_arguments(name: str) -> None:
    function = CASES[name]
    compiled = ash.compile(Model(function), (torch.randn(4, 6),), axes={"x": ("n", "m")})
    for sizes in SIZES:
        x = torch.randn(sizes)
        try:
            expected = function(x)
        except (RuntimeError, IndexError):
            with pytest.raises(AnyshapeError):
                compiled(x)
        else:
            torch.testing.assert_close(compiled(x), expected)


def test_a_kernel_that_is_not_all_is_one_size() -> None:
    def pool(x: Any) -> Any:
        return fn.avg_pool1d(x, x.shape[1] - 1)

    def steps(x: Any) -> Any:
        return fn.max_pool1d(x, 2, x.shape[1])

    with pytest.raises(AnyshapeError, match="axis 'm'"):
        ash.compile(Model(steps), (torch.randn(4, 6),), axes={"x": ("n", "m")})
    with pytest.raises(AnyshapeError, match="axis 'm'"):
        ash.compile(Model(pool), (torch.randn(4, 6),), axes={"x": ("n", "m")})


# --- inverse transforms of as many samples as there were ------------------------------------------

WINDOW = torch.hann_window(16)
LENGTHS: dict[str, Function] = {
    "the same": lambda x: x.shape[1],
    "fewer": lambda x: x.shape[1] - 7,
    "more than there are": lambda x: x.shape[1] + 40,
}


def there_and_back(x: Any, length: Function, *, of_tensor: bool) -> Any:
    frames = torch.stft(x, 16, 5, window=WINDOW, center=True, return_complex=True)
    given = {"hop_length": 5, "window": WINDOW, "length": length(x)}
    return frames.istft(16, **given) if of_tensor else torch.istft(frames, n_fft=16, **given)


@pytest.mark.filterwarnings("ignore:The length of signal is shorter:UserWarning")
@pytest.mark.parametrize("of_tensor", [False, True])
@pytest.mark.parametrize("name", LENGTHS)
def test_istft_of_a_length(name: str, of_tensor: bool) -> None:
    def function(x: Any) -> Any:
        return there_and_back(x, LENGTHS[name], of_tensor=of_tensor)

    axes = {"x": ("n", "m")}
    compiled = ash.compile(Model(function), (torch.randn(2, 40),), axes=axes, strict=True)
    for sizes in ((2, 40), (1, 16), (3, 33), (1, 101)):
        x = torch.randn(sizes)
        torch.testing.assert_close(compiled(x), function(x), rtol=1e-4, atol=1e-5)
